"""Hoeffding's bounds against their formula."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import HoeffdingLower, HoeffdingUpper, Level, evidence

from .. import driving, plain

LEVELS = ["practical", "theory"]
rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
outcomes = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), max_size=40),
    st.lists(st.floats(0.0, 1.0), max_size=40),
    st.builds(lambda value, count: [value] * count, st.floats(0.0, 1.0), st.integers(1, 40)),
)


def bench(level, alpha=1.0):
    return driving.pair(HoeffdingUpper(Level[level]), HoeffdingLower(Level[level]), alpha)


@pytest.mark.parametrize("level", LEVELS)
@given(values=outcomes, t=rounds)
@example(values=[], t=1)
@example(values=[1.0] * 9, t=50)
def test_upper_index_is_its_definition(level, values, t):
    expected = plain.hoeffding_upper_index(level, len(values), sum(values), t)
    assert bench(level).tell(values).upper(t) == pytest.approx(float(expected), abs=1e-12)


@given(values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40), pending=st.integers(0, 40), t=rounds)
def test_pending_plays_count_as_plays_of_the_same_mean(values, pending, t):
    n = len(values) + pending
    expected = plain.hoeffding_upper_index("practical", n, np.mean(values) * n, t)
    assert bench("practical").tell(values).upper(t, pending) == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@given(alpha=st.sampled_from([0.0, 0.2, 0.45, 1.0]), values=outcomes, t=rounds)
@example(alpha=0.0, values=[], t=1)
@example(alpha=0.0, values=[1.0] * 9, t=1)
@example(alpha=1.0, values=[1.0] * 9, t=1)
def test_lower_index_gate_and_evidence_are_their_definition(level, alpha, values, t):
    one = bench(level, alpha).tell(values)
    value, permits = one.gate(t)
    against = evidence(HoeffdingLower(Level[level]), one.python(0, 1), alpha)
    expected = float(plain.hoeffding_lower_index(level, len(values), sum(values), t))
    assert value == pytest.approx(expected, abs=1e-12)
    assert permits == (value <= alpha)
    mean = np.mean(values) if values else 0.0
    assert against == pytest.approx(2 * len(values) * max(0.0, mean - alpha) ** 2, abs=1e-9)
    if abs(against - plain.budget(level, t)) > 1e-9:
        assert permits == (against <= plain.budget(level, t))


def test_a_thousand_million_plays():
    value = bench("practical").set(0, 0, 10**9, 0, total=0.25e9).upper(10**9)
    assert value == pytest.approx(0.25 + math.sqrt(math.log(10**9) / 2e9), abs=1e-15)
