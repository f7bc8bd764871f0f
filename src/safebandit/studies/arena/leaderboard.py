"""The statistics: every policy against the baseline, instance by instance and over all of them.

Ratios of all statistics get their intervals from one bootstrap over trials, which are resampled in pairs: unlike the
delta method it serves quantiles too. Where a few trials carry a mean, or may, because the best arm's risk cannot be
told from alpha, it covers too little: the ratio of means then gets a wide interval (`tails`). The interval of a worst
trial is a rough one: no resample can be worse than the worst that was seen. scipy.stats.bootstrap gives the same
intervals, as the tests say, but resamples the baseline anew for every policy, which takes more than twice as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.problems.theory import bounds_of
from safebandit.simulation.results import Result
from safebandit.simulation.summaries import METRICS
from safebandit.simulation.tails import why_wide, wide_ratio
from safebandit.studies.arena.collection import at_limit
from safebandit.studies.arena.plan import DECADE, Task

STATISTICS = ("mean", "median", "q99", "worst")
RESAMPLES = 2_000
RESAMPLING_SEED = 20_230_101
CONFIDENCE = 0.95
# Bounds speak of horizons from here on.
SHORTEST = 3


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


@dataclass(frozen=True)
class Score:
    """How one policy did on one instance: by metric and statistic, its rank, and against the lower bound."""

    text: str
    rank: float
    statistics: Mapping[str, Mapping[str, Statistic]]
    over_lower_bound: float | None
    slope_over_lower_bound: float | None

    @property
    def mean(self) -> Statistic:
        """Mean regret."""
        return self.statistics["regret"]["mean"]

    @property
    def q99(self) -> Statistic:
        """The 99th percentile of regret."""
        return self.statistics["regret"]["q99"]


@dataclass(frozen=True)
class Standing:
    """How all policies did on one instance."""

    task: Task
    result: Result
    lower_bound: float | None
    lower_class: str | None
    scores: Mapping[str, Score]

    @property
    def at_limit(self) -> bool:
        """Whether nu* = alpha."""
        return at_limit(self.task.entry.instance)


class Extreme(NamedTuple):
    """The largest ratio over the instances, and where."""

    ratio: float | None
    instance: str | None


class Overall(NamedTuple):
    """How one policy did over all instances that it played; ratios are to the baseline.

    `without_regret` counts instances on which it had none, which no geometric mean can hold.
    """

    policy: str
    instances: int
    without_regret: int
    mean_rank: float
    mean_ratio: float | None
    q99_ratio: float | None
    unsafe_ratio: float | None
    better: int
    worse: int
    worst_mean: Extreme
    worst_q99: Extreme
    mean_ratio_off_limit: float | None
    worst_mean_at_limit: Extreme


def judge(task: Task, result: Result, baseline: str) -> Standing:
    """Judge the policies on one instance."""
    bounds = bounds_of(task.entry.instance)
    slope = bounds.lower_regret_slope
    slope_or_none = slope if 0.0 < slope < math.inf else None
    bound = (bounds.at(task.horizon).lower_leading_regret if task.horizon >= SHORTEST else 0.0) or None
    rows = resampled_rows(result.trials)
    samples = {
        label: {metric: sample(result.final(label, metric), rows) for metric in METRICS} for label in result.policies
    }
    base = samples.get(baseline, {})
    ranks = ranked([float(result.final(label).mean()) for label in result.policies])
    scores = {}
    for label, rank in zip(result.policies, ranks, strict=True):
        statistics = {metric: compared(samples[label][metric], base.get(metric)) for metric in METRICS}
        if baseline in samples and label != baseline:
            statistics["regret"]["mean"] = _widened(statistics["regret"]["mean"], result, label, baseline)
        over = None if bound is None else statistics["regret"]["mean"].value / bound
        growth = final_slope(result, label)
        over_slope = None if slope_or_none is None or growth is None else growth / slope_or_none
        scores[label] = Score(result.specification.policies[label], rank, statistics, over, over_slope)
    return Standing(task, result, bound, bounds.lower_class, scores)


def resampled_rows(trials: int) -> Counts:
    """Which trials make up each resample (rows); the same for all policies, so that pairs stay together."""
    return np.random.default_rng(RESAMPLING_SEED).integers(trials, size=(RESAMPLES, trials))


def four(values: Numbers) -> Numbers:
    """The four statistics, along the last axis."""
    median, q99, worst = np.quantile(values, (0.5, 0.99, 1.0), axis=-1)
    return np.stack([values.mean(axis=-1), median, q99, worst])


class Sample(NamedTuple):
    """The four statistics of some trials, and (columns) of every resample of them; with one trial there are none."""

    found: Numbers
    drawn: Numbers | None


def sample(values: Numbers, rows: Counts) -> Sample:
    """The four statistics and their resamples."""
    return Sample(four(values), four(values[rows]) if len(values) > 1 else None)


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


def _widened(found: Statistic, result: Result, label: str, baseline: str) -> Statistic:
    """The ratio of mean regrets with a wide interval where the bootstrap's would cover too little."""
    mine, base = result.final(label), result.final(baseline)
    if found.ratio is None or result.trials < 2 or not why_wide(mine - found.ratio * base, near=result.near_limit):
        return found
    low, high = wide_ratio(mine, base, result.most("regret"), CONFIDENCE)
    return found._replace(low=low, high=high if math.isfinite(high) else None, wide=True)


