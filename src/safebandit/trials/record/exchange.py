"""Statements that are sent to PostgreSQL together: the server is waited for once, and not once for each.

psycopg's own pipeline waits for BEGIN before it sends more, and takes as long for a statement as the server does. So
libpq is spoken to as psycopg does it, for the few statements of every ask and tell.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import errors
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.waiting import Ready, Wait

BEGIN, COMMIT = ("BEGIN", ()), ("COMMIT", ())
Sent = tuple[str, Sequence[Any]]
# A plan is made for tables as large as they are then: it is made anew when a statement has run so often, and whenever
# it has run twice as often as at the last time. Else one that was made for a new database would read all of a table.
FIRST_RUNS = 16
# By PostgreSQL's numbers of types: boolean, bytes, a long integer; all others are text.
_READ: dict[int, Callable[[bytes], Any]] = {
    16: lambda data: data == b"\x01", 17: bytes, 20: lambda data: int.from_bytes(data, "big", signed=True)
}  # fmt: skip


class _Written(NamedTuple):
    """A statement, and its values as they are sent."""

    statement: str
    values: list[bytes | None]
    formats: list[int]


class Exchange:
    """The statements that one connection has prepared, and how they are sent."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection, self._server = connection, connection.pgconn
        # The name of each statement that is prepared, and how often it has run since it first was.
        self._names: dict[str, bytes] = {}
        self._runs: dict[str, int] = {}
        self._made = 0

    def send(self, *sent: Sent) -> list[list[tuple[Any, ...]]]:
        """The rows that each of these statements gives with its values; where one fails, none after it is done."""
        written = [_Written(statement, *_written(values)) for statement, values in sent]
        with self._connection.lock:
            results = self._connection.wait(self._converse(written))
        failed = next((result for result in results if result.status == ExecStatus.FATAL_ERROR), None)
        if failed is not None or len(results) != len(sent):
            # What was prepared with it may not be there.
            self._names.clear()
            if failed is None:
                raise errors.OperationalError("the server has not answered all that it was asked")
            raise errors.error_from_result(failed)
        if sent[-1] == COMMIT and results[-1].command_status != b"COMMIT":
            raise errors.InFailedSqlTransaction("the transaction had failed before, and was not written")
        return [_rows(result) for result in results]

    def _converse(self, sent: Sequence[_Written]) -> Generator[Wait, Any, list[Any]]:
        try:
            self._server.enter_pipeline_mode()
            # What only prepares gives no rows.
            gives = [kept for each in sent for kept in self._send(each)]
            self._server.pipeline_sync()
            results = yield from self._results()
            self._server.exit_pipeline_mode()
        except BaseException:
            # Broken off half-way: what is still to come would be taken for another statement's answer.
            self._server.finish()
            raise
        failed = [result for result in results if result.status == ExecStatus.FATAL_ERROR]
        return failed or [result for result, kept in zip(results, gives, strict=True) if kept]

    def _send(self, sent: _Written) -> list[bool]:
        """Send one statement; whether each of its results is one that gives rows."""
        statement = sent.statement
        runs = self._runs[statement] = self._runs.get(statement, 0) + 1
        name, marks = self._names.get(statement), [True]
        if name is not None and runs >= FIRST_RUNS and runs & (runs - 1) == 0:
            self._server.send_query_params(b"DEALLOCATE " + name, None)
            name, marks = None, [False, True]
        if name is None:
            self._made += 1
            name = self._names[statement] = b"safebandit_%d" % self._made
            self._server.send_prepare(name, statement.encode())
            marks = [False, *marks]
        self._server.send_query_prepared(name, sent.values, sent.formats, Format.BINARY)
        return marks

    def _results(self) -> Generator[Wait, Any, list[Any]]:
        server = self._server
        found: list[Any] = []
        while server.flush():
            if (yield Wait.RW) & Ready.R:
                server.consume_input()
        while True:
            while server.is_busy():
                if (yield Wait.R):
                    server.consume_input()
            result = server.get_result()
            if result is None and server.status == ConnStatus.BAD:
                raise errors.OperationalError("the server has closed the connection")
            if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
                return found
            if result is not None:
                found.append(result)


def _written(values: Sequence[Any]) -> tuple[list[bytes | None], list[int]]:
    """Values as they are sent: bytes as they are, all others as text."""
    sent = [value if value is None or isinstance(value, bytes) else str(value).encode() for value in values]
    return sent, [Format.BINARY if isinstance(value, bytes) else Format.TEXT for value in values]


def _rows(result: Any) -> list[tuple[Any, ...]]:
    read = [_READ.get(result.ftype(column), bytes.decode) for column in range(result.nfields)]
    return [
        tuple(
            None if (data := result.get_value(row, column)) is None else of_type(data)
            for column, of_type in enumerate(read)
        )
        for row in range(result.ntuples)
    ]
