"""Rules on made-up trials: verdicts, and intervals held to SciPy, to their definition, and to a truth that is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import safebandit as sb
from safebandit.simulation.tails import quantile_interval
from safebandit.studies.paper import intervals
from safebandit.studies.paper.evidence import FAILS, HOLDS, UNDECIDED, Evidence, Part, combined, exact

ANY = math.inf


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (2, 3, HOLDS),
        (1, 5, HOLDS),
        (0, 3, UNDECIDED),
        (4, 9, UNDECIDED),
        (0, 9, UNDECIDED),
        (6, 7, FAILS),
        (0, 0.5, FAILS),
    ],
)
def test_verdicts(low, high, verdict):
    part = Part("x", (low + high) / 2, low, high, 1, 5)
    assert part.verdict == verdict
    assert combined([part]) == verdict
    assert combined([part, exact("y", 3, 1, 5)]) == verdict
    assert combined([part, exact("y", 9, 1, 5)]) == FAILS


def skewed(seed, shape):
    return np.random.default_rng(seed).exponential(size=shape)


@pytest.mark.parametrize("confidence", [0.95, 0.9975])
def test_a_mean_has_students_interval(confidence):
    values = skewed(1, 40)
    expected = stats.ttest_1samp(values, 0).confidence_interval(confidence)
    assert intervals.of_mean(values, confidence) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("confidence", [0.95, 0.9975])
def test_the_ends_of_a_ratio_are_where_a_paired_test_just_refutes_it(confidence):
    above, below = skewed(2, (2, 60)) + 0.2
    for r in intervals.of_ratio(above, below, confidence):
        assert stats.ttest_1samp(above - r * below, 0).pvalue == pytest.approx(1 - confidence)


def test_a_ratio_to_a_known_number_is_a_mean_paired_or_not():
    above, below = skewed(3, 60), np.full(60, 4.0)
    expected = np.array(intervals.of_mean(above, 0.95)) / 4
    for paired in (True, False):
        assert intervals.of_ratio(above, below, 0.95, paired=paired) == pytest.approx(expected)


def test_a_ratio_has_no_ends_where_its_divisor_may_be_0():
    values = np.random.default_rng(4).normal(size=(2, 30))
    found = Evidence().ratio("r", *values, 0.5, 2)
    assert (found.low, found.high) == (-ANY, ANY)
    assert found.verdict == UNDECIDED


@pytest.mark.parametrize(("count", "trials"), [(0, 500), (1, 500), (3, 50), (50, 50)])
def test_a_share_has_an_exact_interval(count, trials):
    expected = stats.binomtest(count, trials).proportion_ci(0.99, "exact")
    assert intervals.of_share(count, trials, 0.99) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("count", [5, 100, 700])
def test_a_quantile_lies_between_order_statistics_by_brute_force(level, count):
    """The r-th smallest of n is above the quantile if fewer than r of n coins are heads, and below if r or more are."""
    heads = stats.binom(count, level)
    low = max((r for r in range(1, count + 1) if heads.cdf(r - 1) <= 0.025), default=0)
    high = min((r for r in range(1, count + 1) if heads.sf(r - 1) <= 0.025), default=0)
    expected = (low or -ANY, high or ANY)
    assert quantile_interval(np.arange(1.0, count + 1), level, 0.95) == expected


def test_one_median_has_the_interval_of_order_statistics_and_a_few_trials_have_none():
    values = skewed(5, 101)
    found = Evidence().log_quantiles("m", [values], [1.0], -ANY, ANY)
    assert (found.low, found.high) == pytest.approx(np.log(quantile_interval(values, 0.5, 0.95)))
    ratio = Evidence().quantiles("q", [values], [values[::-1]], 0.5, 2.0, level=0.99)
    assert (ratio.low, ratio.high, ratio.verdict) == (0.0, ANY, UNDECIDED)


def test_a_slope_of_medians_is_covered_as_often_as_is_said():
    """Medians of ten paired samples; 500 intervals of 95 %.

    They are known to cover a little more often: 98.1 % here, by 4,000 others. Fewer than 475, or all 500, are seen
    with a chance below 10^-4 each.
    """
    rng = np.random.default_rng(6)
    logs = np.log(np.arange(1, 11))
    weights = ((logs - logs.mean()) / ((logs - logs.mean()) ** 2).sum()).tolist()
    covered = 0
    for _ in range(500):
        own, shared = rng.normal(size=(10, 100)), rng.normal(size=100)
        samples = np.exp(0.7 * (own + shared)) / np.arange(1, 11)[:, None]
        low, high = intervals.of_log_quantiles(list(samples), weights, 0.5, 0.95)
        covered += low <= -1.0 <= high
    assert 475 <= covered < 500


def test_pairs_count_in_a_ratio_of_medians():
    rng = np.random.default_rng(7)
    shared, own = np.exp(rng.normal(size=400)), np.exp(0.01 * rng.normal(size=400))
    paired = Evidence().quantiles("p", [2 * shared * own], [shared], 1.0, 3.0, level=0.5)
    apart = Evidence().quantiles("a", [2 * rng.permutation(shared)], [shared], 1.0, 3.0, level=0.5)
    assert paired.low < 2.0 < paired.high
    assert paired.high - paired.low < 0.3 * (apart.high - apart.low)


def test_spreads_are_compared_by_their_ratio():
    """300 intervals of 95 %, which cover about as often: fewer than 270, or all, have a chance below 10^-3 each."""
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(300):
        base = rng.normal(size=200)
        found = Evidence().spread("s", 0.5 * (base + rng.normal(size=200)), base, 0, 1)
        covered += found.low <= math.sqrt(0.5) <= found.high
    assert 270 <= covered < 300


def test_straightness_is_covered():
    """300 intervals of 95 %, which cover about 94 % of the time: outside these bounds with a chance below 10^-3."""
    rng = np.random.default_rng(9)
    means = np.array([0, 1, 2, 2.7, 3.0, 3.1])
    truth = stats.pearsonr(np.arange(6), means).statistic ** 2
    covered = 0
    for _ in range(300):
        found = Evidence().straightness("r", means + rng.exponential(size=(200, 6)), 0.9, 1.0)
        covered += found.low <= truth <= found.high
        assert 0.0 <= found.low <= found.high <= 1.0
    assert 267 <= covered < 300


def test_outliers_are_a_chance_and_the_median_is_not_taken_as_known():
    values = np.append(np.linspace(1, 2, 499), 100.0)
    found = Evidence().outliers("o", values, 5.0, 1 / 500, 0.05)
    assert found.estimate == 1 / 500
    assert (found.low, found.high) == intervals.of_share(1, 500, 0.975)
    # With 1.5 medians it matters which numbers may be the median.
    many = Evidence().outliers("o", values, 1.25, 0, 1)
    ends = quantile_interval(values, 0.5, 0.975)
    beyond = [int((values > 1.25 * end).sum()) for end in ends]
    assert many.low == intervals.of_share(beyond[1], 500, 0.975)[0]
    assert many.high == intervals.of_share(beyond[0], 500, 0.975)[1]


def test_a_mean_that_few_trials_carry_says_so():
    values = np.append(np.ones(500), 1e4)
    assert "a few trials carry the mean" in Evidence().mean("m", values, 0, ANY).caution
    assert Evidence().mean("m", np.arange(100.0), 0, ANY).caution == ""


def test_growth_tells_linear_from_logarithmic():
    instance = sb.instance_by_name("naive-sampling")
    result = sb.simulate(instance, "docb", horizon=1_000, trials=5, checkpoints="linear")
    times = result.specification.checkpoints
    for curve, expected in ((times * 1.0, 1.0), (np.sqrt(times), math.sqrt(2) - 1)):
        result.of("docb").regret[:] = curve
        found = Evidence().growth("g", result, "docb", "regret", 0, 2)
        assert found.estimate == pytest.approx(expected, abs=0.01)
