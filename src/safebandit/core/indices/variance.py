"""UCB-V: bounds by the empirical Bernstein inequality, narrow where outcomes vary little."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.bets import next_moments
from safebandit.core.dispatch import inlined
from safebandit.core.indices.interface import described, evidence, learn, lower, start, upper, width
from safebandit.core.streams import Stream

SOURCE = "Audibert, Munos and Szepesvari 2009, UCB-V"


@described(
    "U = min(1, mean + sqrt(2 V zeta log t / N) + 3 c zeta log t / N), V = sum (x - mean)^2 / N",
    SOURCE,
    positive=("zeta",),
    not_negative=("c",),
    steady=True,
)
class VarianceUpper(NamedTuple):
    """The mean and a width by the empirical variance V: U = mean + sqrt(2 V zeta log t / N) + 3 c zeta log t / N."""

    zeta: float = 1.2
    c: float = 1.0


@described(
    "L = max(0, mean - sqrt(2 V zeta log t / N) - 3 c zeta log t / N), V = sum (x - mean)^2 / N",
    f"{SOURCE} by x -> 1-x",
    positive=("zeta",),
    not_negative=("c",),
    steady=True,
)
class VarianceLower(NamedTuple):
    """The mean risk less a width by the empirical variance V, the mirror image of `VarianceUpper`."""

    zeta: float = 1.2
    c: float = 1.0


@inlined
def _width(zeta: float, c: float, squares: float, seen: Seen, plays: int, t: int) -> float:
    share = zeta * math.log(t) / plays
    return math.sqrt(2.0 * squares / seen.plays * share) + 3.0 * c * share


@width.register(VarianceUpper)
@width.register(VarianceLower)
def variance_width(index: VarianceUpper | VarianceLower) -> int:
    return 2


@start.register(VarianceUpper)
@start.register(VarianceLower)
def variance_start(index: VarianceUpper | VarianceLower, own: Numbers, alpha: float) -> None:
    own[0] = 0.0
    own[1] = 0.0


@learn.register(VarianceUpper)
@learn.register(VarianceLower)
def variance_learn(index: VarianceUpper | VarianceLower, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's own numbers are its mean and N V, carried from play to play so that nothing cancels."""
    mean, squares = next_moments(seen.own[0], seen.own[1], seen.plays, value)
    seen.own[0] = mean
    seen.own[1] = squares


@upper.register(VarianceUpper)
def variance_upper_index(index: VarianceUpper, seen: Seen, t: int, stream: Stream) -> float:
    if seen.plays == 0:
        return 1.0
    # Pending plays count as plays of the same mean and variance.
    return min(1.0, seen.mean + _width(index.zeta, index.c, seen.own[1], seen, seen.plays + seen.pending, t))


@lower.register(VarianceLower)
def variance_lower_index(index: VarianceLower, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.plays == 0:
        return 0.0
    return max(0.0, seen.mean - _width(index.zeta, index.c, seen.own[1], seen, seen.plays, t))


@evidence.register(VarianceLower)
def variance_evidence(index: VarianceLower, seen: Seen, alpha: float) -> float:
    """The log t at which L = alpha: a quadratic in sqrt(zeta log t)."""
    gap = seen.mean - alpha
    if seen.plays == 0 or gap <= 0.0:
        return 0.0
    half = math.sqrt(0.5 * seen.own[1]) / seen.plays
    below = half + math.sqrt(half * half + 3.0 * index.c * gap / seen.plays)
    return (gap / below) ** 2 / index.zeta if below > 0.0 else math.inf
