"""Mixtures from the indices of the round before: the simulator by them, held to the definition."""

import numpy as np
import pytest
from scipy import stats

from safebandit import Instance

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


@pytest.mark.parametrize("name", UNTIED)
@pytest.mark.parametrize("text", ["bwcr", "bwcr:level=theory", "pess:safe_risk=0.05"])
def test_indices_from_nearby_give_the_mixtures_of_the_definition(text, name):
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
