"""The statements of every ask and tell, in the driver's own words: many rows at once, and nothing compiled again.

SQLAlchemy's own way to a row takes many times as long as the database does. Its connection still runs these, so that
a failure is told as any other.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.trials.events import Event, canonical
from safebandit.trials.record.database import events, trials, units
from safebandit.trials.units import Unit

_EVENT = tuple(column.name for column in events.c)
_UNIT = tuple(column.name for column in units.c)
# Rows that are read at once.
PAGE = 1000
# What changes of a unit after it was given its arm.
_CHANGES = ("outcome", "told_at", "lost_at", "voided_at", "pending")
_TRIAL = tuple(column.name for column in trials.c if column.name != "name")
# The log's own index of the units that were given arms; the same words as in the migration that made it.
ASKED = {
    "sqlite": "CASE WHEN json_valid(body) THEN json_extract(body, '$.unit') END",
    "postgresql": "asked_unit(body)",
}
_AMONG = {"sqlite": "IN (SELECT value FROM json_each(?))", "postgresql": "= ANY(%s)"}
# SQLite is locked as a whole, and has no words for it.
_LOCKED = {"sqlite": "", "postgresql": " FOR UPDATE"}


def _written(dialect: str) -> dict[str, str]:
    mark, among, asked = {"sqlite": "?", "postgresql": "%s"}[dialect], _AMONG[dialect], ASKED[dialect]
    marks = {name: ", ".join([mark] * len(columns)) for name, columns in (("events", _EVENT), ("units", _UNIT))}
    changes, state = (", ".join(f"{name} = {mark}" for name in names) for names in (_CHANGES, _TRIAL))
    return {
        "lock trial": f"SELECT {', '.join(_TRIAL)} FROM trials WHERE name = {mark}{_LOCKED[dialect]}",
        "add events": f"INSERT INTO events ({', '.join(_EVENT)}) VALUES ({marks['events']})",
        "add units": f"INSERT INTO units ({', '.join(_UNIT)}) VALUES ({marks['units']})",
        "change units": f"UPDATE units SET {changes} WHERE trial = {mark} AND id = {mark}",
        "change trial": f"UPDATE trials SET {state} WHERE name = {mark}",
        "all units": f"SELECT {', '.join(_UNIT)} FROM units WHERE trial = {mark}",
        "find units": f"SELECT {', '.join(_UNIT)} FROM units WHERE trial = {mark} AND id {among}",
        "find asked": f"SELECT {asked} FROM events WHERE trial = {mark} AND kind = 'asked' AND {asked} {among}",
    }


def _at_once(change_trial: str) -> str:
    """All that is written of a trial in one statement, for PostgreSQL: the server is asked once, and not four times."""
    added = (
        f"INSERT INTO {table} ({names}) SELECT {names} FROM {_sent(table)}"
        for table, names in (("events", ", ".join(_EVENT)), ("units", ", ".join(_UNIT)))
    )
    log, given = added
    changes = ", ".join(f"{name} = changed.{name}" for name in _CHANGES)
    return (
        f"WITH state AS ({change_trial}), log AS ({log}), given AS ({given}) "
        f"UPDATE units SET {changes} FROM {_sent('units')} AS changed "
        "WHERE units.trial = changed.trial AND units.id = changed.id"
    )


def _sent(table: str) -> str:
    """Rows of a table that are sent as one text: the driver writes that many times faster than lists."""
    return f"json_populate_recordset(NULL::{table}, %s::json)"


_STATEMENTS = {dialect: _written(dialect) for dialect in ASKED}
_STATEMENTS["postgresql"]["all at once"] = _at_once(_STATEMENTS["postgresql"]["change trial"])


def _run(connection: sa.Connection, what: str, values: Any) -> sa.CursorResult[Any]:
    return connection.exec_driver_sql(_STATEMENTS[connection.dialect.name][what], values)


class Written(NamedTuple):
    """What is written of a trial at the end of a transaction: its state, as `TrialState.to_row` gives it, the events
    that were added, and the units that are new or have changed.
    """

    state: dict[str, Any]
    log: Sequence[Event]
    new: Iterable[Unit]
    changed: Iterable[Unit]


def lock_trial(connection: sa.Connection, name: str) -> Any:
    """The row of a trial, if there is one, which nobody else writes until the transaction ends."""
    return _run(connection, "lock trial", (name,)).one_or_none()


def write(connection: sa.Connection, name: str, written: Written) -> None:
    """Write all that has changed of a trial."""
    state = (*(written.state[column] for column in _TRIAL), name)
    log, new, changed = (
        [tuple(event) for event in written.log],
        [as_row(name, unit) for unit in written.new],
        [as_row(name, unit) for unit in written.changed],
    )
    if connection.dialect.name == "postgresql":
        parts = ((log, _EVENT), (new, _UNIT), (changed, _UNIT))
        sent = (canonical([dict(zip(names, row, strict=True)) for row in rows], finite=True) for rows, names in parts)
        _run(connection, "all at once", (*state, *sent))
        return
    _run(connection, "change trial", state)
    for what, rows in (("add events", log), ("add units", new), ("change units", list(map(_change, changed)))):
        if rows:
            _run(connection, what, rows)


def find_units(connection: sa.Connection, trial: str, ids: Sequence[str]) -> Sequence[Any]:
    """The rows of those units of a trial that have one of these ids."""
    return _run(connection, "find units", (trial, _listed(connection, ids))).all()


def find_asked(connection: sa.Connection, trial: str, ids: Sequence[str]) -> set[str]:
    """Those of these ids that were given an arm, says the log."""
    return {row[0] for row in _run(connection, "find asked", (trial, _listed(connection, ids)))}


def _listed(connection: sa.Connection, ids: Sequence[str]) -> Any:
    return canonical(list(ids)) if connection.dialect.name == "sqlite" else list(ids)


def as_row(trial: str, unit: Unit) -> tuple[Any, ...]:
    """A unit as it is kept, in the order of the columns."""
    outcome, told_at = (canonical(each, finite=True) for each in (unit.outcome, unit.told_at))
    given = (trial, unit.id, unit.arm, unit.round, unit.play, unit.asked_at)
    context = canonical(unit.context) if unit.context else None
    return (*given, outcome, told_at, unit.lost_at, unit.pending, unit.voided_at, context, unit.stratum or None)


# In the order of the statement that changes a unit.
_change = operator.itemgetter(*(_UNIT.index(name) for name in (*_CHANGES, "trial", "id")))


def read_units(connection: sa.Connection, trial: str) -> Iterator[Sequence[Any]]:
    """The rows of all units of a trial, page by page."""
    return iter(_run(connection, "all units", (trial,)).partitions(PAGE))
