"""What a system of doses within arms is told, and what it asks for."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import NamedTuple, TypeAlias

# Outcomes in [0, 1] are no wider than this: P(mean of n is off by e) <= 2 exp(-n e^2 / (2 DEVIATION^2)) (Hoeffding).
DEVIATION = 0.5


class Doses(NamedTuple):
    """What is known before any outcome: how many arms, the tolerated risk, the highest dose, and of every arm a dose
    that is safe; `steepest` is how much the risk of any arm rises at most per unit of dose.
    """

    arms: int
    alpha: float
    most: float
    first: tuple[float, ...]
    steepest: float


class Ask(NamedTuple):
    """So many units of an arm at a dose; and in which epoch, and what would be answered if it ended now."""

    arm: int
    dose: float
    units: int
    epoch: int
    answer: tuple[int, float]


# It is sent mean reward and mean risk, and ends with an arm and its dose.
Conduct: TypeAlias = Generator[Ask, tuple[float, float], tuple[int, float]]


def unit_count(width: float, failure: float) -> int:
    """How many units make a mean wrong by more than `width` with a chance of at most 2 `failure`: 2 s^2 log(1/failure)
    / width^2, s the deviation.

    >>> unit_count(0.5, 0.01)
    10
    """
    return math.ceil(2.0 * DEVIATION**2 * math.log(1.0 / failure) / width**2)
