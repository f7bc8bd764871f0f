"""Joint indices: KL-UCB with what is left of the budget, and what draws are tested by."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from safebandit.core.indices import JointUpper, KLLower, KLUpper, Level
from safebandit.core.indices.joint_sampling import ALPHA, CHANCE, TABLE, reward_given_safe
from safebandit.core.streams import trial_streams

from .. import driving, plain

LEVELS = [level.name for level in Level]
levels = st.sampled_from(LEVELS)
plays = st.integers(1, 100_000)
shares = st.floats(0.0, 1.0)
rounds = st.integers(1, 10**9)
evidence = st.one_of(st.just(0.0), st.floats(1e-9, 40.0), st.just(math.inf))


def joint(level, plays, total, t, against=0.0, pending=0):
    one = driving.pair(JointUpper(Level[level]), KLLower()).begin().set(0, 0, plays, 0, total=total, pending=pending)
    one.own(0, 0, 1)[0] = against
    return one.upper(t)


@given(level=levels, plays=plays, share=shares, t=rounds, against=evidence)
@example(level="practical", plays=10, share=0.5, t=1, against=0.0)
@example(level="practical", plays=10, share=0.5, t=100, against=math.log(100))
@example(level="practical", plays=10, share=0.0, t=100, against=1.0)
@example(level="theory", plays=10, share=1.0, t=100, against=1.0)
def test_the_index_is_what_the_definition_says(level, plays, share, t, against):
    total = share * plays
    index = joint(level, plays, total, t, against)
    assert index == pytest.approx(float(plain.joint_upper_index(level, plays, total, t, against)), abs=1e-9)
    # Optimistic, never above 1, and the mean once the evidence has used up the budget; it never falls with time.
    mean = min(1.0, total / plays)
    assert mean <= index <= 1.0
    if against >= plain.budget(level, t):
        assert index == mean
    assert joint(level, plays, total, t + t // 3 + 1, against) >= index - 1e-12


@given(level=levels, plays=plays, share=shares, t=rounds, against=evidence, pending=st.integers(0, 50))
def test_the_index_is_never_above_kl_upper_and_equal_without_evidence(level, plays, share, t, against, pending):
    total = share * plays
    one = driving.pair(KLUpper(Level[level]), KLLower())
    alone = one.begin().set(0, 0, plays, 0, total=total, pending=pending).upper(t)
    found = joint(level, plays, total, t, against, pending)
    assert found <= alone + 1e-12
    assert joint(level, plays, total, t, 0.0, pending) == alone
    if 0.01 < share < 0.99 and plays < 1_000 and against > 0.01 and plain.budget(level, t) > 0.01:
        # Strictly so, where the budget is large enough to be seen.
        assert found < alone


@pytest.mark.parametrize("against", [0.0, 3.0, math.inf])
def test_an_arm_never_played_has_the_largest_index(against):
    assert joint("practical", 0, 0, 5, against) == 1.0


LIMIT = 0.5


def dirichlet(table):
    bench = driving.Bench("joint-dirichlet", 1, LIMIT)
    for outcome, count in enumerate(table):
        for _ in range(count):
            bench.learn(0, float(outcome // 2), float(outcome % 2))
    return bench


@pytest.mark.parametrize("table", [(15, 30, 20, 35), (21, 24, 22, 33), (40, 10, 40, 10), (0, 3, 0, 0)])
def test_the_chance_of_passing_is_that_of_the_risk(table):
    own = dirichlet(table).own(0, 0, TABLE + 4)
    risks, total = table[1] + table[3], sum(table)
    expected = stats.binom.sf(risks - 1, total, LIMIT) if risks > LIMIT * total else 1.0
    assert own[CHANCE] == pytest.approx(expected, rel=1e-10)
    assert own[ALPHA] == LIMIT
    assert own[TABLE:].tolist() == list(table)


@pytest.mark.parametrize(
    "table",
    [(15, 30, 20, 35), (35, 0, 0, 65), (0, 62, 38, 0), (10, 0, 20, 0), (0, 3, 0, 0), (0, 0, 0, 4), (40, 10, 40, 10)],
)
def test_a_reward_given_that_the_risk_is_safe(table):
    seen = dirichlet(table).seen[0, 0]
    expected = plain.reward_given_safe(table, LIMIT, 100_000, np.random.default_rng(7))
    # Where only those of at least rho matter, they are as many, and of the same law.
    for seed, rho in ((4, 0.0), (5, float(np.quantile(expected, 0.8)))):
        stream = trial_streams(seed, 0, 1).policy[0]
        draws = np.array([reward_given_safe(seen, rho, stream) for _ in range(20_000)])
        assert stats.ks_2samp(np.maximum(draws, rho), np.maximum(expected, rho)).pvalue > driving.FALSE_ALARM
