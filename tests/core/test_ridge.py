"""Ridge regression by rotations, against NumPy's own inverse."""

import numpy as np
import pytest

from safebandit.core.arms import CELL, OWN
from safebandit.core.dispatch import compiled
from safebandit.core.ridge import (
    add_outcome,
    draw_coefficients,
    log_growth,
    outcomes_known,
    predicted,
    predicted_by_draw,
    ridge_place,
    ridge_size,
    spread,
    start_ridge,
)


@compiled
def learn_rows(own, features, values, ridge, rows):
    """Learn so many outcomes, of rows one after the other, again and again."""
    d = features.shape[1]
    start_ridge(own[0], 0, d, ridge)
    for n in range(rows):
        i = n % features.shape[0]
        add_outcome(own[0], 0, d, features[0, 0], i, values[i], ridge_place(1, d))


@compiled
def ask_rows(own, features, out):
    """What is known of every row: its mean, its spread, and its mean by a draw of noise that lies behind the work."""
    d = features.shape[1]
    work = ridge_place(1, d)
    draw_coefficients(own[0], 0, d, work + d, 2.0)
    for i in range(features.shape[0]):
        out[i, 0] = predicted(own[0], 0, d, features[0, 0], i)
        out[i, 1] = spread(own[0], 0, d, features[0, 0], i, work)
        out[i, 2] = predicted_by_draw(own[0], 0, d, features[0, 0], i)
    return log_growth(own[0], 0, d), outcomes_known(own[0], 0, d)


class Regression:
    def __init__(self, features, values, ridge, times=1):
        self.x, self.y, self.ridge, self.times = features, values, ridge, times
        rows, d = features.shape
        self.own = np.zeros(ridge_size(d) + 2 * d, OWN)
        cells = np.ascontiguousarray(features).view(CELL)
        learn_rows(self.own, cells, values, ridge, rows * times)
        self.noise = np.linspace(-1.0, 2.0, d)
        self.own["own"][-d:, 0] = self.noise
        self.found = np.zeros((rows, 3))
        self.growth, self.known = ask_rows(self.own, cells, self.found)
        self.v = ridge * np.eye(d) + times * features.T @ features
        self.inverse = np.linalg.inv(self.v)
        self.theta = self.inverse @ (times * values @ features)

    @property
    def factor(self):
        d = len(self.v)
        return self.own["own"][: d * d, 0].reshape(d, d).T

    def assert_right(self, within):
        """Everything that is asked, relative to its size."""
        assert np.abs(self.factor @ self.factor.T - self.v).max() <= within * np.abs(self.v).max()
        spreads = np.sqrt(np.einsum("id,de,ie->i", self.x, self.inverse, self.x))
        assert self.found[:, 0] == pytest.approx(self.x @ self.theta, rel=within, abs=within)
        assert self.found[:, 1] == pytest.approx(spreads, rel=within)
        drawn = self.theta + 2.0 * np.linalg.solve(np.linalg.cholesky(self.v).T, self.noise)
        assert self.found[:, 2] == pytest.approx(self.x @ drawn, rel=within, abs=within)
        determinant = np.linalg.slogdet(self.v / self.ridge)[1]
        assert self.growth == pytest.approx(determinant, rel=within)
        assert self.known == self.times * len(self.x)


@pytest.mark.parametrize("ridge", [1.0, 1e-3])
@pytest.mark.parametrize("dimension", [1, 5, 10])
def test_a_regression_is_that_of_the_inverse(dimension, ridge):
    random = np.random.default_rng(dimension)
    Regression(random.normal(size=(60, dimension)), random.random(60), ridge).assert_right(1e-11)


def test_features_that_are_mostly_0_change_nothing():
    # Units of four arms with coefficients of their own, and two numbers of context.
    random = np.random.default_rng(3)
    x = np.array([np.kron(np.eye(4)[i % 4], [1.0, *random.random(2)]) for i in range(80)])
    found = Regression(x, random.random(80), 0.5)
    found.assert_right(1e-11)
    blocks = np.kron(np.eye(4), np.ones((3, 3)))
    assert (found.factor[blocks == 0] == 0).all()


def test_a_million_outcomes_leave_the_factor_as_good():
    # The bound on drift: 1e-10 of the size of each number. Without a refresh it is measured at 5e-13.
    random = np.random.default_rng(4)
    Regression(random.normal(size=(1_000, 5)), random.random(1_000), 1.0, times=1_000).assert_right(1e-10)


def test_unit_vectors_give_means_of_the_arms():
    counts, ones = np.array([3, 0, 7, 1]), np.array([2, 0, 3, 1])
    x = np.repeat(np.eye(4), counts, axis=0)
    y = np.concatenate([np.repeat([1.0, 0.0], [n, m - n]) for n, m in zip(ones, counts, strict=True)])
    own = np.zeros(ridge_size(4) + 8, OWN)
    learn_rows(own, x.view(CELL), y, 0.25, len(x))
    found = np.zeros((4, 3))
    ask_rows(own, np.eye(4).view(CELL), found)
    assert found[:, 0] == pytest.approx(ones / (counts + 0.25), rel=1e-14)
    assert found[:, 1] == pytest.approx(1 / np.sqrt(counts + 0.25), rel=1e-14)
