"""Isotonic regression against SciPy's."""

import numpy as np
from scipy import optimize

from safebandit.core.isotonic import isotonic, pool


def test_the_fit_is_scipys():
    random = np.random.default_rng(1)
    for case in range(300):
        size = case % 12
        values, weights = random.integers(0, 6, size) / 5.0, random.integers(1, 9, size) / 3.0
        before = values.copy(), weights.copy()
        fit = isotonic(values, weights)
        expected = optimize.isotonic_regression(values, weights=weights).x if size else values
        np.testing.assert_allclose(fit, expected, rtol=0, atol=1e-12)
        # What was given is not changed.
        np.testing.assert_array_equal(before, (values, weights))


def test_equal_neighbours_are_not_pooled():
    sums, weights, blocks = np.array([1.0, 2, 4, 0]), np.array([3.0, 6, 5, 2]), np.empty(4, np.int64)
    assert pool(sums, weights, blocks) == 3
    assert blocks.tolist() == [0, 1, 2, 2]
    assert sums[:3].tolist() == [1.0, 2.0, 4.0]
    assert weights[:3].tolist() == [3.0, 6.0, 7.0]
