"""How a claim is judged: an estimate with a 95 % interval over the trials, against a range fixed beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.simulation.results import Result

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
RESAMPLES = 2_000
# Near 1 for linear growth, 0.41 for a square root, below 0.1 for a logarithm at these horizons.
LINEAR_FROM = 0.7


class Part(NamedTuple):
    """One number that bears on a claim: its estimate, its interval, the range it should lie in, and the verdict.

    An exact one is computed, not simulated.
    """

    label: str
    estimate: float
    low: float
    high: float
    least: float
    most: float
    exact: bool = False

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
    """A number without uncertainty."""
    return Part(label, float(value), float(value), float(value), least, most, exact=True)


def mean(label: str, values: Numbers, least: float = -math.inf, most: float = math.inf) -> Part:
    """A mean over trials, or a mean of paired differences."""
    reach = 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    middle = float(np.mean(values))
    return Part(label, middle, middle - reach, middle + reach, least, most)


def share(label: str, hits: NDArray[np.bool_], least: float, most: float) -> Part:
    """A share of the trials, with Clopper and Pearson's exact interval: rare events need no normal law."""
    from scipy.stats import beta

    count, trials = int(np.sum(hits)), len(hits)
    low = float(beta.ppf(0.025, count, trials - count + 1)) if count > 0 else 0.0
    high = float(beta.ppf(0.975, count + 1, trials - count)) if count < trials else 1.0
    return Part(label, count / trials, low, high, least, most)


def bootstrap(
    label: str,
    samples: Sequence[Numbers],
    statistic: Callable[..., float],
    least: float,
    most: float,
    *,
    paired: bool = True,
) -> Part:
    """Any statistic of trials (rows of each sample), by resampling them; paired samples are resampled together."""
    # By hand: scipy.stats.bootstrap resamples numbers, and a trial here may be a row of several.
    rng = np.random.default_rng(20_230_101)
    draws = np.empty(RESAMPLES)
    for b in range(RESAMPLES):
        rows = rng.integers(len(samples[0]), size=len(samples[0]))
        picked = [s[rows if paired else rng.integers(len(s), size=len(s))] for s in samples]
        draws[b] = statistic(*picked)
    low, high = np.quantile(draws, (0.025, 0.975))
    return Part(label, float(statistic(*samples)), float(low), float(high), least, most)


def growth(label: str, result: Result, policy: str, metric: str, least: float, most: float) -> Part:
    """The mean slope in the second half of the rounds, as a multiple of that in the first half."""
    times = result.specification.checkpoints
    half = int(np.argmin(abs(times - times[-1] / 2)))
    ends = result.curve(policy, metric)[:, [half, -1]]

    def ratio(sample: Numbers) -> float:
        first, last = sample.mean(axis=0)
        return float((last - first) / (times[-1] - times[half]) / (first / times[half]))

    return bootstrap(label, [ends], ratio, least, most)
