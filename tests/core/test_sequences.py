"""Confidence sequences: by their definitions on fine grids, by SciPy, and how often they ever miss, exactly."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from safebandit.core.sequences import (
    GRID,
    betting_bounds,
    betting_wealth,
    difference_bounds,
    log_mixture,
    mixture_bounds,
    mixture_lower,
    mixture_upper,
    planned_bounds,
)
from safebandit.studies.validation.numbers import CONFSEQ_HIGH, CONFSEQ_LOOKS, CONFSEQ_LOW
from safebandit.studies.validation.sequences import outcomes

from . import plain

COUNTS = [(1.0, 0.0), (1.0, 1.0), (5.0, 2.0), (30.0, 0.0), (100.0, 20.0), (1000.0, 990.0), (40.0, 12.5)]


def mixture(n, s, r, a=1.0, b=1.0):
    """By definition, the log of the likelihood mixed by Beta(a, b) over that of r."""
    mixed = special.betaln(s + a, n - s + b) - special.betaln(a, b)
    return mixed - special.xlogy(s, r) - special.xlog1py(n - s, -r)


def ends(refuted, points=20_001):
    """The first and the last point of an even grid that is not refuted, and the grid's step."""
    r = np.linspace(0.0, 1.0, points)[1:-1]
    left = r[~refuted(r)]
    return left[0], left[-1], 1.0 / (points - 1)


@pytest.mark.parametrize(("n", "s"), COUNTS)
def test_a_mixture_leaves_what_is_not_refuted(n, s):
    for a, b in ((1.0, 1.0), (0.5, 2.0)):
        low, high, step = ends(lambda r, a=a, b=b: mixture(n, s, r, a, b) >= math.log(20.0))
        found = mixture_bounds(n, s, 0.95, a, b)
        assert found == pytest.approx((low, high), abs=1.01 * step)
    assert log_mixture(n, s, 0.3, 0.5, 2.0) == pytest.approx(mixture(n, s, 0.3, 0.5, 2.0), abs=1e-9)


@pytest.mark.parametrize(("n", "s"), COUNTS)
def test_one_side_alone_is_where_evidence_stops(n, s):
    def above(s, r):
        larger = stats.beta.logsf(r, s + 1.0, n - s + 1.0) - stats.beta.logsf(r, 1.0, 1.0)
        return mixture(n, s, r) + larger >= math.log(20.0)

    low, _, step = ends(lambda r: above(s, r))
    _, high, _ = ends(lambda r: above(n - s, 1.0 - r))
    assert mixture_lower(n, s, 0.95) == pytest.approx(low if s else 0.0, abs=1.01 * step)
    assert mixture_upper(n, s, 0.95) == pytest.approx(high if s < n else 1.0, abs=1.01 * step)


def kl(p, r):
    return special.rel_entr(p, r) + special.rel_entr(1.0 - p, 1.0 - r)


def planned_wealth(n, s, r, planned, delta):
    """By definition, nine tenths of the wealth in halves on the means that just refute r, the rest on the mixture."""
    budget, wealth = math.log(2.0 / delta) / planned, 0.1 * math.exp(mixture(n, s, r))
    for end in (0.0, 1.0):
        p = optimize.brentq(lambda p: kl(p, r) - budget, r, end) if kl(end, r) > budget else end
        wealth += 0.45 * math.exp(special.xlogy(s, p / r) + special.xlog1py(n - s, -p) - special.xlog1py(n - s, -r))
    return wealth


@pytest.mark.parametrize(
    ("n", "s", "planned"), [(100.0, 20.0, 100.0), (30.0, 1.0, 100.0), (10.0, 10.0, 100.0), (400.0, 33.5, 50.0)]
)
def test_a_plan_leaves_what_is_not_refuted(n, s, planned):
    low, high = planned_bounds(n, s, 0.9, planned)
    # The half on the other side is not counted: it is worth next to nothing there.
    for s_up, end in ((s, low), (n - s, 1.0 - high)):
        if end > 0.0:
            assert planned_wealth(n, s_up, 0.99 * end, planned, 0.1) > 10.0
            assert planned_wealth(n, s_up, 1.01 * end, planned, 0.1) < 10.0
    assert low == pytest.approx(1.0 - planned_bounds(n, n - s, 0.9, planned)[1], abs=1e-12)


def test_a_planned_sequence_is_little_wider_than_the_exact_interval():
    """At N = 100 and a share of 0.2, beside Clopper and Pearson's interval, which holds at one look alone."""
    exact = stats.binomtest(20, 100).proportion_ci(0.95, method="exact")
    found = [planned_bounds(100.0, 20.0, 0.95, planned) for planned in (100.0, 50.0, 200.0)]
    found.append(mixture_bounds(100.0, 20.0, 0.95))
    ratios = [(high - low) / (exact.high - exact.low) for low, high in found]
    assert ratios == pytest.approx([1.312, 1.386, 1.392, 1.546], abs=0.001)


@pytest.mark.parametrize(
    ("n", "s", "m", "q"), [(100.0, 30.0, 100.0, 20.0), (12.0, 12.0, 7.0, 0.0), (9.0, 2.5, 31.0, 8.25)]
)
def test_a_difference_is_projected_from_all_pairs_that_are_left(n, s, m, q):
    points = np.linspace(0.0, 1.0, 1001)[1:-1]
    wealth = mixture(n, s, points)[:, None] + mixture(m, q, points)[None, :]
    left = (points[:, None] - points[None, :])[wealth < math.log(20.0)]
    low, high = difference_bounds(n, s, m, q, 0.95)
    assert (low, high) == pytest.approx((left.min(), left.max()), abs=4e-3)
    assert low <= left.min() + 1e-9
    assert high >= left.max() - 1e-9


