"""One thread that writes: requests that arrive together share a transaction, and so one wait for the disk."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from safebandit.errors import BatchError, DamagedError, RecordError, SafebanditError
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.transaction import Transaction

T = TypeVar("T")

# At most so many requests share a transaction: others must not wait too long for the last of them.
MOST_TOGETHER = 64
# A request that is about so many units, at most, keeps those of other trials waiting for no more than a moment.
SHORT = 8
# Failures of the database that are one request's doing, not the database's.
OF_THE_REQUEST = (sa.exc.DataError, sa.exc.IntegrityError)


class Request(NamedTuple):
    """What is to be done in a transaction, in which trial and about which units, and where its answer is put."""

    trial: str
    units: Sequence[str | int]
    work: Callable[[Transaction], Any]
    answer: Future[Any]


class Scribe:
    """Takes requests from any thread; an answer is given when what it says is on disk."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._queue: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._closed = False
        # PostgreSQL locks a trial by itself: what takes long in one must not keep other processes from the others.
        self._by_trial = ledger.engine.dialect.name == "postgresql"
        # Those that were taken from the queue and not written, by trial; only the thread that writes touches them.
        self._taken: dict[str, list[Request]] = {}
        self._thread = threading.Thread(target=self._work, name="scribe", daemon=True)
        self._thread.start()

    def write(self, trial: str, work: Callable[[Transaction], T], units: Sequence[str | int] = ()) -> Future[T]:
        """Do `work` in a transaction, alone or with others; a request that is refused does not disturb them. `units`
        are those that it is about: what the database has of them is read at once for all who share the transaction.
        """
        answer: Future[T] = Future()
        self.put(Request(trial, units, work, answer))
        return answer

    def put(self, request: Request) -> None:
        """Take a request; its answer says so where no more are taken."""
        if self._closed:
            request.answer.set_exception(RecordError("the service is stopping; ask again when it is back"))
        else:
            self._queue.put(request)

    def close(self) -> None:
        """Finish what was taken, and take no more."""
        self._closed = True
        self._queue.put(None)
        self._thread.join()

    @property
    def waiting(self) -> int:
        """How many requests have not been begun."""
        return self._queue.qsize() + sum(map(len, list(self._taken.values())))

    def _work(self) -> None:
        running = True
        while running or self._taken:
            while running and not (self._taken and self._queue.empty()):
                running = self._take(self._queue.get())
            batch = self._next() if self._taken else []
            # One that was given up before it began is not written; from now on none can be.
            begun = [each for each in batch if each.answer.running() or each.answer.set_running_or_notify_cancel()]
            if begun:
                self._write(begun)

    def _take(self, request: Request | None) -> bool:
        """Put a request with those of its trial; False where there will be no more."""
        if request is not None:
            self._taken.setdefault(request.trial, []).append(request)
        return request is not None

    def _next(self) -> list[Request]:
        """Those that are written next: of the trial that waits longest, and of others that can share a transaction."""
        batch: list[Request] = []
        for trial, requests in list(self._taken.items()):
            room = MOST_TOGETHER - len(batch)
            if room > 0 and (not batch or (self._can_share(batch) and self._can_share(requests))):
                batch += requests[:room]
                del self._taken[trial]
                if requests[room:]:
                    # They come after those of other trials.
                    self._taken[trial] = requests[room:]
        return batch

    def _can_share(self, requests: list[Request]) -> bool:
        return not self._by_trial or all(0 < len(request.units) <= SHORT for request in requests)

    def _put_back(self, requests: list[Request]) -> None:
        """Write these next, and wait for their trial then: another process has it now."""
        first: dict[str, list[Request]] = {}
        for request in requests:
            first.setdefault(request.trial, []).append(request)
        later = self._taken
        self._taken = {trial: [*each, *later.pop(trial, [])] for trial, each in first.items()} | later

    def _write(self, batch: list[Request]) -> None:
        try:
            with self._ledger.writing() as writing:
                for request in batch:
                    if request.units:
                        writing.expect(request.trial, request.units)
                elsewhere = writing.take()
                self._put_back([request for request in batch if request.trial in elsewhere])
                batch = [request for request in batch if request.trial not in elsewhere]
                answers = [_try(request.work, writing) for request in batch]
        except Exception as failure:  # noqa: BLE001  an error in one request is told to that request alone
            if _is_for_all(failure):
                answers = [(None, failure)] * len(batch)
            elif len(batch) > 1:
                for request in batch:
                    self._write([request])
                return
            else:
                answers = [(None, failure)]
        for request, (value, problem) in zip(batch, answers, strict=True):
            if problem is None:
                request.answer.set_result(value)
            else:
                request.answer.set_exception(problem)


def _is_for_all(failure: Exception) -> bool:
    """Whether the database itself failed: not by one request's doing, nor because what one trial keeps is damaged."""
    alone = isinstance(failure, DamagedError) or isinstance(failure.__cause__, OF_THE_REQUEST)
    return isinstance(failure, RecordError) and not alone


def _try(work: Callable[[Transaction], Any], writing: Transaction) -> tuple[Any, Exception | None]:
    try:
        return work(writing), None
    except (DamagedError, BatchError):
        # Met half-way, not refused at the door: what was done so far must not be written with what others ask.
        raise
    except SafebanditError as refusal:
        return None, refusal
