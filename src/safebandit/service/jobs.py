"""Work that may take minutes: each is a job that goes on between the requests that ask for it, and ends at once when
the service is told to stop.
"""

from __future__ import annotations

import abc
import asyncio
import functools
import secrets
import threading
import time
from typing import Any, Generic, TypeVar

from safebandit.errors import RecordError
from safebandit.service.refusals import RefusedError
from safebandit.service.threads import in_own_thread

# Jobs of one kind that wait or run; of all kinds, one runs at a time.
MOST_JOBS = 8
# A job that nobody has asked for so long is given up, and one that is done is forgotten.
ABANDONED_SECONDS = 120.0
T = TypeVar("T")


class Job(Generic[T]):
    """One piece of work on a trial: what was asked for, how much of how much is done, and at the end what it found."""

    def __init__(self, trial: str, asked: Any) -> None:
        self.id = secrets.token_hex(8)
        self.trial, self.asked = trial, asked
        self.done, self.of = 0, 0
        self.task: asyncio.Task[T]
        self.waited_for = 0
        self.seen = time.monotonic()

    @property
    def abandoned(self) -> bool:
        """Whether nobody asks for it any more."""
        return self.waited_for == 0 and time.monotonic() - self.seen > ABANDONED_SECONDS


class Jobs(abc.ABC, Generic[T]):
    """The jobs of one kind, which `word` names, in one process; `turn` is what a job needs to run."""

    word: str

    def __init__(self, turn: asyncio.Semaphore) -> None:
        self._turn = turn
        self._jobs: dict[str, Job[T]] = {}
        self._stopping = threading.Event()

    @abc.abstractmethod
    def work(self, job: Job[T]) -> T:
        """Do what was asked for, in a thread of its own, and note how far it is."""

    def job(self, trial: str, asked: Any, *, id: str | None = None) -> Job[T]:
        """The job of this id; without one, or where this process has none such, a new one."""
        self._jobs = {each.id: each for each in self._jobs.values() if not each.abandoned}
        found = self._jobs.get(id or "")
        # One that was asked for something else says nothing of this.
        if found is not None and (found.trial, found.asked) == (trial, asked):
            return found
        if self._stopping.is_set():
            raise self._given_up()
        if sum(not each.task.done() for each in self._jobs.values()) >= MOST_JOBS:
            raise RefusedError(429, f"{MOST_JOBS} {self.word}s run or wait already; ask again", {"Retry-After": "5"})
        made: Job[T] = Job(trial, asked)
        made.task = asyncio.ensure_future(self._run(made))
        # One that nobody waits for any more may fail unheard.
        made.task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._jobs[made.id] = made
        return made

    async def wait(self, job: Job[T], seconds: float) -> T | None:
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
            raise self._given_up()
        return job.task.result()

    def stop(self) -> None:
        """Give up all jobs; whoever waits for one is told so."""
        self._stopping.set()
        for job in self._jobs.values():
            job.task.cancel()

    def note(self, job: Job[T], done: int, of: int) -> None:
        """Note how far a job is, in its thread, and end it there when nobody needs it."""
        job.done, job.of = done, of
        if self._stopping.is_set() or job.abandoned:
            raise self._given_up()

    async def _run(self, job: Job[T]) -> T:
        async with self._turn:
            # A thread of its own: the process need not wait for it when it ends.
            return await in_own_thread(functools.partial(self.work, job))

    def _given_up(self) -> RecordError:
        return RecordError(f"the {self.word} was given up, as the service is stopping; ask again when it is back")
