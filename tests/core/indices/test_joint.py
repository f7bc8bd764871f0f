"""Joint indices: KL-UCB with what is left of the budget, and draws that are tested lazily, by their definitions."""

import math

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from safebandit.core.indices import JointUpper, KLUpper, Level
from safebandit.core.indices.joint_sampling import ALPHA, CHANCE, TABLE, reward_given_safe
from safebandit.core.streams import trial_streams

from .. import plain

# Each statistical test below fails by chance with probability at most this, were its seed not fixed.
FALSE_ALARM = 1e-4

LEVELS = [level.name for level in Level]
JOINT = {level: plain.Asked(JointUpper(Level[level])) for level in LEVELS}
ALONE = {level: plain.Asked(KLUpper(Level[level])) for level in LEVELS}

levels = st.sampled_from(LEVELS)
plays = st.integers(1, 100_000)
shares = st.floats(0.0, 1.0)
rounds = st.integers(1, 10**9)
evidence = st.one_of(st.just(0.0), st.floats(1e-9, 40.0), st.just(math.inf))


# --- JointUpper ---


@given(level=levels, plays=plays, share=shares, t=rounds, against=evidence)
@example(level="practical", plays=10, share=0.5, t=1, against=0.0)
@example(level="practical", plays=10, share=0.5, t=100, against=math.log(100))
@example(level="practical", plays=10, share=0.0, t=100, against=1.0)
@example(level="theory", plays=10, share=1.0, t=100, against=1.0)
def test_the_index_is_what_the_definition_says(level, plays, share, t, against):
    total = share * plays
    index, _, _ = JOINT[level](plays, 0, t, total=total, own=against)
    assert index == pytest.approx(float(plain.joint_upper_index(level, plays, total, t, against)), abs=1e-9)
    # Optimistic, never above 1, and the mean once the evidence has used up the budget.
    mean = min(1.0, total / plays)
    assert mean <= index <= 1.0
    if against >= plain.budget(level, t):
        assert index == mean


@given(level=levels, plays=plays, share=shares, t=rounds, against=evidence, pending=st.integers(0, 50))
def test_the_index_is_never_above_kl_upper_and_equal_without_evidence(level, plays, share, t, against, pending):
    total = share * plays
    alone, _, _ = ALONE[level](plays, 0, t, total=total, pending=pending)
    joint, _, _ = JOINT[level](plays, 0, t, total=total, pending=pending, own=against)
    without, _, _ = JOINT[level](plays, 0, t, total=total, pending=pending)
    assert joint <= alone + 1e-12
    assert without == alone
    if 0.01 < share < 0.99 and plays < 1_000 and against > 0.01 and plain.budget(level, t) > 0.01:
        # Strictly so, where the budget is large enough to be seen.
        assert joint < alone


@given(
    level=levels, plays=plays, share=shares, t=rounds, against=evidence, bar=shares, before=shares,
    pending=st.integers(0, 50),
)  # fmt: skip
@example(level="practical", plays=3, share=0.5, t=9, against=50.0, bar=0.5, before=0.9, pending=0)
@example(level="practical", plays=3, share=1.0, t=9, against=0.5, bar=0.999, before=1.0, pending=0)
@example(level="practical", plays=3, share=0.5, t=9, against=math.inf, bar=0.2, before=0.7, pending=2)
def test_the_answers_agree(level, plays, share, t, against, bar, before, pending):
    total = share * plays
    index, above, again = JOINT[level](
        plays, 0, t, total=total, pending=pending, bar=bar, before=before, own=against
    )  # fmt: skip
    assert again == pytest.approx(index, abs=1e-9)
    if abs(index - bar) > 1e-9:
        assert above == (index > bar)


