"""Beta laws of any shape, and intervals, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from safebandit.core.bernoulli import beta_below
from safebandit.core.chances import interval_width

SHAPES = [(0.05, 0.05), (0.5, 0.5), (0.2, 3.0), (7.0, 0.3), (1.0, 1.0), (0.5, 40.5), (300.7, 0.9), (12.0, 900.0)]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_the_chance_to_lie_below_is_scipys(a, b):
    places = np.concatenate([[0.0, 1.0, 1e-9, 1.0 - 1e-9], np.linspace(0.01, 0.99, 25)])
    for x in places:
        assert beta_below(a, b, x) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-10, abs=1e-13)


@pytest.mark.parametrize(("a", "b"), SHAPES[1:])
def test_the_width_of_an_interval_is_scipys(a, b):
    for confidence in (0.5, 0.95):
        low, high = stats.beta.interval(confidence, a, b)
        assert interval_width(a, b, confidence) == pytest.approx(high - low, abs=1e-10)
