"""Delays are drawn by their laws, held to SciPy's distribution functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from safebandit.core.delays import EXPONENTIAL, FIXED, UNIFORM, WEIBULL, draw_delay
from safebandit.core.streams import trial_streams

DRAWS = 4_000
# Four tests, each wrong once in ten thousand: together once in 2,500.
LEVEL = 1e-4


def draws(kind, a, b):
    stream = trial_streams(7, kind, 1).policy[0]
    return np.array([draw_delay(kind, a, b, stream) for _ in range(DRAWS)])


@pytest.mark.parametrize(
    ("kind", "a", "b", "law"),
    [
        (UNIFORM, 3.0, 30.0, stats.uniform(3, 27)),
        (EXPONENTIAL, 10.0, 0.0, stats.expon(scale=10)),
        (WEIBULL, 2.0, 20.0, stats.weibull_min(2, scale=20)),
        (WEIBULL, 0.7, 5.0, stats.weibull_min(0.7, scale=5)),
    ],
)
def test_delays_follow_their_law(kind, a, b, law):
    found = draws(kind, a, b)
    assert (found >= 0).all()
    assert stats.kstest(found, law.cdf).pvalue > LEVEL


def test_a_fixed_delay_takes_no_random_number():
    stream = trial_streams(7, 0, 1).policy[0]
    before = stream.copy()
    assert draw_delay(FIXED, 28.0, 0.0, stream) == 28.0
    assert stream == before


def test_equal_ends_are_a_fixed_delay():
    assert (draws(UNIFORM, 5.0, 5.0)[:10] == 5.0).all()
