"""How a claim is judged: numbers with intervals over the trials, each against a range fixed beforehand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.simulation.results import Result
from safebandit.simulation.tails import median_interval, why_wide
from safebandit.studies.paper import intervals

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
ANY = math.inf
# Near 1 for linear growth, 0.41 for a square root, below 0.1 for a logarithm at these horizons.
LINEAR_FROM = 0.7


class Part(NamedTuple):
    """One number that bears on a claim: its estimate, its interval, the range it should lie in, and the verdict.

    An exact one is computed, not simulated. `caution` says why an interval may cover too little.
    """

    label: str
    estimate: float
    low: float
    high: float
    least: float
    most: float
    exact: bool = False
    caution: str = ""

    @property
    def verdict(self) -> str:
        """Holds if the whole interval lies in the range, does not hold if none of it does, else undecided."""
        if self.least <= self.low and self.high <= self.most:
            return HOLDS
        return FAILS if self.high < self.least or self.low > self.most else UNDECIDED


def combined(parts: Sequence[Part]) -> str:
    """A claim holds if all its parts hold, and does not if one does not."""
    verdicts = {part.verdict for part in parts}
    return FAILS if FAILS in verdicts else UNDECIDED if UNDECIDED in verdicts else HOLDS


def exact(label: str, value: float, least: float, most: float) -> Part:
    """A number that is computed, and has no uncertainty."""
    return Part(label, float(value), float(value), float(value), least, most, exact=True)


class Evidence(NamedTuple):
    """Numbers of trials with their intervals, at one confidence."""

    confidence: float = 0.95

    def mean(self, label: str, values: Numbers, least: float, most: float) -> Part:
        """A mean over trials, or a mean of paired differences."""
        low, high = intervals.of_mean(values, self.confidence)
        return Part(label, float(values.mean()), low, high, least, most, caution=why_wide(values, near=False))

    def ratio(
        self, label: str, above: Numbers, below: Numbers, least: float, most: float, *, paired: bool = True
    ) -> Part:
        """A ratio of two means."""
        low, high = intervals.of_ratio(above, below, self.confidence, paired=paired)
        ratio = float(above.mean() / below.mean())
        caution = why_wide(above - ratio * below if paired else above, near=False)
        return Part(label, ratio, low, high, least, most, caution=caution)

    def growth(self, label: str, result: Result, policy: str, metric: str, least: float, most: float) -> Part:
        """The mean slope in the second half of the rounds, as a multiple of that in the first half."""
        times = result.specification.checkpoints
        half = int(np.argmin(abs(times - times[-1] / 2)))
        first, last = result.curve(policy, metric)[:, [half, -1]].T
        late = (last - first) / float(times[-1] - times[half])
        return self.ratio(label, late, first / float(times[half]), least, most)

    def spread(self, label: str, above: Numbers, below: Numbers, least: float, most: float) -> Part:
        """A ratio of two standard deviations: the root of that of the mean squared deviations."""
        squares = self.ratio(label, (above - above.mean()) ** 2, (below - below.mean()) ** 2, least, most)
        estimate, low, high = (math.sqrt(max(0.0, value)) for value in squares[1:4])
        return squares._replace(estimate=estimate, low=low, high=high)

    def quantiles(
        self, label: str, above: Sequence[Numbers], below: Sequence[Numbers], least: float, most: float, level: float
    ) -> Part:
        """A ratio of quantiles; of several pairs the geometric mean of their ratios."""
        weights = [1.0 / len(above)] * len(above) + [-1.0 / len(below)] * len(below)
        in_logs = self.log_quantiles(label, [*above, *below], weights, least, most, level)
        estimate, low, high = (math.exp(value) for value in in_logs[1:4])
        return in_logs._replace(estimate=estimate, low=low, high=high)

    def log_quantiles(
        self,
        label: str,
        samples: Sequence[Numbers],
        weights: Sequence[float],
        least: float,
        most: float,
        level: float = 0.5,
    ) -> Part:
        """A weighted sum of the logarithms of quantiles, such as a slope; samples are paired by trial."""
        low, high = intervals.of_log_quantiles(samples, weights, level, self.confidence)
        estimate = float(np.dot(weights, [np.log(np.quantile(sample, level)) for sample in samples]))
        return Part(label, estimate, low, high, least, most)

    def outliers(self, label: str, values: Numbers, medians: float, least: float, most: float) -> Part:
        """The chance that a trial is above so many medians; the median, not known either, takes half of the error."""
        confidence = (1.0 + self.confidence) / 2.0
        ends = median_interval(values, confidence)
        few, seen, many = (
            int((values > medians * bound).sum()) for bound in (ends[1], float(np.median(values)), ends[0])
        )
        low = intervals.of_share(few, len(values), confidence)[0]
        high = intervals.of_share(many, len(values), confidence)[1]
        return Part(label, seen / len(values), low, high, least, most)

    def straightness(self, label: str, rows: Numbers, least: float, most: float) -> Part:
        """The share of the variance of the columns' means that a straight line through them explains."""
        low, high = intervals.of_straightness(rows, self.confidence)
        estimate = float(np.corrcoef(np.arange(rows.shape[1]), rows.mean(axis=0))[0, 1]) ** 2
        squares = sorted((low * low, high * high))
        return Part(label, estimate, 0.0 if low < 0.0 < high else squares[0], squares[1], least, most)
