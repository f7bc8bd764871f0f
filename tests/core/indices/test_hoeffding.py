"""Hoeffding's bounds against their formula."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import HoeffdingLower, HoeffdingUpper, Level

from .. import plain

LEVELS = ["practical", "theory"]
UPPERS = {level: plain.Told(HoeffdingUpper(Level[level])) for level in LEVELS}
LOWERS = {level: plain.Told(HoeffdingLower(Level[level])) for level in LEVELS}

rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
outcomes = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), max_size=40),
    st.lists(st.floats(0.0, 1.0), max_size=40),
    st.builds(lambda value, count: [value] * count, st.floats(0.0, 1.0), st.integers(1, 40)),
)


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds, bar=st.floats(-0.5, 1.5))
@example(values=[], t=1, bar=0.5)
@example(values=[1.0] * 9, t=50, bar=1.0)
def test_upper_index_is_its_definition(level, values, t, bar):
    told = UPPERS[level].tell(values)
    value, exceeds, again = told.reward(t, bar=bar, before=0.3)
    assert value == pytest.approx(float(plain.hoeffding_upper_index(level, len(values), sum(values), t)), abs=1e-12)
    assert again == value
    assert exceeds == (value > bar)


@given(values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40), pending=st.integers(0, 40), t=rounds)
def test_pending_plays_count_as_plays_of_the_same_mean(values, pending, t):
    value = UPPERS["practical"].tell(values).reward(t, pending=pending)[0]
    n = len(values) + pending
    expected = plain.hoeffding_upper_index("practical", n, np.mean(values) * n, t)
    assert value == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds, alpha=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0)))
@example(values=[], t=1, alpha=0.0)
@example(values=[1.0] * 9, t=1, alpha=1.0)
@example(values=[1.0] * 9, t=1, alpha=0.0)
def test_lower_index_gate_and_evidence_are_their_definition(level, values, t, alpha):
    value, permits, evidence = LOWERS[level].tell(values, alpha).gate(t)
    expected = float(plain.hoeffding_lower_index(level, len(values), sum(values), t))
    assert value == pytest.approx(expected, abs=1e-12)
    assert permits == (value <= alpha)
    mean = np.mean(values) if values else 0.0
    assert evidence == pytest.approx(2 * len(values) * max(0.0, mean - alpha) ** 2, abs=1e-9)
    if abs(evidence - plain.budget(level, t)) > 1e-9:
        assert permits == (evidence <= plain.budget(level, t))


def test_a_thousand_million_plays():
    told = UPPERS["practical"].tell([])
    told.arms["reward"]["plays"], told.arms["reward"]["mean"] = 10**9, 0.25
    assert told.reward(10**9)[0] == pytest.approx(0.25 + math.sqrt(math.log(10**9) / 2e9), abs=1e-15)
