"""What steady indices answer their search: held to the index itself."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from safebandit.core.indices import (
    BayesUpper,
    EmpiricalUpper,
    HoeffdingLower,
    HoeffdingUpper,
    JointUpper,
    KLLower,
    KLUpper,
    KLUpperRisk,
    Level,
    Schedule,
)
from safebandit.core.searches.bounds import near

from .. import driving, plain

BINS = 12
INDICES = {
    "kl": KLUpper(), "kl, theory": KLUpper(Level.theory), "joint": JointUpper(),
    "joint, theory": JointUpper(Level.theory), "bayes": BayesUpper(), "bayes, proof": BayesUpper(Schedule.proof),
    "empirical": EmpiricalUpper(bins=BINS), "empirical, theory": EmpiricalUpper(Level.theory, BINS),
    "hoeffding": HoeffdingUpper(),
}  # fmt: skip
rounds = st.one_of(st.integers(1, 20), st.integers(1, 10**9))
counts = st.one_of(st.integers(0, 30), st.integers(0, 10**5))
shares = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))
# Below 1e-300 a divergence counts as infinite; no search asks about such a bar.
bars = st.floats(-0.5, 1.5).filter(lambda bar: abs(bar) > 1e-290 or bar == 0.0)
evidence = st.one_of(st.just(0.0), st.floats(1e-9, 40.0), st.just(math.inf))


def bench(name, plays, share, against):
    """An arm with so many plays, of which a share had reward 1, and with evidence against it."""
    one = driving.pair(INDICES[name], HoeffdingLower())
    ones = round(share * plays)
    one.begin().set(0, 0, plays, ones)
    own = one.own(0, 0, BINS + 2)[: max(1, len(one.memory.bytes[0, 0, 0]) // 8 - driving.OWN)]
    if name.startswith("joint"):
        own[0] = against
    if name.startswith("empirical"):
        own[0], own[BINS] = ones, plays - ones
    return one


@pytest.mark.parametrize("name", INDICES)
@given(plays=counts, share=shares, against=evidence, t=rounds, bar=bars, before=st.floats(0.0, 1.2))
@example(plays=0, share=0.0, against=3.0, t=5, bar=0.999, before=0.0)
@example(plays=3, share=0.5, against=50.0, t=9, bar=0.5, before=0.9)
@example(plays=3, share=1.0, against=0.5, t=9, bar=1.0, before=1.0)
@example(plays=4, share=0.5, against=0.0, t=1, bar=0.5, before=0.5)
def test_answers_agree_with_the_index(name, plays, share, against, t, bar, before):
    one = bench(name, plays, share, against)
    value = driving.bounds(one, t)[0]
    for height in (bar, value - 1e-6, value + 1e-6):
        if abs(value - height) > 1e-9:
            assert driving.bounds(one, t, bar=height)[1] == (value > height)
    for begin in (before, value, value - 1e-3, value + 1e-3, 0.0):
        assert driving.bounds(one, t, before=begin)[2] == pytest.approx(value, abs=1e-9)
    # From this round on up to `until` the line is never below the index.
    reach, slope, until = driving.bounds(one, t)[3]
    assert until >= t
    assert slope >= 0.0
    for later in {t, t + 1, t + t // 600, t + t // 16, t + t // 9, 2 * t, 7 * t, 1_000 * t, min(until, 10**15)}:
        if t <= later <= until:
            assert driving.bounds(one, later)[0] <= reach + slope * math.log(later) + 1e-9


@pytest.mark.parametrize("level", Level)
@given(plays=counts, share=shares, t=rounds, before=st.floats(0.0, 1.2))
def test_risk_bounds_are_the_same_from_wherever_they_are_sought(level, plays, share, t, before):
    seen = SimpleNamespace(plays=plays, mean=share, pending=0)
    lower = float(plain.kl_lower_index(level.name, plays, plays * share, t))
    upper = float(plain.kl_upper_index(level.name, plays, plays * share, t))
    # Bisection by SciPy's divergence, which cancels where the bound is near the mean: hence 1e-7 there.
    room = 1e-7 if plays > 0 and plain.budget(level.name, t) / plays < 1e-4 else 1e-9
    for start in (before, lower, upper, 0.0, 1.0):
        assert near(KLLower(level), seen, t, start, None) == pytest.approx(lower, abs=room)
        assert near(KLUpperRisk(level), seen, t, start, None) == pytest.approx(upper, abs=room)