def ranked(values: Sequence[float]) -> list[float]:
    """Ranks from 1 for the smallest; equal values share the mean of their ranks.

    >>> ranked([5.0, 1.0, 5.0])
    [2.5, 1.0, 2.5]
    """
    from scipy.stats import rankdata

    return [float(rank) for rank in rankdata(values)]


def final_slope(result: Result, label: str) -> float | None:
    """The growth of mean regret per unit of log t, over the last tenfold of the rounds."""
    times = result.specification.checkpoints
    first = int(np.searchsorted(times, round(times[-1] / DECADE)))
    if times[first] == times[-1]:
        return None
    curve = result.curve(label)[:, [first, -1]].mean(axis=0)
    return float((curve[1] - curve[0]) / math.log(times[-1] / times[first]))


def overall(standings: Sequence[Standing], labels: Sequence[str]) -> list[Overall]:
    """Rank the policies over all instances, by mean rank; a policy that played none of them comes last."""
    rows = [_overall(label, [one for one in standings if label in one.scores]) for label in labels]
    return sorted(rows, key=lambda row: (row.instances == 0, row.mean_rank, row.policy))


def _overall(label: str, played: Sequence[Standing]) -> Overall:
    scores = [one.scores[label] for one in played]
    unsafe = [score.statistics["unsafe_plays"]["mean"].ratio for score in scores]
    return Overall(
        label,
        len(scores),
        sum(score.mean.ratio == 0.0 for score in scores),
        float(np.mean([score.rank for score in scores])) if scores else 0.0,
        geometric_mean([score.mean.ratio for score in scores]),
        geometric_mean([score.q99.ratio for score in scores]),
        geometric_mean(unsafe),
        sum(score.mean.better for score in scores),
        sum(score.mean.worse for score in scores),
        _worst({one.task.entry.name: one.scores[label].mean.ratio for one in played}),
        _worst({one.task.entry.name: one.scores[label].q99.ratio for one in played}),
        geometric_mean([one.scores[label].mean.ratio for one in played if not one.at_limit]),
        _worst({one.task.entry.name: one.scores[label].mean.ratio for one in played if one.at_limit}),
    )


def geometric_mean(ratios: Sequence[float | None]) -> float | None:
    """The geometric mean of the ratios that exist and are not 0, as one zero would drown it; None without any.

    >>> geometric_mean([0.5, None, 2.0, 0.0])
    1.0
    """
    logs = [math.log(ratio) for ratio in ratios if ratio]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def _worst(ratios: Mapping[str, float | None]) -> Extreme:
    known = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    where = max(known, key=lambda name: known[name], default=None)
    return Extreme(None, None) if where is None else Extreme(known[where], where)


def overall_to_dict(row: Overall) -> dict[str, Any]:
    """A row of the leaderboard as JSON holds it."""
    document = row._asdict()
    document["mean_rank"] = row.mean_rank if row.instances else None
    return {key: value._asdict() if isinstance(value, Extreme) else value for key, value in document.items()}


def standing_to_dict(one: Standing) -> dict[str, Any]:
    """All that is known of one instance: why it is there, how it was played, and every number."""
    entry = one.task.entry
    return {
        "name": entry.name,
        "group": entry.group,
        "reason": entry.reason,
        "at_limit": one.at_limit,
        "trials": one.result.trials,
        "specification": one.result.specification.to_dict(),
        "lower_bound": one.lower_bound,
        "lower_class": one.lower_class,
        "policies": {label: _score_to_dict(score) for label, score in one.scores.items()},
        "cannot_play": dict(one.task.cannot),
    }


def _score_to_dict(score: Score) -> dict[str, Any]:
    return {
        "text": score.text,
        "rank": score.rank,
        **{
            metric: {name: statistic._asdict() for name, statistic in named.items()}
            for metric, named in score.statistics.items()
        },
        "over_lower_bound": score.over_lower_bound,
        "slope_over_lower_bound": score.slope_over_lower_bound,
    }
