"""The statements of every ask and tell, in the driver's own words: many rows at once, and nothing compiled again.

SQLAlchemy's own way to a row takes many times as long as the database does. Its connection still runs these, so that
a failure is told as any other.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

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


def _written(dialect: str) -> dict[str, str]:
    mark, among, asked = {"sqlite": "?", "postgresql": "%s"}[dialect], _AMONG[dialect], ASKED[dialect]
    marks = {name: ", ".join([mark] * len(columns)) for name, columns in (("events", _EVENT), ("units", _UNIT))}
    changes, state = (", ".join(f"{name} = {mark}" for name in names) for names in (_CHANGES, _TRIAL))
    return {
        "add events": f"INSERT INTO events ({', '.join(_EVENT)}) VALUES ({marks['events']})",
        "add units": f"INSERT INTO units ({', '.join(_UNIT)}) VALUES ({marks['units']})",
        "change units": f"UPDATE units SET {changes} WHERE trial = {mark} AND id = {mark}",
        "change trial": f"UPDATE trials SET {state} WHERE name = {mark}",
        "all units": f"SELECT {', '.join(_UNIT)} FROM units WHERE trial = {mark}",
        "find units": f"SELECT {', '.join(_UNIT)} FROM units WHERE trial = {mark} AND id {among}",
        "find asked": f"SELECT {asked} FROM events WHERE trial = {mark} AND kind = 'asked' AND {asked} {among}",
    }


_STATEMENTS = {dialect: _written(dialect) for dialect in ASKED}


def _run(connection: sa.Connection, what: str, values: Any) -> sa.CursorResult[Any]:
    return connection.exec_driver_sql(_STATEMENTS[connection.dialect.name][what], values)


def add_events(connection: sa.Connection, added: Sequence[Event]) -> None:
    """Write these events, which are new."""
    if added:
        _run(connection, "add events", [tuple(event) for event in added])


def add_units(connection: sa.Connection, trial: str, added: Iterable[Unit]) -> None:
    """Write these units, which are new."""
    rows = [as_row(trial, unit) for unit in added]
    if rows:
        _run(connection, "add units", rows)


def change_units(connection: sa.Connection, trial: str, changed: Iterable[Unit]) -> None:
    """Write what has changed of these units."""
    rows = [as_row(trial, unit) for unit in changed]
    if rows:
        _run(connection, "change units", [_change(row) for row in rows])


def change_trial(connection: sa.Connection, name: str, row: dict[str, Any]) -> None:
    """Write the state of a trial, as `TrialState.to_row` gives it."""
    _run(connection, "change trial", (*(row[column] for column in _TRIAL), name))


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
    outcome, told_at = canonical(unit.outcome), canonical(unit.told_at)
    given = (trial, unit.id, unit.arm, unit.round, unit.play, unit.asked_at)
    context = canonical(unit.context) if unit.context else None
    return (*given, outcome, told_at, unit.lost_at, unit.pending, unit.voided_at, context, unit.stratum or None)


# In the order of the statement that changes a unit.
_change = operator.itemgetter(*(_UNIT.index(name) for name in (*_CHANGES, "trial", "id")))


def read_units(connection: sa.Connection, trial: str) -> Iterator[Sequence[Any]]:
    """The rows of all units of a trial, page by page."""
    return iter(_run(connection, "all units", (trial,)).partitions(PAGE))
