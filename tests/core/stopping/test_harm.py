"""Harm: by SciPy on random counts; and how often evidence is ever wrong, exactly."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from safebandit.core.e_values import log_wealth_above
from safebandit.core.stopping import ArmHarm, ArmHarmE, Harm, HarmE

from ..states import States

STATES = States(300, 4)
TWO_RISKS = States(300, 3, (0.3, 0.15), seed=1)
ORDERED = States(300, 4, seed=2, upwards=True)
EVERY = pytest.mark.parametrize("states", [STATES, TWO_RISKS, ORDERED], ids=["one risk", "two risks", "upwards"])


def too_risky(states, least, a=1.0, b=1.0):
    """By definition, the chance that an arm (columns) has a risk above its limit; 0 of one that is hardly known."""
    plays, ones = states.plays[:, :, 1:], states.ones[:, :, 1:]
    safe = stats.beta.cdf(np.array(states.terms.limits), a + ones, b + plays - ones).prod(axis=2)
    return upwards(states, np.where(plays.min(axis=2) < least, 0.0, 1.0 - safe))


def evidence(states, a=1.0, b=1.0):
    """By definition, the mean over risks of the likelihood mixed over risks above the limit, over that at the limit."""
    plays, ones, limit = states.plays[:, :, 1:], states.ones[:, :, 1:], np.array(states.terms.limits)
    mixed = special.betaln(ones + a, plays - ones + b) - special.betaln(a, b)
    wealth = np.exp(mixed - ones * np.log(limit) - (plays - ones) * np.log(1.0 - limit))
    wealth *= stats.beta.sf(limit, ones + a, plays - ones + b) / stats.beta.sf(limit, a, b)
    return upwards(states, wealth.mean(axis=2))


def upwards(states, against):
    return np.maximum.accumulate(against, axis=1) if states.terms.upwards else against


def least_of_those_left(states, against, highest):
    return np.where(states.dropped, highest, against).min(axis=1)


@EVERY
@pytest.mark.parametrize("rule", [Harm(), Harm(0.8, 1, 0.5, 0.7)])
def test_harm_is_the_least_chance_of_those_left_to_be_too_risky(states, rule):
    expected = least_of_those_left(states, too_risky(states, rule.least, *rule[2:]), 1.0)
    found = states.measured(rule)
    assert found[:, 0] == pytest.approx(expected, abs=1e-10)
    assert np.isnan(found[:, 1:]).all()
    # Reached somewhere, and not everywhere.
    assert 0 < (found[:, 0] >= rule.level).sum() < len(found)


@EVERY
def test_evidence_of_harm_is_its_definition(states):
    found = states.measured(HarmE(0.2))
    assert found[:, 0] == pytest.approx(least_of_those_left(states, evidence(states), math.inf), rel=1e-9)
    assert 0 < (found[:, 0] >= 5.0).sum() < len(found)


@EVERY
@pytest.mark.parametrize("rule", [ArmHarm(), ArmHarm(0.8, 1, -1, 0.5, 0.7)])
def test_an_arm_that_is_too_risky_is_found(states, rule):
    expected = np.where(states.dropped, math.nan, too_risky(states, rule.least, *rule[3:]))
    assert states.measured(rule) == pytest.approx(expected, abs=1e-10, nan_ok=True)


@EVERY
def test_an_arm_with_evidence_of_harm_is_found(states):
    expected = np.where(states.dropped, math.nan, evidence(states, 2.0, 0.5))
    assert states.measured(ArmHarmE(0.05, -1, 2.0, 0.5)) == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_one_arm_alone_may_be_asked_and_takes_those_above_with_it():
    alone = STATES.measured(ArmHarm(arm="arm 2"))
    expected = np.where(STATES.dropped, math.nan, too_risky(STATES, 3))[:, 2]
    assert alone[:, 2] == pytest.approx(expected, abs=1e-10, nan_ok=True)
    assert np.isnan(alone[:, [0, 1, 3]]).all()
    ordered, own = ORDERED.measured(ArmHarm(arm=2)), States(300, 4, seed=2).measured(ArmHarm(arm=2))
    assert np.isnan(ordered[:, :2]).all()
    left = ~ORDERED.dropped[:, 2] & ~ORDERED.dropped[:, 3]
    assert (ordered[left, 3] == own[left, 2])[own[left, 2] > 0].all()


def test_the_wealth_is_an_integral_over_all_risks_above_the_limit():
    for s, n, phi, a, b in [(3, 7, 0.3, 1, 1), (0, 5, 0.2, 0.5, 0.5), (9, 9, 0.6, 2, 3), (1, 30, 0.25, 1, 4)]:

        def ratio(p, s=s, n=n, phi=phi, a=a, b=b):
            return (p / phi) ** s * ((1 - p) / (1 - phi)) ** (n - s) * stats.beta.pdf(p, a, b)

        expected = integrate.quad(ratio, phi, 1.0, epsabs=0, epsrel=1e-11)[0] / stats.beta.sf(phi, a, b)
        assert log_wealth_above(s, n, phi, a, b) == pytest.approx(math.log(expected), abs=1e-9)
    assert log_wealth_above(0, 5, 0.0, 1, 1) == 0.0
    assert log_wealth_above(1, 5, 0.0, 1, 1) == math.inf
    assert log_wealth_above(5, 5, 1.0, 1, 1) == 0.0


def chance_ever(reached, mean, plays):
    """The chance that a mean's bits ever reach a rule within so many plays: exact, by the counts (n, s)."""
    alive, ever = {0: 1.0}, 0.0
    for n in range(1, plays + 1):
        after = {}
        for s, chance in alive.items():
            for bit, share in ((0, 1.0 - mean), (1, mean)):
                after[s + bit] = after.get(s + bit, 0.0) + chance * share
        ever += sum(chance for s, chance in after.items() if reached(n, s))
        alive = {s: chance for s, chance in after.items() if not reached(n, s)}
    return ever


@pytest.mark.parametrize(("alpha", "prior", "rule"), [(0.3, (1.0, 1.0), ArmHarmE), (0.1, (0.5, 2.0), HarmE)])
def test_evidence_ever_condemns_a_safe_arm_as_rarely_as_promised(alpha, prior, rule):
    delta, most = 0.1, 100
    # Every count of up to 100 units is a state of one arm.
    n, s = np.array([(n, s) for n in range(most + 1) for s in range(n + 1)]).T
    states = States(len(n), 1, (alpha,), dropped=0.0)
    states.set(np.stack([n, n], axis=1)[:, None], np.stack([n, s], axis=1)[:, None])
    asked = rule(delta, -1, *prior) if rule is ArmHarmE else rule(delta, *prior)
    table = {
        pair: value >= asked.level
        for pair, value in zip(zip(n, s, strict=True), states.measured(asked)[:, 0], strict=True)
    }
    at_limit, below, above = (
        chance_ever(lambda n, s: table[n, s], mean, most) for mean in (alpha, 0.8 * alpha, alpha + 0.3)
    )
    # It was put to the test, the promise holds, and an arm that is not safe is found out.
    assert 0.2 * delta < at_limit <= delta
    assert 0.0 < below < at_limit
    assert above > 0.9
    # A chance of the same size, asked at every look, promises nothing of the kind.
    chances = {
        pair: value >= 1.0 - delta
        for pair, value in zip(zip(n, s, strict=True), states.measured(ArmHarm(1.0 - delta))[:, 0], strict=True)
    }
    assert chance_ever(lambda n, s: chances[n, s], alpha, most) > 2.0 * delta
