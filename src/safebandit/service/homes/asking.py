"""The way from a worker to the home of trials: what is to be written there, and the answers that come back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from safebandit.errors import RecordError
from safebandit.service.gathering import Gathering
from safebandit.service.homes.messages import Kind, Messages
from safebandit.service.homes.works import Done, Sent, Work

# A home says every second that it is there; one that says nothing for so long hangs.
BEAT_SECONDS, SILENT_SECONDS = 1.0, 5.0
# Sent at once, at most.
MOST_SENT = 256


class NotSentError(Exception):
    """What was to be written was not sent, and so not begun."""


class ToHome(Messages):
    """A connection to a home. `up` is whether it takes work; `note` is told what became of how many."""

    def __init__(self, loop: asyncio.AbstractEventLoop, note: Callable[[str, int], None]) -> None:
        super().__init__()
        self.up = False
        self.ended = asyncio.Event()
        self._loop, self._note = loop, note
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._leaving: Gathering[Sent] = Gathering(loop, lambda leaving: self.send("work", leaving), most=MOST_SENT)
        self._heard = self._looked = loop.time()
        self._timer: asyncio.TimerHandle | None = None

    async def write(self, work: Work, units: Sequence[str | int]) -> Any:
        """Have it written there, and wait until it is on disk."""
        self._number += 1
        waiter = self._waiting[self._number] = self._loop.create_future()
        self._leaving.add(Sent(self._number, work, units))
        return await waiter

    def received(self, kind: Kind, content: Any) -> None:
        """Take an answer, or a word about the home."""
        self._heard = self._loop.time()
        if kind == "done":
            for done in content:
                self._answer(done)
            self._note("answered", len(content))
        elif kind == "hello":
            self.up = True
            self._look()
        elif kind == "no more":
            self.finish()

    def finish(self) -> None:
        """Send no more; what was sent is answered before the home closes the connection."""
        self.up = False
        self._take_back()
        if not self.transport.is_closing():
            self.transport.write_eof()

    def connection_lost(self, _: Exception | None) -> None:
        """What was sent and not answered may have been done, or not; nobody knows here."""
        self.up = False
        if self._timer is not None:
            self._timer.cancel()
        self._take_back()
        lost = [waiter for waiter in self._waiting.values() if not waiter.done()]
        for waiter in lost:
            waiter.set_exception(
                RecordError("the worker that writes this trial has gone, and may have done what was asked; ask again")
            )
        self._waiting.clear()
        self._note("lost", len(lost))
        self.ended.set()

    def _answer(self, done: Done) -> None:
        waiter = self._waiting.pop(done.number, None)
        # Whoever asked may have stopped waiting.
        if waiter is None or waiter.done():
            return
        if done.problem is None:
            waiter.set_result(done.value)
        else:
            done.problem.__cause__ = done.cause
            waiter.set_exception(done.problem)

    def _take_back(self) -> None:
        for sent in self._leaving.take_back():
            waiter = self._waiting.pop(sent.number)
            if not waiter.done():
                waiter.set_exception(NotSentError())

    def _look(self) -> None:
        """Give a home up that hangs. A look that itself came late says nothing of the home: this process hung."""
        now = self._loop.time()
        if now - self._heard > SILENT_SECONDS and now - self._looked < 2 * BEAT_SECONDS:
            self.transport.abort()
            return
        self._looked = now
        self._timer = self._loop.call_later(BEAT_SECONDS, self._look)
