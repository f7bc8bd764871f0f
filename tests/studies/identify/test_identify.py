"""The study of pure exploration: right answers, error rates, what each paper promises, and mistakes."""

import json
import math
import re

import numpy as np
import pytest

import safebandit as sb
from safebandit.core.safe_sets import box
from safebandit.errors import InstanceError, PolicyError, SimulationError
from safebandit.studies.identify.plan import make_plan
from safebandit.studies.identify.summary import Estimate, decay, feasible_arms, share
from safebandit.studies.identify.truth import Truth, truth_of
from safebandit.trials.simulated import simulate_design

INSTANCE = sb.Instance.bernoulli([0.3, 0.5, 0.6, 0.8], [0.1, 0.2, 0.2, 0.45], 0.3)
# Each statistical test fails by chance in at most one of ten thousand runs, were its seed not fixed.
SURE = 3.9


def test_the_right_answers_and_how_hard_they_are():
    truth = truth_of(INSTANCE, None)
    assert truth.distances == pytest.approx([0.2, 0.1, 0.1, -0.15])
    assert truth.feasible.tolist() == [True, True, True, False]
    assert truth.best.tolist() == [2]
    assert truth.hardness == pytest.approx(25 + 100 + 100 + 1 / 0.0225)
    # The others are ruled out by 0.3, 0.1 and 0.15; the best by the least of these and its own 0.1.
    assert truth.top_hardness == pytest.approx(1 / 0.09 + 100 + 1 / 0.0225 + 100)
    none = truth_of(INSTANCE, "risk <= 0.05")
    assert none.best.tolist() == []
    assert none.top_hardness is None


def test_arms_are_named_by_their_means():
    truth = truth_of(INSTANCE, "reward - risk >= 0.25")
    plan = make_plan(truth, ["equal"], [40], trials=5, seed=3)
    runs = simulate_design(plan.design("equal", 40), sb.Scenario("x", instance=INSTANCE), trials=30, seed=3)
    expected = (runs.reward_totals - runs.risk_totals[:, 0]) / runs.plays >= 0.25 - 1e-9
    found = feasible_arms(runs, truth)
    assert found.tolist() == expected.tolist()
    best = np.where(found, runs.reward_totals / runs.plays, -1)
    assert runs.selected.tolist() == np.where(found.any(axis=1), best.argmax(axis=1), -1).tolist()


def test_an_arm_of_which_nothing_is_known_is_not_feasible():
    truth = Truth(INSTANCE, "", box((0.3,)), np.ones(4))
    plan = make_plan(truth_of(INSTANCE, None), ["equal"], [4], trials=2, seed=1)
    runs = simulate_design(plan.design("equal", 4), sb.Scenario("x", instance=INSTANCE), trials=2, seed=1)
    runs = runs._replace(risk_plays=np.zeros_like(runs.risk_plays), risk_totals=np.zeros_like(runs.risk_totals))
    assert not feasible_arms(runs, truth).any()


def test_a_decay_is_found_with_its_interval():
    random, units, trials = np.random.default_rng(4), np.array([100, 200, 300, 400]), 5_000
    covered = 0
    for _ in range(200):
        errors = [share(random.random(trials) < 0.6 * math.exp(-0.006 * n)) for n in units]
        found = decay(units, errors, trials)
        covered += found.low <= 0.006 <= found.high
    # 95 % of 200; the scale of the interval never falls below that of the counts, so it may be a little more.
    assert 0.95 * 200 - SURE * math.sqrt(200 * 0.95 * 0.05) < covered <= 200
    assert decay([1, 2, 3], [Estimate(0.9, 0.1), Estimate(0.4, 0.1), Estimate(0.0, 0.1)], 100) is None


def test_errors_fall_exponentially_with_the_units():
    """What Katz-Samuels and Scott (2018) promise; the points lie on a line, and its slope is surely not 0."""
    found = sb.identify(INSTANCE, systems=["md-apt", "md-ucbe", "md-sar"], units=[60, 120, 180, 240], trials=800)
    for system in found.plan.systems:
        rate = found.decay(system)
        assert rate.low > 0.004, system
        assert rate.high < 0.03, system
        errors = [point.feasible_error.value for point in found.of(system)]
        assert errors == sorted(errors, reverse=True)


