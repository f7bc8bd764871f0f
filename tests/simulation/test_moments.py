"""Running sums: held to fractions and whole numbers of Python, which round nothing."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safebandit.simulation.moments import Moments


def moments_of(values, sizes=()):
    """The moments of a table, added in parts of these sizes and the rest."""
    moments = Moments(values.shape[1])
    for part in np.split(values, np.cumsum(sizes, dtype=int)):
        moments.add(part)
    return moments


def exact(column):
    """The mean and the standard error by fractions."""
    numbers = [Fraction(float(x)) for x in column]
    mean = sum(numbers) / len(numbers)
    variance = sum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1)
    return float(mean), math.sqrt(variance / len(numbers))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
def test_means_and_standard_errors_are_those_of_fractions(offset):
    values = offset + np.random.default_rng(1).gamma(2.0, 5.0, (5_000, 3))
    moments = moments_of(values)
    for c in range(3):
        mean, error = exact(values[:, c])
        assert moments.mean()[c] == pytest.approx(mean, rel=1e-15)
        assert moments.standard_error(c) == pytest.approx(error, rel=1e-15)


def test_sums_of_counts_and_of_their_squares_are_exact_where_64_bits_overflow():
    # Counts near 10^9 and near 2^53: squares add up to 10^22 and to 10^36.
    rng = np.random.default_rng(2)
    counts = np.column_stack([10**9 - rng.integers(0, 10**6, 20_000), 2**53 - rng.integers(0, 50, 20_000)])
    moments = moments_of(counts.astype(float))
    for c, column in enumerate(counts.T.tolist()):
        high, low, squares, low_squares = (Fraction(x) for x in moments.sums[:, c].tolist())
        assert high + low == sum(column)
        if c == 0:
            assert squares + low_squares == sum(x * x for x in column)
    near = [x - 10**9 for x in counts[:, 0].tolist()]
    mean, error = exact(near)
    assert moments.mean()[0] == 10**9 + mean
    assert moments.standard_error(0) == pytest.approx(error, rel=1e-14)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 30), max_size=5), st.integers(0, 2**32 - 1))
def test_chunks_change_no_bit(sizes, seed):
    values = np.random.default_rng(seed).lognormal(3.0, 4.0, (40, 7))
    assert np.array_equal(moments_of(values, sizes).sums, moments_of(values).sums)


def test_equal_trials_have_no_spread():
    moments = moments_of(np.full((100_000, 1), 0.1 * 1_237))
    assert moments.mean()[0] == 0.1 * 1_237
    assert moments.standard_error(0) == 0.0


def test_a_spread_in_the_twelfth_digit_is_seen():
    values = np.tile([[1e6], [1e6 + 1e-6]], (50, 1))
    assert moments_of(values).standard_error(0) == pytest.approx(exact(values[:, 0])[1], rel=1e-4)


def test_one_trial_says_nothing_about_the_spread():
    moments = moments_of(np.array([[4.0, 0.0]]))
    assert moments.mean().tolist() == [4.0, 0.0]
    assert math.isnan(moments.standard_error(0))
