"""Empirical likelihood of a mean against its definition: the nearest law on [0, 1], by brute force."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import optimize, stats

from safebandit.core.empirical import empirical_lower, evidence_above, split_between

from . import plain


def split(values, bins):
    weights = np.zeros(bins + 1)
    for value in values:
        split_between(weights, bins, float(value))
    return weights


def mean_of(weights):
    return float(np.arange(len(weights)) @ weights / (len(weights) - 1) / weights.sum())


def evidence(weights, r):
    return evidence_above(weights, len(weights) - 1, float(weights.sum()), mean_of(weights), r)


def bound(weights, budget):
    return empirical_lower(weights, len(weights) - 1, float(weights.sum()), mean_of(weights), budget)


def nearest_law(weights, r):
    """min KL(P||Q) over laws Q on the points with mean at most r: a convex program, solved as it stands."""
    points = np.linspace(0.0, 1.0, len(weights))
    share = weights / weights.sum()
    here = share > 0.0

    def divergence(q):
        return float(share[here] @ np.log(share[here] / q[here]))

    def slope(q):
        return np.where(here, -share / np.maximum(q, 1e-300), 0.0)

    # A law of mean below r, with some weight everywhere.
    start = 0.98 * share * min(1.0, 0.9 * r / float(share @ points))
    start[0] += 1.0 - start.sum()
    rules = [
        {"type": "eq", "fun": lambda q: q.sum() - 1.0, "jac": lambda q: np.ones(len(q))},
        {"type": "ineq", "fun": lambda q: r - q @ points, "jac": lambda q: -points},
    ]
    limits = [(1e-12, 1.0)] * len(points)
    options = {"maxiter": 1000, "ftol": 1e-13}
    done = optimize.minimize(
        divergence, start, jac=slope, bounds=limits, constraints=rules, method="SLSQP", options=options
    )
    assert done.success
    return done.fun


outcomes = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40),
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40),
    st.lists(st.floats(0.4, 0.5), min_size=1, max_size=40),
    st.builds(lambda value, count: [value] * count, st.floats(0.0, 1.0), st.integers(1, 40)),
)
bin_counts = st.integers(1, 40)
budgets = st.one_of(st.sampled_from([0.0]), st.floats(1e-6, 20.0))


@given(values=outcomes, bins=bin_counts)
@example(values=[0.0, 1.0], bins=1)
@example(values=[1.0 / 3.0], bins=3)
def test_splitting_keeps_the_number_and_the_mean(values, bins):
    weights = split(values, bins)
    assert weights == pytest.approx(plain.split(values, bins), abs=1e-12)
    assert (weights >= 0.0).all()
    assert weights.sum() == pytest.approx(len(values), rel=1e-12)
    assert mean_of(weights) == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_evidence_is_the_divergence_to_the_nearest_law(seed):
    rng = np.random.default_rng(seed)
    weights = rng.random(6) * rng.integers(1, 50)
    weights[0] *= seed % 2
    r = mean_of(weights) * rng.uniform(0.3, 0.95)
    expected = nearest_law(weights, r)
    # SLSQP stops at about 1e-7.
    assert evidence(weights, r) / weights.sum() == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert plain.k_inf_below(np.linspace(0, 1, 6), weights, r) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(values=outcomes, bins=bin_counts, share=st.floats(0.0, 1.5))
@example(values=[0.0], bins=4, share=0.5)
@example(values=[0.3], bins=4, share=0.0)
@example(values=[1e-9], bins=32, share=0.5)
@example(values=[1.0] * 3, bins=2, share=0.5)
def test_evidence_is_the_maximum_over_stakes(values, bins, share):
    weights = split(values, bins)
    r = min(1.0, share * mean_of(weights))
    expected = weights.sum() * plain.k_inf_below(np.linspace(0, 1, bins + 1), weights, r)
    if abs(mean_of(weights) - r) > 1e-12:
        assert evidence(weights, r) == pytest.approx(expected, rel=1e-7, abs=1e-9)


@given(values=outcomes, bins=bin_counts, budget=budgets)
@example(values=[0.0] * 4, bins=4, budget=0.5)
@example(values=[1.0] * 4, bins=4, budget=0.5)
@example(values=[0.3] * 4, bins=4, budget=20.0)
@example(values=[0.5] * 4, bins=4, budget=0.5)
@example(values=[1e-4], bins=32, budget=20.0)
def test_the_bound_is_where_the_evidence_meets_the_budget(values, bins, budget):
    weights = split(values, bins)
    expected = plain.empirical_lower_bound(np.linspace(0, 1, bins + 1), weights, budget)
    assert bound(weights, budget) == pytest.approx(expected, abs=1e-7)
    assert bound(weights, budget) <= mean_of(weights)
    if expected > 1e-6 and budget > 1e-3:
        # Closer than a bisection of a flat function can say.
        assert evidence(weights, bound(weights, budget)) / weights.sum() == pytest.approx(budget, rel=1e-8)


@given(values=outcomes, bins=st.integers(1, 12), times=st.integers(2, 5), budget=st.floats(1e-4, 5.0))
def test_bins_never_tighten_a_bound(values, bins, times, budget):
    # Finer points contain the coarser ones; without bins, the outcomes themselves are the points.
    coarse, fine = bound(split(values, bins), budget), bound(split(values, bins * times), budget)
    exact = plain.empirical_lower_bound(np.array(values), np.ones(len(values)), budget)
    assert coarse <= fine + 1e-9
    assert fine <= exact + 1e-7


@given(ones=st.integers(0, 1000), zeros=st.integers(0, 1000), bins=bin_counts, budget=st.floats(1e-6, 20.0))
def test_of_bits_it_is_the_bernoulli_bound(ones, zeros, bins, budget):
    if ones + zeros > 0:
        values = np.r_[np.ones(ones), np.zeros(zeros)]
        expected = float(plain.kl_lower(ones / (ones + zeros), budget))
        assert bound(split(values, bins), budget) == pytest.approx(expected, abs=1e-7)


def test_with_one_bin_it_is_the_bernoulli_bound():
    values = np.random.default_rng(1).random(50)
    assert bound(split(values, 1), 0.05) == pytest.approx(float(plain.kl_lower(values.mean(), 0.05)), abs=1e-10)


def test_the_printed_example():
    # N = 200, standard deviation 0.05, budget log 10^4: 0.524, against 0.648 of KL-UCB and 0.653 of UCB-V.
    level = math.log(10**4)
    rewards = stats.norm.ppf((np.arange(200) + 0.5) / 200, 0.5, 0.05)
    rewards = 0.5 + (rewards - 0.5) * 0.05 / rewards.std()
    assert 1.0 - bound(split(1.0 - rewards, 1024), level / 200) == pytest.approx(0.524, abs=1.5e-3)
    # The default number of bins costs less than 1 % of the width here.
    assert 1.0 - bound(split(1.0 - rewards, 32), level / 200) == pytest.approx(0.524, abs=1.5e-3)
    assert float(plain.kl_upper(0.5, level / 200)) == pytest.approx(0.648, abs=5e-4)
    # The printed 0.653 has zeta = 1; the default of 1.2 gives 0.682.
    assert plain.variance_upper_index(1.0, 1.0, rewards, 10**4) == pytest.approx(0.653, abs=5e-4)


def test_a_thousand_million_plays():
    # A law that hardly varies, seen often: close to the normal width.
    weights = np.zeros(33)
    weights[15:18] = [2e8, 6e8, 2e8]
    variance = 0.4 / 32**2
    budget = math.log(10**9) / 10**9
    assert bound(weights, budget) == pytest.approx(0.5 - math.sqrt(2 * variance * budget), abs=1e-9)
    assert evidence(weights, bound(weights, budget)) == pytest.approx(math.log(10**9), rel=1e-5)


def test_bounds_at_the_edges():
    nothing, all_of_it = split([0.0] * 5, 8), split([1.0] * 5, 8)
    assert evidence(nothing, 0.0) == 0.0
    assert evidence(all_of_it, 1.0) == 0.0
    assert evidence(all_of_it, 0.0) == math.inf
    assert bound(nothing, 0.5) == 0.0
    assert bound(all_of_it, 0.5) == pytest.approx(math.exp(-0.5), rel=1e-12)
    # A mean above 0 has a bound above 0, however large the budget.
    assert 0.0 < bound(split([1e-4], 32), 1e3) < 1e-100
    assert 0.0 < bound(all_of_it, 1e4) < 1e-100
