"""Reference designs beside numbers that others printed, and beside exact chances."""

import math

import numpy as np
import pytest
from scipy import stats

import safebandit as sb
from safebandit.studies.designs.published import CASES, Case, Verdict, compare
from safebandit.trials.simulated import simulate_design


# Some 60 comparisons at three standard errors and the last printed digit: a right program fails with a chance of about
# one in eight for another seed.
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} ({case.source})")
def test_what_others_printed_comes_out_here(case):
    trials = 200 if case.name.startswith("RAR") else 4_000
    for verdict in compare([case], trials=trials, seed=2, workers=1):
        assert verdict.agrees, verdict[1:]


def test_a_number_that_is_off_does_not_agree():
    case = Case("x", "boin", (0.1,), {}, "nobody", digit=0.01)
    assert Verdict(case, "size", 10.0, 10.004, 0.0).agrees
    assert not Verdict(case, "size", 10.0, 10.006, 0.0).agrees
    assert Verdict(case, "size", 10.0, 9.7, 0.1).agrees
    assert not Verdict(case, "size", 10.0, 9.69, 0.1).agrees


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
