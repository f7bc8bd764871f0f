"""What comes in the same turns of a loop is handed on together: the fewer times, the less each of it costs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Gathering(Generic[T]):
    """Hands on what was added when a turn of the loop has brought no more of it, or there are `most`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, hand_on: Callable[[list[T]], None], *, most: int) -> None:
        self._loop, self._hand_on, self._most = loop, hand_on, most
        self._gathered: list[T] = []

    def add(self, one: T) -> None:
        """Have one handed on with others."""
        self._gathered.append(one)
        if len(self._gathered) == 1:
            self._loop.call_soon(self._look, 0)

    @property
    def waits(self) -> bool:
        """Whether something was not handed on yet."""
        return bool(self._gathered)

    def take_back(self) -> list[T]:
        """What was not handed on yet; it will not be."""
        gathered, self._gathered = self._gathered, []
        return gathered

    def _look(self, seen: int) -> None:
        if seen < len(self._gathered) < self._most:
            self._loop.call_soon(self._look, len(self._gathered))
        elif self._gathered:
            self._hand_on(self.take_back())
