"""A trial as it was some units ago: for those who see sums, but not whom the next unit is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from safebandit.trials.events import Event
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.store import DatabaseStore, load_state
from safebandit.trials.state import TrialState
from safebandit.trials.store import MemoryStore
from safebandit.trials.units import Unit


def units_shown(units: int, delay: int) -> int:
    """How many of so many units are shown: whole blocks of `delay`, and never the last `delay` of them.

    >>> [units_shown(units, 10) for units in (0, 9, 19, 20, 29, 30)]
    [0, 0, 0, 10, 10, 20]
    """
    return max(0, (units // delay - 1) * delay)


def state_before(ledger: Ledger, name: str, *, delay: int) -> tuple[TrialState, dict[str, int]]:
    """The state just before the first unit that is not shown asked, under the settings in force now; and the plays.

    A correction counts as if it had been told so at first, as it does everywhere.
    """
    now, past, last = units_before(ledger, name, delay=delay)
    shown, number = units_shown(now.round - 1, delay), last.number
    then = TrialState(name, now.settings)
    then.dropped = {arm: at for arm, at in now.dropped.items() if at <= number}
    for guard in ("routed", "paused_by"):
        since = getattr(now, guard)
        setattr(then, guard, since if since is not None and since["event"] <= number else None)
    then.rounds = dict(Counter(unit.stratum for unit in past.units() if unit.stratum))
    then.asked_in, then.cohorts = dict(then.rounds), dict(now.cohorts)
    then.count(past)
    then.version, then.status, then.number, then.hash, then.time = now.version, now.status, number, last.hash, last.time
    then.decisions = shown
    then.voided = dict(Counter(unit.arm for unit in past.units() if unit.voided_at is not None))
    then.units = shown - sum(then.voided.values())
    then.waiting = sum(unit.pending for unit in past.units())
    return then, dict(Counter(unit.arm for unit in past.units() if unit.voided_at is None))


def units_before(ledger: Ledger, name: str, *, delay: int) -> tuple[TrialState, MemoryStore, Event]:
    """The state now, the units as known just before the first that is not shown asked, and the event before that."""
    with ledger.reading() as connection:
        now = load_state(connection, name)
        store = DatabaseStore(connection, name)
        everyone = list(store.units())
        shown = units_shown(now.round - 1, delay)
        number = next((unit.asked_at - 1 for unit in everyone if unit.round > shown), now.number)
        last = store.event(number)
    return now, _as_known(everyone, number), last


def _as_known(everyone: Iterable[Unit], number: int) -> MemoryStore:
    """The units after event `number`, with what was known of them."""
    store = MemoryStore()
    for unit in everyone:
        if unit.asked_at <= number:
            told_at = [at if at is not None and at <= number else None for at in unit.told_at]
            outcome = [value if at is not None else None for value, at in zip(unit.outcome, told_at, strict=True)]
            lost_at, voided_at = (
                at if at is not None and at <= number else None for at in (unit.lost_at, unit.voided_at)
            )
            store.put(replace(unit, outcome=outcome, told_at=told_at, lost_at=lost_at, voided_at=voided_at))
    return store
