"""A figure that was measured more than once: its median and quartiles, and whether two of them differ."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Quartiles of fewer figures say little about their spread.
ENOUGH = 3


@dataclass(frozen=True)
class Spread:
    """The median of repeated measurements, and their quartiles."""

    median: float
    low: float
    high: float
    repeats: int

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """The median and quartiles of some figures.

        >>> Spread.of([4.0, 1.0, 2.0, 3.0, 5.0])
        Spread(median=3.0, low=2.0, high=4.0, repeats=5)
        """
        if len(values) == 1:
            return Spread(values[0], values[0], values[0], 1)
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return Spread(median, low, high, len(values))

    def differs(self, other: Spread) -> bool:
        """Whether the quartiles lie apart, and both were measured often enough to say so."""
        apart = self.high < other.low or other.high < self.low
        return apart and min(self.repeats, other.repeats) >= ENOUGH
