"""UCB-V against its formula."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import VarianceLower, VarianceUpper

from .. import plain

UPPER, LOWER = plain.Told(VarianceUpper()), plain.Told(VarianceLower())

rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
outcomes = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), max_size=40),
    st.lists(st.floats(0.0, 1.0), max_size=40),
    st.builds(lambda value, count: [value] * count, st.floats(0.0, 1.0), st.integers(1, 40)),
)


@given(values=outcomes, t=rounds, bar=st.floats(-0.5, 1.5), zeta=st.floats(0.1, 3.0), c=st.floats(0.0, 2.0))
@example(values=[], t=1, bar=0.5, zeta=1.2, c=1.0)
@example(values=[1.0] * 9, t=50, bar=1.0, zeta=1.2, c=1.0)
def test_upper_index_is_its_definition(values, t, bar, zeta, c):
    UPPER.index = VarianceUpper(zeta, c)
    value, exceeds, again = UPPER.tell(values).reward(t, bar=bar, before=0.3)
    # The variance of equal outcomes is 0 or about 1e-32, whose root is not so small.
    assert value == pytest.approx(plain.variance_upper_index(zeta, c, values, t), abs=1e-7)
    if len(set(values)) > 1 and np.var(values) > 1e-6:
        assert value == pytest.approx(plain.variance_upper_index(zeta, c, values, t), abs=1e-11)
    assert again == value
    assert exceeds == (value > bar)


@given(values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40), pending=st.integers(0, 40), t=rounds)
def test_pending_plays_count_as_plays_of_the_same_mean_and_variance(values, pending, t):
    UPPER.index = VarianceUpper(1.2, 1.0)
    value = UPPER.tell(values).reward(t, pending=pending)[0]
    share = 1.2 * np.log(t) / (len(values) + pending)
    expected = min(1.0, np.mean(values) + np.sqrt(2 * np.var(values) * share) + 3 * share)
    assert value == pytest.approx(expected, abs=1e-7)


@given(
    values=outcomes,
    t=rounds,
    alpha=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0)),
    zeta=st.floats(0.1, 3.0),
    c=st.floats(0.0, 2.0),
)
@example(values=[], t=1, alpha=0.0, zeta=1.2, c=1.0)
@example(values=[1.0] * 9, t=1, alpha=0.0, zeta=1.2, c=0.0)
@example(values=[1.0] * 9, t=1, alpha=1.0, zeta=1.2, c=1.0)
def test_lower_index_gate_and_evidence_are_their_definition(values, t, alpha, zeta, c):
    LOWER.index = VarianceLower(zeta, c)
    value, permits, evidence = LOWER.tell(values, alpha).gate(t)
    assert value == pytest.approx(plain.variance_lower_index(zeta, c, values, t), abs=1e-7)
    assert permits == (value <= alpha)
    # The evidence is the log t at which the gate opens.
    assert evidence >= 0.0
    if abs(value - alpha) > 1e-9:
        assert (evidence <= np.log(t)) == permits


def test_a_small_variance_far_from_zero_is_not_lost():
    # The sum of squares less the square of the sum would have no digit left.
    values = 0.5 + 1e-9 * np.random.default_rng(3).standard_normal(10_000)
    UPPER.index = VarianceUpper(1.2, 1.0)
    UPPER.tell(values)
    assert UPPER.arms["reward"]["own"][0, 1] / len(values) == pytest.approx(np.var(values), rel=1e-6)
    assert UPPER.reward(100)[0] == pytest.approx(plain.variance_upper_index(1.2, 1.0, values, 100), abs=1e-12)
