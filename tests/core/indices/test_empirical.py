"""Empirical KL-UCB against bisection of its definition."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import EmpiricalLower, EmpiricalUpper, KLLower, KLUpper, Level, evidence

from .. import driving, plain

LEVELS = ["practical", "theory"]
BINS = 12
rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
bits = st.lists(st.sampled_from([0.0, 1.0]), max_size=40)
outcomes = st.one_of(
    bits,
    st.lists(st.floats(0.0, 1.0), max_size=40),
    st.lists(st.floats(0.6, 0.7), max_size=40),
    st.builds(lambda value, count: [value] * count, st.floats(0.0, 1.0), st.integers(1, 40)),
)


def bench(level, alpha=1.0):
    return driving.pair(EmpiricalUpper(Level[level], BINS), EmpiricalLower(Level[level], BINS), alpha)


def kl_bench(alpha=1.0):
    return driving.pair(KLUpper(), KLLower(), alpha)


def against(one, alpha):
    return evidence(EmpiricalLower(Level.practical, BINS), one.python(0, 1), alpha)


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds)
@example(values=[], t=1)
@example(values=[1.0] * 3, t=50)
@example(values=[0.0] * 3, t=50)
@example(values=[0.25] * 3, t=1)
def test_upper_index_is_its_definition(level, values, t):
    value = bench(level).tell(values).upper(t)
    assert value == pytest.approx(plain.empirical_upper_index(level, BINS, values, t), abs=1e-7)
    # Never wider than the KL index.
    if level == "practical":
        assert value <= kl_bench().tell(values).upper(t) + 1e-9


@given(values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40), pending=st.integers(0, 80), t=rounds)
def test_pending_plays_count_as_plays_of_the_same_outcomes(values, pending, t):
    waiting = bench("practical").tell(values).upper(t, pending * len(values))
    weights = plain.split(1.0 - np.array(values), BINS)
    share = math.log(t) / (len(values) * (1 + pending))
    expected = 1.0 - plain.empirical_lower_bound(np.arange(BINS + 1) / BINS, weights, share)
    assert waiting == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("level", LEVELS)
@given(alpha=st.sampled_from([0.0, 0.1, 0.3, 0.62, 1.0]), values=outcomes, t=rounds)
@example(alpha=0.0, values=[], t=1)
@example(alpha=0.0, values=[0.0] * 5, t=1)
@example(alpha=1.0, values=[1.0] * 5, t=1)
@example(alpha=0.0, values=[1e-9], t=10**9)
@example(alpha=0.0, values=[1.0] * 5, t=10**6)
def test_lower_index_gate_and_evidence_are_their_definition(level, alpha, values, t):
    one = bench(level, alpha).tell(values)
    value, permits = one.gate(t)
    assert value == pytest.approx(plain.empirical_lower_index(level, BINS, values, t), abs=1e-7)
    points, weights = np.arange(BINS + 1) / BINS, plain.split(values, BINS)
    if values and abs(np.mean(values) - alpha) > 1e-12:
        expected = len(values) * plain.k_inf_below(points, weights, alpha)
        assert against(one, alpha) == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert permits == (against(one, alpha) <= plain.budget(level, t))
    if alpha == 0.0 or abs(value - alpha) > 1e-9:
        assert permits == (value <= alpha)


@given(values=bits, t=rounds, alpha=st.sampled_from([0.0, 0.3, 0.62, 1.0]))
def test_of_bits_it_is_the_kl_index(values, t, alpha):
    one, other = bench("practical", alpha).tell(values), kl_bench(alpha).tell(values)
    (lower, permits), (expected, expected_permits) = one.gate(t), other.gate(t)
    assert lower == pytest.approx(expected, abs=1e-9)
    expected_evidence = evidence(KLLower(), other.python(0, 1), alpha)
    assert against(one, alpha) == pytest.approx(expected_evidence, rel=1e-9, abs=1e-12)
    if abs(expected_evidence - math.log(t)) > 1e-9:
        assert permits == expected_permits
    assert bench("practical").tell(values).upper(t) == pytest.approx(kl_bench().tell(values).upper(t), abs=1e-9)


def test_gate_of_many_plays():
    one, answers = bench("practical", 0.3).begin(), set()
    drawn = np.random.default_rng(4).beta(3.2, 6.8, 3_000)
    for n, risk in enumerate(drawn, 1):
        one.learn(0, math.nan, risk)
        if n % 60 == 5:
            lower, permits = one.gate(n + 1)
            expected = plain.empirical_lower_index("practical", BINS, drawn[:n], n + 1)
            assert lower == pytest.approx(expected, abs=1e-9)
            assert permits == (expected <= 0.3)
            answers.add(permits)
    # The run shows both answers: the gate was put to the test.
    assert answers == {True, False}
