"""The statistics, against SciPy's bootstrap, simulated coverage, and numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from safebandit.problems.theory import bounds_of
from safebandit.simulation.simulate import simulate
from safebandit.simulation.tails import wide_ratio
from safebandit.studies.arena import COLLECTION
from safebandit.studies.arena.leaderboard import (
    equal_randomisation,
    final_slope,
    geometric_mean,
    judge,
    overall,
    ranked,
)
from safebandit.studies.arena.plan import ArenaSettings, checkpoints, make_plan
from safebandit.studies.arena.resampling import STATISTICS, Statistic, compared, resampled, sample

PLAIN = {
    "mean": np.mean,
    "median": np.median,
    "q99": lambda values, axis=None: np.quantile(values, 0.99, axis=axis),
    "worst": np.max,
}


def ratios(values, base):
    draws = resampled(len(values))
    return compared(sample(values, draws), sample(base, draws))


@pytest.mark.parametrize("name", STATISTICS)
def test_ratios_and_intervals_are_those_of_scipys_paired_bootstrap(name):
    rng = np.random.default_rng(5)
    base = rng.gamma(2.0, 10.0, 150)
    values = 0.8 * base + rng.gamma(2.0, 2.0, 150)
    found = ratios(values, base)[name]
    assert found.value == pytest.approx(PLAIN[name](values), rel=1e-12)
    assert found.ratio == pytest.approx(PLAIN[name](values) / PLAIN[name](base), rel=1e-12)

    def ratio(a, b, axis):
        return PLAIN[name](a, axis=axis) / PLAIN[name](b, axis=axis)

    theirs = stats.bootstrap(
        (values, base), ratio, paired=True, vectorized=True, n_resamples=20_000, method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    # Resampling error of an end of 2,000 resamples: well below a tenth of the interval's width.
    tolerance = 0.15 * (theirs.high - theirs.low)
    assert abs(found.low - theirs.low) < tolerance
    assert abs(found.high - theirs.high) < tolerance


def test_the_interval_of_the_ratio_of_means_covers():
    # 200 samples of 60 pairs; a 95 % interval covers 190 on average, and below 174 or all of them with chance < 1e-4.
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(200):
        base = rng.gamma(3.0, 10.0, 60)
        values = 0.5 * base + rng.gamma(3.0, 5.0, 60)
        mean = ratios(values, base)["mean"]
        covered += mean.low <= 1.0 <= mean.high
    assert 174 <= covered <= 199


def test_a_ratio_to_nothing_does_not_exist():
    draws = resampled(40)
    some, none = np.arange(40.0), np.zeros(40)
    rare = np.where(np.arange(40) == 7, 5.0, 0.0)
    to_none = compared(sample(some, draws), sample(none, draws))
    assert all(statistic[1:] == (None, None, None, False) for statistic in to_none.values())
    to_rare = compared(sample(some, draws), sample(rare, draws))
    assert to_rare["mean"].ratio == pytest.approx(39 * 20 / 5)
    assert to_rare["mean"].low is None
    assert to_rare["median"].ratio is None
    assert compared(sample(none, draws), sample(some + 1, draws))["mean"] == Statistic(0.0, 0.0, 0.0, 0.0)
    alone = ratios(np.array([3.0]), np.array([2.0]))["mean"]
    assert alone == Statistic(3.0, 1.5, None, None)
    without = compared(sample(some, draws), None)
    assert without["worst"] == Statistic(39.0, None, None, None)


@pytest.mark.parametrize("trials", [2, 3, 101, 250])
def test_resampled_statistics_are_numpys_of_every_resample(trials):
    # With ties, as unsafe plays have them.
    values = np.random.default_rng(trials).integers(0, 12, trials) / 4
    draws = resampled(trials)
    assert (draws.counts.sum(axis=0) == trials).all()
    resamples = values[draws.rows]
    found = sample(values, draws)
    for mine, name in zip(found.drawn, STATISTICS, strict=True):
        np.testing.assert_allclose(mine, PLAIN[name](resamples, axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.found, [PLAIN[name](values) for name in STATISTICS], rtol=1e-12)


def test_better_and_worse_need_the_whole_interval():
    assert Statistic(1, 0.8, 0.7, 0.9).better
    assert Statistic(1, 1.2, 1.1, 1.3).worse
    for one in (Statistic(1, 0.9, 0.7, 1.0), Statistic(1, 1.0, 1.0, 1.0), Statistic(1, 0.5, None, None)):
        assert not one.better
        assert not one.worse


def test_ranks_and_geometric_means():
    assert ranked([3.0, 1.0, 2.0, 2.0]) == [4.0, 1.0, 2.5, 2.5]
    assert geometric_mean([2.0, 8.0, None]) == pytest.approx(4.0)
    assert geometric_mean([0.0, 8.0]) == pytest.approx(8.0)
    assert geometric_mean([0.0]) is None
    assert geometric_mean([None]) is None
    assert geometric_mean([]) is None


@pytest.fixture(scope="module")
def standings():
    found = []
    for task in make_plan(
        ["bayes-schedules", "dominated-two"], ["docb", "pess"], ArenaSettings(units=(1_000,), trials=30)
    ):
        result = simulate(
            task.entry.instance, task.policies, horizon=1_000, trials=30, seed=2, checkpoints=checkpoints(1_000)
        )
        found.append(judge(task, result, "tsbu"))
    return found


def test_a_standing_against_plain_numbers(standings):
    one = standings[1]
    result, slope = one.result, bounds_of(one.task.entry.instance).lower_regret_slope
    finals = {label: result.final(label) for label in result.policies}
    assert one.lower_bound == pytest.approx(slope * math.log(1_000))
    order = sorted(finals, key=lambda label: finals[label].mean())
    assert sorted(one.scores, key=lambda label: one.scores[label].rank) == order
    for label, score in one.scores.items():
        assert score.mean.value == pytest.approx(finals[label].mean())
        assert score.mean.ratio == pytest.approx(finals[label].mean() / finals["tsbu"].mean())
        unsafe = result.final(label, "unsafe_plays").mean() / result.final("tsbu", "unsafe_plays").mean()
        assert score.statistics["unsafe_plays"]["mean"].ratio == pytest.approx(unsafe)
        # Two arms of three are unsafe.
        share = result.final(label, "unsafe_plays").mean() / (1_000 * 2 / 3)
        assert score.unsafe_share == pytest.approx(share)
        assert score.over_lower_bound == pytest.approx(finals[label].mean() / one.lower_bound)
        curve = result.curve(label).mean(axis=0)
        at = list(result.specification.checkpoints).index(100)
        assert score.slope_over_lower_bound == pytest.approx((curve[-1] - curve[at]) / math.log(10) / slope)
    assert one.scores["tsbu"].mean[1:] == (1.0, 1.0, 1.0, False)


def test_where_a_few_trials_may_carry_the_mean_its_interval_is_a_wide_one(standings):
    at_limit, dominated = standings
    result = at_limit.result
    low, high = wide_ratio(result.final("docb"), result.final("tsbu"), 0.1 * 1_000, 0.95)
    found = at_limit.scores["docb"].mean
    assert found.wide
    assert (found.low, found.high) == pytest.approx((low, high))
    bootstrapped = ratios(result.final("docb"), result.final("tsbu"))["mean"]
    assert found.low < bootstrapped.low < found.ratio < bootstrapped.high < found.high
    assert not at_limit.scores["docb"].q99.wide
    assert not dominated.scores["docb"].mean.wide
    # A trial that dwarfs the others is noticed too.
    dominated.result.of("docb").regret[0, -1] = 150.0
    assert judge(dominated.task, dominated.result, "tsbu").scores["docb"].mean.wide


def test_where_no_slope_exists_there_is_no_lower_bound():
    # Nothing is lost: the other arm is as good as the best.
    from dataclasses import replace

    from safebandit.problems import Instance

    (task,) = make_plan(["all-safe"], ["docb"], ArenaSettings(units=(50,), trials=3))
    flat = replace(task.entry, make=lambda: Instance.bernoulli([0.5, 0.5], [0.1, 0.1], 0.3))
    task = replace(task, entry=flat)
    result = simulate(flat.instance, task.policies, horizon=50, trials=3, checkpoints=checkpoints(50))
    one = judge(task, result, "tsbu")
    assert one.lower_bound is None
    assert one.scores["docb"].over_lower_bound is None
    assert one.scores["docb"].mean == Statistic(0.0, None, None, None)
    (row, *_) = overall([one], ["docb"])
    assert (row.mean_ratio, row.worst_mean.ratio, row.better, row.worse) == (None, None, 0, 0)


def test_growth_is_measured_over_the_last_tenfold():
    (task,) = make_plan(["all-safe"], ["docb"], ArenaSettings(units=(1_000,), trials=4))
    result = simulate(task.entry.instance, "docb", horizon=1_000, trials=4, checkpoints=checkpoints(1_000))
    result.of("docb").regret[:] = 7.0 * np.log(result.specification.checkpoints)
    assert final_slope(result, "docb") == pytest.approx(7.0)


def test_overall_is_what_the_standings_say(standings):
    rows = {row.policy: row for row in overall(standings, ["tsbu", "docb", "pess"])}
    for label, row in rows.items():
        scores = [one.scores[label] for one in standings]
        means = [score.mean.ratio for score in scores]
        assert row.instances == 2
        assert row.mean_rank == pytest.approx(np.mean([score.rank for score in scores]))
        assert row.mean_ratio == pytest.approx(stats.gmean(means))
        assert row.q99_ratio == pytest.approx(stats.gmean([score.q99.ratio for score in scores]))
        shares = [score.unsafe_share for score in scores]
        assert row.unsafe_share == pytest.approx(np.mean(shares))
        assert row.worst_share == (max(shares), ["bayes-schedules", "dominated-two"][int(np.argmax(shares))])
        assert row.worst_mean == (max(means), ["bayes-schedules", "dominated-two"][int(np.argmax(means))])
        assert row.better == sum(score.mean.high < 1 for score in scores)
        assert row.worse == sum(score.mean.low > 1 for score in scores)
        assert row.mean_ratio_off_limit == pytest.approx(means[1])
        assert row.worst_mean_at_limit == (means[0], "bayes-schedules")
        assert row.without_regret == sum(score.mean.value == 0 for score in scores)
    assert [row.mean_rank for row in rows.values()] == sorted(row.mean_rank for row in rows.values())


def test_equal_randomisation_is_what_its_blocks_come_to():
    # 36 units of 3 arms: 12 blocks of every arm once, whatever their order.
    instance = COLLECTION["dominated-two"].instance
    equal = equal_randomisation(instance, 36)
    assert equal.regret == pytest.approx(12 * (0.2 + 0.2))
    assert equal.unsafe_plays == 24
    assert equal_randomisation(COLLECTION["all-safe"].instance, 36).unsafe_plays == 0
    # The policy itself, whose whole blocks leave nothing to chance but the order.
    result = simulate(instance, "equal", horizon=36, trials=3)
    assert (result.final("equal", "unsafe_plays") == equal.unsafe_plays).all()
    assert result.final("equal") == pytest.approx(equal.regret)
    # A block that is not whole counts by the chance that an arm is in it.
    assert equal_randomisation(instance, 37).unsafe_plays == pytest.approx(24 + 2 / 3)


def test_where_no_arm_is_unsafe_there_is_no_share():
    (task,) = make_plan(["all-safe"], ["docb"], ArenaSettings(units=(36,), trials=3))
    result = simulate(task.entry.instance, task.policies, horizon=36, trials=3, checkpoints=checkpoints(36))
    one = judge(task, result, "tsbu")
    assert one.scores["docb"].unsafe_share is None
    (row, *_) = overall([one], ["docb"])
    assert (row.unsafe_share, row.worst_share) == (None, (None, None))
