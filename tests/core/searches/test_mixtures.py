"""Mixtures by indices on curves: the curves held to the indices, and the simulator by them to the definition."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from safebandit import Instance
from safebandit.core.indices import KLLower, KLUpper, KLUpperRisk, Level, lower, upper
from safebandit.core.searches.bounds import clock
from safebandit.core.searches.mixtures import CURVE, on_curve

from .. import driving


def drawn(count, alpha):
    return Instance.beta(*(0.1 + 0.8 * np.random.default_rng(count).random((2, count))), alpha)


# Where arms have seen the same, mixtures tie, and within 1e-9 either way may decide: those are compared in law.
UNTIED = {
    "one arm": driving.problem("one arm"),
    "none safe": driving.problem("none safe"),
    **{
        f"{count} arms, alpha {alpha}": drawn(count, alpha)
        for count, alpha in [(2, 0.4), (5, 0.35), (40, 0.3), (300, 0.3), (5, 1.0)]
    },
}


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("kind", [KLUpper, KLLower, KLUpperRisk])
@given(
    plays=st.one_of(st.integers(0, 30), st.integers(0, 10**6)),
    share=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0)),
    t=st.one_of(st.integers(1, 20), st.integers(1, 10**9)),
    steps=st.lists(st.floats(0.0, 0.1), min_size=1, max_size=12),
)
def test_an_index_stays_on_its_curve(kind, level, plays, share, t, steps):
    index, seen = kind(level), SimpleNamespace(plays=plays, mean=share, pending=0)
    curve = SimpleNamespace(**dict.fromkeys(CURVE.names, 0.0))
    for step in [0.0, *steps]:
        t += int(step * step * t)
        exact = upper(index, seen, t, None) if kind is KLUpper else lower(index, seen, t, 0.3, None)
        found = on_curve.py_func(index, curve, seen, t, clock(index, t), None)
        assert found == pytest.approx(exact, abs=2e-10)


@pytest.mark.parametrize("name", UNTIED)
@pytest.mark.parametrize("text", ["bwcr", "bwcr:level=theory", "pess:safe_risk=0.05"])
def test_indices_on_curves_give_the_mixtures_of_the_definition(text, name):
    driving.assert_lockstep(text, UNTIED[name])


@pytest.mark.parametrize("text", ["bwcr", "pess"])
@pytest.mark.parametrize("name", ["ties", "five", "no risk tolerated"])
def test_with_ties_the_mixtures_have_the_law_of_the_definition(text, name):
    instance, trials = driving.problem(name), 150
    plays = np.zeros((2, trials, len(instance.mu)))
    for i in range(trials):
        for row, played in enumerate(
            (driving.decisions(text, instance, 40, i), driving.walked(text, instance, 40, 500 + i)[1])
        ):
            plays[row, i] = np.bincount(played, minlength=len(instance.mu))
    for k in range(len(instance.mu)):
        if np.ptp(plays[:, :, k]) > 0:
            assert stats.ttest_ind(plays[0, :, k], plays[1, :, k]).pvalue > driving.FALSE_ALARM
