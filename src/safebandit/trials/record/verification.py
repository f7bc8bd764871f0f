"""Whether a record is what it says: every hash, every decision made again, and the state beside the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from safebandit.errors import SafebanditError
from safebandit.sources import formulas_hash
from safebandit.trials.record import desk
from safebandit.trials.record.database import units as units_table
from safebandit.trials.record.events import NOTHING, Event, canonical
from safebandit.trials.record.kept import UnitsInDatabase, read_log, trial_row
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.settings import Settings
from safebandit.trials.record.state import TrialState
from safebandit.trials.record.units import UnitsInMemory
from safebandit.version import __version__

DECISIONS = ("asked", "held")


class Verification(NamedTuple):
    """How many events were read, the hash of the last, and the first that fails with what is wrong (None: all hold)."""

    trial: str
    events: int
    decisions: int
    hash: str
    failed: int | None
    problem: str | None

    @property
    def holds(self) -> bool:
        """Whether everything is as it was written."""
        return self.problem is None


def verify(
    ledger: Ledger, name: str, *, expected: str | None = None, progress: Callable[[int, int], None] | None = None
) -> Verification:
    """Recompute a trial from its first event on. `expected` is the hash of the last event, as noted elsewhere."""
    with ledger.reading() as connection:
        row = trial_row(connection, name)
        replayed = UnitsInMemory()
        formulas = {formulas_hash()}
        state: TrialState | None = None
        number, previous, decisions = 0, NOTHING, 0
        for event in read_log(connection, name):
            problem = _chain_problem(event, name, number + 1, previous)
            if problem is None:
                state, problem = _replay(state, event, replayed)
            if problem is not None:
                return Verification(name, number, decisions, previous, event.number, problem)
            number, previous = event.number, event.hash
            decisions += event.kind in DECISIONS
            formulas.add(event.content.get("formulas", formulas_hash()))
            if progress is not None:
                progress(number, row.number)
        problem = _end_problem(row, state, previous, expected, formulas)
        if problem is None:
            problem = _units_problem(UnitsInDatabase(connection, name), replayed)
    return Verification(name, number, decisions, previous, None if problem is None else number, problem)


def _chain_problem(event: Event, name: str, number: int, previous: str) -> str | None:
    if event.number != number:
        return f"event {number} is missing: the log goes on with event {event.number}"
    if event.trial != name or event.previous != previous:
        return f"event {number} does not follow the event before it: its link names another hash"
    try:
        same = event.as_hashed == event.hash
    except (TypeError, UnicodeError):
        same = False
    return None if same else f"event {number} was changed: its content does not give its hash"


def _replay(state: TrialState | None, event: Event, units: UnitsInMemory) -> tuple[TrialState | None, str | None]:
    """The state after the event, and what is wrong with the event, if anything."""
    try:
        if state is None:
            if event.kind != "created":
                return None, f"event {event.number} should be the trial's creation, but is of kind {event.kind!r}"
            state = TrialState(event.trial, Settings.from_dict(event.content["settings"]))
        if event.kind in DECISIONS:
            problem = _decision_problem(state, event)
            if problem is not None:
                return state, problem
        state.apply(event, units)
    except (SafebanditError, LookupError, TypeError, ValueError) as mistake:
        return state, f"event {event.number} cannot be replayed: {mistake}"
    return state, None


def _decision_problem(state: TrialState, event: Event) -> str | None:
    content = event.content
    if state.allocator.position != tuple(content["stream"]):
        return f"event {event.number} was decided at another place of the random stream than the log leads to"
    draft = desk.ask(state, content["unit"])
    mine = {**draft.body, "software": content["software"], "formulas": content["formulas"]}
    if content["software"] != __version__:
        # Another version may say the same in other words, or say more.
        mine = {key: value for key, value in mine.items() if key in content} | {"why": content["why"]}
    if draft.kind == event.kind and canonical(mine) == event.body:
        return None
    different = ", ".join(sorted(key for key in {*mine, *content} if mine.get(key) != content.get(key)))
    problem = f"event {event.number} is not what its decision gives when it is made again: {different} differ"
    if content["formulas"] != formulas_hash():
        problem += f" (it was decided by formulas {content['formulas']} of safebandit {content['software']}, these are "
        problem += f"{formulas_hash()} of {__version__})"
    return problem


def _end_problem(
    row: Any, state: TrialState | None, last: str, expected: str | None, formulas: set[str]
) -> str | None:  # fmt: skip
    if state is None:
        return "the log is empty"
    if (row.number, row.hash) != (state.number, state.hash):
        return f"the log ends with event {state.number}, but event {row.number} was written: the end is missing"
    if expected is not None and expected != last:
        return f"the last event has the hash {last}, but {expected} was expected"
    mine = state.to_row()
    written = bytes(row.memory)[: len(formulas_hash())].decode("ascii", "replace")
    if written != formulas_hash() and written in formulas:
        # Counted by formulas that were in force before: it will be counted anew when it is next used.
        del mine["memory"]
    different = sorted(key for key, value in mine.items() if value != getattr(row, key))
    if different:
        return f"the state kept beside the log ({', '.join(different)}) is not what the log gives"
    return None


def _units_problem(kept: UnitsInDatabase, replayed: UnitsInMemory) -> str | None:
    mine = {unit.id: unit for unit in replayed.all()}
    try:
        theirs = {unit.id: unit for unit in kept.all()}
    except (TypeError, ValueError) as mistake:
        return f"a unit of the table {units_table.name} cannot be read: {mistake}"
    for unit in [*mine, *theirs]:
        if mine.get(unit) != theirs.get(unit):
            return f"unit {unit!r} in the table {units_table.name} is not what the log gives"
    return None
