"""What the candidates came to: means with intervals, who is on the front, and which one is recommended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.core.kernels import Trials
from safebandit.problems import Instance
from safebandit.simulation.selection import selected
from safebandit.simulation.summaries import standard_error

CONFIDENCE = 0.95
# How much more regret than the least is little.
LITTLE = 0.05
RULE = (
    "Of the candidates on the front (no other has both less regret and fewer unsafe plays) whose mean regret is within "
    f"{100 * LITTLE:.0f} % of the least, or not surely above it by pairs, the one with the fewest unsafe plays."
)


class Estimate(NamedTuple):
    """A number over the trials with its 95 % interval."""

    value: float
    low: float
    high: float


class Measured(NamedTuple):
    """Trial by trial: regret, unsafe plays, harms, and whether the best safe arm, or an unsafe arm, was selected."""

    regret: Numbers
    unsafe_plays: Numbers
    harms: Numbers
    best_selected: NDArray[np.bool_]
    unsafe_selected: NDArray[np.bool_]


class Score(NamedTuple):
    """What one candidate came to; `over_least` is its regret beyond that of the least, in pairs."""

    policy: str
    text: str
    regret: Estimate
    unsafe_plays: Estimate
    more_than: Estimate
    best_selected: Estimate
    unsafe_selected: Estimate
    harms: Estimate
    over_least: Estimate
    on_front: bool

    def to_dict(self) -> dict[str, Any]:
        """Every number, as JSON holds it."""
        return {key: value._asdict() if isinstance(value, Estimate) else value for key, value in self._asdict().items()}


def measure(trials: Trials, truths: Sequence[Instance], limits: tuple[float, ...]) -> Measured:
    """What trials came to, each on its own truth."""
    count, arms = trials.plays.shape
    risk = trials.risk.reshape(count, len(limits), arms)
    chosen = selected(trials.plays, trials.reward, risk, limits)
    best, unsafe = np.zeros((count, arms), bool), np.zeros((count, arms), bool)
    for i, truth in enumerate(truths):
        best[i, truth.best_arms], unsafe[i, truth.unsafe_arms] = True, True
    rows, some = np.arange(count), chosen >= 0
    return Measured(
        trials.regret[:, -1], trials.unsafe_plays[:, -1].astype(float), risk.sum(axis=(1, 2)),
        some & best[rows, chosen], some & unsafe[rows, chosen],
    )  # fmt: skip


def score(measured: Mapping[str, Measured], texts: Mapping[str, str], more_than: int) -> list[Score]:
    """Every candidate with its intervals, by mean regret."""
    points = {label: (one.regret.mean(), one.unsafe_plays.mean()) for label, one in measured.items()}
    front, least = on_front(points), measured[min(points, key=lambda label: points[label])]
    scores = [
        Score(
            label, texts[label], mean(one.regret, 0.0), mean(one.unsafe_plays, 0.0),
            share(one.unsafe_plays > more_than), share(one.best_selected), share(one.unsafe_selected),
            mean(one.harms, 0.0), mean(one.regret - least.regret), label in front,
        )
        for label, one in measured.items()
    ]  # fmt: skip
    return sorted(scores, key=lambda one: (one.regret.value, one.unsafe_plays.value))


def on_front(points: Mapping[str, tuple[float, float]]) -> set[str]:
    """Those that no other beats: in one of the two numbers, and in the other is as small.

    >>> sorted(on_front({"a": (1.0, 5.0), "b": (2.0, 3.0), "c": (2.0, 4.0), "d": (1.0, 5.0)}))
    ['a', 'b', 'd']
    """
    return {
        label
        for label, (x, y) in points.items()
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
    }


def choose(scores: Sequence[Score]) -> Score:
    """The candidate that RULE names; of equal ones, that of less regret, then the first."""
    least = min(one.regret.value for one in scores)
    near = [one for one in scores if one.regret.value <= (1.0 + LITTLE) * least or one.over_least.low <= 0.0]
    return min((one for one in near if one.on_front), key=lambda one: (one.unsafe_plays.value, one.regret.value))


def mean(values: Numbers, least: float = -math.inf) -> Estimate:
    """A mean over trials, of numbers that are at least so large, with its t interval."""
    from scipy.stats import t

    middle, spread = float(np.mean(values)), standard_error(values)
    reach = float(t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1)) * spread
    return Estimate(middle, max(least, middle - reach), middle + reach)


def share(hits: NDArray[np.bool_]) -> Estimate:
    """A share of the trials with Clopper and Pearson's exact interval: rare events need no normal law."""
    from scipy.stats import binomtest

    found = binomtest(int(hits.sum()), len(hits)).proportion_ci(CONFIDENCE, method="exact")
    return Estimate(float(hits.mean()), float(found.low), float(found.high))
