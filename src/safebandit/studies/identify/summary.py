"""What the systems came to: how often they were wrong, and how fast that falls with the units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.safe_sets import inside_of
from safebandit.studies.identify.truth import Truth
from safebandit.trials.design import CAUSES
from safebandit.trials.simulated import Runs

# Half of a 95 % interval, in standard errors.
WIDE = 1.96
# A share of errors is fitted where so many trials were wrong, and at most half of them.
LEAST_ERRORS, MOST_SHARE = 10, 0.5
LEAST_POINTS = 3


class Estimate(NamedTuple):
    """A number over the trials with its standard error."""

    value: float
    error: float

    def to_dict(self) -> dict[str, float]:
        """As JSON holds it."""
        return self._asdict()


class Point(NamedTuple):
    """One system with so many units at most: how often it named wrong arms as feasible, and a wrong one as the best of
    them; how many units it used, and how many of those got an infeasible arm; and how often it ended by itself.
    """

    system: str
    policy: str
    units: int
    feasible_error: Estimate
    top_error: Estimate
    used: Estimate
    infeasible_units: Estimate
    ended: Estimate

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {key: value.to_dict() if isinstance(value, Estimate) else value for key, value in self._asdict().items()}


class Decay(NamedTuple):
    """How fast an error falls: error = c exp(-rate units), with the ends of a 95 % interval of the rate."""

    rate: float
    low: float
    high: float


def point(system: str, policy: str, units: int, runs: Runs, truth: Truth) -> Point:
    """What the trials of one system came to."""
    named, right = feasible_arms(runs, truth), truth.best
    correct = np.isin(runs.selected, right) if len(right) else runs.selected < 0
    return Point(
        system, policy, units, share((named != truth.feasible).any(axis=1)), share(~correct), mean(runs.size),
        mean(runs.plays[:, ~truth.feasible].sum(axis=1)), share(runs.cause == CAUSES.index("policy")),
    )  # fmt: skip


def feasible_arms(runs: Runs, truth: Truth) -> Any:
    """Whether each arm (columns) was named as feasible in each trial (rows): its sample means lie in the safe set.

    An arm of which nothing is known has no means, and never does.
    """
    with np.errstate(invalid="ignore"):
        rewards = runs.reward_totals / runs.reward_plays
        risks = runs.risk_totals / runs.risk_plays
    points = np.stack([rewards, *np.moveaxis(risks, 1, 0)], axis=-1)
    return inside_of(truth.safe_set, np.minimum(points, 1.0))


def share(found: Any) -> Estimate:
    """How often something was so. Its standard error is that of one more trial in which it was, and one in which it was
    not, so that it is not 0 where it never was.
    """
    count, size = int(np.sum(found)), len(found)
    near = (count + 1) / (size + 2)
    return Estimate(count / size, math.sqrt(near * (1 - near) / size))


def mean(found: Any) -> Estimate:
    """A mean over trials."""
    return Estimate(float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(len(found))))


def decay(units: Sequence[int], errors: Sequence[Estimate], trials: int) -> Decay | None:
    """The rate at which errors fall, by weighted least squares of their logarithms; None where few can be fitted."""
    kept = [
        (size, each.value)
        for size, each in zip(units, errors, strict=True)
        if each.value * trials >= LEAST_ERRORS and each.value <= MOST_SHARE
    ]
    if len(kept) < LEAST_POINTS:
        return None
    x, p = np.array([size for size, _ in kept], float), np.array([value for _, value in kept])
    # The variance of log p is about (1 - p) / (n p).
    weights = trials * p / (1 - p)
    centred = x - np.average(x, weights=weights)
    spread = float((weights * centred**2).sum())
    rate = -float((weights * centred * np.log(p)).sum()) / spread
    # Where the points do not lie on a line, the interval grows with how far they are off it.
    left = np.log(p) - np.average(np.log(p), weights=weights) + rate * centred
    scale = max(1.0, float((weights * left**2).sum()) / (len(kept) - 2))
    half = WIDE * math.sqrt(scale / spread)
    return Decay(rate, rate - half, rate + half)
