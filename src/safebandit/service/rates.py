"""How often a key, or an address with keys that do not work, may ask: buckets of tokens that fill with time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

# Buckets kept; the one that was used longest ago is forgotten, and would be full again by then.
MOST_BUCKETS = 10_000


class RateLimits(NamedTuple):
    """How many requests a key may make per second and at once, and how many an address without a key that works.

    They hold for each process of a service by itself.
    """

    rate: float = 2000.0
    burst: float = 4000.0
    failures: float = 5.0
    failures_burst: float = 50.0


class Buckets:
    """One bucket for each name.

    >>> buckets = Buckets(2.0, 1.0, clock=lambda: 0.0)
    >>> buckets.take("a"), buckets.take("a")
    (0.0, 0.5)
    """

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take a token: 0, or the seconds until there is one."""
        with self._lock:
            wait = self._wait(name)
            if wait == 0.0:
                tokens, at = self._buckets[name]
                self._buckets[name] = tokens - 1.0, at
            return wait

    def wait(self, name: str) -> float:
        """The seconds until there is a token; none is taken."""
        with self._lock:
            return self._wait(name)

    def _wait(self, name: str) -> float:
        now = self._clock()
        tokens, at = self._buckets.pop(name, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        self._buckets[name] = tokens, now
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if tokens >= 1.0 else (1.0 - tokens) / self._rate
