"""Quantiles of many trials from counts: how many fell into each of many narrow bins, not the trials themselves.

A bin is all numbers that share their exponent and the first nine bits of their mantissa: each octave, from one power of
two to the next, is cut into 512 bins of equal width. A number read off its bin is off by at most 1/1024 of itself. Zero
has a bin of its own, so has every count below 1,024, and the least and the most are exact.

Written by hand because it must give the same bits on any machine and for any grouping of the trials (these bins take no
logarithm), and count a table of all checkpoints at once.
"""

from __future__ import annotations

import numpy as np

from safebandit.core.arms import Counts, Numbers

BIN_BITS = 9
BINS = 1 << BIN_BITS
ACCURACY = 0.5 / BINS
OCTAVE_BITS = 11
COLUMN_BITS = OCTAVE_BITS + BIN_BITS
_SHIFT = 52 - BIN_BITS


class Sketch:
    """How many numbers of each column, none of them negative, fell into each bin."""

    def __init__(self, columns: int, *, whole: bool) -> None:
        self.whole = whole
        self.least: Numbers = np.full(columns, np.inf)
        self.most: Numbers = np.full(columns, -np.inf)
        # A page holds the counts of one column's bins in one octave; there is one only where something was counted.
        self._page_of = np.full(columns << OCTAVE_BITS, -1, np.int32)
        self._pages: Counts = np.zeros((0, BINS), np.int64)

    def add(self, values: Numbers) -> None:
        """Count trials (rows)."""
        self.least = np.minimum(self.least, values.min(axis=0, initial=np.inf))
        self.most = np.maximum(self.most, values.max(axis=0, initial=-np.inf))
        bins = np.ascontiguousarray(values).view(np.int64) >> _SHIFT
        self._count((np.arange(len(self.most)) << COLUMN_BITS) + bins, 1)

    def _count(self, bins: Counts, times: int | Counts) -> None:
        """Count bins, which are numbered through all columns."""
        octaves = bins >> BIN_BITS
        new = np.unique(octaves[self._page_of[octaves] < 0])
        self._page_of[new] = len(self._pages) + np.arange(len(new))
        if len(new) > 0:
            self._pages = np.concatenate([self._pages, np.zeros((len(new), BINS), np.int64)])
        places = (self._page_of[octaves].astype(np.int64) << BIN_BITS) + (bins & BINS - 1)
        np.add.at(self._pages.reshape(-1), places.ravel(), times)

    def counted(self) -> tuple[Counts, Counts]:
        """The bins that are not empty, numbered through all columns, and how many numbers each holds."""
        octaves = np.flatnonzero(self._page_of >= 0)
        pages = self._pages[self._page_of[octaves]]
        rows, places = np.nonzero(pages)
        return (octaves[rows] << BIN_BITS) + places, pages[rows, places]

    @staticmethod
    def of_counted(bins: Counts, counts: Counts, least: Numbers, most: Numbers, *, whole: bool) -> Sketch:
        """The sketch whose `counted` gives these numbers."""
        sketch = Sketch(len(least), whole=whole)
        sketch.least, sketch.most = least, most
        sketch._count(bins, counts)
        return sketch

    def quantiles(self, levels: Numbers) -> Numbers:
        """Quantiles (rows: levels) of every column; between two neighbours in proportion, as NumPy's are."""
        bins, counts = self.counted()
        ends = np.searchsorted(bins, np.arange(len(self.most) + 1) << COLUMN_BITS)
        found = np.empty((len(levels), len(self.most)))
        for column in range(len(self.most)):
            part = slice(ends[column], ends[column + 1])
            found[:, column] = self._column_quantiles(column, self._numbers(bins[part]), counts[part], levels)
        return found

    def _column_quantiles(self, column: int, numbers: Numbers, counts: Counts, levels: Numbers) -> Numbers:
        least, most = self.least[column], self.most[column]
        up_to = np.cumsum(counts)
        last = up_to[-1] - 1

        def in_order(rank: Counts) -> Numbers:
            number = np.clip(numbers[np.searchsorted(up_to, rank, side="right")], least, most)
            return np.where(rank == 0, least, np.where(rank == last, most, number))

        place = levels * last
        before = np.floor(place).astype(np.int64)
        low, high = in_order(before), in_order(np.minimum(before + 1, last))
        return low + (high - low) * (place - before)

    def _numbers(self, bins: Counts) -> Numbers:
        """What stands for the numbers of a bin: its middle; where they are whole, the middle of those in it."""
        inside = bins & (1 << COLUMN_BITS) - 1
        low, high = (inside << _SHIFT).view(np.float64), (inside + 1 << _SHIFT).view(np.float64)
        if self.whole:
            high = np.ceil(high) - 1.0
        return np.where(inside == 0, 0.0, low + (high - low) / 2)
