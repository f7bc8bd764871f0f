"""Standard errors and intervals: against SciPy, and by how often they hold what they shall."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from safebandit.studies.designs.estimates import deviation, mean, quantile, root_mean_square, share

VALUES = np.random.default_rng(5).gamma(2.0, 3.0, 400)


def test_a_mean_has_its_t_interval():
    found = mean(VALUES)
    low, high = stats.t.interval(0.95, len(VALUES) - 1, VALUES.mean(), stats.sem(VALUES))
    assert found == pytest.approx((VALUES.mean(), stats.sem(VALUES), low, high))


@pytest.mark.parametrize("hits", [0, 1, 57, 399, 400])
def test_a_share_has_its_exact_interval(hits):
    found = share(np.arange(400) < hits)
    exact = stats.binomtest(hits, 400).proportion_ci(0.95, method="exact")
    expected = (hits / 400, math.sqrt(hits / 400 * (1 - hits / 400) / 400), exact.low, exact.high)
    assert found == pytest.approx(expected, abs=1e-12)


def test_nothing_to_sum_up_is_no_zero():
    for one in (mean, share, deviation, root_mean_square, lambda none: quantile(none, 0.5)):
        assert all(math.isnan(number) for number in one(np.zeros(0)))
    assert math.isnan(mean(np.ones(1)).se)
    assert deviation(np.ones(9)) == (0.0, 0.0, 0.0, 0.0)
    assert root_mean_square(np.zeros(9)) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("one", "truth"),
    [
        (mean, 6.0),
        (deviation, math.sqrt(18.0)),
        (root_mean_square, math.sqrt(54.0)),
        (lambda drawn: quantile(drawn, 0.9), stats.gamma.ppf(0.9, 2.0, scale=3.0)),
    ],
)
def test_standard_errors_are_what_repetitions_show_and_intervals_hold_the_truth(one, truth):
    # 600 samples of 400: the share of intervals that hold the truth has s.e. 0.009; the bounds are 4 of them and the
    # skewness of the law away. An honest interval fails here once in ten thousand seeds.
    rng = np.random.default_rng(8)
    found = [one(rng.gamma(2.0, 3.0, 400)) for _ in range(600)]
    held = np.mean([each.low <= truth <= each.high for each in found])
    assert 0.905 < held < 0.99
    spread = np.std([each.value for each in found])
    assert 0.85 < np.mean([each.se for each in found]) / spread < 1.2
