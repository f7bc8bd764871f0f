"""Betting indices against plain sums of their stakes, and their promise that holds at all times at once."""

import math

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from safebandit.core.arms import count_outcome
from safebandit.core.indices import BettingLower, BettingUpper, KLLower, Level
from safebandit.core.indices.interface import evidence, learn, start, upper

from .. import plain

FALSE_ALARM = 1e-4
LEVELS = ["practical", "theory"]
GRID = 16
UPPERS = {level: plain.Told(BettingUpper(Level[level], GRID)) for level in LEVELS}
LOWERS = {level: plain.Told(BettingLower(Level[level])) for level in LEVELS}

rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
# Multiples of 1/1024: sums and squares are exact, so that the plain variance of equal outcomes is 0.
numbers = st.integers(0, 1024).map(lambda i: i / 1024)
outcomes = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), max_size=60),
    st.lists(numbers, max_size=60),
    st.builds(lambda value, count: [value] * count, numbers, st.integers(1, 60)),
)
limits = st.one_of(st.sampled_from([0.0, 1.0, 1e-300, 1e-9, 0.3]), st.floats(0.0, 1.0))


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds, alpha=limits)
@example(values=[], t=1, alpha=0.0)
@example(values=[], t=1, alpha=1.0)
@example(values=[0.0] * 5, t=1, alpha=0.0)
@example(values=[0.0, 0.5], t=10**9, alpha=0.0)
@example(values=[1.0] * 50, t=1, alpha=1.0)
@example(values=[1.0] * 50, t=3, alpha=0.3)
@example(values=[1.0] * 50, t=1, alpha=1e-300)
def test_lower_index_and_gate_are_their_definition(level, values, t, alpha):
    value, permits, evidence = LOWERS[level].tell(values, alpha).gate(t)
    limit = plain.budget(level, t)
    assert permits == (value <= alpha)
    assert permits == (evidence <= limit)
    assert 0.0 <= value <= 1.0
    assert value == pytest.approx(plain.betting_lower_index(level, values, t, alpha), rel=1e-6, abs=1e-9)
    if alpha == 0.0:
        assert permits == (sum(values) == 0.0)
    else:
        wealth = plain.log_wealth(values, plain.stakes(values, alpha), alpha)
        assert evidence == pytest.approx(max(0.0, wealth), rel=1e-7, abs=1e-9)


@given(values=outcomes, t=rounds, alpha=st.floats(0.01, 0.99))
@example(values=[1.0] * 50, t=3, alpha=0.3)
@example(values=[0.0, 1.0] * 25, t=3, alpha=0.3)
def test_the_same_stakes_refute_all_means_below_the_lower_index(values, t, alpha):
    value, _, _ = LOWERS["practical"].tell(values, alpha).gate(t)
    stakes = plain.stakes(values, alpha)
    # Wealth falls as the mean that is bet against grows: it is enough to look at the bound itself.
    if value > 0.0:
        assert plain.log_wealth(values, stakes, value - 1e-9) >= math.log(t) - 1e-7
    assert value <= 2.0 * alpha


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds, bar=st.floats(-0.5, 1.5))
@example(values=[], t=1, bar=0.5)
@example(values=[1.0] * 40, t=9, bar=1.0)
@example(values=[0.0] * 60, t=9, bar=0.5)
def test_upper_index_is_its_definition(level, values, t, bar):
    value, exceeds, again = UPPERS[level].tell(values).reward(t, bar=bar, before=0.3)
    expected = plain.betting_upper_index(level, GRID, values, t)
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert again == value
    assert exceeds == (value > bar)


@given(values=outcomes, pending=st.integers(0, 60), t=rounds)
def test_upper_index_grows_with_rounds_and_shrinks_with_pending_plays(values, pending, t):
    told = UPPERS["practical"].tell(values)
    assert told.reward(t)[0] <= told.reward(t + 1)[0] <= told.reward(2 * t)[0]
    assert told.reward(t, pending=pending + 1)[0] <= told.reward(t, pending=pending)[0]


@numba.njit
def most_evidence(index, arms, values, alpha):
    """For each row of outcomes, the most evidence that there ever was."""
    most = np.zeros(len(values))
    for i in range(len(values)):
        seen = arms[i].risk
        start(index, seen.own, alpha)
        for play in range(values.shape[1]):
            bit = count_outcome(seen, arms[i].key, play, values[i, play])
            learn(index, seen, values[i, play], bit, alpha)
            most[i] = max(most[i], evidence(index, seen, alpha))
    return most


@numba.njit
def least_upper(index, arms, values, t, stream):
    """For each row of outcomes, the smallest upper index that there ever was."""
    least = np.ones(len(values))
    for i in range(len(values)):
        seen = arms[i].reward
        start(index, seen.own, 0.5)
        for play in range(values.shape[1]):
            bit = count_outcome(seen, arms[i].key, play, values[i, play])
            learn(index, seen, values[i, play], bit, 0.5)
            least[i] = min(least[i], upper(index, seen, t, stream[0]))
    return least


def rows(law, mean, paths, plays, seed):
    rng = np.random.default_rng(seed)
    if law == "bits":
        return (rng.random((paths, plays)) < mean).astype(float)
    return rng.beta(4.0 * mean, 4.0 * (1.0 - mean), (paths, plays))


def refuted(index, values, alpha, level):
    arms = np.repeat(plain.Told(index).blank, len(values))
    return int((most_evidence(type(index)(0), arms, values, alpha) >= level).sum())


@pytest.mark.parametrize("law", ["bits", "beta"])
def test_a_safe_arm_is_ever_refuted_as_rarely_as_promised(law):
    # Ville's inequality: at most 1 in 20 paths, over all 2,000 plays together. One-sided binomial test; fails by chance
    # with probability at most FALSE_ALARM, were the seed not fixed.
    paths, alpha, level = 2_000, 0.3, math.log(20)
    count = refuted(BettingLower(), rows(law, alpha, paths, 2_000, 1), alpha, level)
    assert stats.binomtest(count, paths, 1 / 20, alternative="greater").pvalue > FALSE_ALARM
    # Some are refuted, so it was put to the test; an unsafe arm nearly always is.
    assert count > 0
    assert refuted(BettingLower(), rows(law, 0.37, 200, 2_000, 2), alpha, level) > 190


def test_the_test_can_tell():
    # The evidence of KL-UCB is valid at each time, not at all times together: it breaks the same promise.
    paths, alpha = 2_000, 0.3
    count = refuted(KLLower(), rows("bits", alpha, paths, 2_000, 1), alpha, math.log(20))
    assert stats.binomtest(count, paths, 1 / 20, alternative="greater").pvalue < FALSE_ALARM


@pytest.mark.parametrize("law", ["bits", "beta"])
@pytest.mark.parametrize("mean", [0.5, 0.63])
def test_the_upper_index_ever_falls_below_the_mean_as_rarely_as_promised(law, mean):
    # log 20 is the budget of round 20: at most 1 in 20 paths. 0.5 is a point of the grid, 0.63 is not.
    paths = 1_000
    told = plain.Told(BettingUpper(grid=64))
    values = rows(law, mean, paths, 600, 3)
    least = least_upper(told.index, np.repeat(told.blank, paths), values, 20, told.stream)
    count = int((least < mean).sum())
    assert stats.binomtest(count, paths, 1 / 20, alternative="greater").pvalue > FALSE_ALARM
    # Every path says something: the bound comes down to the mean.
    assert (least < mean + 0.15).all()
