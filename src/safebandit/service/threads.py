"""Work in a thread of its own: threads that are shared may all be waiting for the database."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_own_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """What `work` gives or raises, when it is done; no process waits for it when it ends."""
    answer: Future[T] = Future()
    # It cannot be called back: who gives it up is just not told.
    answer.set_running_or_notify_cancel()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as problem:  # noqa: BLE001  it is told to whoever waits
            answer.set_exception(problem)

    threading.Thread(target=run, daemon=True).start()
    heard = asyncio.wrap_future(answer)
    # One that nobody waits for any more may fail unheard.
    heard.add_done_callback(lambda done: done.cancelled() or done.exception())
    return heard
