"""Means that a few trials carry: noticed, and their wide intervals held to what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, skew

import safebandit as sb
from safebandit.cli.show import print_result
from safebandit.simulation.tails import median_interval, near_limit, tail_of, why_wide, wide_interval, wide_ratio

LIMIT = sb.instance_by_name("bayes-schedules")


def rare(rng, trials):
    """Regret as at nu* = alpha: about 60 in most trials, and in few of them up to 2,000, with a tail of weight 1/y."""
    return np.minimum(2_000.0, 60.0 + rng.uniform(-5, 5, trials) + 1.0 / (1.0 - rng.random(trials)))


# The mean of min(1/u, 1,940) besides: the noise moves where it is cut by less than 1e-2 in the mean.
TRUE_MEAN = 60.0 + 1.0 + math.log(1_940)


@pytest.mark.parametrize("trials", [40, 1_000])
def test_wide_intervals_cover_where_t_intervals_do_not(trials):
    # Of 60 samples 57 are covered on average by a 95 % interval; fewer than 52 with a chance of 1 %.
    rng = np.random.default_rng(7)
    wide = normal = 0
    for _ in range(60):
        values = rare(rng, trials)
        low, high = wide_interval(values, 0.0, 2_000.0, 0.95)
        assert low < values.mean() < high
        wide += low <= TRUE_MEAN <= high
        normal += abs(values.mean() - TRUE_MEAN) <= 1.96 * values.std(ddof=1) / math.sqrt(trials)
    assert wide >= 57
    assert normal < 52


def test_wide_ratios_cover_too():
    # Of 60 samples 57 are covered on average by a 95 % interval; fewer than 52 with a chance of 1 %.
    rng, covered = np.random.default_rng(8), 0
    for _ in range(60):
        mine, base = rare(rng, 200), rare(rng, 200)
        low, high = wide_ratio(mine, base, 2_000.0, 0.95)
        assert low < mine.mean() / base.mean() < high
        covered += low <= 1.0 <= high
    assert covered >= 57


def test_a_wide_interval_shrinks_to_the_mean():
    values = np.tile([0.0, 1.0], 5_000)
    low, high = wide_interval(values, 0.0, 1.0, 0.95)
    # Twice the normal one is room for any law; less would be too good to be true.
    assert 0.0098 < 0.5 - low < 0.0196
    assert high - 0.5 == pytest.approx(0.5 - low)
    assert wide_interval(np.ones(10), 0.0, 1.0, 0.95)[1] == pytest.approx(1.0)
    low, high = wide_ratio(np.full(50, 0.0), np.full(50, 3.0), 10.0, 0.95)
    assert low == 0.0 < high < 1.0


@pytest.mark.parametrize("count", [3, 5, 6, 7, 40, 201])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_medians_lie_between_the_order_statistics_that_are_told(count, confidence):
    low, high = median_interval(np.arange(1.0, count + 1), confidence)
    if math.isinf(low):
        # Even the least and the most are between too seldom.
        assert 1 - 2 * 0.5**count < confidence
        return
    rank = int(low)
    assert high == count + 1 - rank
    at_least = 1 - 2 * binomtest(rank - 1, count, 0.5, "less").pvalue
    narrower = 1 - 2 * binomtest(rank, count, 0.5, "less").pvalue
    assert at_least >= confidence > narrower


def test_the_tail_of_trials_is_their_skewness_and_the_farthest_of_them():
    values = rare(np.random.default_rng(3), 300)
    tail = tail_of(values)
    assert tail.needed == pytest.approx(25 * skew(values) ** 2)
    squares = np.sort((values - values.mean()) ** 2)
    assert tail.carried == pytest.approx(squares[-3:].sum() / squares.sum())
    assert f"make up {100 * tail.carried:.0f} % of the variance" in why_wide(values, near=False)
    assert why_wide(np.random.default_rng(3).normal(size=300), near=False) == ""
    assert tail_of(np.ones(5)) == (0.0, 0.0)


def test_which_best_arms_are_near_the_limit():
    assert near_limit(LIMIT, 10)
    drug = sb.instance_by_name("drug-trial")
    assert (near_limit(drug, 400), near_limit(drug, 5_000)) == (True, False)
    # Never refuted: no risk at all, or any risk tolerated.
    assert not near_limit(sb.instance_by_name("two-arm-example").with_alpha(0.0), 10**6)
    assert not near_limit(sb.Instance.bernoulli([0.5, 0.3], [1.0, 0.2], 1.0), 10**6)


@pytest.fixture(scope="module")
def limit():
    return sb.simulate(LIMIT, ["docb", "tsbu"], horizon=300, trials=40, seed=5)


def test_compare_warns_at_the_limit_whatever_the_trials_look_like(limit):
    found = limit.compare("tsbu", "docb")
    assert "cannot be told from alpha" in found["remark"]
    assert "wide_low to wide_high" in found["remark"]
    assert found["wide_low"] < found["low"] < found["difference"] < found["high"] < found["wide_high"]
    difference = limit.final("tsbu") - limit.final("docb")
    assert (found["wide_low"], found["wide_high"]) == pytest.approx(wide_interval(difference, -30.0, 30.0, 0.95))
    assert found["median"] == np.median(difference)
    assert (found["median_low"], found["median_high"]) == median_interval(difference, 0.95)
    # A policy is compared with itself without doubt, and unsafe plays do not have that tail.
    assert limit.compare("tsbu", "tsbu")["remark"] == ""
    assert "told from alpha" not in limit.compare("tsbu", "docb", "unsafe_plays")["remark"]


def test_the_printed_table_warns_at_the_limit(limit, capsys):
    print_result(limit)
    assert "rare, long runs carry mean regret" in capsys.readouterr().out.replace("\n", " ")


def test_compare_warns_where_a_few_trials_carry_the_mean():
    result = sb.simulate("drug-trial", ["docb", "tsbu"], horizon=2_000, trials=30, seed=5)
    assert result.compare("tsbu", "docb")["remark"] == ""
    result.of("tsbu").regret[3, -1] = 250.0
    assert "a few trials carry the mean" in result.compare("tsbu", "docb")["remark"]


def test_compare_of_a_summary_says_what_it_cannot_give():
    summary = sb.simulate(LIMIT, ["docb", "tsbu"], horizon=300, trials=5, seed=5, keep="summary")
    found = summary.compare("tsbu", "docb")
    assert found["remark"].endswith('simulate it again with keep="trials" for an interval that holds')
    assert "wide_low" not in found


def test_held_rounds_count_in_the_most_that_a_trial_can_come_to():
    infeasible = sb.Instance.bernoulli([0.5, 0.4], [0.05, 1.0], 0.1)
    result = sb.simulate(infeasible, "docb", horizon=100, trials=5, seed=1)
    assert result.most("regret") == pytest.approx(90.0)
    result.of("docb").held[0] = 1
    assert result.most("regret") == pytest.approx(90.0)
    cheap = sb.simulate(sb.Instance.bernoulli([0.5, 0.4], [0.05, 0.05], 0.1), "docb", horizon=100, trials=5, seed=1)
    assert cheap.most("regret") == pytest.approx(10.0)
    cheap.of("docb").held[0] = 1
    assert cheap.most("regret") == pytest.approx(50.0)
    assert cheap.most("unsafe_plays") == 100.0
