"""Empirical KL-UCB against bisection of its definition."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import EmpiricalLower, EmpiricalUpper, KLLower, KLUpper, Level

from .. import plain

LEVELS = ["practical", "theory"]
BINS = 12
UPPERS = {level: plain.Told(EmpiricalUpper(Level[level], BINS)) for level in LEVELS}
LOWERS = {level: plain.Told(EmpiricalLower(Level[level], BINS)) for level in LEVELS}
KL_UPPER, KL_LOWER = plain.Told(KLUpper()), plain.Told(KLLower())

rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
bits = st.lists(st.sampled_from([0.0, 1.0]), max_size=40)
outcomes = st.one_of(
    bits,
    st.lists(st.floats(0.0, 1.0), max_size=40),
    st.lists(st.floats(0.6, 0.7), max_size=40),
    st.builds(lambda value, count: [value] * count, st.floats(0.0, 1.0), st.integers(1, 40)),
)
limits = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds)
@example(values=[], t=1)
@example(values=[1.0] * 3, t=50)
@example(values=[0.0] * 3, t=50)
@example(values=[0.25] * 3, t=1)
def test_upper_index_is_its_definition(level, values, t):
    value, _, again = UPPERS[level].tell(values).reward(t, before=0.3)
    assert value == pytest.approx(plain.empirical_upper_index(level, BINS, values, t), abs=1e-7)
    assert again == value


@given(values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40), pending=st.integers(0, 80), t=rounds)
def test_pending_plays_count_as_plays_of_the_same_outcomes(values, pending, t):
    waiting = UPPERS["practical"].tell(values).reward(t, pending=pending * len(values))[0]
    weights = plain.split(1.0 - np.array(values), BINS)
    share = math.log(t) / (len(values) * (1 + pending))
    expected = 1.0 - plain.empirical_lower_bound(np.arange(BINS + 1) / BINS, weights, share)
    assert waiting == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds, pending=st.integers(0, 5), bar=st.floats(-0.5, 1.5))
@example(values=[1.0], t=9, pending=0, bar=1.0)
def test_exceeds_says_whether_the_upper_index_does(level, values, t, pending, bar):
    told = UPPERS[level].tell(values)
    value = told.reward(t, pending=pending)[0]
    for height in (bar, value - 1e-6, value + 1e-6):
        if abs(value - height) > 1e-9:
            assert told.reward(t, pending=pending, bar=height)[1] == (value > height)


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds, alpha=limits)
@example(values=[], t=1, alpha=0.0)
@example(values=[0.0] * 5, t=1, alpha=0.0)
@example(values=[1.0] * 5, t=1, alpha=1.0)
@example(values=[1e-9], t=10**9, alpha=0.0)
@example(values=[1.0] * 5, t=10**6, alpha=0.0)
def test_lower_index_gate_and_evidence_are_their_definition(level, values, t, alpha):
    value, permits, evidence = LOWERS[level].tell(values, alpha).gate(t)
    assert value == pytest.approx(plain.empirical_lower_index(level, BINS, values, t), abs=1e-7)
    points, weights = np.arange(BINS + 1) / BINS, plain.split(values, BINS)
    if values and abs(np.mean(values) - alpha) > 1e-12:
        expected = len(values) * plain.k_inf_below(points, weights, alpha)
        assert evidence == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert permits == (evidence <= plain.budget(level, t))
    if alpha == 0.0 or abs(value - alpha) > 1e-9:
        assert permits == (value <= alpha)


@given(values=bits, t=rounds, alpha=limits, bar=st.floats(-0.5, 1.5))
def test_of_bits_it_is_the_kl_index(values, t, alpha, bar):
    upper, exceeds, _ = UPPERS["practical"].tell(values).reward(t, bar=bar)
    expected, expected_exceeds, _ = KL_UPPER.tell(values).reward(t, bar=bar)
    assert upper == pytest.approx(expected, abs=1e-9)
    if abs(expected - bar) > 1e-9:
        assert exceeds == expected_exceeds
    lower, permits, evidence = LOWERS["practical"].tell(values, alpha).gate(t)
    expected, expected_permits, expected_evidence = KL_LOWER.tell(values, alpha).gate(t)
    assert lower == pytest.approx(expected, abs=1e-9)
    assert evidence == pytest.approx(expected_evidence, rel=1e-9, abs=1e-12)
    if abs(evidence - math.log(t)) > 1e-9:
        assert permits == expected_permits


@given(values=outcomes, t=rounds)
def test_it_is_never_wider_than_the_kl_index(values, t):
    assert UPPERS["practical"].tell(values).reward(t)[0] <= KL_UPPER.tell(values).reward(t)[0] + 1e-9


def test_gate_of_many_plays():
    told = LOWERS["practical"]
    drawn = np.random.default_rng(4).beta(3.2, 6.8, 3_000)
    answers = set()
    for n in range(5, 3_000, 60):
        lower, permits, _ = told.tell(drawn[:n], 0.3).gate(n + 1)
        expected = plain.empirical_lower_index("practical", BINS, drawn[:n], n + 1)
        assert lower == pytest.approx(expected, abs=1e-9)
        assert permits == (expected <= 0.3)
        answers.add(bool(permits))
    # The run shows both answers: the gate was put to the test.
    assert answers == {True, False}
