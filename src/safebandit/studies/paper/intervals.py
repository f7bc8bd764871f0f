"""Intervals of what claims are about: means, their ratios, shares of trials, quantiles and correlations.

Each is by a formula, so that it can be asked for at any confidence: resampling would need the more draws, the higher it
is. Trials are independent; several numbers of one trial (policies, runs with the same seed) need not be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.simulation.tails import quantile_interval

Interval: TypeAlias = tuple[float, float]
EVERYTHING = (-math.inf, math.inf)


def of_mean(values: Numbers, confidence: float) -> Interval:
    """Student's interval: the mean, and its standard error times the t quantile, to both sides."""
    middle = float(np.mean(values))
    reach = _t_quantile(len(values), confidence) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return middle - reach, middle + reach


def of_ratio(above: Numbers, below: Numbers, confidence: float, *, paired: bool = True) -> Interval:
    """Fieller's interval of a ratio of two means: all r for which above - r below may have mean 0.

    That is (a - r b)^2 <= t^2 (v_a - 2 r c + r^2 v_b), with the variances and the covariance of the means a and b. It
    has ends only where b itself can be told from 0.
    """
    a, b = float(above.mean()), float(below.mean())
    var_a, var_b = float(above.var(ddof=1)) / len(above), float(below.var(ddof=1)) / len(below)
    covariance = float(np.cov(above, below)[0, 1]) / len(above) if paired else 0.0
    square = _t_quantile(min(len(above), len(below)), confidence) ** 2
    lead, middle, rest = b * b - square * var_b, a * b - square * covariance, a * a - square * var_a
    if lead <= 0.0:
        return EVERYTHING
    # Rounding alone makes it negative: r = a/b itself is always kept.
    root = math.sqrt(max(0.0, middle * middle - lead * rest))
    return (middle - root) / lead, (middle + root) / lead


def of_share(count: int, trials: int, confidence: float) -> Interval:
    """Clopper and Pearson's interval of a chance: exact, so that rare events need no normal law."""
    from scipy.stats import beta

    chance = (1.0 - confidence) / 2.0
    low = float(beta.ppf(chance, count, trials - count + 1)) if count > 0 else 0.0
    high = float(beta.ppf(1.0 - chance, count + 1, trials - count)) if count < trials else 1.0
    return low, high


def of_log_quantiles(samples: Sequence[Numbers], weights: Sequence[float], level: float, confidence: float) -> Interval:
    """An interval of the sum of w_i log q_i, where q_i is the quantile of sample i, and samples are paired by trial.

    Each q_i has its interval of order statistics, which holds for any law. How far its end is from the estimate stands
    for its variance on that side, and the variances are added with the correlations of being at most q_i (Zou and
    Donner 2008). With one sample it is the interval of order statistics itself.
    """
    steps = np.array([_log_steps(sample, level, confidence) for sample in samples])
    if not np.isfinite(steps).all():
        return EVERYTHING
    middle = float(np.dot(weights, [math.log(np.quantile(sample, level)) for sample in samples]))
    signs = np.sign(weights)
    down, up = np.abs(weights) * np.where(signs > 0, steps.T, steps.T[::-1])
    together = _correlations(samples, level) * np.outer(signs, signs)
    return middle - _length(down, together), middle + _length(up, together)


def _log_steps(sample: Numbers, level: float, confidence: float) -> Interval:
    """How far the ends of a quantile's interval are below and above it, in logarithms."""
    low, high = quantile_interval(sample, level, confidence)
    middle = float(np.quantile(sample, level))
    if low <= 0.0 or math.isinf(high):
        return math.inf, math.inf
    return math.log(middle / low), math.log(high / middle)


def _correlations(samples: Sequence[Numbers], level: float) -> Numbers:
    """Correlations of estimated quantiles: those of a trial's being at most each of them; 0 where one does not vary."""
    centred = np.array([sample <= np.quantile(sample, level) for sample in samples], float)
    centred -= centred.mean(axis=1, keepdims=True)
    lengths = np.sqrt((centred**2).sum(axis=1))
    lengths[lengths == 0.0] = math.inf
    found: Numbers = centred @ centred.T / np.outer(lengths, lengths)
    np.fill_diagonal(found, 1.0)
    return found


def _length(steps: Numbers, correlations: Numbers) -> float:
    return math.sqrt(max(0.0, float(steps @ correlations @ steps)))


def of_straightness(rows: Numbers, confidence: float) -> Interval:
    """An interval of the correlation of the columns' means with their numbers 0, 1, ..., by Tukey's jackknife.

    It is about the jackknife's estimate, which corrects that errors of the means make a line look less straight, and on
    Fisher's scale, artanh, on which an interval never leaves [-1, 1].
    """
    count = len(rows)
    whole = float(_straightness(rows.mean(axis=0)))
    without = _straightness((rows.sum(axis=0) - rows) / (count - 1))
    error = math.sqrt((count - 1) / count * float(((without - without.mean()) ** 2).sum()))
    middle, reach = count * whole - (count - 1) * float(without.mean()), _t_quantile(count, confidence) * error
    return math.tanh(middle - reach), math.tanh(middle + reach)


def _straightness(means: Numbers) -> Numbers:
    places = np.arange(means.shape[-1]) - (means.shape[-1] - 1) / 2
    centred = means - means.mean(axis=-1, keepdims=True)
    lengths = np.sqrt((centred**2).sum(axis=-1) * float(places @ places))
    found: Numbers = np.arctanh(centred @ places / lengths)
    return found


def _t_quantile(trials: int, confidence: float) -> float:
    from scipy.stats import t

    return float(t.ppf(0.5 + confidence / 2.0, trials - 1))
