"""Scalar formulas against SciPy, exact fractions and many-digit decimals."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from safebandit.core import bernoulli as bounds
from safebandit.core.searches.bounds import NEAR

from . import plain

EDGE_MEANS = [0.0, 1e-12, 1e-3, 0.3, 0.5, 0.999, 1.0 - 1e-12, 1.0]
EDGE_BUDGETS = [1e-21, 1e-12, 1e-6, 0.01, 1.0, 30.0, 1e4]
means = st.one_of(st.sampled_from(EDGE_MEANS), st.floats(0.0, 1.0), st.floats(1e-9, 1e-2))
budgets = st.one_of(st.sampled_from(EDGE_BUDGETS), st.floats(-21.0, 4.0).map(lambda power: 10.0**power))
# Below this a probability would be a number that a float holds with few digits.
inner = st.floats(1e-12, 1.0 - 1e-12)


def relative_error(value, exact):
    return abs(float((Decimal(value) - exact) / exact))


@given(p=means, q=inner)
@example(p=0.5, q=0.505)
@example(p=0.0, q=1e-12)
@example(p=1.0, q=1.0 - 1e-12)
def test_divergence_is_its_definition(p, q):
    value = bounds.divergence(p, q)
    assert value == pytest.approx(float(plain.divergence(p, q)), rel=1e-9, abs=1e-14)
    if p == q:
        assert value == 0.0
    else:
        # 1e-11 leaves room for the rounding of 1 + x where |x| = 0.01, a thousandfold of a float's.
        assert relative_error(value, plain.precise_divergence(p, q)) < 1e-11


@given(q=inner, shift=st.floats(-9.0, -1.5), sign=st.sampled_from([-1.0, 1.0]))
def test_divergence_keeps_its_digits_where_p_is_near_q(q, shift, sign):
    p = q + sign * 10.0**shift * min(q, 1.0 - q)
    if p != q:
        assert relative_error(bounds.divergence(p, q), plain.precise_divergence(p, q)) < 1e-11


@pytest.mark.parametrize(
    ("p", "q", "value"),
    [
        (0.0, 0.0, 0.0),
        (1.0, 1.0, 0.0),
        (0.3, 0.3, 0.0),
        (0.3, 0.0, math.inf),
        (0.3, 1.0, math.inf),
        (1.0, 0.0, math.inf),
        (0.0, 1.0, math.inf),
        (0.0, 0.25, -math.log(0.75)),
        (1.0, 0.25, -math.log(0.25)),
        # So near 0 that dividing by it overflows.
        (0.0, 1e-300, 1e-300),
        (0.0, 5e-324, 5e-324),
        (1.0, 1e-300, 300 * math.log(10)),
        (0.25, 1e-310, 0.25 * math.log(0.25) + 77.5 * math.log(10) + 0.75 * math.log(0.75)),
        (1e-305, 1e-310, 1e-305 * (5 * math.log(10) - 1)),
    ],
)
def test_divergence_at_the_edges(p, q, value):
    assert bounds.divergence(p, q) == pytest.approx(value, rel=1e-14)


@given(p=means, q=inner)
def test_one_sided_divergences(p, q):
    both = bounds.divergence(p, q)
    assert bounds.divergence_below(p, q) == (both if p < q else 0.0)
    assert bounds.divergence_above(p, q) == (both if p > q else 0.0)


def assert_right_of_root_by_rounding_only(p, budget, q):
    """q is the root of d(p||q) = budget, to 1e-11 of its distance from p and 2e-14 of itself."""
    room = Decimal("1e-11") * (Decimal(q) - Decimal(p)) + Decimal(2e-14 * q)
    low, high = Decimal(q) - room, Decimal(q) + room
    if low > Decimal(p):
        assert plain.precise_divergence(p, low) <= Decimal(budget)
    if high < 1:
        assert plain.precise_divergence(p, high) >= Decimal(budget)


@given(p=means, budget=budgets)
@settings(max_examples=400)
@example(p=1e-12, budget=1e-21)
@example(p=1e-12, budget=1e4)
@example(p=1.0 - 1e-12, budget=1e-21)
@example(p=1.0 - 1e-12, budget=1e4)
@example(p=0.5, budget=1e-21)
def test_kl_upper_is_the_root(p, budget):
    q = bounds.kl_upper(p, budget)
    assert p <= q <= 1.0
    assert_right_of_root_by_rounding_only(p, budget, q)


@given(p=means, budget=budgets)
def test_kl_lower_is_the_root(p, budget):
    q = bounds.kl_lower(p, budget)
    # 1 - p is rounded before it is inverted: a few units in the last place of 1.
    eps = 4 * np.finfo(float).eps
    assert -eps <= q <= p + eps
    mirrored = plain.kl_lower(p, budget)
    # SciPy's divergence cancels for tiny budgets: sqrt(1e-16) is the distance at which it drowns.
    assert q == pytest.approx(float(mirrored), abs=1e-7)
    if q + 2 * eps < p:
        assert plain.precise_divergence(p, q + 1e-11 * (p - q) + 2 * eps) <= Decimal(budget)
    if q - 1e-11 * (p - q) - 2 * eps > 0.0:
        assert plain.precise_divergence(p, q - 1e-11 * (p - q) - 2 * eps) >= Decimal(budget)


@given(p=means, budget=st.floats(1e-4, 50.0))
def test_kl_bounds_are_what_bisection_gives(p, budget):
    assert bounds.kl_upper(p, budget) == pytest.approx(float(plain.kl_upper(p, budget)), abs=1e-11)
    assert bounds.kl_lower(p, budget) == pytest.approx(float(plain.kl_lower(p, budget)), abs=1e-11)


# Means k/1024 and their complements are exact floats, so that the mirror image is the same problem.
@given(p=st.integers(0, 1024).map(lambda k: k / 1024), budget=budgets)
def test_kl_bounds_are_mirror_images(p, budget):
    assert bounds.kl_lower(p, budget) == 1.0 - bounds.kl_upper(1.0 - p, budget)


@given(p=means, budget=budgets, more=st.floats(1.0 + 1e-6, 100.0))
def test_kl_upper_grows_with_the_budget(p, budget, more):
    # Both are the root up to rounding; 1e-11 of the distance is more than they may differ by it.
    q = bounds.kl_upper(p, budget)
    slack = 1e-11 * (q - p) + 4 * np.finfo(float).eps
    assert bounds.kl_upper(p, budget * more) >= q - slack
    assert bounds.kl_lower(p, budget * more) <= bounds.kl_lower(p, budget) + slack


@given(p=means, more=means, budget=budgets)
def test_kl_upper_grows_with_the_mean(p, more, budget):
    low, high = sorted((p, more))
    assert bounds.kl_upper(low, budget) <= bounds.kl_upper(high, budget) + 1e-12


@pytest.mark.parametrize("p", EDGE_MEANS)
def test_without_a_budget_the_bounds_are_the_mean(p):
    assert bounds.kl_upper(p, 0.0) == p
    assert bounds.kl_lower(p, 0.0) == pytest.approx(p, abs=2e-16)


@pytest.mark.parametrize("budget", EDGE_BUDGETS)
def test_kl_bounds_of_means_0_and_1(budget):
    assert bounds.kl_upper(1.0, budget) == 1.0
    assert bounds.kl_lower(0.0, budget) == 0.0
    # d(0||q) = -log(1 - q)
    assert bounds.kl_upper(0.0, budget) == pytest.approx(-math.expm1(-budget), rel=1e-14)
    assert bounds.kl_lower(1.0, budget) == pytest.approx(math.exp(-budget), abs=2e-16)


def lower_from(p, budget, start):
    return 1.0 - bounds.kl_upper_from(1.0 - p, budget, 1.0 - start, NEAR)


@given(p=means, budget=budgets, start=st.floats(-0.5, 1.5))
@settings(max_examples=400)
@example(p=0.5, budget=1e-3, start=0.5 + 2e-6)
@example(p=0.01, budget=0.3, start=0.0101)
@example(p=1e-12, budget=1e-3, start=2e-6)
def test_a_start_nearby_changes_no_bound(p, budget, start):
    upper, lower = bounds.kl_upper(p, budget), bounds.kl_lower(p, budget)
    for shift in (0.0, 1e-9, -1e-9, 1e-6, -1e-6, 1e-4, -1e-4):
        assert bounds.kl_upper_from(p, budget, upper + shift, NEAR) == pytest.approx(upper, abs=1e-10)
        assert lower_from(p, budget, lower + shift) == pytest.approx(lower, abs=1e-10)
    assert bounds.kl_upper_from(p, budget, start, NEAR) == pytest.approx(upper, abs=1e-10)
    assert lower_from(p, budget, start) == pytest.approx(lower, abs=1e-10)


@pytest.mark.parametrize("plays", [1, 2, 7, 50, 1_000, 10**6])
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.01, 0.3, 0.5, 0.97, 1.0])
def test_bounds_carried_on_from_round_to_round_stay_right(p, plays):
    upper, lower = 0.0, 0.0
    for t in [*range(3, 1_000), *np.geomspace(1_000, 1e9, 200).astype(int)]:
        budget = math.log(t) / plays
        upper, lower = bounds.kl_upper_from(p, budget, upper, NEAR), lower_from(p, budget, lower)
        assert abs(upper - bounds.kl_upper(p, budget)) < 2e-10
        assert abs(lower - bounds.kl_lower(p, budget)) < 2e-10


@pytest.mark.parametrize("p", [0.0, 1.0, 0.25, 0.1, 1e-3, 0.999])
def test_small_binomials_are_exact(p):
    for n in (0, 1, 2, 7, 20, 60):
        for s in range(n + 2):
            tail, mass = plain.exact_binomial(s, n, p)
            assert bounds.binomial_tail(s, n, p) == pytest.approx(float(tail), rel=2e-13, abs=1e-300)
            assert bounds.binomial_pmf(s, n, p) == pytest.approx(float(mass), rel=2e-13, abs=1e-300)


def test_binomial_mass_outside_its_range():
    assert bounds.binomial_pmf(-1, 5, 0.3) == 0.0
    assert bounds.binomial_pmf(6, 5, 0.3) == 0.0
    assert bounds.binomial_tail(-1, 5, 0.3) == 1.0


@given(
    n=st.integers(0, 60),
    share=st.integers(0, 60),
    p=st.fractions(0, 1, max_denominator=64),
    odds=st.fractions(0, 20, max_denominator=16),
)
@example(n=0, share=0, p=Fraction(1, 5), odds=Fraction(1))
@example(n=7, share=0, p=Fraction(0), odds=Fraction(1))
@example(n=7, share=1, p=Fraction(0), odds=Fraction(1))
@example(n=7, share=7, p=Fraction(1), odds=Fraction(1))
def test_the_point_mass_is_that_of_exact_fractions(n, share, p, odds):
    s = min(share, n)
    beta = Fraction(math.factorial(s) * math.factorial(n - s), math.factorial(n + 1))  # B(s+1, n-s+1)
    after = odds * p**s * (1 - p) ** (n - s) / beta
    # p itself is rounded, which n plays multiply.
    assert bounds.point_mass(s, n, float(p), float(odds)) == pytest.approx(float(after / (1 + after)), rel=1e-12)


@pytest.mark.parametrize(("n", "s"), [(10**4, 5_000), (10**6, 500_000), (10**6, 501_000), (10**9, 500_010_000)])
def test_the_point_mass_of_many_plays(n, s):
    """Near p the odds grow like sqrt(N); far from it they are 0."""
    after = (n + 1) * stats.binom.pmf(s, n, 0.5)
    assert bounds.point_mass(s, n, 0.5, 1.0) == pytest.approx(after / (1 + after), rel=1e-9)
    assert bounds.point_mass(n, n, 0.5, 1.0) == 0.0


@given(
    n=st.floats(0.0, 9.0).map(lambda power: int(10.0**power)),
    p=st.floats(1e-6, 0.99),
    deviations=st.floats(-12.0, 12.0),
)
@settings(max_examples=300)
def test_binomials_are_scipys_up_to_a_milliard_plays(n, p, deviations):
    s = int(np.clip(round(n * p + deviations * math.sqrt(n * p * (1 - p))), 0, n))
    # Rounding of p alone moves the logarithm of these by up to 1e-16 n |x - p|: 1e-9 covers it twentyfold.
    assert bounds.binomial_pmf(s, n, p) == pytest.approx(stats.binom.pmf(s, n, p), rel=1e-9, abs=1e-290)
    expected = special.betainc(s, n - s + 1, p) if s > 0 else 1.0
    assert bounds.binomial_tail(s, n, p) == pytest.approx(float(expected), rel=1e-9, abs=1e-290)


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 0.7, 0.999, 1.0 - 1e-6])
@pytest.mark.parametrize(("n", "error"), [(1_000, 1e-12), (10**6, 1e-8), (10**9, 1e-8)])
def test_binomials_are_as_precise_as_they_say(n, error, p):
    for deviations in (0.5, 3.0, 12.0, 30.0):
        s = math.ceil(n * p + deviations * math.sqrt(n * p * (1 - p)))
        # Near the middle there are too many terms for a precise sum.
        if s > n or (n > 10**8 and 1e-6 < p < 0.999 and deviations < 3.0):
            continue
        tail, mass = plain.precise_binomial(s, n, p)
        if mass > 1e-290:
            assert relative_error(bounds.binomial_pmf(s, n, p), mass) < error
            assert relative_error(bounds.binomial_tail(s, n, p), tail) < error


@given(n=st.integers(1, 5000), p=st.floats(1e-6, 1.0 - 1e-6), share=st.floats(0.0, 1.0))
def test_binomial_tail_falls_by_its_mass(n, p, share):
    s = int(share * n)
    step = bounds.binomial_tail(s, n, p) - bounds.binomial_tail(s + 1, n, p)
    assert step == pytest.approx(bounds.binomial_pmf(s, n, p), abs=1e-12)


def carry(risks, p):
    """The tail and mass carried over the plays, and s and n after each."""
    tail, mass, s, n = 1.0, 1.0, 0, 0
    rows = np.empty((len(risks), 2))
    for i, risk in enumerate(risks):
        tail, mass = bounds.next_tail(tail, mass, s, n, p, risk)
        s, n = s + risk, n + 1
        rows[i] = tail, mass
    total = np.cumsum(risks)
    return rows, total, np.arange(1, len(risks) + 1)


def scipy_tail(s, n, p):
    return np.where(s > 0, special.betainc(np.maximum(s, 1), n - s + 1.0, p), 1.0)


@pytest.mark.parametrize(
    ("p", "mean"), [(0.2, 0.2), (0.2, 0.199), (0.5, 0.502), (0.01, 0.01), (0.95, 0.951), (0.3, 0.2), (0.3, 0.4)]
)
def test_carried_tail_after_200_000_plays(p, mean):
    risks = (np.random.default_rng(1).random(200_000) < mean).astype(int).tolist()
    rows, s, n = carry(risks, p)
    assert np.abs(rows[:, 0] - scipy_tail(s, n, p)).max() < 1e-11


@given(risks=st.lists(st.integers(0, 1), min_size=1, max_size=40), p=st.sampled_from([0.0, 1.0, 0.25, 0.1, 0.9, 1e-3]))
def test_carried_tail_is_exact_over_short_runs(risks, p):
    rows, s, n = carry(risks, p)
    for i in range(len(risks)):
        tail, _ = plain.exact_binomial(int(s[i]), int(n[i]), p)
        assert rows[i, 0] == pytest.approx(float(tail), rel=1e-8, abs=1e-14)


@pytest.mark.parametrize(("p", "quiet", "risky"), [(0.5, 5_000, 6_000), (0.05, 30_000, 3_000), (0.9, 700, 9_000)])
def test_carried_tail_comes_back_after_its_mass_underflowed(p, quiet, risky):
    risks = [0] * quiet + [1] * risky
    rows, s, n = carry(risks, p)
    exact = scipy_tail(s, n, p)
    assert rows[:, 1].min() == 0.0
    assert exact.min() < 1e-7
    assert np.abs(rows[:, 0] - exact).max() < 1e-11
    far = (exact > 1e-290) & (exact < 1e-8)
    # Where the tail is small it is computed afresh, and is right to many digits, not only near 0.
    assert rows[far, 0] == pytest.approx(exact[far], rel=1e-8, abs=0.0)


@pytest.mark.parametrize("risks", [[0, 0, 1, 0, 1, 1], [1, 0, 0], [0] * 8, [1] * 8])
def test_carried_tail_where_risk_is_never_or_always_tolerated(risks):
    never, s, _ = carry(risks, 0.0)
    always, _, _ = carry(risks, 1.0)
    assert never[:, 0].tolist() == (s == 0).astype(float).tolist()
    assert always[:, 0].tolist() == [1.0] * len(risks)


@given(a=st.integers(1, 3000), b=st.integers(1, 3000), level=st.floats(-12.0, -0.01).map(lambda power: 10.0**power))
@settings(max_examples=300)
@example(a=1, b=1, level=1e-12)
@example(a=1, b=3000, level=0.5)
@example(a=3000, b=1, level=1e-12)
def test_beta_quantile_is_scipys(a, b, level):
    quantile = bounds.beta_quantile(a, b, level)
    assert quantile == pytest.approx(float(special.betaincinv(a, b, level)), rel=1e-10)


@pytest.mark.parametrize(("a", "b"), [(1, 10**8), (10**8, 10), (4 * 10**7, 6 * 10**7)])
@pytest.mark.parametrize("level", [1e-9, 0.01, 0.5])
def test_beta_quantile_of_many_plays(a, b, level):
    quantile = bounds.beta_quantile(a, b, level)
    assert float(special.betainc(a, b, quantile)) == pytest.approx(level, rel=1e-6)
