"""Joint indices: KL-UCB with what is left of the budget, and what draws are tested by."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import JointDirichlet, JointUpper, KLLower, KLUpper, Level
from safebandit.core.indices.joint_sampling import TABLE, in_doubt, joint_dirichlet_passes
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


TABLES = [(15, 30, 20, 35), (35, 0, 0, 65), (0, 62, 38, 0), (22, 23, 22, 33), (0, 3, 0, 0), (0, 0, 0, 4), (1, 1, 0, 1)]


@pytest.mark.parametrize("table", [*TABLES, (40, 10, 40, 10), (10, 10, 10, 10), (0, 0, 0, 0)])
def test_the_table_is_kept_and_arms_of_more_harm_than_alpha_are_in_doubt(table):
    bench = dirichlet(table)
    assert bench.own(0, 0, TABLE + 4).tolist() == [LIMIT, *table]
    assert in_doubt(bench.policy.reward, bench.python(0, 0)) == (table[1] + table[3] > LIMIT * sum(table))


@pytest.mark.parametrize("table", TABLES)
def test_a_draw_is_tested_by_draws_of_the_dirichlet_law_that_are_as_large(table):
    # The law itself: draws of NumPy, of which those of enough reward are kept.
    p00, p01, p10, p11 = np.random.default_rng(7).dirichlet(np.array(table) + 0.5, 100_000).T
    del p00
    seen, stream = dirichlet(table).seen[0, 0], trial_streams(4, 0, 1).policy[0]
    for least in np.quantile(p10 + p11, [0.0, 0.3, 0.8]):
        safe = (p01 + p11)[p10 + p11 >= least] <= LIMIT
        passed = [joint_dirichlet_passes(JointDirichlet(soft=0.0), seen, 100, least, stream) for _ in range(4_000)]
        found, expected = np.bincount(passed, minlength=2), np.bincount(safe, minlength=2)
        assert plain.same_law(found, expected) > driving.FALSE_ALARM
        # And the transcription that whole decisions are held to is of the same law.
        above = plain.chance_of_reward(table, np.full(20_000, least))
        risks = plain.risks_given_reward(table, above, np.random.default_rng(8))
        assert plain.same_law(np.bincount(risks <= LIMIT, minlength=2), expected) > driving.FALSE_ALARM


@pytest.mark.parametrize(("soft", "t", "draws"), [(0.0, 10**6, 1), (1.0, 2, 1), (1.0, 3, 2), (0.5, 3_000, 5)])
def test_a_test_has_one_draw_and_soft_times_log_t_more(soft, t, draws):
    table, least, times = (22, 23, 22, 33), 0.45, 6_000
    seen, stream = dirichlet(table).seen[0, 0], trial_streams(4, 0, 1).policy[0]
    above = plain.chance_of_reward(table, np.full(200_000, least))
    fails = (plain.risks_given_reward(table, above, np.random.default_rng(8)) > LIMIT).mean()
    passed = sum(joint_dirichlet_passes(JointDirichlet(soft), seen, t, least, stream) for _ in range(times))
    # Four standard errors, to which that of `fails` adds little: an error in 10,000. One draw more would be seen.
    within = 4 * math.sqrt(times * fails**draws * (1 - fails**draws))
    assert abs(passed - times * (1 - fails**draws)) < within
    assert abs(passed - times * (1 - fails ** (draws + 1))) > within
