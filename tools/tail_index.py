"""How heavy the tail of a sample is: a line through its survival curve, log against log."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.errors import ResultError

LEAST = 10


class TailIndex(NamedTuple):
    """P(X > x) falls like x^slope; `low` to `high` is its 95 % interval, from so many values."""

    slope: float
    low: float
    high: float
    values: int


def tail_index(sample: Numbers, above: float) -> TailIndex:
    """The tail index of a sample, from its values above a number.

    The slope of log(rank - 1/2) over log x, whose standard error with n values is |slope| sqrt(2/n)
    (Gabaix and Ibragimov 2011). Regret is at most what the horizon allows: the longest runs are cut short there.

    >>> import numpy as np
    >>> found = tail_index(1.0 / np.random.default_rng(1).random(10_000), above=10.0)
    >>> found.low < -1.0 < found.high, 900 < found.values < 1_100
    (True, True)
    """
    values = np.sort(np.asarray(sample, float))[::-1]
    values = values[values > above]
    if above <= 0.0 or len(values) < LEAST:
        raise ResultError(
            f"a tail index needs at least {LEAST} values above a number above 0, got {len(values)} above {above:g}; "
            "run more trials or lower that number"
        )
    slope = float(
        np.polynomial.Polynomial.fit(np.log(values), np.log(np.arange(len(values)) + 0.5), 1).convert().coef[1]
    )
    reach = 1.96 * abs(slope) * math.sqrt(2.0 / len(values))
    return TailIndex(slope, slope - reach, slope + reach, len(values))
