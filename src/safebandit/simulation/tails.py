"""Means that a few trials carry: how to notice, and intervals that hold whatever the tail.

A gate of confidence 1/t has rare, nearly linear runs where the best arm's risk is alpha, or too near to be told from
it. A t interval or a bootstrap then covers too little, and worst where the trials have seen no such run: no look at
them alone can tell. What holds is a bet: if the mean of numbers in [low, high] is at most m, then the product of
1 + u (x - m)/(m - low), for any share u of the stake, has a mean of at most 1, and is rarely large (Ville, Markov).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.bernoulli import divergence
from safebandit.problems import Instance

# Shares of the stake, each on one part of it: all bold, half as bold, and so on.
_SHARES: Numbers = 2.0 ** -np.arange(16.0)
# Cochran's rule: a t interval needs more trials than so many times their squared skewness.
PER_SQUARED_SKEWNESS = 25.0
# A few trials carry the mean if, besides, the farthest 1 % from it make up more than so much of the variance.
FARTHEST, CARRIED = 0.01, 1.0 / 3.0


class Tail(NamedTuple):
    """How uneven trials are: how many a t interval needs, and what share of the variance the farthest 1 % carry."""

    needed: float
    carried: float


def tail_of(values: Numbers) -> Tail:
    """How uneven the trials are; a sample that does not vary needs none."""
    squares = (values - values.mean()) ** 2
    total = float(squares.sum())
    if total <= 0.0:
        return Tail(0.0, 0.0)
    skewness = float(((values - values.mean()) ** 3).mean()) / (total / len(values)) ** 1.5
    most = np.sort(squares)[-max(1, round(FARTHEST * len(values))) :]
    return Tail(PER_SQUARED_SKEWNESS * skewness**2, float(most.sum()) / total)


def near_limit(instance: Instance, horizon: int) -> bool:
    """Whether a risk of the best arm cannot be told from its alpha in so many rounds: T d(nu*||alpha) < 1.

    >>> from safebandit.problems import instance_by_name
    >>> near_limit(instance_by_name("bayes-schedules"), 10**6), near_limit(instance_by_name("drug-trial"), 5_000)
    (True, False)
    """
    if instance.in_contexts or instance.best_arm is None:
        return False
    pairs = zip(instance.risk_means[:, instance.best_arm].tolist(), instance.limits, strict=True)
    # A risk that never occurs, or is always tolerated, is never refuted.
    return any(mean > 0.0 and limit < 1.0 and horizon * divergence(mean, limit) < 1.0 for mean, limit in pairs)


def why_wide(values: Numbers | None, *, near: bool) -> str:
    """Why an interval that rests on the normal law covers too little; empty where nothing speaks against it."""
    if near:
        return (
            "the best arm's risk cannot be told from alpha in so many rounds: rare trials in which it is shut out for "
            "long carry the mean, and these trials may not have seen them"
        )
    if values is None:
        return ""
    tail = tail_of(values)
    if len(values) > tail.needed or tail.carried <= CARRIED:
        return ""
    return (
        f"a few trials carry the mean: the farthest 1 % make up {100 * tail.carried:.0f} % of the variance, and a t "
        f"interval needs more than {tail.needed:,.0f} trials"
    )


def wide_interval(values: Numbers, low: float, high: float, confidence: float) -> tuple[float, float]:
    """An interval for the mean of numbers in [low, high] that covers as often as it says, for any law and any count."""
    chance = (1.0 - confidence) / 2.0
    return -_highest_mean(-values, -low, chance), _highest_mean(values, high, chance)


def wide_ratio(mine: Numbers, base: Numbers, most: float, confidence: float) -> tuple[float, float]:
    """An interval for the ratio of two means of pairs in [0, most] that holds whatever the tail; it may be infinite.

    A ratio r is left out where a bet on the mean of mine - r base, which is 0 at the true one, wins too much.
    """
    chance = (1.0 - confidence) / 2.0
    middle = float(mine.mean() / base.mean())

    def too_small(r: float) -> bool:
        return r > 0.0 and _wins((mine - r * base) / (r * most), chance)

    def too_large(r: float) -> bool:
        return _wins((r * base - mine) / most, chance)

    low = _between(0.0, middle, too_small) if middle > 0.0 else 0.0
    high = max(middle, 1e-9)
    while not too_large(high) and high < 1e9 * max(middle, 1e-9):
        high *= 2.0
    return low, math.inf if not too_large(high) else _between(high, middle, too_large)


def median_interval(values: Numbers, confidence: float) -> tuple[float, float]:
    """The order statistics between which the median lies, whatever the law; infinite where there are too few."""
    from scipy.stats import binom

    count = len(values)
    # The largest rank r with P(Bin(n, 1/2) < r) <= (1 - confidence) / 2.
    rank = int(binom.ppf((1.0 - confidence) / 2.0, count, 0.5))
    if binom.cdf(rank, count, 0.5) <= (1.0 - confidence) / 2.0:
        rank += 1
    if rank < 1:
        return -math.inf, math.inf
    ordered = np.sort(values)
    return float(ordered[rank - 1]), float(ordered[count - rank])


def _highest_mean(values: Numbers, high: float, chance: float) -> float:
    """The largest mean that is not refuted by numbers which are at most `high`."""
    return _between(high, float(values.mean()), lambda m: m >= high or _wins((m - values) / (high - m), chance))


def _wins(gains: Numbers, chance: float) -> bool:
    """Whether a bet that gains or loses so many times its stake, spread over the shares, wins 1/chance."""
    # A stake that is lost leaves nothing; 1e-300 stands for it, as its logarithm is finite.
    logs = np.log(np.maximum(1.0 + np.outer(_SHARES, gains), 1e-300)).sum(axis=1)
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).mean())) >= -math.log(chance)


def _between(refuted: float, kept: float, is_refuted: Callable[[float], bool]) -> float:
    """Where refuted numbers end, seen from one that is; on the refuted side, so that the interval is not too short."""
    for _ in range(40):
        middle = 0.5 * (refuted + kept)
        refuted, kept = (middle, kept) if is_refuted(middle) else (refuted, middle)
    return refuted
