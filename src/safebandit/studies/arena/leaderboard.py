"""The leaderboard: every policy against the baseline, instance by instance and over all of them, at one size.

Where a few trials carry a mean, or may, because the best arm's risk cannot be told from alpha, a bootstrap covers too
little: the ratio of means then gets a wide interval (`tails`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from safebandit.problems import Instance
from safebandit.problems.theory import bounds_of
from safebandit.simulation.results import Result
from safebandit.simulation.summaries import METRICS
from safebandit.simulation.tails import why_wide, wide_ratio
from safebandit.studies.arena.collection import at_limit
from safebandit.studies.arena.plan import DECADE, Task
from safebandit.studies.arena.resampling import CONFIDENCE, Statistic, compared, resampled, sample

# Bounds speak of trials of so many units and more.
SHORTEST = 3


class Equal(NamedTuple):
    """What equal randomisation comes to on average: every arm gets the same share of the units."""

    regret: float
    unsafe_plays: float


@dataclass(frozen=True)
class Score:
    """How one policy did on one instance: by metric and statistic, its rank, against the lower bound and `equal`.

    `unsafe_share` is the mean of its unsafe plays over those of equal randomisation; None where no arm is unsafe.
    """

    text: str
    rank: float
    statistics: Mapping[str, Mapping[str, Statistic]]
    over_lower_bound: float | None
    slope_over_lower_bound: float | None
    unsafe_share: float | None

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
    equal: Equal
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

    `without_regret` counts instances on which it had none, which no geometric mean can hold. `unsafe_share` is the
    mean of the instances' shares of equal randomisation's unsafe plays, `worst_share` the largest of them.
    """

    policy: str
    instances: int
    without_regret: int
    mean_rank: float
    mean_ratio: float | None
    q99_ratio: float | None
    unsafe_ratio: float | None
    unsafe_share: float | None
    better: int
    worse: int
    worst_mean: Extreme
    worst_q99: Extreme
    worst_share: Extreme
    mean_ratio_off_limit: float | None
    worst_mean_at_limit: Extreme


def judge(task: Task, result: Result, baseline: str) -> Standing:
    """Judge the policies on one instance."""
    bounds = bounds_of(task.entry.instance)
    slope = bounds.lower_regret_slope
    slope_or_none = slope if 0.0 < slope < math.inf else None
    bound = (bounds.at(task.units).lower_leading_regret if task.units >= SHORTEST else 0.0) or None
    equal = equal_randomisation(task.entry.instance, task.units)
    draws = resampled(result.trials)
    samples = {
        label: {metric: sample(result.final(label, metric), draws) for metric in METRICS} for label in result.policies
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
        unsafe = statistics["unsafe_plays"]["mean"].value
        share = unsafe / equal.unsafe_plays if equal.unsafe_plays else None
        scores[label] = Score(result.specification.policies[label], rank, statistics, over, over_slope, share)
    return Standing(task, result, bound, bounds.lower_class, equal, scores)


def equal_randomisation(instance: Instance, units: int) -> Equal:
    """What equal randomisation comes to, from the instance alone: units / K of every arm.

    >>> equal_randomisation(Instance.bernoulli([0.5, 0.7], [0.1, 0.75], alpha=0.5), units=36)
    Equal(regret=4.5, unsafe_plays=18.0)
    """
    share = units / len(instance.mu)
    return Equal(share * math.fsum(instance.costs), share * len(instance.unsafe_arms))


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
    shares = [score.unsafe_share for score in scores if score.unsafe_share is not None]
    return Overall(
        label,
        len(scores),
        sum(score.mean.ratio == 0.0 for score in scores),
        float(np.mean([score.rank for score in scores])) if scores else 0.0,
        geometric_mean([score.mean.ratio for score in scores]),
        geometric_mean([score.q99.ratio for score in scores]),
        geometric_mean(unsafe),
        float(np.mean(shares)) if shares else None,
        sum(score.mean.better for score in scores),
        sum(score.mean.worse for score in scores),
        _worst({one.task.entry.name: one.scores[label].mean.ratio for one in played}),
        _worst({one.task.entry.name: one.scores[label].q99.ratio for one in played}),
        _worst({one.task.entry.name: one.scores[label].unsafe_share for one in played}),
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
        "equal_randomisation": one.equal._asdict(),
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
        "unsafe_share": score.unsafe_share,
    }
