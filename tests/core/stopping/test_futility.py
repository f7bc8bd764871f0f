"""Futility: by SciPy on random counts; and how often evidence is ever wrong, exactly."""

import math

import numpy as np
import pytest
from scipy import special, stats

from safebandit.core.stopping import ArmFutility, ArmFutilityE, Futility, FutilityE
from safebandit.errors import PolicyError

from ..states import States

STATES = States(300, 4, seed=3)
LEAST = 0.6


def too_small(least, a=1.0, b=1.0):
    plays, ones = STATES.plays[:, :, 0], STATES.ones[:, :, 0]
    return np.where(plays < least, 0.0, stats.beta.cdf(LEAST, a + ones, b + plays - ones))


def test_futility_is_the_least_chance_of_those_left_to_be_too_small():
    for rule in (Futility(LEAST), Futility(LEAST, 0.7, 0, 0.5, 2.0)):
        expected = np.where(STATES.dropped, 1.0, too_small(rule.least, *rule[3:])).min(axis=1)
        found = STATES.measured(rule)
        assert found[:, 0] == pytest.approx(expected, abs=1e-10)
        assert np.isnan(found[:, 1:]).all()
    assert 0 < (found[:, 0] >= rule.level).sum() < len(found)


def test_an_arm_whose_reward_is_too_small_is_found():
    expected = np.where(STATES.dropped, math.nan, too_small(3))
    assert STATES.measured(ArmFutility(LEAST)) == pytest.approx(expected, abs=1e-10, nan_ok=True)
    alone = STATES.measured(ArmFutility(LEAST, arm="arm 1"))
    assert alone[:, 1] == pytest.approx(expected[:, 1], abs=1e-10, nan_ok=True)
    assert np.isnan(alone[:, [0, 2, 3]]).all()


def test_evidence_of_futility_is_its_definition():
    plays, ones, a, b = STATES.plays[:, :, 0], STATES.ones[:, :, 0], 2.0, 0.5
    wealth = np.exp(special.betaln(ones + a, plays - ones + b) - special.betaln(a, b))
    wealth /= LEAST**ones * (1.0 - LEAST) ** (plays - ones)
    wealth *= stats.beta.cdf(LEAST, ones + a, plays - ones + b) / stats.beta.cdf(LEAST, a, b)
    found = STATES.measured(FutilityE(LEAST, 0.2, a, b))
    assert found[:, 0] == pytest.approx(np.where(STATES.dropped, math.inf, wealth).min(axis=1), rel=1e-9)
    assert 0 < (found[:, 0] >= 5.0).sum() < len(found)
    each = STATES.measured(ArmFutilityE(LEAST, 0.2, -1, a, b))
    assert each == pytest.approx(np.where(STATES.dropped, math.nan, wealth), rel=1e-9, nan_ok=True)


def test_the_least_reward_comes_from_the_rule_or_from_the_design():
    terms = STATES.terms._replace(least_reward=0.25)
    assert Futility().completed(terms).least_reward == 0.25
    assert Futility(0.4).completed(terms).least_reward == 0.4
    for rule in (Futility(), FutilityE(), ArmFutility(), ArmFutilityE()):
        with pytest.raises(PolicyError, match="must lie above 0 and be at most 1, got 0; say it in the rule or in the"):
            rule.completed(STATES.terms)
    with pytest.raises(PolicyError, match=r"^least_reward of futility must lie above 0 and be at most 1, got 1\.5"):
        Futility(1.5).completed(STATES.terms)
