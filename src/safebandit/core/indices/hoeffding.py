"""Hoeffding's bounds: what a mean may be, for any law on [0, 1], knowing nothing of its variance."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Seen
from safebandit.core.indices.interface import described, evidence, lower, upper
from safebandit.core.indices.kl import Level, budget
from safebandit.core.streams import Stream


@described(
    "U = min(1, mean + sqrt(gamma_t / (2 N)))",
    "Hoeffding 1963; Auer, Cesa-Bianchi and Fischer 2002 (UCB1 has gamma_t = 4 log t)",
    not_negative=("tail",),
    steady=True,
)
class HoeffdingUpper(NamedTuple):
    """The mean and Hoeffding's width, which is the same for every law: U = mean + sqrt(gamma_t / (2 N)), at most 1."""

    level: Level = Level.practical
    tail: float = 0.0


@described(
    "L = max(0, mean - sqrt(gamma_t / (2 N)))",
    "Hoeffding 1963",
    not_negative=("tail",),
    steady=True,
)
class HoeffdingLower(NamedTuple):
    """The mean risk less Hoeffding's width: L = mean - sqrt(gamma_t / (2 N)), at least 0."""

    level: Level = Level.practical
    tail: float = 0.0


@upper.register(HoeffdingUpper)
def hoeffding_upper_index(index: HoeffdingUpper, seen: Seen, t: int, stream: Stream) -> float:
    if seen.plays == 0:
        return 1.0
    # Pending plays count as plays of the same mean.
    return min(1.0, seen.mean + math.sqrt(budget(index.level, index.tail, t) / (2.0 * (seen.plays + seen.pending))))


@lower.register(HoeffdingLower)
def hoeffding_lower_index(index: HoeffdingLower, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.plays == 0:
        return 0.0
    return max(0.0, seen.mean - math.sqrt(budget(index.level, index.tail, t) / (2.0 * seen.plays)))


@evidence.register(HoeffdingLower)
def hoeffding_evidence(index: HoeffdingLower, seen: Seen, alpha: float) -> float:
    """2 N (mean - alpha)^2 where the mean is above alpha."""
    return 2.0 * seen.plays * max(0.0, seen.mean - alpha) ** 2
