"""A home: it takes what other workers send, has it written with its own requests, and answers."""

from __future__ import annotations

import asyncio
import functools
import pickle
import traceback
from concurrent.futures import Future
from typing import Any

from safebandit.errors import RecordError, SafebanditError
from safebandit.service.delivery import Delivery
from safebandit.service.gathering import Gathering
from safebandit.service.homes.asking import BEAT_SECONDS, MOST_SENT
from safebandit.service.homes.messages import Kind, Messages
from safebandit.service.homes.works import Done, Sent


class FromWorker(Messages):
    """A connection from another worker. `others` are all that are open."""

    def __init__(self, loop: asyncio.AbstractEventLoop, delivery: Delivery, others: set[FromWorker]) -> None:
        super().__init__()
        self.ended = asyncio.Event()
        self._loop, self._delivery, self._others = loop, delivery, others
        self._begun: dict[int, Future[Any]] = {}
        self._ready: Gathering[Done] = Gathering(loop, self._send_done, most=MOST_SENT)
        self._asks_on = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take work from now on."""
        super().connection_made(transport)
        self._others.add(self)
        self.send("hello")
        self._beat()

    def received(self, _: Kind, content: list[Sent]) -> None:
        """Have what was sent written, together."""
        for sent in content:
            waiter, self._begun[sent.number] = self._delivery.begin(sent.work.trial, sent.work.do, sent.units)
            waiter.add_done_callback(functools.partial(self._done, sent.number))

    def stop(self) -> None:
        """Ask for no more work; what comes before the other end hears it is still done."""
        self.send("no more")

    def eof_received(self) -> bool:
        """Close when all is answered."""
        self._asks_on = False
        self._close_if_done()
        return True

    def connection_lost(self, _: Exception | None) -> None:
        """Give up what is not begun: nobody waits for it."""
        if self._timer is not None:
            self._timer.cancel()
        for answer in self._begun.values():
            answer.cancel()
        self._begun.clear()
        self._others.discard(self)
        self.ended.set()

    def _done(self, number: int, waiter: asyncio.Future[Any]) -> None:
        problem = waiter.exception()
        if self._begun.pop(number, None) is not None:
            self._ready.add(Done(number, waiter.result()) if problem is None else _told(number, problem))

    def _send_done(self, ready: list[Done]) -> None:
        self.send("done", ready)
        self._close_if_done()

    def _close_if_done(self) -> None:
        if not self._asks_on and not self._begun and not self._ready.waits:
            # What was written is still sent.
            self.transport.close()

    def _beat(self) -> None:
        self.send("beat")
        self._timer = self._loop.call_later(BEAT_SECONDS, self._beat)


def _told(number: int, problem: BaseException) -> Done:
    """A problem as it can be sent: with what it came from, and where nobody expected it."""
    if not isinstance(problem, SafebanditError) and not hasattr(problem, "__notes__"):
        problem.add_note("".join(["In the worker of its trial:\n", *traceback.format_exception(problem)]))
    told = Done(number, None, problem, problem.__cause__)
    try:
        pickle.loads(pickle.dumps(told))
    except Exception:  # noqa: BLE001  what others raise need not be made to be sent
        said = "".join(traceback.format_exception(problem))
        return Done(number, None, RecordError(f"{problem}; it came from what cannot be sent: {said}"))
    return told
