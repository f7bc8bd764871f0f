"""Scenarios: what people write is read, checked, written back; curves, laws of scenarios, past data."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import safebandit as sb
from safebandit.core.delays import EXPONENTIAL, FIXED, UNIFORM, WEIBULL
from safebandit.core.timing import Timing
from safebandit.problems.curves import read_curve
from safebandit.problems.delays import Delay, read_delay

MEANS = {"mu": [0.2, 0.4, 0.5], "nu": [0.05, 0.2, 0.6]}


def test_timing_is_what_was_written():
    scenario = sb.Scenario(
        "slow", **MEANS, accrual=0.5, arrivals="poisson", reward_delay=28, risk_delay="weibull:shape=2,scale=20",
        missing=0.05, missing_risk=0.1, give_up_after=90,
    )  # fmt: skip
    assert scenario.timing() == Timing(0.5, True, FIXED, 28.0, 0.0, WEIBULL, 2.0, 20.0, 0.05, 0.1, 90.0)
    assert sb.Scenario("plain", **MEANS).timing() == Timing(
        1.0, False, FIXED, 0.0, 0.0, FIXED, 0.0, 0.0, 0.0, 0.0, 100.0
    )


@pytest.mark.parametrize(
    ("given", "law"),
    [
        (0, Delay(FIXED, 0.0)),
        ("14", Delay(FIXED, 14.0)),
        ("fixed:14", Delay(FIXED, 14.0)),
        ("uniform:0..30", Delay(UNIFORM, 0.0, 30.0)),
        ("exponential:10", Delay(EXPONENTIAL, 10.0)),
        ("weibull:shape=2,scale=20", Delay(WEIBULL, 2.0, 20.0)),
    ],
)
def test_laws_of_delays_are_read_and_written_back(given, law):
    assert read_delay("risk_delay", given) == law
    assert read_delay("risk_delay", law.written()) == law


@pytest.mark.parametrize(
    ("law", "truth"),
    [
        (Delay(UNIFORM, 2.0, 30.0), stats.uniform(2, 28)),
        (Delay(EXPONENTIAL, 10.0), stats.expon(scale=10)),
        (Delay(WEIBULL, 2.0, 20.0), stats.weibull_min(2, scale=20)),
    ],
)
def test_mean_and_longest_delay(law, truth):
    assert math.isclose(law.mean, truth.mean(), rel_tol=1e-12)
    assert law.longest == truth.ppf(1.0)


SCENARIOS = [
    sb.Scenario("means", **MEANS),
    sb.Scenario("named", **MEANS, arms=["a", "b", "c"], correlation=0.1, risk_delay="exponential:10", accrual=3),
    sb.Scenario("risks only", nu=[0.1, 0.3]),
    sb.Scenario("two risks", mu=[0.2, 0.3], nu=[[0.1, 0.2], [0.3, 0.1]], risks=["tox", "nausea"], missing_risk=0.2),
    sb.Scenario("beta", sb.Instance.beta([0.4, 0.5], [0.2, 0.3], 0.5)),
    sb.Scenario("finite", sb.Instance.finite([[(1, 0, 0.5), (0, 1, 0.5)], [(1, 0, 1.0)]], 0.5), give_up_after=30),
    sb.Scenario("by name", "drug-trial", arrivals="poisson"),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_a_scenario_is_read_back_as_it_was_written(scenario):
    document = json.loads(json.dumps(scenario.to_dict(), allow_nan=False))
    again = sb.Scenario.from_dict(document)
    assert again.to_dict() == document
    assert again.timing() == scenario.timing()
    assert (again.rewarded, again.named) == (scenario.rewarded, scenario.named)
    assert "alpha" not in document
    for mine, yours in zip(again.instance.law, scenario.instance.law, strict=True):
        assert np.array_equal(mine, yours)


def test_risks_alone_have_no_reward():
    scenario = sb.Scenario("risks only", nu=[0.1, 0.3])
    assert not scenario.rewarded
    assert scenario.instance.mu.tolist() == [0.0, 0.0]
    assert sb.Scenario("both", **MEANS).rewarded


def test_curves_by_their_definitions():
    doses = np.array([1.0, 2.0, 4.0, 8.0])
    logit = np.interp(doses, [1, 8], [math.log(0.05 / 0.95), math.log(0.6 / 0.4)])
    expected = {
        "flat:value=0.25": np.full(4, 0.25),
        "linear:low=0.1,high=0.8": 0.1 + 0.7 * (doses - 1) / 7,
        "logistic:low=0.05,high=0.6": 1 / (1 + np.exp(-logit)),
        "emax:bottom=0.1,top=0.9,half=4": [0.1 + 0.8 * dose / (dose + 4) for dose in doses],
    }
    for text, means in expected.items():
        assert read_curve("nu", text, 4, doses.tolist()) == pytest.approx(means, abs=1e-11)
    assert read_curve("nu", "linear:low=0.1,high=0.4", 4) == [0.1, 0.2, 0.3, 0.4]
    assert read_curve("nu", "linear:low=0.1,high=0.4", 1) == [0.1]


def test_past_data_are_resampled():
    import pandas as pd

    table = pd.DataFrame({"arm": ["a", "a", "b"], "reward": [1, 0, 1], "risk": [0, 1, 0]})
    scenario = sb.Scenario.from_data(table, name="past", risk_delay=3)
    assert scenario.instance.mu.tolist() == [0.5, 1.0]
    assert scenario.instance.nu.tolist() == [0.5, 0.0]
    assert (scenario.name, scenario.timing().risk_a) == ("past", 3.0)


def test_fitted_takes_the_design_s_names_and_alpha():
    fitted = sb.Scenario("means", **MEANS).fitted(["low", "mid", "high"], 0.1, ["tox"])
    assert (fitted.instance.arms, fitted.instance.risks, fitted.instance.alpha) == (
        ("low", "mid", "high"),
        ("tox",),
        0.1,
    )
    assert fitted.instance.unsafe_arms.tolist() == [1, 2]
    # No arm is safe, and that is a truth like any other.
    assert sb.Scenario("means", **MEANS).fitted(["low", "mid", "high"], 0.01, ["tox"]).instance.best_arm is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: sb.Scenario("x"),
            "a scenario has the mean risks nu (with mu, where there are rewards), or an instance",
        ),
        (lambda: sb.Scenario("x", "drug-trial", mu=[0.1]), "leave mu, arms, risks and doses out"),
        (lambda: sb.Scenario("x", **MEANS, rewarded="no"), "rewarded must be true or false, got 'no'"),
        (
            lambda: sb.Scenario("x", **MEANS, risk_delay="weibull:shape=0,scale=9"),
            "shape of risk_delay must be at least 0.1",
        ),
        (lambda: sb.Scenario("", **MEANS), "a scenario's name must have 1 to 200 characters, got 0"),
        (lambda: sb.Scenario("x", **MEANS, accrual=0), "accrual must be above 0 and at most 1,000,000, got 0"),
        (lambda: sb.Scenario("x", **MEANS, arrivals="often"), "arrivals must be one of fixed, poisson, got 'often'"),
        (lambda: sb.Scenario("x", **MEANS, risk_delay=-1), "risk_delay must be at least 0 days, got -1"),
        (lambda: sb.Scenario("x", **MEANS, risk_delay="uniform:9"), "risk_delay must be written as uniform:0..30"),
        (
            lambda: sb.Scenario("x", **MEANS, risk_delay="uniform:9..3"),
            "must run from the shortest delay to the longest",
        ),
        (lambda: sb.Scenario("x", **MEANS, risk_delay="weibul:shape=1"), 'did you mean "weibull"?'),
        (
            lambda: sb.Scenario("x", **MEANS, risk_delay="weibull:shape=1"),
            "must be written as weibull:shape=2,scale=20",
        ),
        (lambda: sb.Scenario("x", **MEANS, risk_delay="soon"), 'unknown law of risk_delay "soon"'),
        (lambda: sb.Scenario("x", **MEANS, missing=1.2), "missing must lie in [0, 1], got 1.2"),
        (
            lambda: sb.Scenario("x", **MEANS, missing=0.1, risk_delay=28, give_up_after=20),
            "give_up_after must be more days than the delays (28), got 20; nobody is given up while an outcome may",
        ),
        (
            lambda: sb.Scenario("x", nu="logistic:low=0.1,high=0.5"),
            "must say how many arms there are; add arms or doses",
        ),
        (lambda: sb.Scenario("x", nu="logstic:low=0.1,high=0.5", arms=3), 'did you mean "logistic"?'),
        (lambda: sb.Scenario("x", nu="logistic:low=0,high=0.5", arms=3), "must lie inside (0, 1), got 0"),
        (lambda: sb.Scenario("x", nu="flat:value=0.1", arms=2, doses=[2, 1]), "doses must ascend"),
        (lambda: sb.Scenario("x", nu="flat:value=0.1", arms=2, doses=[1]), "one dose per arm (2), got 1"),
        (
            lambda: sb.Scenario("x", nu=0.3, arms=2),
            "nu must be a list of numbers, one per arm, or a curve by name, got 0.3",
        ),
        (lambda: sb.Scenario("x", mu=[0.1], nu=[0.1, 0.2]), "mu and nu must have the same length"),
        (lambda: sb.Scenario.from_dict({"name": "x", "nu": [0.1], "acrual": 1}), 'did you mean "accrual"?'),
        (lambda: sb.Scenario.from_dict({"nu": [0.1]}), "a scenario needs a name"),
        (
            lambda: sb.Scenario("x", **MEANS).fitted(["a", "b"], 0.3, ["risk"]),
            'scenario "x" must have the arms of the design (a, b), got 3',
        ),
        (
            lambda: sb.Scenario("x", **MEANS, arms=["a", "b", "c"]).fitted(["a", "c", "b"], 0.3, ["risk"]),
            'scenario "x" must have the arms of the design (a, c, b), got a, b, c',
        ),
        (
            lambda: sb.Scenario("x", **MEANS).fitted(["a", "b", "c"], 0.3, ["tox", "nausea"]),
            'scenario "x" must have the risks of the design (tox, nausea), got 1; give nu a row for each',
        ),
        (lambda: sb.random_scenarios("rissing", 3), 'did you mean "rising"?'),
        (
            lambda: sb.random_scenarios("pseudo-uniform:arms=60,target=0.9", 1, seed=1),
            "in 20,000 tries; take fewer arms",
        ),
        (lambda: sb.random_scenarios("rising", 0), "count must lie between 1 and 10,000, got 0"),
        (lambda: sb.random_scenarios("rising:nu=0.6..0.1", 2), "nu must run from the smaller number to the larger"),
        (lambda: sb.random_scenarios("rising:nu=0.6", 2), "nu must be a range such as 0..0.6, got '0.6'"),
    ],
)
def test_a_mistake_is_told_in_one_line(make, message):
    with pytest.raises(sb.InstanceError) as problem:
        make()
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "it: reward 0.1, 0.2; risk 0.1, 0.2; 1 unit a day, evenly"),
        ({"correlation": 0.5, "accrual": 0.2}, "; correlation of reward and risk 0.5; 0.2 units a day, evenly"),
        ({"correlation": [0.5, -0.1]}, "; correlation of reward and risk 0.5, -0.1; 1 unit a day"),
    ],
)
def test_a_scenario_says_all_that_it_supposes(said, words):
    assert words in sb.Scenario("it", mu=[0.1, 0.2], nu=[0.1, 0.2], **said).describe()


def test_random_scenarios_do_not_depend_on_how_many_are_drawn():
    few, many = (sb.random_scenarios("uniform:arms=3,nu=0..0.6", count, seed=4) for count in (2, 5))
    assert [each.to_dict() for each in few] == [each.to_dict() for each in many[:2]]
    assert len({tuple(each.instance.nu) for each in many}) == 5


def test_laws_of_random_scenarios():
    """Two Kolmogorov-Smirnov tests and one chi-square test, each wrong once in ten thousand."""
    drawn = sb.random_scenarios("uniform:arms=4,mu=0.2..0.8,nu=0..0.6", 500, seed=1, accrual=2)
    assert drawn[0].timing().accrual == 2.0
    for means, low, high in (("mu", 0.2, 0.8), ("nu", 0.0, 0.6)):
        values = np.concatenate([getattr(each.instance, means) for each in drawn])
        assert stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue > 1e-4
    for each in sb.random_scenarios("rising:arms=4", 20, seed=1):
        assert (np.diff(each.instance.mu) >= 0).all()
        assert (np.diff(each.instance.nu) >= 0).all()
    risks = [each.instance.nu for each in sb.random_scenarios("pseudo-uniform:arms=5,target=0.3", 500, seed=1)]
    nearest = np.bincount([int(np.argmin(np.abs(nu - 0.3))) for nu in risks], minlength=5)
    assert stats.chisquare(nearest).pvalue > 1e-4
    assert all((np.diff(nu) > 0).all() for nu in risks)
