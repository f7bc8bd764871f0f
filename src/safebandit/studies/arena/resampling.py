"""Statistics of trials, and their ratios to the baseline's with intervals by a bootstrap of the pairs.

Ratios of all statistics get their intervals from one bootstrap over trials, which are resampled in pairs: unlike the
delta method it serves quantiles too. The interval of a worst trial is a rough one: no resample can be worse than the
worst that was seen. scipy.stats.bootstrap gives the same intervals, as the tests say, but resamples the baseline anew
for every policy and sorts every resample, which takes many times as long.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Counts, Numbers

STATISTICS = ("mean", "median", "q99", "worst")
# Of all but the mean.
QUANTILES = (0.5, 0.99, 1.0)
RESAMPLES = 2_000
RESAMPLING_SEED = 20_230_101
CONFIDENCE = 0.95


class Statistic(NamedTuple):
    """A statistic of the trials, and its ratio to the baseline's with an interval; None where there is none.

    A wide interval is one that holds whatever the tail, in place of a bootstrap's that would cover too little.
    """

    value: float
    ratio: float | None
    low: float | None
    high: float | None
    wide: bool = False

    @property
    def better(self) -> bool:
        """The whole interval lies below 1."""
        return self.high is not None and self.high < 1.0

    @property
    def worse(self) -> bool:
        """The whole interval lies above 1."""
        return self.low is not None and self.low > 1.0


class Resamples(NamedTuple):
    """Which trials make up each resample (rows), and how often each trial (rows) is in each resample (columns)."""

    rows: Counts
    counts: Counts


@lru_cache(maxsize=1)
def resampled(trials: int) -> Resamples:
    """The resamples of so many trials; the same for all policies, so that pairs stay together."""
    rows = np.random.default_rng(RESAMPLING_SEED).integers(trials, size=(RESAMPLES, trials))
    counts = np.array([np.bincount(row, minlength=trials) for row in rows])
    return Resamples(rows, np.ascontiguousarray(counts.T, np.int32))


class Sample(NamedTuple):
    """The four statistics of some trials, and (columns) of every resample of them; with one trial there are none."""

    found: Numbers
    drawn: Numbers | None


def sample(values: Numbers, draws: Resamples) -> Sample:
    """The four statistics and their resamples."""
    found = np.array([values.mean(), *np.quantile(values, QUANTILES)])
    if len(values) < 2:
        return Sample(found, None)
    return Sample(found, np.stack([values[draws.rows].mean(axis=-1), *_resampled_quantiles(values, draws.counts)]))


def _resampled_quantiles(values: Numbers, counts: Counts) -> list[Numbers]:
    """The quantiles of every resample, as np.quantile interpolates them; the trials are sorted once for all of them."""
    order = np.argsort(values, kind="stable")
    ascending, up_to = values[order], counts[order].cumsum(axis=0, dtype=np.int32)
    found = []
    for share in QUANTILES:
        below, part = divmod(share * (len(values) - 1), 1.0)
        low = ascending[_first_above(up_to, int(below))]
        # At the largest there is nothing above.
        high = ascending[_first_above(up_to, int(below) + 1)] if part > 0.0 else low
        found.append(low + part * (high - low))
    return found


def _first_above(up_to: Counts, count: int) -> Counts:
    """The first row of every column that is larger than `count`, as the last one is; columns ascend."""
    columns = np.arange(up_to.shape[1])
    first, last = np.zeros_like(columns), np.full_like(columns, len(up_to) - 1)
    while (first < last).any():
        middle = (first + last) // 2
        above = up_to[middle, columns] > count
        first, last = np.where(above, first, middle + 1), np.where(above, middle, last)
    return first


def compared(mine: Sample, base: Sample | None) -> dict[str, Statistic]:
    """The four statistics with their ratios to the baseline's.

    A ratio to 0 does not exist, nor does an interval where a resample of the baseline comes to 0.
    """
    return {name: _ratio(mine, base, i) for i, name in enumerate(STATISTICS)}


def _ratio(mine: Sample, base: Sample | None, i: int) -> Statistic:
    value = float(mine.found[i])
    if base is None or base.found[i] == 0.0:
        return Statistic(value, None, None, None)
    ratio = value / float(base.found[i])
    if mine.drawn is None or base.drawn is None or (base.drawn[i] == 0.0).any():
        return Statistic(value, ratio, None, None)
    low, high = np.quantile(mine.drawn[i] / base.drawn[i], ((1.0 - CONFIDENCE) / 2, (1.0 + CONFIDENCE) / 2))
    return Statistic(value, ratio, float(low), float(high))
