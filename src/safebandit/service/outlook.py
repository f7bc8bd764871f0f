"""A trial's sums as a key may see them: at once with the log, and otherwise as late as the service was told."""

from __future__ import annotations

import json
import threading
from typing import Any

from safebandit.service.keys import Key
from safebandit.trials.analysis.analyse import Analysis, analyse
from safebandit.trials.analysis.units import from_past, from_record
from safebandit.trials.drafts import ENDED
from safebandit.trials.holds import Holds
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.overview import Overview, overview
from safebandit.trials.record.past import units_shown
from safebandit.trials.record.store import as_written, trial_row

MOST_KEPT = 100


class Outlook:
    """The overviews of one record; those of the past are kept, as they cost more and seldom change."""

    def __init__(self, ledger: Ledger, delay: int) -> None:
        self.delay = delay
        self._ledger = ledger
        self._kept: dict[str, tuple[tuple[object, ...], Overview]] = {}
        self._lock = threading.Lock()

    def delayed(self, key: Key, name: str) -> bool:
        """Whether this key sees sums of a trial later than they are: unless two people unsealed them."""
        if self.delay == 0 or key.may("log"):
            return False
        with self._ledger.reading() as connection:
            row = trial_row(connection, name)
        with as_written(f'the state of trial "{name}"'):
            return "sums" not in json.loads(row.state).get("unsealed", ())

    def overview(self, name: str, *, delayed: bool) -> Overview:
        """A trial at a glance, as it is or as it was."""
        if not delayed:
            return overview(self._ledger, name)
        mark = self._mark(name)
        with self._lock:
            known, seen = self._kept.get(name, ((), None))
        if seen is None or known != mark:
            seen = overview(self._ledger, name, delay=self.delay)
            with self._lock:
                if len(self._kept) >= MOST_KEPT:
                    self._kept.clear()
                self._kept[name] = mark, seen
        return seen

    def analysis(self, name: str, *, delayed: bool, confidence: float = 0.95, control: str | None = None) -> Analysis:
        """What may be said of a trial's arms, as it is or as it was."""
        if delayed:
            units = from_past(self._ledger, name, delay=self.delay)
        else:
            units = from_record(self._ledger, name, chances=False)
        return analyse(units, confidence=confidence, control=control)

    def _mark(self, name: str) -> tuple[object, ...]:
        """What an overview of the past changes with."""
        with self._ledger.reading() as connection:
            row = trial_row(connection, name)
        with as_written(f'the state of trial "{name}"'):
            return self._mark_of(json.loads(row.state), row.number)

    def _mark_of(self, state: dict[str, Any], number: int) -> tuple[object, ...]:
        if state["status"] in ENDED:
            # Then all is shown at once.
            return (number,)
        # A unit that is voided keeps its round; that a trial waits is shown at once, as a hold is.
        rounds = state["units"] + sum(state.get("voided", {}).values())
        holds = Holds.of_row(state)
        return units_shown(rounds, self.delay), state["version"], state["status"], holds.held_at, holds.waits_at
