"""When a reference design agrees with a printed number, and 3+3 beside its exact chances."""

import math

import numpy as np
from scipy import stats

import safebandit as sb
from safebandit.studies.designs.published import Agreement, Case
from safebandit.trials.simulated import simulate_design


def test_a_number_that_is_off_does_not_agree():
    case = Case("x", "boin", (0.1,), {}, "nobody", digit=0.01)
    assert Agreement(case, "size", 10.0, 10.004, 0.0).agrees
    assert not Agreement(case, "size", 10.0, 10.006, 0.0).agrees
    assert Agreement(case, "size", 10.0, 9.6, 0.1).agrees
    assert not Agreement(case, "size", 10.0, 9.59, 0.1).agrees


def test_three_plus_three_is_as_its_exact_chances_say():
    nu, trials = [0.1, 0.2, 0.3, 0.4, 0.5], 4_000
    design = sb.design_from_text("three-plus-three", arms=5)
    runs = simulate_design(design, sb.Scenario("exact", nu=nu), trials=trials, seed=1)
    exact = sb.exact_three_plus_three(nu)
    counts = [(runs.selected == k).sum() for k in range(-1, 5)]
    # By chance in 1 of 10,000 seeds, as what follows.
    assert stats.chisquare(counts, trials * np.array([exact.none, *exact.selected])).pvalue > 1e-4
    errors = runs.plays.std(axis=0) / math.sqrt(trials)
    assert (abs(runs.plays.mean(axis=0) - exact.units) <= 4.5 * errors).all()
    # It ends by its own answer, or, where six units had every dose, by the last unit; or because no dose is left.
    assert set(runs.cause[(runs.selected >= 0) & (runs.size < 30)]) == {2}
    assert set(runs.cause[runs.selected < 0]) == {1}