@given(level=levels, plays=plays, share=shares, t=st.integers(1, 10**8), against=evidence)
def test_the_index_never_falls_with_time(level, plays, share, t, against):
    early, late = (JOINT[level](plays, 0, s, total=share * plays, own=against)[0] for s in (t, t + t // 3 + 1))
    assert late >= early - 1e-12


def test_an_arm_never_played_has_the_largest_index():
    for against in (0.0, 3.0, math.inf):
        index, above, again = JOINT["practical"](0, 0, 5, bar=0.999, own=against)
        assert (index, above, again) == (1.0, True, 1.0)
        assert JOINT["practical"](0, 0, 5, bar=1.0, own=against)[1] is False


# --- draws that are tested ---

PASSES = {"joint-ts": plain.passes_independently, "joint-dirichlet": plain.passes_jointly}
ROUND, LIMIT = 3_000, 0.5

# Per arm the counts of (reward, risk) = 00, 01, 10, 11. P(Bin(100, 1/2) >= 65) = 0.0018 is strong evidence, of 60 it is
# 0.028 and of 57 0.097, near 1/(1 + log t) = 0.111.
SAFE = (40, 10, 40, 10)
STATES = {
    "no evidence": [SAFE, (20, 5, 22, 5), (3, 1, 2, 1)],
    "strong evidence": [SAFE, (15, 30, 20, 35)],
    "near log(1 + log t), above": [SAFE, (21, 24, 22, 33)],
    "near log(1 + log t), below": [SAFE, (22, 23, 22, 33)],
    "several doubtful arms": [(40, 14, 30, 14), (15, 27, 18, 40), (18, 28, 22, 32), (8, 16, 12, 20), (20, 33, 18, 29)],
    "every arm doubtful": [(18, 28, 22, 32), (15, 30, 20, 35), (6, 14, 4, 9)],
    "equal doubtful arms": [(8, 14, 6, 16)] * 3,
    "never rewarded, always a risk": [(0, 3, 0, 0), (0, 3, 0, 0), (0, 4, 0, 0)],
    "an arm never played": [(15, 30, 20, 35), SAFE, (0, 0, 0, 0)],
    "risk with every reward": [SAFE, (35, 0, 0, 65), (36, 2, 4, 58)],
    "risk never with a reward": [(30, 10, 30, 10), (2, 42, 40, 16), (0, 62, 38, 0)],
    "many plays": [(3_000, 2_000, 3_000, 2_000), (2_410, 2_510, 2_460, 2_620), (1_200, 1_260, 1_240, 1_300)],
}
DOUBTFUL = ["strong evidence", "several doubtful arms", "every arm doubtful", "risk with every reward"]
SOFT = {"joint-ts": (0.0, 1.0), "joint-dirichlet": (0.0, 1.0, 2.5)}
CASES = [(name, soft) for name, choices in SOFT.items() for soft in choices]


def bench_of(name, soft, tables, seed=0):
    """The policy with these tables, learnt play by play."""
    bench = plain.Bench(f"{name}:soft={soft},head_start=0", len(tables), LIMIT, seed)
    for k, table in enumerate(tables):
        for outcome, count in enumerate(table):
            for _ in range(count):
                bench.learn(k, float(outcome // 2), float(outcome % 2))
    return bench


def wins_of(bench, decisions=30_000):
    wins = np.zeros(len(bench.arms), int)
    for _ in range(decisions):
        k, none = bench.decide(ROUND)
        assert not none
        wins[k] += 1
    return wins


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("name", "soft"), CASES)
def test_arms_win_as_often_as_if_all_were_drawn_and_tested(name, soft, state):
    tables = STATES[state]
    bench = bench_of(name, soft, tables)
    # All are permitted: else the test would say less than it seems to.
    assert bench.look(ROUND)[:, 1].all()
    expected = plain.joint_draws(tables, PASSES[name], soft, ROUND, LIMIT, 200_000, np.random.default_rng(5))
    assert plain.same_law(wins_of(bench), expected) > FALSE_ALARM


@pytest.mark.parametrize("state", DOUBTFUL)
@pytest.mark.parametrize("name", PASSES)
def test_the_comparison_would_notice_that_nothing_is_tested(name, state):
    def always(table, chance, soft, t, rho, alpha, random):
        return np.ones(rho.shape, bool)

    soft = 0.0
    untested = plain.joint_draws(STATES[state], always, soft, ROUND, LIMIT, 200_000, np.random.default_rng(5))
    assert plain.same_law(wins_of(bench_of(name, soft, STATES[state])), untested) < 1e-9


def test_the_comparison_would_notice_that_the_table_is_not_read():
    # Risk and reward always come together: given a safe risk, the doubtful arm's reward is never above its mean.
    tables = [(32, 8, 48, 12), (43, 0, 0, 57)]
    wins = wins_of(bench_of("joint-dirichlet", 0.0, tables))
    for passes, agrees in ((plain.passes_jointly, True), (plain.passes_independently, False)):
        others = plain.joint_draws(tables, passes, 0.0, ROUND, LIMIT, 200_000, np.random.default_rng(5))
        assert (plain.same_law(wins, others) > FALSE_ALARM) == agrees


@pytest.mark.parametrize("state", ["several doubtful arms", "risk never with a reward", "an arm never played"])
@pytest.mark.parametrize(("name", "soft"), CASES)
def test_an_arm_that_is_not_permitted_never_wins(name, soft, state):
    tables = [(0, 5, 0, 95), *STATES[state]]
    bench = bench_of(name, soft, tables)
    assert bench.look(ROUND)[:, 1].tolist() == [0.0] + [1.0] * len(STATES[state])
    wins = wins_of(bench)
    assert wins[0] == 0
    expected = plain.joint_draws(tables[1:], PASSES[name], soft, ROUND, LIMIT, 200_000, np.random.default_rng(6))
    assert plain.same_law(wins[1:], expected) > FALSE_ALARM


def test_the_chance_of_passing_is_that_of_the_risk():
    for table in [(15, 30, 20, 35), (21, 24, 22, 33), SAFE, (0, 3, 0, 0)]:
        own = bench_of("joint-dirichlet", 1.0, [table]).arms["reward"]["own"][0]
        risks, total = table[1] + table[3], sum(table)
        expected = stats.binom.sf(risks - 1, total, LIMIT) if risks > LIMIT * total else 1.0
        assert own[CHANCE] == pytest.approx(expected, rel=1e-10)
        assert own[ALPHA] == LIMIT
        assert own[TABLE:].tolist() == list(table)


# --- a risk that is at most alpha, and the reward given it ---


@numba.njit
def many_given_safe(arms, rho, stream, out):
    for i in range(len(out)):
        out[i] = reward_given_safe(arms[0].reward, rho, stream[0])


def policy_stream(seed):
    return trial_streams(seed, 0, 1).policy.copy()


@pytest.mark.parametrize(
    "table",
    [(15, 30, 20, 35), (35, 0, 0, 65), (0, 62, 38, 0), (10, 0, 20, 0), (0, 3, 0, 0), (0, 0, 0, 4), (40, 10, 40, 10)],
)
def test_a_reward_given_that_the_risk_is_safe(table):
    draws = np.empty(20_000)
    bench = bench_of("joint-dirichlet", 1.0, [table])
    many_given_safe(bench.arms, 0.0, policy_stream(4), draws)
    expected = plain.reward_given_safe(table, LIMIT, 100_000, np.random.default_rng(7))
    assert stats.ks_2samp(draws, expected).pvalue > FALSE_ALARM
    # Where only those of at least rho matter, they are as many, and of the same law.
    rho = float(np.quantile(expected, 0.8))
    many_given_safe(bench.arms, rho, policy_stream(5), draws)
    assert stats.ks_2samp(np.maximum(draws, rho), np.maximum(expected, rho)).pvalue > FALSE_ALARM
