"""The statements of every ask and tell, in the driver's own words: many rows at once, and nothing compiled again.

SQLAlchemy's own way to a row takes many times as long as the database does. A failure is still told as any other. Those
of PostgreSQL are in `postgres_rows`.
"""

from __future__ import annotations

import operator
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import sqlalchemy as sa

from safebandit.trials.events import Event, canonical
from safebandit.trials.record.database import events, trials, units
from safebandit.trials.record.sqlite_file import run
from safebandit.trials.units import Unit

EVENT = tuple(column.name for column in events.c)
UNIT = tuple(column.name for column in units.c)
# What changes of a unit after it was given its arm.
CHANGES = ("outcome", "told_at", "lost_at", "voided_at", "pending")
TRIAL = tuple(column.name for column in trials.c if column.name != "name")
# The log's own index of the units that were given arms; the same words as in the migration that made it.
ASKED = {
    "sqlite": "CASE WHEN json_valid(body) THEN json_extract(body, '$.unit') END",
    "postgresql": "asked_unit(body)",
}
# Rows that are read at once.
PAGE = 1000


def _written() -> dict[str, str]:
    marks = {name: ", ".join("?" * len(columns)) for name, columns in (("events", EVENT), ("units", UNIT))}
    changes, state = (", ".join(f"{name} = ?" for name in names) for names in (CHANGES, TRIAL))
    asked, among = ASKED["sqlite"], "IN (SELECT value FROM json_each(?))"
    return {
        # SQLite is locked as a whole, and has no words for it.
        "lock trial": f"SELECT {', '.join(TRIAL)} FROM trials WHERE name = ?",
        "add events": f"INSERT INTO events ({', '.join(EVENT)}) VALUES ({marks['events']})",
        "add units": f"INSERT INTO units ({', '.join(UNIT)}) VALUES ({marks['units']})",
        "change units": f"UPDATE units SET {changes} WHERE trial = ? AND id = ?",
        "change trial": f"UPDATE trials SET {state} WHERE name = ?",
        "find units": f"SELECT {', '.join(UNIT)} FROM units WHERE trial = ? AND id {among}",
        "find asked": f"SELECT {asked} FROM events WHERE trial = ? AND kind = 'asked' AND {asked} {among}",
    }


_STATEMENTS = _written()


# Their names are known when the tables are.
_with_names: Any = namedtuple
TrialRow, UnitRow = _with_names("TrialRow", TRIAL), _with_names("UnitRow", UNIT)


def _run(connection: sa.Connection, what: str, values: Sequence[Any]) -> list[Any]:
    return run(connection, _STATEMENTS[what], values).fetchall()


class Found(NamedTuple):
    """Of some ids of a trial: the rows of those that are units, and those that were given an arm, says the log."""

    units: Sequence[Any] = ()
    asked: frozenset[str] = frozenset()


class Taken(NamedTuple):
    """A trial's row, which nobody else writes until the transaction ends, and what was found of some ids."""

    row: Any
    found: Found


class Written(NamedTuple):
    """What is written of a trial at the end of a transaction: its state, as `TrialState.to_row` gives it, the events
    that were added, and the units that are new or have changed.
    """

    state: dict[str, Any]
    log: Sequence[Event]
    new: Iterable[Unit]
    changed: Iterable[Unit]


def take(connection: sa.Connection, wanted: Mapping[str, Sequence[str]]) -> tuple[dict[str, Taken], set[str]]:
    """Lock trials, and find these ids of each; also the names of those that another process writes just now.

    Only the first is waited for: so nobody waits who has locked what another one waits for. One that is not there is in
    neither, or may seem to be written elsewhere.
    """
    if connection.dialect.name == "postgresql":
        return cast("tuple[dict[str, Taken], set[str]]", _on_postgres().take(connection, wanted))
    there = {name: TrialRow(*row) for name in wanted for row in _run(connection, "lock trial", (name,))}
    return {name: Taken(row, find(connection, name, wanted[name])) for name, row in there.items()}, set()


def find(connection: sa.Connection, trial: str, ids: Sequence[str]) -> Found:
    """What the units and the log of a trial have of these ids; the log of those that are no units, at least."""
    if not ids:
        return Found()
    if connection.dialect.name == "postgresql":
        return cast("Found", _on_postgres().find(connection, trial, ids))
    there = [UnitRow(*row) for row in _run(connection, "find units", (trial, canonical(list(ids))))]
    known = {row.id for row in there}
    new = [unit for unit in ids if unit not in known]
    asked = _run(connection, "find asked", (trial, canonical(new))) if new else ()
    return Found(there, frozenset(row[0] for row in asked))


def write(connection: sa.Connection, written: Mapping[str, Written]) -> None:
    """Write all that has changed of trials, as the last thing in a transaction."""
    if connection.dialect.name == "postgresql":
        _on_postgres().write(connection, written)
        return
    for name, each in written.items():
        _run(connection, "change trial", (*(each.state[column] for column in TRIAL), name))
        parts = {
            "add events": [tuple(event) for event in each.log],
            "add units": [as_row(name, unit) for unit in each.new],
            "change units": [_change(as_row(name, unit)) for unit in each.changed],
        }
        for what, rows in parts.items():
            if rows:
                _run(connection, what, rows)


def _on_postgres() -> Any:
    from safebandit.trials.record import postgres_rows

    return postgres_rows


def as_row(trial: str, unit: Unit) -> tuple[Any, ...]:
    """A unit as it is kept, in the order of the columns."""
    outcome, told_at = (canonical(each, finite=True) for each in (unit.outcome, unit.told_at))
    given = (trial, unit.id, unit.arm, unit.round, unit.play, unit.asked_at)
    context = canonical(unit.context) if unit.context else None
    return (*given, outcome, told_at, unit.lost_at, unit.pending, unit.voided_at, context, unit.stratum or None)


# In the order of the statement that changes a unit.
_change = operator.itemgetter(*(UNIT.index(name) for name in (*CHANGES, "trial", "id")))


def read_units(connection: sa.Connection, trial: str) -> Iterator[Sequence[Any]]:
    """The rows of all units of a trial, page by page."""
    return iter(connection.execute(_ALL_UNITS, {"of": trial}).partitions(PAGE))


_ALL_UNITS = sa.select(units).where(units.c.trial == sa.bindparam("of"))
