"""The evidence against an arm's safety, of the indices that have no file of tests for it."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import BayesLower, KLLower, SampledRisk

from .. import plain

KL, BAYES, SAMPLED = plain.Told(KLLower()), plain.Told(BayesLower()), plain.Told(SampledRisk())

limits = st.one_of(st.sampled_from([0.0, 1.0, 0.25]), st.floats(0.001, 0.999))


@given(values=st.lists(st.floats(0.0, 1.0), max_size=40), alpha=limits)
@example(values=[], alpha=0.0)
@example(values=[1.0], alpha=0.0)
@example(values=[1.0], alpha=1.0)
def test_kl_evidence_is_a_divergence(values, alpha):
    mean = KL.tell(values, alpha).arms["reward"]["mean"][0]
    expected = len(values) * float(plain.precise_divergence(mean, alpha)) if mean > alpha else 0.0
    if alpha > 0.0 or sum(values) > 1e-290 or sum(values) == 0.0:
        assert KL.gate(1)[2] == pytest.approx(expected, rel=1e-12)


@given(bits=st.lists(st.integers(0, 1), max_size=40), alpha=limits)
@example(bits=[], alpha=0.0)
@example(bits=[1], alpha=0.0)
@example(bits=[0, 1, 0, 0], alpha=0.25)
@example(bits=[1] * 40, alpha=1.0)
def test_bayes_evidence_is_a_tail(bits, alpha):
    evidence = BAYES.tell(bits, alpha).gate(1)[2]
    if sum(bits) <= alpha * len(bits):
        assert evidence == 0.0
    else:
        tail, _ = plain.exact_binomial(sum(bits), len(bits), alpha)
        assert evidence == pytest.approx(-math.log(tail) if tail > 0 else math.inf, rel=1e-9)


def test_a_drawn_index_has_none():
    assert SAMPLED.tell([1.0] * 10, 0.1).gate(1)[2] == 0.0
