"""Means corrected for how the data came about: the trial is simulated at its own estimates, and its bias is taken off.

Arms that do badly by chance are given less often, and their means stay too low; the selected arm had luck, and its mean
is too high. How much follows from the design: at supposed means p the very design is simulated many times, and

    b(p) = mean over simulated trials of (estimate - p)

is the bias there; that total - plays * p has mean 0, whatever the rule (Wald), takes most of the Monte-Carlo error off
it. Corrected is estimate - b(p). The first p are the estimates, shrunk towards their pooled mean by
SHRINKAGE units; the next are the corrected ones, shrunk likewise (a parametric bootstrap, iterated). Of the selected
arm the bias is also that over the simulated trials that select it, too.

The standard error is that of a binomial share, times the spread of (estimate - p) / (its standard error) in simulated
trials if that is above 1, and holds their Monte-Carlo error. Let n be the number of outcomes that have that standard
error. The interval is the central part of Beta(1 + n corrected, 1 + n (1 - corrected)), widened where need be to hold
the corrected mean. It is approximate; a confidence sequence needs no simulation and holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.trials.simulated import Runs

STEPS = 2
# Estimates are shrunk towards their pooled mean by so many units before a trial is simulated at them.
SHRINKAGE = 2.0
# From fewer simulated trials no bias is said.
LEAST_TRIALS = 30


class Sums(NamedTuple):
    """Outcomes that are known, by quantity (the reward, then every risk) and arm: how many, and their sum."""

    plays: Numbers
    totals: Numbers

    @property
    def means(self) -> Numbers:
        """Means; NaN where nothing is known."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.plays > 0, self.totals / self.plays, np.nan)

    @property
    def shares(self) -> Numbers:
        """The means of posteriors from a flat prior: never 0 or 1, so that no standard error is 0."""
        return (self.totals + 1.0) / (self.plays + 2.0)

    @property
    def errors(self) -> Numbers:
        """Standard errors of the means as of binomial shares."""
        return np.sqrt(self.shares * (1.0 - self.shares) / np.maximum(self.plays, 1.0))

    def shrunk(self, means: Numbers) -> Numbers:
        """Means shrunk towards the pooled one of their quantity, which stands where nothing is known."""
        pooled = (self.totals.sum(axis=-1, keepdims=True) + 0.5) / (self.plays.sum(axis=-1, keepdims=True) + 1.0)
        found = np.where(np.isnan(means), pooled, means)
        return (self.plays * found + SHRINKAGE * pooled) / (self.plays + SHRINKAGE)


class Correction(NamedTuple):
    """How far means are off in simulated trials, the Monte-Carlo error of that; the corrected means with standard error
    and interval. NaN where nothing is known, or heard of in too few simulated trials.
    """

    bias: Numbers
    bias_error: Numbers
    mean: Numbers
    error: Numbers
    low: Numbers
    high: Numbers


def correct(
    simulate: Callable[[Numbers], Runs],
    sums: Sums,
    chosen: int | None,
    *,
    confidence: float = 0.95,
    steps: int = STEPS,
    fair: bool = True,
) -> tuple[Correction, Correction | None, float]:
    """Correct means by trials that `simulate` plays at supposed ones; of the arm `chosen` also by those that select it,
    with the share of these. Totals are `fair` unless units that are given up count as harms.
    """
    point = sums.shrunk(sums.means)
    for _ in range(steps):
        runs = simulate(point)
        found = sums_of(runs)
        overall = _correction(found, point, sums, confidence, fair=fair)
        best, of_chosen, share = overall.mean.copy(), None, 0.0
        if chosen is not None:
            rows = runs.selected == chosen
            share = float(rows.mean())
            there = Sums(found.plays[rows][:, :, chosen], found.totals[rows][:, :, chosen])
            observed = Sums(sums.plays[:, chosen], sums.totals[:, chosen])
            of_chosen = _correction(there, point[:, chosen], observed, confidence, fair=False)
            known = ~np.isnan(of_chosen.mean)
            # What is supposed of the selected arm next knows that it was selected.
            best[known, chosen] = of_chosen.mean[known]
        point = sums.shrunk(np.where(np.isnan(best), sums.means, best))
    return overall, of_chosen, share


def sums_of(runs: Runs) -> Sums:
    """What simulated trials (layers) know at their end."""
    plays = np.concatenate([runs.reward_plays[:, None], runs.risk_plays], axis=1)
    totals = np.concatenate([runs.reward_totals[:, None], runs.risk_totals], axis=1)
    return Sums(plays.astype(float), totals)


def _correction(simulated: Sums, point: Numbers, observed: Sums, confidence: float, *, fair: bool) -> Correction:
    from scipy.special import betaincinv

    known = simulated.plays > 0
    count = known.sum(axis=0)
    enough = (count >= LEAST_TRIALS) & (observed.plays > 0)
    off = np.where(known, simulated.means - point, 0.0)
    bias, spread = _moments(off, known, count)
    bias_error = spread / np.sqrt(np.maximum(count, 1))
    if fair:
        bias, bias_error = _by_wald(off, simulated.totals - simulated.plays * point, known, count)
    _, in_errors = _moments(off / simulated.errors, known, count)
    bias = np.where(enough, bias, np.nan)
    mean = np.clip(observed.means - bias, 0.0, 1.0)
    error = np.where(enough, np.hypot(observed.errors * np.maximum(in_errors, 1.0), bias_error), np.nan)
    worth = observed.shares * (1.0 - observed.shares) / error**2
    tail = 0.5 - confidence / 2
    low, high = (betaincinv(1.0 + worth * mean, 1.0 + worth * (1.0 - mean), end) for end in (tail, 1.0 - tail))
    # The middle of a law leaves out its ends, where means of 0 and 1 are.
    low, high = np.minimum(low, mean), np.maximum(high, mean)
    return Correction(bias, np.where(enough, bias_error, np.nan), mean, error, low, high)


def _moments(values: Numbers, known: NDArray[np.bool_], count: Any) -> tuple[Numbers, Numbers]:
    """Means and standard deviations over the trials in which there is a value."""
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
    return mean, np.sqrt(squares / np.maximum(count - 1, 1))


def _by_wald(off: Numbers, zero: Numbers, known: NDArray[np.bool_], count: Any) -> tuple[Numbers, Numbers]:
    """The mean of `off` and its error, by regression on `zero`, whose mean is known to be 0."""
    bias, _ = _moments(off, known, count)
    middle, spread = _moments(zero, known, count)
    together = np.where(known, (off - bias) * (zero - middle), 0.0).sum(axis=0)
    slope = together / np.maximum((count - 1) * spread**2, 1e-300)
    _, left = _moments(off - slope * zero, known, count)
    return bias - slope * middle, left / np.sqrt(np.maximum(count, 1))
