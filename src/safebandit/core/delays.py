"""Delays in days, as a kind and two numbers, so that compiled code has one type for all of them.

FIXED is always a; UNIFORM lies evenly between a and b; EXPONENTIAL has the mean a; WEIBULL has the shape a and the
scale b.
"""

from __future__ import annotations

import math

from safebandit.core.dispatch import inlined
from safebandit.core.streams import Stream, uniform

FIXED, UNIFORM, EXPONENTIAL, WEIBULL = 0, 1, 2, 3


@inlined
def draw_delay(kind: int, a: float, b: float, stream: Stream) -> float:
    """A delay by its law, by inversion: one random number, and none where it is fixed."""
    if kind == FIXED:
        return a
    u = uniform(stream)
    if kind == UNIFORM:
        return a + (b - a) * u
    # A standard exponential number; u < 1, so it is finite.
    waiting = -math.log1p(-u)
    if kind == EXPONENTIAL:
        return a * waiting
    return b * waiting ** (1.0 / a)
