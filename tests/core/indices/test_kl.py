"""KL-UCB indices against bisection of their definition."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from safebandit.core.indices import KLLower, KLUpper, Level, evidence

from .. import driving, plain

LEVELS = ["practical", "theory"]
rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
counts = st.one_of(st.integers(0, 30), st.integers(0, 10**6))
limits = st.one_of(st.sampled_from([0.0, 1.0, 0.05, 0.3]), st.floats(0.001, 0.999))


def bench(level, alpha=1.0):
    return driving.pair(KLUpper(Level[level]), KLLower(Level[level]), alpha)


@pytest.mark.parametrize("level", LEVELS)
@given(plays=counts, mean=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0)), t=rounds)
@example(plays=0, mean=0.0, t=1)
@example(plays=3, mean=1.0, t=50)
@example(plays=3, mean=0.5, t=1)
def test_upper_index_is_its_definition(level, plays, mean, t):
    value = bench(level).set(0, 0, plays, 0, total=plays * mean).upper(t)
    # Bisection by SciPy's divergence, which cancels where the bound is near the mean: hence 1e-7 there.
    room = 1e-7 if plays > 0 and plain.budget(level, t) / plays < 1e-4 else 1e-10
    assert value == pytest.approx(float(plain.kl_upper_index(level, plays, plays * mean, t)), abs=room)


@pytest.mark.parametrize("level", LEVELS)
@given(plays=st.integers(1, 1000), pending=st.integers(0, 1000), share=st.floats(0.0, 1.0), t=rounds)
def test_pending_plays_count_as_plays_of_the_same_mean(level, plays, pending, share, t):
    ones, one = round(share * plays), bench(level)
    waiting = one.set(0, 0, plays, ones, pending=pending).upper(t)
    known = one.set(0, 0, plays + pending, 0, total=ones * (plays + pending) / plays).upper(t)
    assert waiting == pytest.approx(known, abs=1e-10)
    assert waiting <= one.set(0, 0, plays, ones).upper(t) + 1e-12


risks = st.one_of(
    st.lists(st.sampled_from([0.0, 1.0]), max_size=40), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40)
)


@pytest.mark.parametrize("level", LEVELS)
@given(alpha=st.sampled_from([0.0, 0.05, 0.3, 1.0]), risks=risks, t=rounds)
@settings(max_examples=250)
@example(alpha=0.0, risks=[], t=1)
@example(alpha=0.3, risks=[0.0] * 5, t=1)
@example(alpha=0.3, risks=[1.0] * 5, t=1)
@example(alpha=1.0, risks=[1.0] * 5, t=10**6)
def test_lower_index_and_gate_are_their_definition(level, alpha, risks, t):
    lower, permits = bench(level, alpha).tell(risks).gate(t)
    expected = float(plain.kl_lower_index(level, len(risks), sum(risks), t))
    # 1e-7: SciPy's divergence cancels where t = 1 leaves no budget, and the bound is the mean itself.
    assert lower == pytest.approx(expected, abs=1e-7)
    if alpha in (0.0, 1.0):
        assert permits == (alpha == 1.0 or sum(risks) == 0.0)
    elif abs(expected - alpha) > 1e-6:
        assert permits == (expected <= alpha)


def test_gate_of_many_plays():
    one, answers = bench("practical", 0.3).begin(), set()
    drawn = (np.random.default_rng(4).random(5_000) < 0.33).astype(float)
    for n, risk in enumerate(drawn, 1):
        one.learn(0, np.nan, risk)
        if n % 5:
            continue
        expected = float(plain.kl_lower_index("practical", n, drawn[:n].sum(), n + 1))
        lower, permits = one.gate(n + 1)
        assert lower == pytest.approx(expected, abs=1e-9)
        if abs(expected - 0.3) > 1e-9:
            assert permits == (expected <= 0.3)
        answers.add(permits)
    # The run shows both answers: the gate was put to the test.
    assert answers == {True, False}


@given(values=st.lists(st.floats(0.0, 1.0), max_size=40), alpha=limits)
@example(values=[], alpha=0.0)
@example(values=[1.0], alpha=0.0)
@example(values=[1.0], alpha=1.0)
def test_evidence_is_a_divergence(values, alpha):
    one = driving.Bench("docb", 1, alpha).tell(values)
    mean = one.seen["mean"][0, 1]
    expected = len(values) * float(plain.precise_divergence(mean, alpha)) if mean > alpha else 0.0
    if alpha > 0.0 or sum(values) > 1e-290 or sum(values) == 0.0:
        assert evidence(KLLower(), one.python(0, 1), alpha) == pytest.approx(expected, rel=1e-12)
