"""A thread that has every trial that changed verified again and again, aside, and tells when one fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import sqlalchemy as sa

from safebandit.errors import SafebanditError
from safebandit.service.alerts.lease import Lease
from safebandit.service.logs import log
from safebandit.service.metrics import Metrics
from safebandit.service.scheduled.aside import Aside, EndedError, Found, Task
from safebandit.service.scheduled.plan import Plan
from safebandit.trials.record.database import trials
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.replay import Verification


class Rhythm(NamedTuple):
    """Hours from the end of a round to the next one; seconds from the start to the first round, and of the lease: of
    several processes one does this.
    """

    hours: float
    first_seconds: float = 60.0
    lease_seconds: float = 300.0


class Rounds:
    """The rounds of one process on this database; `failed` tells of a trial, or of the database (None), that fails, and
    since when, in seconds since 1970, where it did not hold the last time.
    """

    def __init__(
        self,
        ledger: Ledger,
        database: str,
        metrics: Metrics,
        *,
        rhythm: Rhythm,
        failed: Callable[[str | None, Verification, float | None], None],
    ) -> None:
        self._ledger, self._database, self._metrics = ledger, database, metrics
        self._rhythm, self._failed = rhythm, failed
        self._lease = Lease(ledger.engine, "verification", seconds=rhythm.lease_seconds)
        self._plan = Plan()
        self._failing: dict[str | None, float] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="rounds", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End at once; what is being verified is given up."""
        self._stopping.set()
        self._thread.join()
        try:
            self._lease.release()
        except SafebanditError as problem:
            log.warning("a lease was not released", extra={"fields": {"problem": str(problem)}})

    def _work(self) -> None:
        due = time.monotonic() + self._rhythm.first_seconds
        while not self._stopping.wait(min(self._rhythm.lease_seconds / 3, max(0.0, due - time.monotonic()))):
            try:
                mine = self._holds_lease()
                if time.monotonic() >= due:
                    if mine:
                        self._go_round()
                    due = time.monotonic() + 3600 * self._rhythm.hours
            except SafebanditError as problem:
                log.warning("trials cannot be verified now", extra={"fields": {"problem": str(problem)}})
                due = max(due, time.monotonic() + self._rhythm.first_seconds)
            except Exception:  # noqa: BLE001  one mistake must not end all verifications
                log.exception("scheduled verification failed")
                due = time.monotonic() + 3600 * self._rhythm.hours

    def _holds_lease(self) -> bool:
        held, new = self._lease.hold()
        if new:
            self._plan.forget()
            self._failing.clear()
        return held

    def _goes_on(self) -> bool:
        return not self._stopping.is_set() and self._holds_lease()

    def _go_round(self) -> None:
        """Verify all that is due, one after the other."""
        begun = time.monotonic()
        tasks = self._plan.due(self._ends(), hour=begun / 3600)
        while tasks and self._goes_on():
            with Aside(self._database) as aside:
                tasks = self._go_on(aside, tasks)
        seconds = round(time.monotonic() - begun, 3)
        log.info("a round of verifications ended", extra={"fields": {"seconds": seconds, "left": len(tasks)}})

    def _go_on(self, aside: Aside, tasks: list[Task]) -> list[Task]:
        """Do tasks until they are done, or no more are wanted, or the process aside ends: those that are left."""
        for place, task in enumerate(tasks):
            try:
                found = aside.verify(task, goes_on=self._goes_on)
            except EndedError as problem:
                # The others are tried all the same, by another one.
                log.error("a trial was not verified", extra={"fields": {"trial": task.trial, "problem": str(problem)}})
                return tasks[place + 1 :]
            if found is None:
                return tasks[place:]
            self._note(task, found)
        return []

    def _note(self, task: Task, found: Found) -> None:
        if found.verification is None:
            fields = {"trial": task.trial, "problem": found.unable}
            log.warning("a trial was not verified", extra={"fields": fields})
            return
        held_before = self._plan.held(task.trial)
        self._plan.learn(task, found.verification, found.checkpoint, hour=time.monotonic() / 3600)
        self._metrics.verified(task.trial, held=found.verification.holds)
        if found.verification.holds:
            self._failing.pop(task.trial, None)
        else:
            # What fails at the end of a log fails at another event when it has grown: that is the same failure.
            since = self._failing.setdefault(task.trial, time.time())
            failure = {"trial": task.trial, "event": found.verification.failed}
            log.error("a verification failed", extra={"fields": failure})
            try:
                self._failed(task.trial, found.verification, None if held_before else since)
            except SafebanditError as problem:
                log.error("a failed verification was not told", extra={"fields": {"problem": str(problem)}})

    def _ends(self) -> dict[str, tuple[int, str]]:
        """Where the logs of all trials end."""
        with self._ledger.reading() as connection:
            rows = connection.execute(sa.select(trials.c.name, trials.c.number, trials.c.hash).order_by(trials.c.name))
            return {row.name: (row.number, row.hash) for row in rows}
