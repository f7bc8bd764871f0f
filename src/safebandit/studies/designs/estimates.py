"""Numbers over simulated trials, each with its Monte-Carlo standard error and its 95 % interval."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers

CONFIDENCE = 0.95
_TAIL = 0.5 - CONFIDENCE / 2


class Estimate(NamedTuple):
    """A number over the trials, its standard error, and the ends of its 95 % interval; NaN where there is none."""

    value: float
    se: float
    low: float
    high: float


NOTHING = Estimate(math.nan, math.nan, math.nan, math.nan)


def mean(values: Numbers) -> Estimate:
    """A mean with its t interval.

    >>> found = mean(np.array([1.0, 2.0, 3.0]))
    >>> found.value, round(found.se, 4), round(found.high, 3)
    (2.0, 0.5774, 4.484)
    """
    if len(values) == 0:
        return NOTHING
    middle = float(values.mean())
    # One trial says nothing about the spread; 0 would claim that it does.
    spread = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return _around(middle, spread, len(values))


def share(hits: NDArray[np.bool_] | Numbers) -> Estimate:
    """A share of the trials: its standard error, and Clopper and Pearson's exact interval, which 0 and 1 have too.

    >>> found = share(np.zeros(100, bool))
    >>> found.value, found.se, found.low, round(found.high, 4)
    (0.0, 0.0, 0.0, 0.0362)
    """
    from scipy.special import betaincinv

    count, hit = len(hits), float(np.sum(hits))
    if count == 0:
        return NOTHING
    value = hit / count
    low = float(betaincinv(hit, count - hit + 1, _TAIL)) if hit > 0 else 0.0
    high = float(betaincinv(hit + 1, count - hit, 1 - _TAIL)) if hit < count else 1.0
    return Estimate(value, math.sqrt(value * (1 - value) / count), low, high)


def deviation(values: Numbers) -> Estimate:
    """The standard deviation between trials; its error by the fourth moment (the delta method)."""
    if len(values) < 2:
        return NOTHING
    variance = float(values.var(ddof=1))
    if variance == 0.0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    spread = float(((values - values.mean()) ** 2).std()) / math.sqrt(len(values))
    root = math.sqrt(variance)
    return _around(root, spread / (2 * root), len(values), least=0.0)


def root_mean_square(values: Numbers) -> Estimate:
    """The root of the mean square; its error by the delta method.

    >>> root_mean_square(np.array([3.0, -3.0, 3.0])).value
    3.0
    """
    if len(values) < 2:
        return NOTHING
    squares = values**2
    root = math.sqrt(float(squares.mean()))
    if root == 0.0:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    spread = float(squares.std(ddof=1)) / math.sqrt(len(values))
    return _around(root, spread / (2 * root), len(values), least=0.0)


def quantile(values: Numbers, level: float) -> Estimate:
    """The smallest number that at least a share `level` of the trials do not exceed.

    The interval is that of order statistics, by the binomial law; the standard error is what a normal law would need
    for an interval of this length.

    >>> quantile(np.arange(100.0), 0.95)[0::2]
    (94.0, 89.0)
    """
    if len(values) == 0:
        return NOTHING
    value, low, high = np.sort(values)[list(_places(len(values), level))].tolist()
    return Estimate(value, (high - low) / (2 * _normal()), low, high)


@functools.cache
def _places(count: int, level: float) -> tuple[int, int, int]:
    """The places of a quantile and of the ends of its interval among so many numbers in order."""
    from scipy.stats import binom

    least, most = (int(binom.ppf(tail, count, level)) for tail in (_TAIL, 1 - _TAIL))
    value, low, high = np.clip([math.ceil(level * count) - 1, least - 1, most], 0, count - 1).tolist()
    return value, low, high


@functools.cache
def _normal() -> float:
    from scipy.special import ndtri

    return float(ndtri(1 - _TAIL))


def _around(middle: float, spread: float, count: int, least: float = -math.inf) -> Estimate:
    from scipy.special import stdtrit

    if not math.isfinite(spread):
        return Estimate(middle, spread, math.nan, math.nan)
    reach = float(stdtrit(count - 1, 1 - _TAIL)) * spread
    return Estimate(middle, spread, max(least, middle - reach), middle + reach)
