"""Doses within arms: the truth of an instance, what safe systems promise, and how numbers are counted."""

import json
import math

import numpy as np
import pytest
from scipy import optimize

import safebandit as sb
from safebandit.studies.doses.play import course, play
from safebandit.studies.doses.study import read_system

CURVED = sb.DosedInstance(
    ("logistic:low=.05,high=.95", "linear:low=0,high=1"), ("logistic:low=.02,high=.9", "emax:bottom=0,top=.5,half=.5"),
    alpha=0.3, most=2.0, first=(0.1, 0.2), arms=("a", "b"),
)  # fmt: skip
LINES = sb.DosedInstance.linear([0.8, 0.6, 0.2], [0.9, 0.4, 0.5], alpha=0.3)


def test_safe_doses_are_where_the_risk_is_alpha():
    for k, risk in enumerate(CURVED.risk_at):
        root = optimize.brentq(lambda dose, risk=risk: risk(dose) - 0.3, 0, 2)
        assert CURVED.safe_doses[k] == pytest.approx(root, abs=1e-9)
        assert CURVED.values[k] == pytest.approx(CURVED.reward_at[k](root), abs=1e-9)
    assert (CURVED.safe_doses[1], CURVED.values[1], CURVED.best) == (pytest.approx(0.75), pytest.approx(0.375), 0)
    # The slope of bottom + (top - bottom) dose / (dose + half) is largest at 0: (top - bottom) / half.
    assert CURVED.steepest == pytest.approx(1.12 * 1.001, rel=0.2)
    slopes = [
        optimize.approx_fprime([x], lambda d, f=f: f(d[0]))[0] for f in CURVED.risk_at for x in np.linspace(0, 2, 50)
    ]
    assert max(slopes) <= CURVED.steepest <= 1.002 * max(slopes) + 1e-3
    assert (CURVED.proportional, LINES.proportional) == (False, True)


@pytest.fixture(scope="module")
def found():
    return sb.identify_doses(LINES, units=[1_000, 2_000_000], trials=150, seed=3)


def test_safe_systems_keep_what_they_promise(found):
    """Each fails with a chance of at most 0.1, in truth far less: of 150 trials, 30 failures have a chance of 1e-4."""
    for system in ("safe-linear", "safe-monotonic"):
        last = found.of(system)[-1]
        assert last.ended.value == 1.0
        assert last.wrong.value <= 0.2
        assert last.broken.value <= 0.2
        assert last.unsafe_answer.value <= 0.2
    linear, monotonic, uniform = (found.of(system)[-1] for system in found.systems)
    assert linear.unsafe_units.value == 0.0
    # Doses between alpha and alpha + tolerance are given on purpose; equal shares give every dose.
    assert monotonic.unsafe.value > 0.9
    assert monotonic.broken.value == 0.0
    assert (uniform.unsafe.value, uniform.ended.value) == (1.0, 0.0)
    assert linear.used.value < monotonic.used.value < uniform.used.value


def test_a_slope_that_is_too_small_breaks_the_promise():
    steep = sb.DosedInstance(("linear:low=0,high=.9",) * 2, ("linear:low=0,high=.9",) * 2, alpha=0.3)
    trusted, misled = (
        sb.identify_doses(steep, systems=f"safe-monotonic:slope={slope}", units=20_000, trials=40).points[0]
        for slope in (0.9, 0.2)
    )
    assert (trusted.broken.value, misled.broken.value) == (0.0, 1.0)


def test_a_trial_is_counted_unit_by_unit():
    played = play(read_system("uniform:doses=4", LINES), LINES, 500, np.random.default_rng(1))
    for units in (5, 100, 500):
        cut, used, unsafe, regret, highest = course(played, LINES, units), 0, 0, 0.0, 0.0
        for ask in played.asks:
            if used + ask.units > units:
                break
            used += ask.units
            reward, risk = LINES.reward_at[ask.arm](ask.dose), LINES.risk_at[ask.arm](ask.dose)
            unsafe += ask.units * (risk > 0.3 + 1e-9)
            regret += ask.units * max(0.45 - reward, risk - 0.3, 0.0)
            highest = max(highest, risk)
        assert (cut.used, cut.unsafe_units, cut.ended) == (used, unsafe, False)
        assert (cut.regret, cut.highest_risk) == (pytest.approx(regret / used), pytest.approx(highest))
    nothing = course(played, LINES, 0)
    assert (nothing.used, nothing.regret, nothing.highest_risk) == (0, 0.0, 0.0)


