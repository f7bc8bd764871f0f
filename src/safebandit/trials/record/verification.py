"""Whether a record is what it says: the log replayed, and the tables beside it."""

from __future__ import annotations

from collections.abc import Callable

from safebandit.errors import RecordError
from safebandit.trials.record.database import units as units_table
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.store import DatabaseStore, read_log, trial_row
from safebandit.trials.replay import Replay, Verification
from safebandit.trials.store import MemoryStore


def verify(
    ledger: Ledger, name: str, *, expected: str | None = None, progress: Callable[[int, int], None] | None = None
) -> Verification:
    """Recompute a trial from its first event on. `expected` is the hash of some event, as noted elsewhere."""
    with ledger.reading() as connection:
        row = trial_row(connection, name)
        replay = Replay(name, expected=expected)
        after = None if progress is None else lambda number: progress(number, row.number)
        found = replay.verify(read_log(connection, name), after=after)
        if not found.holds:
            return found
        problem = replay.end_problem(row._mapping)
        if problem is None:
            problem = _units_problem(DatabaseStore(connection, name), replay.store)
    return found if problem is None else found._replace(failed=found.events, problem=problem)


def _units_problem(kept: DatabaseStore, replayed: MemoryStore) -> str | None:
    mine = {unit.id: unit for unit in replayed.units()}
    try:
        theirs = {unit.id: unit for unit in kept.units()}
    except (RecordError, TypeError, ValueError) as mistake:
        return f"a unit of the table {units_table.name} cannot be read: {mistake}"
    for unit in [*mine, *theirs]:
        if mine.get(unit) != theirs.get(unit):
            return f"unit {unit!r} in the table {units_table.name} is not what the log gives"
    return None
