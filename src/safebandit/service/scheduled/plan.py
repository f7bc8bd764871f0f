"""Which trials are to be verified next, and from where: what is remembered of their last verifications."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from safebandit.service.scheduled.aside import Task
from safebandit.trials.replay import Verification

# After so many hours a trial is verified from its first event on, changed or not.
FULL_HOURS = 24.0
# So much of checkpoints is kept, packed; trials without one are verified in full.
CHECKPOINT_BYTES = 64 * 1024 * 1024


class _Known(NamedTuple):
    """The event up to which a trial held last; when, in hours, it was verified in full; and whether it failed since."""

    number: int
    hash: str
    full_at: float
    checkpoint: bytes | None
    failed: bool


class Plan:
    """What one process knows of all trials, and of the database itself, which has no name. Nothing of it is written
    down: after a start each is verified in full.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str | None, _Known] = OrderedDict()

    def forget(self) -> None:
        """Begin anew: another process has done this work meanwhile."""
        self._known.clear()

    def due(self, ends: Mapping[str, tuple[int, str]], *, hour: float) -> list[Task]:
        """What is to be verified at this hour, of the database and of trials whose logs end so: what failed or was not
        verified in full for a day, and the trials that changed.
        """
        wanted = [self._task(None, None, hour), *(self._task(name, end, hour) for name, end in ends.items())]
        return [task for task in wanted if task is not None]

    def _task(self, name: str | None, end: tuple[int, str] | None, hour: float) -> Task | None:
        known = self._known.get(name)
        if known is None:
            return Task(name)
        noted = known.hash or None
        if known.failed or hour - known.full_at >= FULL_HOURS:
            return Task(name, expected=noted)
        # To verify the database is to read every page of it: once a day.
        return None if end in (None, (known.number, known.hash)) else Task(name, known.checkpoint, noted)

    def held(self, name: str | None) -> bool:
        """Whether it is known to have held the last time."""
        known = self._known.get(name)
        return known is not None and not known.failed

    def learn(self, task: Task, found: Verification, checkpoint: bytes | None, *, hour: float) -> None:
        """Remember what a task found at this hour."""
        before = self._known.pop(task.trial, None)
        full_at = before.full_at if before is not None and task.checkpoint is not None else hour
        if found.holds:
            self._known[task.trial] = _Known(found.events, found.hash, full_at, checkpoint, False)
        else:
            # The hash of what held last: a log that was replaced does not hold by being whole.
            number, noted = (0, "") if before is None else (before.number, before.hash)
            self._known[task.trial] = _Known(number, noted, full_at, None, True)
        self._bound()

    def _bound(self) -> None:
        kept = sum(len(known.checkpoint or b"") for known in self._known.values())
        for name, known in list(self._known.items()):
            if kept <= CHECKPOINT_BYTES:
                return
            kept -= len(known.checkpoint or b"")
            self._known[name] = known._replace(checkpoint=None)
