"""The divergence of the lower bound: against its definition as a least divergence, found by SciPy over laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.special import rel_entr

import safebandit as sb
from safebandit.problems.divergences import beta_points, law_class, least_divergence
from safebandit.problems.theory import bounds_of

CORRELATED = sb.Instance.bernoulli([0.5, 0.3], [0.3, 0.7], 0.5, correlation=[0, 0.42])


def least_over_laws(points, chances, best, limits):
    """The least divergence to a law on these points and all corners with mean reward >= best, mean risks <= limits."""
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * points.shape[1])).reshape(points.shape[1], -1).T
    where, which = np.unique(np.vstack([points, corners]), axis=0, return_inverse=True)
    p = np.bincount(which.ravel()[: len(points)], chances, minlength=len(where))
    used = p > 0

    def divergence(q):
        return rel_entr(p[used], q[used]).sum(), np.where(used, -p / np.maximum(q, 1e-300), 0.0)

    # From inside: mixed with the best corner until every constraint holds with room.
    good = np.all(where == [1.0] + [0.0] * len(limits), axis=1)
    start = 0.95 * good + 0.05 / len(where)
    rules = [
        {"type": "eq", "fun": lambda q: q.sum() - 1.0},
        {"type": "ineq", "fun": lambda q: q @ where[:, 0] - best},
        *({"type": "ineq", "fun": lambda q, j=j, a=a: a - q @ where[:, 1 + j]} for j, a in enumerate(limits)),
    ]
    for _ in range(3):
        found = optimize.minimize(
            divergence, start / start.sum(), jac=True, method="SLSQP", bounds=[(1e-12, 1.0)] * len(where),
            constraints=rules, options={"ftol": 1e-14, "maxiter": 1_000},
        )  # fmt: skip
        start = found.x
    return found.fun


def bits(instance, k):
    """The joint law of two bits of given means and correlation, by hand."""
    mu, nu = float(instance.mu[k]), float(instance.nu[k])
    rho = np.broadcast_to(instance.recipe.get("correlation", 0.0), instance.mu.shape)[k]
    both = mu * nu + rho * math.sqrt(mu * (1 - mu) * nu * (1 - nu))
    return np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]]), np.array([1 - mu - nu + both, nu - both, mu - both, both])


def test_correlated_bits_are_told_apart_sooner_than_the_sum_says():
    bounds = bounds_of(CORRELATED)
    assert bounds.lower_class == "bits that may depend on each other"
    assert bounds.lower_unsafe_slope == pytest.approx(3.728, abs=5e-4)
    assert bounds.lower_regret_slope == pytest.approx(0.2 * 3.728, abs=1e-4)
    independent = bounds_of(sb.Instance.bernoulli([0.5, 0.3], [0.3, 0.7], 0.5))
    assert independent.lower_class == "independent bits"
    assert independent.lower_unsafe_slope == pytest.approx(6.077, abs=5e-4)


@pytest.mark.parametrize("rho", [-0.4, -0.1, 1e-9, 0.2, 0.42, 0.9])
@pytest.mark.parametrize("arm", [(0.3, 0.7), (0.3, 0.4), (0.6, 0.7), (0.45, 0.52)])
def test_correlated_bits_against_the_least_divergence_over_laws(arm, rho):
    mu, nu = arm
    reach = [(edge - mu * nu) / math.sqrt(mu * (1 - mu) * nu * (1 - nu)) for edge in (max(0, mu + nu - 1), min(arm))]
    instance = sb.Instance.bernoulli([0.5, mu], [0.3, nu], 0.5, correlation=[0, float(np.clip(rho, *reach))])
    expected = least_over_laws(*bits(instance, 1), 0.5, [0.5])
    assert least_divergence(instance, 1) == pytest.approx(expected, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_finite_laws_against_the_least_divergence_over_laws(seed):
    rng = np.random.default_rng(seed)
    risks = int(rng.integers(1, 3))
    points = rng.uniform(0, 1, (int(rng.integers(2, 6)), 1 + risks)).round(3)
    chances = rng.dirichlet(np.ones(len(points)))
    best, limits = 0.7, [0.3] * risks
    arm = [(*point, chance) for point, chance in zip(points.tolist(), chances.tolist(), strict=True)]
    instance = sb.Instance.finite([[(best, *[0.1] * risks, 1.0)], arm], limits if risks > 1 else 0.3)
    assert law_class(instance) == "outcomes in [0, 1] that may depend on each other"
    expected = least_over_laws(points, chances, best, limits)
    assert least_divergence(instance, 1) == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_finite_laws_of_independent_bits_are_correlated_bits_of_correlation_nearly_0():
    table = [(r, s, (0.3 if r else 0.7) * (0.7 if s else 0.3)) for r in (0, 1) for s in (0, 1)]
    finite = sb.Instance.finite([[(0.5, 0.3, 1.0)], table], 0.5)
    nearly = sb.Instance.bernoulli([0.5, 0.3], [0.3, 0.7], 0.5, correlation=[0, 1e-12])
    assert least_divergence(finite, 1) == pytest.approx(least_divergence(nearly, 1), rel=1e-9)
    # A policy that must allow for dependence cannot use the whole sum.
    assert least_divergence(finite, 1) < least_divergence(sb.Instance.bernoulli([0.5, 0.3], [0.3, 0.7], 0.5), 1)


@pytest.mark.parametrize("deviation", [0.02, 0.05, 0.2, 0.4])
def test_beta_laws_by_quadrature_and_search(deviation):
    instance = sb.Instance.beta([0.5, 0.3], [0.3, 0.7], 0.5, deviation=deviation)
    expected = 0.0
    for mean, gain in ((0.3, lambda x: (1 - x) / 0.5), (0.7, lambda x: x / 0.5)):
        total = mean * (1 - mean) / deviation**2 - 1
        law = stats.beta(mean * total, (1 - mean) * total)
        # A fine sum over quantiles, and a search of the definition's one multiplier.
        gains = gain(law.ppf((np.arange(20_000) + 0.5) / 20_000))
        found = optimize.minimize_scalar(
            lambda u, y=gains: -np.log(1 - u + u * y).mean(), bounds=(0, 1 - 1e-9), method="bounded"
        )
        expected -= found.fun
    assert law_class(instance) == "independent outcomes in [0, 1]"
    assert least_divergence(instance, 1) == pytest.approx(expected, rel=5e-4)


def test_outcomes_that_vary_less_are_told_apart_sooner():
    arms = {"mu": [0.5, 0.3], "nu": [0.3, 0.7], "alpha": 0.5}
    narrow, wide, of_bits = (
        bounds_of(instance).lower_unsafe_slope
        for instance in (
            sb.Instance.beta(**arms, deviation=0.05),
            sb.Instance.beta(**arms, deviation=0.4),
            sb.Instance.bernoulli(**arms),
        )
    )
    assert narrow < wide < of_bits


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.4), (0.5, 0.5), (1, 1), (2, 7), (60, 40), (2e4, 5e4)])
def test_beta_points_have_the_means_of_the_law(a, b):
    chances, points = beta_points(a, b)
    law = stats.beta(a, b)
    assert chances.sum() == pytest.approx(1.0, rel=1e-12)
    for power in (1, 2, 5):
        assert chances @ points**power == pytest.approx(law.moment(power), rel=1e-9)
    mean = integrate.quad(lambda p: math.log(1.1 + law.ppf(p)), 0, 1, limit=200)[0]
    assert chances @ np.log(1.1 + points) == pytest.approx(mean, rel=1e-7)


def test_where_no_law_is_safe_and_better_there_is_no_bound():
    # Nothing is better than a sure reward, and nothing with a risk is safe at alpha = 0.
    for instance in (
        sb.Instance.bernoulli([1.0, 0.5, 1.0], [0.1, 0.1, 0.9], 0.3),
        sb.Instance.bernoulli([0.5, 0.8], [0.0, 0.4], 0.0),
        sb.Instance.bernoulli([0.5, 0.8], [0.0, 0.4], 0.0, correlation=[0, 0.2]),
        sb.Instance.finite([[(0.5, 0.0, 1.0)], [(0.9, 0.0, 0.5), (0.9, 0.5, 0.5)]], 0.0),
    ):
        arms = bounds_of(instance).arms
        assert [arms[k].lower_plays_slope for k in instance.unsafe_arms] == [0.0] * len(instance.unsafe_arms)


def test_a_law_of_another_type_has_no_lower_bound():
    known = CORRELATED
    bounds = bounds_of(sb.Instance(object(), known.mu, known.nu, 0.5, known.arms, "own", {"kind": "own"}))
    assert bounds.lower_class is None
    assert bounds.lower_regret_slope == 0.0
    assert bounds.at(1_000).lower_leading_regret == 0.0
