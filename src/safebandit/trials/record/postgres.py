"""PostgreSQL that hangs: its silence is timed here, as a server that is stopped cannot keep its own time limits.

A stopped server's machine still acknowledges what it is sent, so no limit of TCP notices it either; those are for
machines and networks that are gone.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Generator, Iterator
from typing import Any

import psycopg
import sqlalchemy as sa
from sqlalchemy.engine import URL

from safebandit.trials.record.exchange import Exchange

# Seconds: to connect; for another transaction's lock; for a statement, as the server counts; for an answer, as we do.
CONNECT_SECONDS = 5
LOCK_SECONDS = 5
STATEMENT_SECONDS = 8
ANSWER_SECONDS = 10.0
# A process that stands still in the midst of a transaction keeps its trials from all others, at most so long. None that
# works is still for so long, even where formulas are compiled in between.
STILL_SECONDS = 120
# For a free connection of the pool.
POOL_SECONDS = 10
# A connection that was idle for so long may be one to a server that is gone: it is asked before it is used.
IDLE_SECONDS = 1.0
# After a silence nothing is asked for so long: whoever waits in line must not wait as long, one after the other.
PAUSE_SECONDS = 1.0


def open_postgres(url: URL, pool: int) -> sa.Engine:
    """An engine of so many connections, at most, whose every wait ends within seconds."""
    settings = {
        "lock_timeout": f"{LOCK_SECONDS}s",
        "statement_timeout": f"{STATEMENT_SECONDS}s",
        "idle_in_transaction_session_timeout": f"{STILL_SECONDS}s",
        # Whatever the server's own setting is, a commit waits for the disk.
        "synchronous_commit": "on",
    }
    arguments: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "options": " ".join(f"-c {name}={value}" for name, value in settings.items()),
        # A machine that is gone is noticed by TCP, within about as many seconds.
        "tcp_user_timeout": int(1000 * ANSWER_SECONDS),
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "client_encoding": "utf8",
        # Whoever prepares statements forgets them all after a rollback, and only one can: `exchange` does.
        "prepare_threshold": None,
    }
    made = sa.create_engine(
        url, pool_size=min(5, pool), max_overflow=max(0, pool - 5), pool_timeout=POOL_SECONDS,
        # The connection that was used last has its statements prepared, and what they need at hand.
        pool_use_lifo=True, connect_args=arguments, hide_parameters=True,
    )  # fmt: skip
    sa.event.listen(made, "do_connect", _Connector().connect)
    sa.event.listen(made, "checkin", _note_use)
    sa.event.listen(made, "checkout", functools.partial(_check_idle, made.dialect))
    return made


def _note_use(_: Any, record: Any) -> None:
    record.info["used"] = time.monotonic()


def _check_idle(dialect: Any, connection: Any, record: Any, _: Any) -> None:
    """Ask an idle connection whether its server is there; SQLAlchemy's own way asks before every transaction."""
    if time.monotonic() - record.info.get("used", math.inf) > IDLE_SECONDS:
        try:
            dialect.do_ping(connection)
        except psycopg.Error as problem:
            raise sa.exc.InvalidatePoolError from problem


@contextlib.contextmanager
def without_limits(connection: sa.Connection) -> Iterator[None]:
    """Let the statements of this transaction take as long as they do: new tables for a large record."""
    found = Timed.of(connection)
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(sa.text(f"SET LOCAL {limit} = 0"))
    found.limited = False
    try:
        yield
    finally:
        found.limited = True


class _Connector:
    """Connects; not again at once where the server was silent a moment ago."""

    def __init__(self) -> None:
        self._silent_until = 0.0

    def connect(self, _: Any, __: Any, arguments: Any, named: Any) -> Any:
        if time.monotonic() < self._silent_until:
            raise psycopg.errors.ConnectionTimeout("the server did not answer a moment ago")
        try:
            made = Timed.connect(*arguments, **named)
        except psycopg.errors.ConnectionTimeout:
            self.note_silence()
            raise
        made.connector = self
        return made

    def note_silence(self) -> None:
        """The server did not answer just now."""
        self._silent_until = time.monotonic() + PAUSE_SECONDS


class Timed(psycopg.Connection[Any]):
    """A connection that is given up when an answer takes too long."""

    connector: _Connector | None = None
    limited = True

    @classmethod
    def of(cls, connection: sa.Connection) -> Timed:
        """The driver's connection that SQLAlchemy's has."""
        found = connection.connection.dbapi_connection
        if not isinstance(found, cls):
            raise TypeError(f"only a connection to PostgreSQL can do this, got {found!r}")
        return found

    @functools.cached_property
    def exchange(self) -> Exchange:
        """Statements that are sent together."""
        return Exchange(self)

    def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
        """Consume a generator of psycopg's, as long as there is patience."""
        return super().wait(self._timed(gen) if self.limited else gen, *arguments, **named)

    def _timed(self, waits: Any) -> Generator[Any, Any, Any]:
        """What `waits` yields and returns; psycopg sends nothing, several times a second, while no answer comes."""
        deadline = time.monotonic() + ANSWER_SECONDS
        try:
            asked = next(waits)
            while True:
                ready = yield asked
                if not ready and time.monotonic() > deadline:
                    break
                asked = waits.send(ready)
        except StopIteration as done:
            return done.value
        if self.connector is not None:
            self.connector.note_silence()
        # What it would answer later belongs to nobody: the connection cannot be used again.
        self.pgconn.finish()
        raise psycopg.OperationalError(f"the server has not answered for {ANSWER_SECONDS:g} s")
