"""Verifications, which may take minutes: each is a job that goes on between the requests that ask for it, and ends at
once when the service is told to stop.
"""

from __future__ import annotations

import asyncio
import functools
import secrets
import threading
import time
from collections.abc import Callable

from safebandit.errors import DamagedError, RecordError, SafebanditError
from safebandit.service.logs import log
from safebandit.service.refusals import RefusedError
from safebandit.service.threads import in_own_thread
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.verification import verify
from safebandit.trials.replay import Verification

# Jobs that wait or run; one runs at a time.
MOST_JOBS = 8
# A job that nobody has asked for so long is given up, and one that is done is forgotten.
ABANDONED_SECONDS = 120.0


class Job:
    """One verification: how many of how many events were read, and what it found when it is done."""

    def __init__(self, trial: str, expected: str | None) -> None:
        self.id = secrets.token_hex(8)
        self.trial, self.expected = trial, expected
        self.read, self.events = 0, 0
        self.task: asyncio.Task[Verification]
        self.waited_for = 0
        self.seen = time.monotonic()

    @property
    def abandoned(self) -> bool:
        """Whether nobody asks for it any more."""
        return self.waited_for == 0 and time.monotonic() - self.seen > ABANDONED_SECONDS


class Verifications:
    """The jobs of one process."""

    def __init__(
        self, ledger: Ledger, turn: asyncio.Semaphore, *, failed: Callable[[str, str], None] | None = None
    ) -> None:
        self._ledger, self._failed = ledger, failed
        self._turn = turn
        self._jobs: dict[str, Job] = {}
        self._stopping = threading.Event()

    def job(self, trial: str, *, expected: str | None, id: str | None = None) -> Job:
        """The job of this id; without one, or where this process has none such, a new one."""
        self._jobs = {each.id: each for each in self._jobs.values() if not each.abandoned}
        found = self._jobs.get(id or "")
        # One that looked for another hash says nothing of this one.
        if found is not None and (found.trial, found.expected) == (trial, expected):
            return found
        if self._stopping.is_set():
            raise _stopping()
        if sum(not each.task.done() for each in self._jobs.values()) >= MOST_JOBS:
            raise RefusedError(429, f"{MOST_JOBS} verifications run or wait already; ask again", {"Retry-After": "5"})
        made = Job(trial, expected)
        made.task = asyncio.ensure_future(self._run(made, expected))
        # One that nobody waits for any more may fail unheard.
        made.task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._jobs[made.id] = made
        return made

    async def wait(self, job: Job, seconds: float) -> Verification | None:
        """What a job found; None if it takes longer."""
        job.waited_for += 1
        try:
            await asyncio.wait({job.task}, timeout=seconds)
        finally:
            job.waited_for -= 1
            job.seen = time.monotonic()
        if not job.task.done():
            return None
        if job.task.cancelled():
            raise _stopping()
        return job.task.result()

    def stop(self) -> None:
        """Give up all jobs; whoever waits for one is told so."""
        self._stopping.set()
        for job in self._jobs.values():
            job.task.cancel()

    async def _run(self, job: Job, expected: str | None) -> Verification:
        async with self._turn:
            # A thread of its own: the process need not wait for it when it ends.
            return await in_own_thread(functools.partial(self._verify, job, expected))

    def _verify(self, job: Job, expected: str | None) -> Verification:
        """Verify, and tell those who want to know when it fails."""
        try:
            found = verify(self._ledger, job.trial, expected=expected, progress=functools.partial(self._note, job))
        except DamagedError as damage:
            self._tell(job.trial, str(damage))
            raise
        if not found.holds:
            self._tell(job.trial, str(found.problem))
        return found

    def _tell(self, trial: str, problem: str) -> None:
        try:
            if self._failed is not None:
                self._failed(trial, problem)
        except SafebanditError as failure:
            # A database that is damaged may take no message; whoever asked is told all the same.
            log.error("a failed verification was not told", extra={"fields": {"problem": str(failure)}})

    def _note(self, job: Job, read: int, events: int) -> None:
        """Note how far a job is, in its thread, and end it there when nobody needs it."""
        job.read, job.events = read, events
        if self._stopping.is_set() or job.abandoned:
            raise _stopping()


def _stopping() -> RecordError:
    return RecordError("the verification was given up, as the service is stopping; ask again when it is back")
