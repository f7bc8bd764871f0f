"""BayesUCB indices against SciPy's Beta quantiles."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import special

from safebandit.core.indices import BayesLower, BayesUpper, Schedule
from safebandit.core.policies import DoublyOptimistic

from .. import plain

SCHEDULES = ["practical", "theory", "proof"]
UPPERS = {schedule: plain.Asked(BayesUpper(Schedule[schedule])) for schedule in SCHEDULES}

rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
counts = st.one_of(st.integers(0, 30), st.integers(0, 10**5))
shares = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(plays=counts, share=shares, t=rounds)
@example(plays=0, share=0.0, t=1)
@example(plays=4, share=1.0, t=9)
@example(plays=4, share=0.0, t=1)
def test_upper_index_is_its_definition(schedule, plays, share, t):
    ones = round(share * plays)
    value, _, again = UPPERS[schedule](plays, ones, t, before=0.7)
    assert value == pytest.approx(float(plain.bayes_upper_index(schedule, plays, ones, t)), abs=1e-10)
    assert again == value


def test_upper_index_is_the_posterior_quantile():
    # The formula as the catalogue writes it, not its mirror image.
    value = UPPERS["practical"](20, 13, 99)[0]
    assert value == pytest.approx(float(special.betaincinv(14, 7, 0.99)), abs=1e-12)


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(plays=counts, share=shares, t=rounds, bar=st.floats(-0.5, 1.5))
def test_exceeds_says_whether_the_upper_index_does(schedule, plays, share, t, bar):
    ones = round(share * plays)
    value = UPPERS[schedule](plays, ones, t)[0]
    for height in (bar, value - 1e-6, value + 1e-6):
        exceeds = UPPERS[schedule](plays, ones, t, bar=height)[1]
        if abs(value - height) > 1e-9:
            assert exceeds == (value > height)


@given(plays=st.integers(1, 40), share=shares, pending=st.integers(0, 40), t=rounds)
def test_pending_plays_never_raise_the_upper_index(plays, share, pending, t):
    ones = round(share * plays)
    before = UPPERS["practical"](plays, ones, t, pending=pending)[0]
    after, exceeds, _ = UPPERS["practical"](plays, ones, t, pending=pending + 1, bar=before + 1e-9)
    # A ceiling is kept until the arm learns: an index that rose without learning would break it.
    assert after <= before + 1e-12
    assert not exceeds


@pytest.fixture(scope="module")
def benches():
    return {}


def bench(benches, schedule, alpha):
    """One arm that learns; kept, for a new one costs more than clearing it."""
    if (schedule, alpha) not in benches:
        policy = DoublyOptimistic(BayesUpper(), BayesLower(Schedule[schedule]))
        benches[schedule, alpha] = plain.Bench(policy, 1, alpha)
    one = benches[schedule, alpha]
    one.arms["risk"] = np.zeros((), one.arms.dtype["risk"])
    one.arms["asked"] = 0
    one.kernels.begin(*one.known)
    return one


def assert_gate(one, schedule, plays, ones, t, alpha):
    lower, permits, _ = one.look(t)[0]
    expected = float(plain.bayes_lower_index(schedule, plays, ones, t, alpha))
    assert lower == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if alpha in (0.0, 1.0):
        assert permits == (alpha == 1.0 or ones == 0)
    elif abs(expected - alpha) > 1e-9:
        assert permits == (expected <= alpha)
    return permits


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.3, 1.0])
@given(risks=st.lists(st.sampled_from([0.0, 1.0]), max_size=40), t=rounds)
@example(risks=[], t=1)
@example(risks=[1.0], t=1)
@example(risks=[0.0] * 5, t=1)
@example(risks=[1.0] * 5, t=10**6)
def test_lower_index_and_gate_are_their_definition(benches, schedule, alpha, risks, t):
    one = bench(benches, schedule, alpha)
    for risk in risks:
        one.learn(0, math.nan, risk)
    assert_gate(one, schedule, len(risks), int(sum(risks)), t, alpha)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("alpha", "mean"), [(0.3, 0.36), (0.02, 0.04), (0.9, 0.95)])
def test_gate_of_many_plays(benches, schedule, alpha, mean):
    one = bench(benches, schedule, alpha)
    drawn = (np.random.default_rng(4).random(4_000) < mean).astype(int)
    answers = set()
    for n, risk in enumerate(drawn, 1):
        one.learn(0, math.nan, float(risk))
        if n % 7 == 0:
            # Rounds before and after those that such an arm would be asked in: both answers are seen.
            for t in (max(1, n // 5), n + 1, 50 * n):
                answers.add(assert_gate(one, schedule, n, int(drawn[:n].sum()), t, alpha))
    assert answers == {0.0, 1.0}


def test_the_gate_reads_reduced_bits(benches):
    one = bench(benches, "practical", 0.3)
    key = int(one.arms["key"][0])
    values = np.random.default_rng(5).random(300)
    ones = 0
    for play, value in enumerate(values):
        one.learn(0, math.nan, value)
        # Rewards take the even numbers, risks the odd ones.
        ones += plain.reduced_bit(key, 2 * play + 1, value)
    assert one.arms["risk"]["ones"][0] == ones
    assert one.arms["risk"]["total"][0] == pytest.approx(values.sum(), rel=1e-12)
    assert_gate(one, "practical", 300, ones, 301, 0.3)
