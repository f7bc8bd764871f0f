"""Whether a record is what it says: the logs replayed, the tables beside them, and the database under them."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import sqlalchemy as sa

from safebandit.errors import DamagedError, RecordError
from safebandit.trials.checkpoint import go_on_from, write_checkpoint
from safebandit.trials.events import NOTHING, Event
from safebandit.trials.record.database import units as units_table
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.registry import trial_problem, verify_registry
from safebandit.trials.record.sqlite_file import page_damage
from safebandit.trials.record.store import DatabaseStore, read_log, trial_row
from safebandit.trials.record.triggers import missing_trigger
from safebandit.trials.record.two_parts import in_two_parts, worth_it
from safebandit.trials.replay import Replay, Verification
from safebandit.trials.store import MemoryStore

# A trial of so many events is long.
MANY_EVENTS = 10_000


def verify(
    ledger: Ledger,
    name: str,
    *,
    expected: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    alone: bool = True,
    checkpoint: Path | None = None,
    processes: int = 1,
) -> Verification:
    """Recompute a trial from its first event on. `expected` is the hash of some event, as noted elsewhere.

    Without `alone`, what all trials share is left to `verify_database`. A `checkpoint` is a file: if it is there, the
    trial is recomputed from where it ends, and before that only its hashes; where all holds, it is written anew. With
    two `processes`, a long trial is recomputed in two parts at once: what is found is the same.
    """
    before = read_text(checkpoint) if checkpoint is not None and checkpoint.exists() else None
    found, replay = recompute(
        ledger, name, expected=expected, progress=progress, alone=alone, checkpoint=before, processes=processes
    )
    if checkpoint is not None and found.holds:
        replace_file(checkpoint, write_checkpoint(replay))
    return found


def recompute(
    ledger: Ledger,
    name: str,
    *,
    expected: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    alone: bool = True,
    checkpoint: str | None = None,
    processes: int = 1,
) -> tuple[Verification, Replay]:
    """Verify a trial, from where the text of a checkpoint ends if there is one; and what was read, for the next one."""
    with ledger.reading() as connection, contextlib.ExitStack() as meanwhile:
        row = trial_row(connection, name)
        if row.number >= MANY_EVENTS:
            meanwhile.enter_context(_without_old_garbage())
        replay = Replay(name, expected=expected)
        after = None if progress is None else lambda number: progress(number, row.number)
        log = read_log(connection, name)
        if checkpoint is not None:
            go_on_from(replay, checkpoint)
            broken = _passed_over(replay, log, after)
            if broken is not None:
                return Verification(name, 0, 0, 0, NOTHING, *broken), replay
        in_parts = checkpoint is None and worth_it(row.number, processes)
        if in_parts:
            found = in_two_parts(ledger.database, replay, log, row.number, expected=expected, after=after)
            if found is None:
                replay, log = Replay(name, expected=expected), read_log(connection, name)
        if not in_parts or found is None:
            found = replay.verify(log, after=after)
        if found.holds:
            problem = (
                replay.end_problem(row._mapping)
                or _units_problem(DatabaseStore(connection, name), replay.store)
                or trial_problem(connection, name)
            )
            found = found if problem is None else found._replace(failed=found.events, problem=problem)
        return (_with_database(connection, found) if alone else found), replay


def _passed_over(
    replay: Replay, log: Iterator[Event], after: Callable[[int], None] | None
) -> tuple[int, str] | None:  # fmt: skip
    """The first event that fails, and how, of those that a checkpoint stands for."""
    previous, number = NOTHING, 0
    for event in itertools.islice(log, replay.number):
        number += 1
        problem = replay.pass_over(event, number, previous)
        if problem is not None:
            return number, f"event {number} {problem}"
        previous = event.hash
        if after is not None:
            after(number)
    if (number, previous) != (replay.number, replay.hash):
        return number, f"event {replay.number} is not the one that the checkpoint ends with: this is another log"
    return None


@contextlib.contextmanager
def _without_old_garbage() -> Iterator[None]:
    """Meanwhile, Python does not look through what is there already for what can be thrown away: compiled formulas are
    hundreds of thousands of objects, and a long trial makes as many of its own. Once at the end it then does: a short
    trial would take longer.
    """
    frozen_before = gc.get_freeze_count() > 0
    if not frozen_before:
        gc.freeze()
    try:
        yield
    finally:
        if not frozen_before:
            gc.unfreeze()


def verify_database(ledger: Ledger, *, expected: str | None = None) -> Verification:
    """Read the database's own log, of trials and keys; each trial is verified by itself."""
    with ledger.reading() as connection:
        return _with_database(connection, verify_registry(connection, expected=expected))


def _with_database(connection: sa.Connection, found: Verification) -> Verification:
    """What was found, and whether the database keeps its logs; one whose bytes are damaged is an error of its own."""
    damage = page_damage(connection) if connection.dialect.name == "sqlite" else None
    if damage is not None:
        seen = "" if found.problem is None else f" ({found.problem})"
        raise DamagedError(f"the database is damaged: {damage}{seen}; take a copy that holds")
    missing = missing_trigger(connection)
    if missing is None or not found.holds:
        return found
    return found._replace(
        failed=found.events, problem=f"the trigger {missing}, which keeps a log from being changed, is not there"
    )


def read_text(path: Path) -> str:
    """What a checkpoint's file says."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise RecordError(f'the checkpoint "{path}" cannot be read: {problem}; verify without it') from None


def replace_file(path: Path, text: str) -> None:
    """Write a checkpoint, whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as problem:
        raise RecordError(f'the checkpoint "{path}" cannot be written: {problem.strerror}; name another file') from None


def _units_problem(kept: DatabaseStore, replayed: MemoryStore) -> str | None:
    mine = {unit.id: unit for unit in replayed.units()}
    try:
        others = kept.other_than(mine)
    except (RecordError, TypeError, ValueError) as mistake:
        return f"a unit of the table {units_table.name} cannot be read: {mistake}"
    return None if others is None else f"unit {others!r} in the table {units_table.name} is not what the log gives"
