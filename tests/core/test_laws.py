"""Laws of outcomes: what is drawn, against the moments and frequencies that the law is made from.

The seeds are fixed. A comparison within 5 standard errors fails for 1 in 1.7 million seeds, a chi-square at the 1e-6
quantile for 1 in a million: all of them together for less than 1 seed in 10,000.
"""

import math
import re

import numba
import numpy as np
import pytest
from scipy import stats

from safebandit import Instance
from safebandit.errors import InstanceError

DRAWS = 20_000


def refused(text):
    """An InstanceError whose message is one line that holds `text`."""
    return pytest.raises(InstanceError, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


def within_five_errors(values, mean, deviation):
    assert abs(np.mean(values) - mean) <= 5 * deviation / math.sqrt(len(values))


# Bernoulli pairs.


@pytest.mark.parametrize("correlation", [0.0, 0.35, -0.35])
def test_bernoulli_pairs_have_the_means_and_the_correlation(correlation):
    mu, nu = 0.4, 0.3
    instance = Instance.bernoulli([mu, mu], [nu, nu], 0.5, correlation=[0.0, correlation])
    reward, risk = instance.draw(1, DRAWS, seed=11).T
    assert set(np.unique([reward, risk])) == {0.0, 1.0}
    within_five_errors(reward, mu, math.sqrt(mu * (1 - mu)))
    within_five_errors(risk, nu, math.sqrt(nu * (1 - nu)))
    scale = math.sqrt(mu * (1 - mu) * nu * (1 - nu))
    both = mu * nu + correlation * scale
    within_five_errors(reward * risk, both, math.sqrt(both * (1 - both)))
    # The product of standardised bits has mean `correlation`, and its deviation follows from the four cells.
    z = (reward - mu) * (risk - nu) / scale
    cells = {(1, 1): both, (1, 0): mu - both, (0, 1): nu - both, (0, 0): 1 - mu - nu + both}
    square = sum(p * ((r - mu) * (s - nu) / scale) ** 2 for (r, s), p in cells.items())
    within_five_errors(z, correlation, math.sqrt(square - correlation**2))


def test_independent_arms_have_exactly_nu_after_either_reward():
    nu = [0.1, 0.3, 0.7, 0.123456789]
    law = Instance.bernoulli([0.3, 0.7, 0.1, 1 / 3], nu, 0.5).law
    assert law.table[:, 1:].tolist() == [[risk, risk] for risk in nu]


def limits(mu, nu):
    """The correlations that bits of these means can have: the Fréchet bounds of P(R=1, S=1)."""
    scale = math.sqrt(mu * (1 - mu) * nu * (1 - nu))
    return (max(0.0, mu + nu - 1) - mu * nu) / scale, (min(mu, nu) - mu * nu) / scale


@pytest.mark.parametrize(("mu", "nu"), [(0.4, 0.3), (0.3, 0.8), (0.5, 0.5), (0.9, 0.95), (0.1, 0.02)])
def test_the_feasible_correlations_end_where_a_cell_is_empty(mu, nu):
    low, high = limits(mu, nu)
    smallest, largest = max(0.0, mu + nu - 1), min(mu, nu)
    for rho, both in ((low, smallest), (high, largest)):
        law = Instance.bernoulli([mu], [nu], 1.0, correlation=rho).law
        assert law.table[0].tolist() == pytest.approx([mu, (nu - both) / (1 - mu), both / mu], abs=1e-9)
        assert ((law.table >= 0.0) & (law.table <= 1.0)).all()
    for rho in (low - 1e-6, high + 1e-6):
        with refused(f"correlation of arm 0 must lie in [{low:.4g}, {high:.4g}] for mu = {mu:g} and nu = {nu:g}"):
            Instance.bernoulli([mu], [nu], 1.0, correlation=rho)


def test_at_the_upper_limit_a_risk_never_comes_without_a_reward():
    instance = Instance.bernoulli([0.4], [0.3], 0.5, correlation=limits(0.4, 0.3)[1])
    reward, risk = instance.draw(0, 5_000, seed=12).T
    assert not ((risk == 1) & (reward == 0)).any()


def test_equal_means_may_be_fully_correlated():
    instance = Instance.bernoulli([0.5, 0.5], [0.5, 0.5], 0.5, correlation=[1, -1])
    same, opposite = instance.draw(0, 1_000, seed=13), instance.draw(1, 1_000, seed=13)
    assert np.array_equal(same[:, 0], same[:, 1])
    assert np.array_equal(opposite[:, 0], 1 - opposite[:, 1])


@pytest.mark.parametrize(
    ("mu", "correlation", "message"),
    [
        ([1.0, 0.5], [0.1, 0], "correlation of arm 0 must lie in [0, 0] for mu = 1 and nu = 0.5, got 0.1"),
        ([0.5, 0.5], [0, 0.5, 0], "correlation must be one number or one per arm (2), got 3"),
        ([0.5, 0.5], float("nan"), "correlation must be finite, got nan"),
        ([0.5, 0.5], 1.5, "correlation of arm 0 must lie in [-1, 1]"),
        ([0.5, 0.5], "x", "correlation must be"),
    ],
)
def test_correlations_that_no_bits_have(mu, correlation, message):
    with refused(message):
        Instance.bernoulli(mu, [0.5, 0.5], 0.5, correlation=correlation)


def test_certain_outcomes():
    instance = Instance.bernoulli([0, 1, 0, 1], [0, 0, 1, 1], 0.5)
    for arm, pair in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
        assert np.array_equal(instance.draw(arm, 100, seed=1), np.tile(pair, (100, 1)))


def test_arms_have_streams_of_their_own_that_do_not_depend_on_the_number_of_arms():
    two = Instance.bernoulli([0.5, 0.5], [0.5, 0.5], 0.5)
    three = Instance.bernoulli([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], 0.5)
    assert not np.array_equal(two.draw(0, 100, seed=5), two.draw(1, 100, seed=5))
    assert not np.array_equal(two.draw(0, 100, seed=5), two.draw(0, 100, seed=6))
    for arm in (0, 1):
        assert np.array_equal(two.draw(arm, 100, seed=5), three.draw(arm, 100, seed=5))


# Beta laws.


BETA_LAWS = [(0.5, 0.2, 0.05), (0.7, 0.3, 0.2), (0.5, 0.5, 0.4), (0.02, 0.9, 0.1)]


@pytest.mark.parametrize(("mu", "nu", "deviation"), BETA_LAWS)
def test_beta_laws_have_the_mean_and_the_deviation(mu, nu, deviation):
    instance = Instance.beta([mu], [nu], 1.0, deviation=deviation)
    for values, mean in zip(instance.draw(0, DRAWS, seed=21).T, (mu, nu), strict=True):
        size = mean * (1 - mean) / deviation**2 - 1
        law = stats.beta(mean * size, (1 - mean) * size)
        assert law.std() == pytest.approx(deviation)
        assert ((values >= 0) & (values <= 1)).all()
        within_five_errors(values, mean, deviation)
        squares = (values - mean) ** 2
        fourth = (float(law.stats("k")) + 3) * deviation**4
        within_five_errors(squares, deviation**2, math.sqrt(fourth - deviation**4))
        # The chance that the distance exceeds this is below 1e-6 for draws of the law.
        assert stats.kstest(values, law.cdf).statistic < math.sqrt(math.log(2e6) / 2 / DRAWS)


# Finite laws.


def test_finite_laws_are_drawn_by_their_probabilities():
    rows = [(0, 0, 0.5), (0.25, 1, 0.2), (0.5, 0.5, 0.15), (1, 0, 0.1), (1, 1, 0.05)]
    instance = Instance.finite([[(0.5, 0.5, 1.0)], rows], 0.5)
    drawn = instance.draw(1, DRAWS, seed=31)
    counts = [int(((drawn[:, 0] == reward) & (drawn[:, 1] == risk)).sum()) for reward, risk, _ in rows]
    assert sum(counts) == DRAWS
    statistic = stats.chisquare(counts, [DRAWS * p for *_, p in rows]).statistic
    assert statistic < stats.chi2.isf(1e-6, len(rows) - 1)
    assert np.array_equal(instance.draw(0, 10, seed=31), np.full((10, 2), 0.5))


def test_finite_means_are_the_weighted_sums():
    instance = Instance.finite([[(0, 1, 0.25), (0.5, 0, 0.5), (1, 0.2, 0.25)], [(0.1, 0.9, 1)]], 0.5)
    assert instance.mu == pytest.approx([0.5, 0.1], abs=1e-12)
    assert instance.nu == pytest.approx([0.3, 0.9], abs=1e-12)


def test_an_outcome_of_probability_zero_is_never_drawn():
    instance = Instance.finite([[(0, 0, 0.0), (0.5, 0, 0.5), (0.75, 1, 0.0), (1, 0, 0.5), (1, 1, 0.0)]], 0.5)
    drawn = instance.draw(0, 5_000, seed=32)
    assert set(map(tuple, drawn.tolist())) == {(0.5, 0.0), (1.0, 0.0)}


def test_all_laws_are_of_one_type_and_know_how_many_risks_a_play_has():
    one = Instance.bernoulli([0.3, 0.5], [0.1, 0.2], 0.5).law
    several = [
        Instance.bernoulli([0.3, 0.5], [[0.1, 0.2]] * 3, [0.5] * 3).law,
        Instance.beta([0.3, 0.5], [[0.1, 0.2]] * 3, [0.5] * 3).law,
        Instance.finite([[(0.1, 0, 0, 1, 0.5), (1, 0.2, 0.3, 0, 0.5)]] * 2, [0.5] * 3).law,
    ]
    assert [one.risks, *(law.risks for law in several)] == [1, 3, 3, 3]
    assert {numba.typeof(law) for law in several} == {numba.typeof(one)}
