"""BayesUCB indices against SciPy's Beta quantiles."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special

from safebandit.core.indices import BayesLower, BayesUpper, Schedule, evidence

from .. import driving, plain

SCHEDULES = ["practical", "theory", "proof"]
rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
counts = st.one_of(st.integers(0, 30), st.integers(0, 10**5))
limits = st.sampled_from([0.0, 0.05, 0.07, 0.25, 0.3, 0.6, 1.0])
shares = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))


def bench(schedule, alpha=1.0):
    return driving.pair(BayesUpper(Schedule[schedule]), BayesLower(Schedule[schedule]), alpha)


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(plays=counts, share=shares, t=rounds)
@example(plays=0, share=0.0, t=1)
@example(plays=4, share=1.0, t=9)
@example(plays=4, share=0.0, t=1)
def test_upper_index_is_its_definition(schedule, plays, share, t):
    ones = round(share * plays)
    value = bench(schedule).set(0, 0, plays, ones).upper(t)
    assert value == pytest.approx(float(plain.bayes_upper_index(schedule, plays, ones, t)), abs=1e-10)


def test_upper_index_is_the_posterior_quantile():
    # The formula as the catalogue writes it, not its mirror image.
    value = bench("practical").set(0, 0, 20, 13).upper(99)
    assert value == pytest.approx(float(special.betaincinv(14, 7, 0.99)), abs=1e-12)


@given(plays=st.integers(1, 40), share=shares, pending=st.integers(0, 40), t=rounds)
def test_pending_plays_never_raise_the_upper_index(plays, share, pending, t):
    ones, one = round(share * plays), bench("practical")
    before, after = (one.set(0, 0, plays, ones, pending=each).upper(t) for each in (pending, pending + 1))
    assert after <= before + 1e-12


def assert_gate(one, schedule, plays, ones, t, alpha):
    lower, permits = one.gate(t)
    expected = float(plain.bayes_lower_index(schedule, plays, ones, t, alpha))
    assert lower == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if alpha in (0.0, 1.0):
        assert permits == (alpha == 1.0 or ones == 0)
    elif abs(expected - alpha) > 1e-9:
        assert permits == (expected <= alpha)
    return permits


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(alpha=limits, risks=st.lists(st.sampled_from([0.0, 1.0]), max_size=40), t=rounds)
@settings(max_examples=250)
@example(alpha=0.0, risks=[], t=1)
@example(alpha=0.05, risks=[1.0], t=1)
@example(alpha=0.0, risks=[0.0] * 5, t=1)
@example(alpha=1.0, risks=[1.0] * 5, t=10**6)
@example(alpha=0.3, risks=[1.0] * 5, t=10**6)
def test_lower_index_and_gate_are_their_definition(schedule, alpha, risks, t):
    one = bench(schedule, alpha).tell(risks)
    assert_gate(one, schedule, len(risks), int(sum(risks)), t, alpha)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("alpha", "mean"), [(0.3, 0.36), (0.02, 0.04), (0.9, 0.95)])
def test_gate_of_many_plays(schedule, alpha, mean):
    one, answers = bench(schedule, alpha).begin(), set()
    drawn = (np.random.default_rng(4).random(4_000) < mean).astype(int)
    for n, risk in enumerate(drawn, 1):
        one.learn(0, math.nan, risk)
        if n % 7 == 0:
            # Rounds before and after those that such an arm would be asked in: both answers are seen.
            for t in (max(1, n // 5), n + 1, 50 * n):
                answers.add(assert_gate(one, schedule, n, int(drawn[:n].sum()), t, alpha))
    assert answers == {True, False}


def test_the_gate_reads_reduced_bits():
    one = bench("practical", 0.3).begin()
    key, ones = int(one.arms["key"][0]), 0
    values = np.random.default_rng(5).random(300)
    for play, value in enumerate(values):
        one.learn(0, math.nan, value)
        # Rewards take the even numbers, risks the odd ones.
        ones += plain.reduced_bit(key, 2 * play + 1, value)
    assert one.seen["ones"][0, 1] == ones
    assert one.seen["total"][0, 1] == pytest.approx(values.sum(), rel=1e-12)
    assert_gate(one, "practical", 300, ones, 301, 0.3)


@given(alpha=limits, bits=st.lists(st.integers(0, 1), max_size=40))
@example(alpha=0.0, bits=[])
@example(alpha=0.0, bits=[1])
@example(alpha=0.25, bits=[0, 1, 0, 0])
@example(alpha=1.0, bits=[1] * 40)
def test_evidence_is_a_tail(bits, alpha):
    found = evidence(BayesLower(), bench("practical", alpha).tell(bits).python(0, 1), alpha)
    if sum(bits) <= alpha * len(bits):
        assert found == 0.0
    else:
        tail, _ = plain.exact_binomial(sum(bits), len(bits), alpha)
        assert found == pytest.approx(-math.log(tail) if tail > 0 else math.inf, rel=1e-9)
