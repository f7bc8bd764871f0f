"""Betting indices against plain sums of their stakes, and their promise that holds at all times at once."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from safebandit.core.arms import Sizes, at, count_outcome, new_memory, quantity
from safebandit.core.dispatch import compiled
from safebandit.core.indices import BettingLower, BettingUpper, KLLower, Level, evidence, width
from safebandit.core.indices.interface import learn, start, upper
from safebandit.core.kernels import state_of
from safebandit.core.streams import trial_streams

from .. import driving, plain

LEVELS = ["practical", "theory"]
GRID = 16
rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
# Multiples of 1/1024: sums and squares are exact, so that the plain variance of equal outcomes is 0.
numbers = st.integers(0, 1024).map(lambda i: i / 1024)
outcomes = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), max_size=60),
    st.lists(numbers, max_size=60),
    st.builds(lambda value, count: [value] * count, numbers, st.integers(1, 60)),
)


def bench(level, alpha=1.0):
    return driving.pair(BettingUpper(Level[level], GRID), BettingLower(Level[level]), alpha)


@pytest.mark.parametrize("level", LEVELS)
@given(alpha=st.sampled_from([0.0, 1e-300, 1e-9, 0.07, 0.3, 0.81, 1.0]), values=outcomes, t=rounds)
@settings(max_examples=200)
@example(alpha=0.0, values=[], t=1)
@example(alpha=1.0, values=[], t=1)
@example(alpha=0.0, values=[0.0] * 5, t=1)
@example(alpha=0.0, values=[0.0, 0.5], t=10**9)
@example(alpha=1.0, values=[1.0] * 50, t=1)
@example(alpha=0.3, values=[1.0] * 50, t=3)
@example(alpha=1e-300, values=[1.0] * 50, t=1)
def test_lower_index_and_gate_are_their_definition(level, alpha, values, t):
    one = bench(level, alpha).tell(values)
    value, permits = one.gate(t)
    against = evidence(BettingLower(Level[level]), one.python(0, 1), alpha)
    assert permits == (value <= alpha)
    assert permits == (against <= plain.budget(level, t))
    assert 0.0 <= value <= 1.0
    assert value == pytest.approx(plain.betting_lower_index(level, values, t, alpha), rel=1e-6, abs=1e-9)
    if alpha == 0.0:
        assert permits == (sum(values) == 0.0)
    else:
        wealth = plain.log_wealth(values, plain.stakes(values, alpha), alpha)
        assert against == pytest.approx(max(0.0, wealth), rel=1e-7, abs=1e-9)


@given(alpha=st.sampled_from([0.02, 0.3, 0.9]), values=outcomes, t=rounds)
@example(alpha=0.3, values=[1.0] * 50, t=3)
@example(alpha=0.3, values=[0.0, 1.0] * 25, t=3)
def test_the_same_stakes_refute_all_means_below_the_lower_index(alpha, values, t):
    value, _ = bench("practical", alpha).tell(values).gate(t)
    # Wealth falls as the mean that is bet against grows: it is enough to look at the bound itself.
    if value > 0.0:
        assert plain.log_wealth(values, plain.stakes(values, alpha), value - 1e-9) >= math.log(t) - 1e-7
    assert value <= 2.0 * alpha


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds)
@example(values=[], t=1)
@example(values=[1.0] * 40, t=9)
@example(values=[0.0] * 60, t=9)
def test_upper_index_is_its_definition(level, values, t):
    expected = plain.betting_upper_index(level, GRID, values, t)
    assert bench(level).tell(values).upper(t) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(values=outcomes, pending=st.integers(0, 60), t=rounds)
def test_upper_index_grows_with_rounds_and_shrinks_with_pending_plays(values, pending, t):
    one = bench("practical").tell(values)
    assert one.upper(t) <= one.upper(t + 1) <= one.upper(2 * t)
    assert one.upper(t, pending + 1) <= one.upper(t, pending)


@compiled
def _extremes(reward, safety, memory, values, alpha, t, out):
    """Each row of outcomes is an arm's: the least upper index and the most evidence that there ever were."""
    state = state_of(memory, 0, False)
    for k in range(state.size):
        one, other = quantity(state, k, 0), quantity(state, k, 1)
        start(reward, one.own, alpha)
        start(safety, other.own, alpha)
        for play in range(values.shape[1]):
            value = values[k, play]
            learn(reward, one, value, count_outcome(one, at(state.arms, k).key, play, value), alpha)
            learn(safety, other, value, count_outcome(other, at(state.arms, k).key, play, value), alpha)
            out[k, 0] = min(out[k, 0], upper(reward, one, t, state.stream))
            out[k, 1] = max(out[k, 1], evidence(safety, other, alpha))


def extremes(safety, law, mean, paths, plays, *, seed, alpha=0.3, grid=4):
    random, reward = np.random.default_rng(seed), BettingUpper(0, grid)
    values = random.random((paths, plays)) < mean if law == "bits" else None
    if values is None:
        values = random.beta(4.0 * mean, 4.0 * (1.0 - mean), (paths, plays))
    streams, out = trial_streams(0, 0, paths), np.tile([1.0, 0.0], (paths, 1))
    memory = new_memory(streams.keys[None], streams.policy.copy(), (alpha,), Sizes(width(reward), width(safety)))
    # log 20 is the budget of round 20.
    _extremes(reward, safety, memory, values.astype(float), alpha, 20, out)
    return out.T


@pytest.mark.parametrize("law", ["bits", "beta"])
def test_a_safe_arm_is_ever_refuted_as_rarely_as_promised(law):
    # Ville's inequality: at most 1 in 20 paths, over all 2,000 plays together. One-sided binomial test; fails by chance
    # with probability at most FALSE_ALARM, were the seed not fixed.
    count = int((extremes(BettingLower(0), law, 0.3, 2_000, 2_000, seed=1)[1] >= math.log(20)).sum())
    assert stats.binomtest(count, 2_000, 1 / 20, alternative="greater").pvalue > driving.FALSE_ALARM
    # Some are refuted, so it was put to the test; an unsafe arm nearly always is.
    assert count > 0
    assert (extremes(BettingLower(0), law, 0.37, 200, 2_000, seed=2)[1] >= math.log(20)).sum() > 190


def test_the_test_can_tell():
    # The evidence of KL-UCB is valid at each time, not at all times together: it breaks the same promise.
    count = int((extremes(KLLower(0), "bits", 0.3, 2_000, 2_000, seed=1)[1] >= math.log(20)).sum())
    assert stats.binomtest(count, 2_000, 1 / 20, alternative="greater").pvalue < driving.FALSE_ALARM


@pytest.mark.parametrize("law", ["bits", "beta"])
@pytest.mark.parametrize("mean", [0.5, 0.63])
def test_the_upper_index_ever_falls_below_the_mean_as_rarely_as_promised(law, mean):
    # At most 1 in 20 paths. 0.5 is a point of the grid, 0.63 is not.
    least = extremes(BettingLower(0), law, mean, 1_000, 600, seed=3, grid=64)[0]
    assert stats.binomtest(int((least < mean).sum()), 1_000, 1 / 20, alternative="greater").pvalue > driving.FALSE_ALARM
    # Every path says something: the bound comes down to the mean.
    assert (least < mean + 0.15).all()
