"""UCB-V against its formula."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import VarianceLower, VarianceUpper, evidence

from .. import driving, plain

rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
outcomes = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), max_size=40),
    st.lists(st.floats(0.0, 1.0), max_size=40),
    st.builds(lambda value, count: [value] * count, st.floats(0.0, 1.0), st.integers(1, 40)),
)
PARAMETERS = [(1.2, 1.0), (0.1, 2.0), (3.0, 0.0), (0.7, 0.3)]


def bench(zeta, c, alpha=1.0):
    return driving.pair(VarianceUpper(zeta, c), VarianceLower(zeta, c), alpha)


@pytest.mark.parametrize(("zeta", "c"), PARAMETERS)
@given(values=outcomes, t=rounds)
@example(values=[], t=1)
@example(values=[1.0] * 9, t=50)
def test_upper_index_is_its_definition(zeta, c, values, t):
    value, expected = bench(zeta, c).tell(values).upper(t), plain.variance_upper_index(zeta, c, values, t)
    # The variance of equal outcomes is 0 or about 1e-32, whose root is not so small.
    assert value == pytest.approx(expected, abs=1e-7)
    if len(set(values)) > 1 and np.var(values) > 1e-6:
        assert value == pytest.approx(expected, abs=1e-11)


@given(values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40), pending=st.integers(0, 40), t=rounds)
def test_pending_plays_count_as_plays_of_the_same_mean_and_variance(values, pending, t):
    share = 1.2 * np.log(t) / (len(values) + pending)
    expected = min(1.0, np.mean(values) + np.sqrt(2 * np.var(values) * share) + 3 * share)
    assert bench(1.2, 1.0).tell(values).upper(t, pending) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("zeta", "c"), PARAMETERS)
@given(alpha=st.sampled_from([0.0, 0.15, 0.6, 1.0]), values=outcomes, t=rounds)
@example(alpha=0.0, values=[], t=1)
@example(alpha=0.0, values=[1.0] * 9, t=1)
@example(alpha=1.0, values=[1.0] * 9, t=1)
def test_lower_index_gate_and_evidence_are_their_definition(zeta, c, alpha, values, t):
    one = bench(zeta, c, alpha).tell(values)
    value, permits = one.gate(t)
    assert value == pytest.approx(plain.variance_lower_index(zeta, c, values, t), abs=1e-7)
    assert permits == (value <= alpha)
    # The evidence is the log t at which the gate opens.
    against = evidence(VarianceLower(zeta, c), one.python(0, 1), alpha)
    assert against >= 0.0
    if abs(value - alpha) > 1e-9:
        assert (against <= np.log(t)) == permits


def test_a_small_variance_far_from_zero_is_not_lost():
    # The sum of squares less the square of the sum would have no digit left.
    values = 0.5 + 1e-9 * np.random.default_rng(3).standard_normal(10_000)
    one = bench(1.2, 1.0).tell(values)
    assert one.own(0, 0, 2)[1] / len(values) == pytest.approx(np.var(values), rel=1e-6)
    assert one.upper(100) == pytest.approx(plain.variance_upper_index(1.2, 1.0, values, 100), abs=1e-12)
