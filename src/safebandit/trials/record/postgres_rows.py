"""The statements of every ask and tell on PostgreSQL, which is asked twice in a transaction, however many share it.

First all that the requests need of their trials is locked and read; then all that they change is written, and the
transaction ends with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.pq import TransactionStatus

from safebandit.trials.events import canonical
from safebandit.trials.record.exchange import BEGIN, COMMIT, Sent
from safebandit.trials.record.postgres import Timed
from safebandit.trials.record.rows import (
    ASKED,
    CHANGES,
    EVENT,
    TRIAL,
    UNIT,
    Found,
    Taken,
    TrialRow,
    UnitRow,
    Written,
    as_row,
)

_LOCK = f"SELECT {', '.join(TRIAL)} FROM trials WHERE name = $1 FOR UPDATE"
# Ids are sent as one text, and each is looked up by itself: a join might read all units of a trial to find two.
_IDS = "json_to_recordset($1::json) AS wanted(trial text, id text)"
_FIND_UNITS = (
    f"SELECT found.* FROM {_IDS} CROSS JOIN LATERAL "
    f"(SELECT {', '.join(UNIT)} FROM units WHERE trial = wanted.trial AND id = wanted.id OFFSET 0) AS found"
)
_FIND_ASKED = (
    f"SELECT wanted.trial, wanted.id FROM {_IDS} WHERE EXISTS (SELECT FROM events "
    f"WHERE events.trial = wanted.trial AND kind = 'asked' AND {ASKED['postgresql']} = wanted.id OFFSET 0)"
)


def _add(table: str, names: Sequence[str]) -> str:
    """Add rows that are sent as one text: each by itself would take the driver many times as long."""
    columns = ", ".join(names)
    return f"INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, $1::json)"


_CHANGE_TRIAL = (
    f"UPDATE trials SET {', '.join(f'{name} = ${i}' for i, name in enumerate(TRIAL, 1))} WHERE name = ${len(TRIAL) + 1}"
)
_ADD_EVENTS, _ADD_UNITS = _add("events", EVENT), _add("units", UNIT)
# They are there, and found by their key alone, which an update would not do for sure.
_CHANGE_UNITS = (
    f"{_ADD_UNITS} ON CONFLICT (trial, id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in CHANGES)}"
)


def take(connection: sa.Connection, wanted: Mapping[str, Sequence[str]]) -> tuple[dict[str, Taken], set[str]]:
    """Lock trials, and find these ids of each; only the first is waited for, the others may be locked elsewhere."""
    first, *others = wanted
    # What is read after a lock is there as whoever had it before has left it.
    locks = [(_LOCK, (first,)), *((f"{_LOCK} SKIP LOCKED", (name,)) for name in others)]
    ids = [(name, unit) for name, units in wanted.items() for unit in units]
    *locked, units, asked = _send(connection, [*locks, *_finding(ids)])
    rows = {name: TrialRow(*row) for name, found in zip(wanted, locked, strict=True) for row in found}
    return {name: Taken(row, _found(name, units, asked)) for name, row in rows.items()}, set(others) - rows.keys()


def find(connection: sa.Connection, trial: str, ids: Sequence[str]) -> Found:
    """What the units and the log of a trial have of these ids."""
    return _found(trial, *_send(connection, _finding([(trial, unit) for unit in ids])))


def _finding(ids: Iterable[tuple[str, str]]) -> list[Sent]:
    text = canonical([{"trial": trial, "id": unit} for trial, unit in ids])
    return [(_FIND_UNITS, (text,)), (_FIND_ASKED, (text,))]


def _found(trial: str, units: Iterable[Any], asked: Iterable[Any]) -> Found:
    of_trial = [row for row in map(UnitRow._make, units) if row.trial == trial]
    return Found(of_trial, frozenset(unit for name, unit in asked if name == trial))


def write(connection: sa.Connection, written: Mapping[str, Written]) -> None:
    """Write all that has changed of trials, and end the transaction."""
    states: list[Sent] = [
        (_CHANGE_TRIAL, (*(each.state[column] for column in TRIAL), name)) for name, each in written.items()
    ]
    log = [tuple(event) for each in written.values() for event in each.log]
    new = [as_row(name, unit) for name, each in written.items() for unit in each.new]
    changed = [as_row(name, unit) for name, each in written.items() for unit in each.changed]
    parts = ((_ADD_EVENTS, EVENT, log), (_ADD_UNITS, UNIT, new), (_CHANGE_UNITS, UNIT, changed))
    sent = [(statement, (_text(names, rows),)) for statement, names, rows in parts if rows]
    _send(connection, [*states, *sent, COMMIT])


def _text(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    return canonical([dict(zip(names, row, strict=True)) for row in rows], finite=True)


def _send(connection: sa.Connection, sent: Sequence[Sent]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows that statements give, in a transaction; a failure is told as SQLAlchemy tells it."""
    driver = Timed.of(connection)
    begun = driver.info.transaction_status != TransactionStatus.IDLE
    try:
        found = driver.exchange.send(*sent) if begun else driver.exchange.send(BEGIN, *sent)[1:]
    except psycopg.Error as problem:
        if driver.closed:
            # The others of the pool are to the same server.
            connection.invalidate(problem)
            connection.engine.dispose()
        raise sa.exc.DBAPIError.instance(None, None, problem, psycopg.Error, hide_parameters=True) from problem
    return iter(found)
