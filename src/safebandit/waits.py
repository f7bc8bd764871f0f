"""First waits, explained: formulas are compiled once, which takes seconds, and whoever waits is told.

The command line says who is told; a program that uses the package is told nothing. Numba itself says when it compiles:
what is found in the cache is loaded in silence.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar

# What is compiled now, in words.
_WHAT: ContextVar[str] = ContextVar("what is compiled", default="formulas")
# Shorter waits need no words at their end.
NOTICED = 1.0


class Waits:
    """Who is told, what was said, and how deep in the compiler one is: what a function calls is compiled inside."""

    def __init__(self) -> None:
        self._say: Callable[[str], None] | None = None
        self._said: dict[str, float] = {}
        self._depth, self._began = 0, 0.0

    def announce(self, say: Callable[[str], None] | None) -> None:
        """Tell this one of waits from now on; None: nobody."""
        self._say, self._depth = say, 0
        self._said.clear()

    def compiling(self) -> None:
        """Something begins to be compiled."""
        if self._say is None:
            return
        self._depth += 1
        if self._depth == 1:
            self._begin(_WHAT.get())

    def compiled(self) -> None:
        """It is compiled."""
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            self._said[_WHAT.get()] = self._said.get(_WHAT.get(), 0.0) + time.perf_counter() - self._began

    def _begin(self, what: str) -> None:
        self._began = time.perf_counter()
        if what not in self._said and self._say is not None:
            self._said[what] = 0.0
            self._say(f"compiling {what}, once for this version: some seconds")

    @contextlib.contextmanager
    def preparing(self, what: str) -> Iterator[None]:
        """Inside, what is compiled is so for a policy of this name."""
        token = _WHAT.set(what)
        try:
            yield
        finally:
            _WHAT.reset(token)
            seconds = self._said.get(what, 0.0)
            if self._say is not None and seconds >= NOTICED:
                self._say(f"compiled {what} in {seconds:.1f} s, and kept for the next time")
                self._said[what] = 0.0


WAITS = Waits()
