"""Running sums of many trials: means and standard errors as if every trial were at hand.

Each sum is a pair of numbers, the second of which gathers what the first rounds away: some 30 digits, so that sums of
counts and of their squares are exact, and a variance survives the subtraction of two nearly equal sums. Trials are
added one by one in their order, so that it does not matter in which chunks they came.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.dispatch import compiled, inlined

# Splits a number into two halves of 26 bits, whose products are exact.
SPLITTER = 134_217_729.0
# How finely a pair of numbers resolves a sum, relative to it and per trial.
RESOLUTION = 2.0**-104


class Moments:
    """The sums of some columns and of their squares, over the trials added so far."""

    def __init__(self, columns: int, trials: int = 0, sums: Numbers | None = None) -> None:
        self.trials = trials
        # Rows: the sum and what it rounded away, the sum of squares and what it rounded away.
        self.sums: Numbers = np.zeros((4, columns)) if sums is None else sums

    def add(self, values: Numbers) -> None:
        """Add trials (rows), in their order."""
        _add_rows(self.sums, values)
        self.trials += len(values)

    def mean(self) -> Numbers:
        """The mean of every column."""
        return (self.sums[0] + self.sums[1]) / self.trials

    def standard_error(self, column: int) -> float:
        """The standard error of a column's mean; NaN for one trial, which says nothing about the spread."""
        if self.trials < 2:
            return math.nan
        high, low, squares, low_squares = (Fraction(number) for number in self.sums[:, column].tolist())
        total = squares + low_squares
        spread = total - (high + low) ** 2 / self.trials
        if spread <= total * self.trials * RESOLUTION:
            return 0.0
        return math.sqrt(spread / (self.trials - 1) / self.trials)


@compiled
def _add_rows(sums: Numbers, values: Numbers) -> None:
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            x = values[i, c]
            square = x * x
            sums[0, c], sums[1, c] = _add(sums[0, c], sums[1, c], x, 0.0)
            sums[2, c], sums[3, c] = _add(sums[2, c], sums[3, c], square, _square_rounded_away(x, square))


@inlined
def _add(high: float, low: float, x: float, rest: float) -> tuple[float, float]:
    """A pair and a pair as a pair again, whose second number is at most half of the last digit of the first."""
    total = high + x
    low += _rounded_away(high, x) + rest
    whole = total + low
    return whole, low - (whole - total)


@inlined
def _rounded_away(a: float, b: float) -> float:
    """What the sum a + b loses, exactly."""
    total = a + b
    part = total - a
    return (a - (total - part)) + (b - part)


@inlined
def _square_rounded_away(x: float, square: float) -> float:
    """What the square of x loses, exactly."""
    scaled = SPLITTER * x
    high = scaled - (scaled - x)
    low = x - high
    return ((high * high - square) + 2.0 * high * low) + low * low
