"""Between the loop and the thread that writes: requests go there together, and answers that are ready come together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from safebandit.service.gathering import Gathering
from safebandit.service.homes.works import Work
from safebandit.service.scribe import MOST_TOGETHER, Request, Scribe
from safebandit.trials.record.transaction import Transaction

T = TypeVar("T")


class Delivery:
    """The way from one loop to the thread that writes, and back. `note` is told how many writes wait."""

    def __init__(self, loop: asyncio.AbstractEventLoop, scribe: Scribe, note: Callable[[int], None]) -> None:
        self._loop, self._scribe, self._note = loop, scribe, note
        self._leaving: Gathering[Request] = Gathering(loop, self._hand_over, most=MOST_TOGETHER)
        self._ready: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()

    async def write(self, trial: str, work: Callable[[Transaction], T], units: Sequence[str | int] = ()) -> T:
        """Have `work` done in a transaction, and wait until it is on disk; whoever stops waiting gives it up."""
        waiter, answer = self.begin(trial, work, units)
        try:
            return await waiter
        except asyncio.CancelledError:
            answer.cancel()
            raise

    async def write_work(self, work: Work, units: Sequence[str | int]) -> Any:
        """As `write`, of what could be done by another process, too."""
        return await self.write(work.trial, work.do, units)

    def begin(
        self, trial: str, work: Callable[[Transaction], T], units: Sequence[str | int] = ()
    ) -> tuple[asyncio.Future[T], Future[T]]:
        """Have `work` done in a transaction: what the loop will hear, and what to cancel where it is given up."""
        answer: Future[T] = Future()
        waiter: asyncio.Future[T] = self._loop.create_future()
        answer.add_done_callback(lambda done: self._put(waiter, done))
        self._leaving.add(Request(trial, units, work, answer))
        return waiter, answer

    def _hand_over(self, leaving: list[Request]) -> None:
        for request in leaving:
            self._scribe.put(request)
        self._note(self._scribe.waiting)

    def _put(self, waiter: asyncio.Future[Any], done: Future[Any]) -> None:
        """Put an answer down, in the thread that has it; the first one wakes the loop, which then takes all."""
        self._ready.append((waiter, done))
        if len(self._ready) == 1 and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        while self._ready:
            waiter, done = self._ready.popleft()
            if waiter.done() or done.cancelled():
                continue
            problem = done.exception()
            if problem is None:
                waiter.set_result(done.result())
            else:
                waiter.set_exception(problem)
        self._note(self._scribe.waiting)