def test_the_first_trials_stay_when_more_are_played(found):
    again = sb.identify_doses(LINES, systems=["uniform"], units=[1_000, 5_000], trials=150, seed=3)
    assert again.of("uniform")[0] == found.of("uniform")[0]
    few = sb.identify_doses(LINES, systems=["safe-linear"], units=2_000_000, trials=2, seed=3)
    assert few.examples["safe-linear"] == found.examples["safe-linear"]


def test_everything_is_written(found, tmp_path):
    pictures = found.write(tmp_path)
    assert [path.name for path in pictures] == ["ladders.png", "errors.png"]
    assert all(path.is_file() for path in pictures)
    document = json.loads((tmp_path / "doses.json").read_text(encoding="utf-8"))
    assert (document["best"], document["instance"]["alpha"]) == ("1", 0.3)
    assert found.table().loc[("safe-linear", 2_000_000), "wrong"] == document["points"][1]["wrong"]["value"]


LOW = ("linear:low=0,high=.5",) * 2


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: sb.DosedInstance.linear([0.5], [0.5], 0.3), "two arms or more to choose from, got 1"),
        (lambda: sb.DosedInstance.linear([0.5, 0.4], [0.5], 0.3), r"a risk for every reward \(2\), got 1"),
        (lambda: sb.DosedInstance(LOW, LOW, 0.3, most=0), "the highest dose must be above 0, got 0"),
        (lambda: sb.DosedInstance(LOW, LOW, 0.3, most=math.inf), "most must be a finite number"),
        (lambda: sb.DosedInstance(LOW, LOW, 1.2), r"alpha must lie in \[0, 1\], got 1.2"),
        (lambda: sb.DosedInstance(LOW, LOW, 0.0), "alpha must lie between 0 and 1, got 0.0"),
        (lambda: sb.DosedInstance(LOW, LOW, 0.3, first=0), "a first dose must be above 0 and at most the highest"),
        (lambda: sb.DosedInstance(LOW, LOW, 0.3, first=[0.1] * 3), r"one per arm \(2\), got 3"),
        (lambda: sb.DosedInstance(LOW, LOW, 0.3, first=0.9), 'the first dose of arm "0" must be safe: at 0.9 its risk'),
        (lambda: sb.DosedInstance(LOW, LOW, 0.3, arms=("x", "x")), "one name for each of 2 arms, got x, x"),
        (lambda: sb.DosedInstance(LOW, ("linear:low=.2,high=.1",) * 2, 0.3), 'risk of arm "0" must not fall'),
        (lambda: sb.DosedInstance(LOW, ("cubic:low=0",) * 2, 0.3), 'unknown curve "cubic"'),
        (lambda: sb.DosedInstance(LOW, [0.1, 0.2], 0.3), "risks must be curves by name, one per arm"),
        (
            lambda: sb.DosedInstance.linear([2.0, 0.5], [0.5, 0.5], 0.3),
            r"reward at the highest dose must lie in \[0, 1\]",
        ),
        (lambda: sb.identify_doses(CURVED, systems="safe-linear"), "safe-linear needs rewards and risks proportional"),
        (lambda: sb.identify_doses(LINES, systems="safe-monotonic:tolerance=.8"), "tolerance must be below 1 - alpha"),
        (lambda: sb.identify_doses(LINES, systems="safe-cubic"), 'unknown system "safe-cubic"'),
        (lambda: sb.identify_doses(LINES, systems=["uniform", "uniform"]), "systems must be one or more, each once"),
        (lambda: sb.identify_doses(LINES, units=0), "units must be at least 1"),
        (lambda: sb.identify_doses(LINES, units=[]), "units must be one number or more"),
        (lambda: sb.identify_doses(LINES, trials=1), "trials must be at least 2"),
    ],
)
def test_mistakes_are_one_line(make, rule):
    with pytest.raises(ValueError, match=rule):
        make()