def test_a_difference_is_narrower_than_that_of_two_sequences_at_half_the_error():
    low, high = difference_bounds(100.0, 30.0, 100.0, 20.0, 0.95)
    alone, other = mixture_bounds(100.0, 30.0, 0.975), mixture_bounds(100.0, 20.0, 0.975)
    assert high - low < 0.9 * (alone[1] - alone[0] + other[1] - other[0])


def test_before_any_outcome_nothing_is_left_out():
    assert mixture_bounds(0.0, 0.0, 0.95) == (0.0, 1.0)
    assert planned_bounds(0.0, 0.0, 0.95, 100.0) == (0.0, 1.0)
    assert difference_bounds(0.0, 0.0, 0.0, 0.0, 0.95) == (-1.0, 1.0)
    low, high = mixture_bounds(40.0, 10.0, 0.95)
    assert difference_bounds(0.0, 0.0, 40.0, 10.0, 0.95) == pytest.approx((-high, 1.0 - low))


def test_bets_leave_what_no_gambler_has_refuted():
    rng = np.random.default_rng(5)
    for values in (rng.beta(2.0, 6.0, 60), (rng.random(40) < 0.7).astype(float), np.full(30, 0.5)):
        looks, limit = np.array([1, 10, len(values)]), math.log(40.0)
        low, high = betting_bounds(values, looks, 0.95)
        for i, n in enumerate(looks):
            assert low[i] == pytest.approx(by_bets(values[:n], limit), abs=1e-9)
            assert 1.0 - high[i] == pytest.approx(by_bets(1.0 - values[:n], limit), abs=1e-9)
        wealth = betting_wealth(values, looks, 0.2)
        assert wealth == pytest.approx([plain.log_wealth(values[:n], plain.stakes(values[:n], 0.2), 0.2)
                                        for n in looks])  # fmt: skip
    assert betting_wealth(np.array([0.0, 0.5]), np.array([1, 2]), 0.0).tolist() == [0.0, math.inf]


def by_bets(values, limit):
    for j in range(1, GRID):
        r = j / GRID
        if plain.log_wealth(values, plain.stakes(values, r), r) <= limit:
            return max((j - 1) / GRID, plain.betting_lower_bound(values, r, limit))
    return (GRID - 1) / GRID


def chance_ever_missed(bounds, mean, most):
    """The chance that bits of this mean are ever outside, at the worst of so many looks: exact, by the counts."""
    alive, ever = np.ones(1), 0.0
    for n in range(1, most + 1):
        alive = np.append(alive, 0.0) * (1.0 - mean) + np.append(0.0, alive) * mean
        low, high = np.array([bounds(float(n), float(s)) for s in range(n + 1)]).T
        missed = (low > mean) | (high < mean)
        ever += alive[missed].sum()
        alive[missed] = 0.0
    return ever


@pytest.mark.parametrize("mean", [0.05, 0.2, 0.5])
def test_no_look_is_missed_more_often_than_promised(mean):
    delta, most = 0.2, 60
    asked = {
        "mixture": lambda n, s: mixture_bounds(n, s, 1.0 - delta),
        "planned": lambda n, s: planned_bounds(n, s, 1.0 - delta, 40.0),
        "lower": lambda n, s: (mixture_lower(n, s, 1.0 - delta), 1.0),
        "upper": lambda n, s: (0.0, mixture_upper(n, s, 1.0 - delta)),
    }
    missed = {name: chance_ever_missed(bounds, mean, most) for name, bounds in asked.items()}
    assert max(missed.values()) <= delta
    # They are put to the test: none is so wide that it is never wrong.
    assert min(missed["mixture"], missed["planned"]) > 0.1 * delta


def test_bets_miss_no_look_more_often_than_promised():
    delta, looks = 0.2, np.arange(1, 13)
    for mean in (0.3, 0.5):
        ever = 0.0
        for bits in itertools.product((0.0, 1.0), repeat=len(looks)):
            low, high = betting_bounds(np.array(bits), looks, 1.0 - delta)
            if ((low > mean) | (high < mean)).any():
                ever += mean ** sum(bits) * (1.0 - mean) ** (len(bits) - sum(bits))
        assert 0.0 < ever <= delta


def test_a_difference_misses_no_look_more_often_than_promised():
    """Two arms of equal means in turn, at every look but between the two of a pair: exact, by their counts."""
    delta, mean, most = 0.3, 0.4, 25
    alive, ever = np.ones((1, 1)), 0.0
    for n in range(1, most + 1):
        wider = np.zeros((n + 1, n + 1))
        for i, j in itertools.product((0, 1), repeat=2):
            share = (mean if i else 1.0 - mean) * (mean if j else 1.0 - mean)
            wider[i : n + i, j : n + j] += share * alive
        low, high = np.array([[difference_bounds(float(n), s, float(n), q, 1.0 - delta)
                               for q in map(float, range(n + 1))]
                              for s in map(float, range(n + 1))]).transpose(2, 0, 1)  # fmt: skip
        missed = (low > 0.0) | (high < 0.0)
        ever += wider[missed].sum()
        alive = np.where(missed, 0.0, wider)
    assert 0.001 < ever <= delta


def test_bets_are_those_of_the_package_confseq():
    """Ours is wider by less than a step of its grid; the wealth itself is a check of `safebandit validate`."""
    low, high = betting_bounds(outcomes(), np.array(CONFSEQ_LOOKS), 0.95)
    wider = np.concatenate([CONFSEQ_LOW - low, high - CONFSEQ_HIGH])
    assert (wider > -1.1e-4).all()
    assert (wider < 1.0 / GRID).all()
