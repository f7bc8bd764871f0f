"""KL-UCB indices against bisection of their definition."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import KLLower, KLUpper, Level
from safebandit.core.policies import DoublyOptimistic

from .. import plain

LEVELS = ["practical", "theory"]
UPPERS = {level: plain.Asked(KLUpper(Level[level])) for level in LEVELS}

rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
counts = st.one_of(st.integers(0, 30), st.integers(0, 10**6))


@pytest.mark.parametrize("level", LEVELS)
@given(plays=counts, mean=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0)), t=rounds)
@example(plays=0, mean=0.0, t=1)
@example(plays=3, mean=1.0, t=50)
@example(plays=3, mean=0.5, t=1)
def test_upper_index_is_its_definition(level, plays, mean, t):
    value, _, _ = UPPERS[level](plays, 0, t, total=plays * mean)
    # Bisection by SciPy's divergence, which cancels where the bound is near the mean: hence 1e-7 there.
    room = 1e-7 if plays > 0 and plain.budget(level, t) / plays < 1e-4 else 1e-10
    assert value == pytest.approx(float(plain.kl_upper_index(level, plays, plays * mean, t)), abs=room)


@pytest.mark.parametrize("level", LEVELS)
@given(plays=st.integers(1, 1000), pending=st.integers(0, 1000), share=st.floats(0.0, 1.0), t=rounds)
def test_pending_plays_count_as_plays_of_the_same_mean(level, plays, pending, share, t):
    ones = round(share * plays)
    waiting = UPPERS[level](plays, ones, t, pending=pending)[0]
    known = UPPERS[level](plays + pending, 0, t, total=ones * (plays + pending) / plays)[0]
    assert waiting == pytest.approx(known, abs=1e-10)
    assert waiting <= UPPERS[level](plays, ones, t)[0] + 1e-12


@pytest.mark.parametrize("level", LEVELS)
@given(plays=counts, share=st.floats(0.0, 1.0), t=rounds, bar=st.floats(-0.5, 1.5))
def test_exceeds_says_whether_the_upper_index_does(level, plays, share, t, bar):
    ones = round(share * plays)
    value = UPPERS[level](plays, ones, t)[0]
    for height in (bar, value - 1e-6, value + 1e-6):
        exceeds = UPPERS[level](plays, ones, t, bar=height)[1]
        if abs(value - height) > 1e-9:
            assert exceeds == (value > height)


@pytest.mark.parametrize("level", LEVELS)
@given(plays=counts, share=st.floats(0.0, 1.0), t=rounds, before=st.floats(0.0, 1.2))
def test_the_upper_index_is_the_same_from_wherever_it_is_sought(level, plays, share, t, before):
    ones = round(share * plays)
    value = UPPERS[level](plays, ones, t)[0]
    for start in (before, value, value - 1e-3, value + 1e-3, 0.0):
        assert UPPERS[level](plays, ones, t, before=start)[2] == pytest.approx(value, abs=1e-10)


@pytest.fixture(scope="module")
def benches():
    return {}


def bench(benches, level, alpha):
    """One arm that learns; kept, for a new one costs more than clearing it."""
    if (level, alpha) not in benches:
        policy = DoublyOptimistic(KLUpper(), KLLower(Level[level]))
        benches[level, alpha] = plain.Bench(policy, 1, alpha)
    one = benches[level, alpha]
    one.arms["risk"] = np.zeros((), one.arms.dtype["risk"])
    one.arms["asked"] = 0
    one.kernels.begin(*one.known)
    return one


risks = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), max_size=40), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40)
)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.3, 1.0])
@given(risks=risks, t=rounds)
@example(risks=[], t=1)
@example(risks=[0.0] * 5, t=1)
@example(risks=[1.0] * 5, t=1)
@example(risks=[1.0] * 5, t=10**6)
def test_lower_index_and_gate_are_their_definition(benches, level, alpha, risks, t):
    one = bench(benches, level, alpha)
    for risk in risks:
        one.learn(0, math.nan, risk)
    lower, permits, _ = one.look(t)[0]
    expected = float(plain.kl_lower_index(level, len(risks), sum(risks), t))
    # 1e-7: SciPy's divergence cancels where t = 1 leaves no budget, and the bound is the mean itself.
    assert lower == pytest.approx(expected, abs=1e-7)
    if alpha in (0.0, 1.0):
        assert permits == (alpha == 1.0 or sum(risks) == 0.0)
    elif abs(expected - alpha) > 1e-6:
        assert permits == (expected <= alpha)


def test_gate_of_many_plays(benches):
    one = bench(benches, "practical", 0.3)
    drawn = (np.random.default_rng(4).random(5_000) < 0.33).astype(float)
    answers = []
    for n, risk in enumerate(drawn, 1):
        one.learn(0, math.nan, risk)
        if n % 5:
            continue
        expected = float(plain.kl_lower_index("practical", n, drawn[:n].sum(), n + 1))
        lower, permits, _ = one.look(n + 1)[0]
        assert lower == pytest.approx(expected, abs=1e-9)
        if abs(expected - 0.3) > 1e-9:
            assert permits == (expected <= 0.3)
        answers.append(permits)
    # The run shows both answers: the gate was put to the test.
    assert set(answers) == {0.0, 1.0}
