"""Answers of the thread that writes, brought to the loop: all that are ready together, by one call."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Delivery:
    """The way from other threads to one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()

    async def wait(self, answer: Future[T]) -> T:
        """The answer, when it is there; whoever stops waiting gives it up."""
        waiter: asyncio.Future[T] = self._loop.create_future()
        answer.add_done_callback(lambda done: self._put(waiter, done))
        try:
            return await waiter
        except asyncio.CancelledError:
            answer.cancel()
            raise

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