def test_the_best_feasible_arm_is_wrong_no_more_often_than_said_and_units_grow_with_the_hardness():
    """What Katz-Samuels and Scott (2019) promise: an error of at most delta, and O(H log(H / delta)) units."""
    hardness, used = [], []
    for gap in (0.4, 0.2):
        instance = sb.Instance.bernoulli(
            [0.5 + gap / 2, 0.5 - gap / 2, 0.9], [0.5 - gap, 0.5 - gap, 0.5 + gap], 0.5
        )  # fmt: skip
        found = sb.identify(instance, systems="tf-lucb:delta=0.1", units=8_000, trials=100)
        point = found.points[0]
        assert point.ended.value == 1.0
        assert point.top_error.value <= 0.1
        hardness.append(found.plan.truth.top_hardness)
        used.append(point.used.value)
    assert hardness == pytest.approx([18.75, 75.0])
    slope = math.log(used[1] / used[0]) / math.log(hardness[1] / hardness[0])
    assert 1.0 < slope < 1.3


def test_numbers_do_not_depend_on_the_workers_and_are_written_whole(tmp_path):
    one, two = (
        sb.identify(INSTANCE, systems=["equal", "md-apt"], units=[40, 20], trials=60, workers=workers)
        for workers in (1, 2)
    )
    assert one.to_dict() == two.to_dict()
    assert [(each.system, each.units) for each in one.points] == [
        ("equal", 20), ("equal", 40), ("md-apt", 20), ("md-apt", 40),
    ]  # fmt: skip
    assert one.table().loc[("equal", 40), "used"] == 40
    picture = one.write(tmp_path)
    assert picture == tmp_path / "figures" / "errors.png"
    assert picture.with_suffix(".svg").is_file()
    assert json.loads((tmp_path / "identification.json").read_text(encoding="utf-8")) == one.to_dict()


def test_trials_with_other_units_are_others():
    """So that the points of one system are independent, as the interval of its rate supposes."""
    found = sb.identify(INSTANCE, systems="equal", units=[20, 40], trials=60, seed=2)
    for number, point in enumerate(found.points):
        own = range(60 * number, 60 * (number + 1))
        design = found.plan.design("equal", point.units)
        runs = simulate_design(design, sb.Scenario("x", instance=INSTANCE), trials=own, seed=2)
        wrong = (feasible_arms(runs, found.plan.truth) != found.plan.truth.feasible).any(axis=1)
        assert point.feasible_error.value == wrong.mean()
        assert point.top_error.value == (runs.selected != 2).mean()


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        ({"safe_set": "risk <= 0.2"}, InstanceError, 'the means of arm "1" lie on the boundary of the safe set'),
        ({"safe_set": ""}, PolicyError, "safe_set must be half-spaces"),
        ({"safe_set": "risk <= -1"}, PolicyError, "the safe set is empty"),
        ({"units": [3]}, SimulationError, "units must be at least 4 (one unit for every arm), got 3"),
        ({"units": []}, SimulationError, "units must be one number or more, got none"),
        ({"trials": 1}, SimulationError, "trials must be at least 2"),
        ({"systems": []}, SimulationError, "systems must be one or more, each once, got none"),
        ({"systems": ["equal", "equal"]}, SimulationError, "systems must be one or more, each once"),
        ({"systems": ["md-apd"]}, PolicyError, 'unknown policy "md-apd"'),
        ({"systems": ["tf-lucb:delta=2"]}, PolicyError, "delta must lie between 0 and 1, got 2.0"),
        ({"workers": 0}, SimulationError, "workers must be at least 1"),
    ],
)
def test_mistakes(given, error, why):
    with pytest.raises(error, match=re.escape(why)):
        sb.identify(INSTANCE, **{"trials": 10, **given})
