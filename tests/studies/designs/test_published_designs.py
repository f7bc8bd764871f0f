"""Reference designs beside published numbers: each within three combined standard errors, on a fixed seed."""

import math

import numpy as np
import pytest
from scipy import stats

import safebandit as sb
from safebandit.problems.three_plus_three import exact_three_plus_three
from safebandit.trials.designs import design_from_text
from safebandit.trials.simulated import simulate_design

TRIALS = 4_000
BOIN = "boin:target=0.25,cohort=3,units=30"
ONE = [0.25, 0.41, 0.45, 0.49, 0.53]
TWO = [0.12, 0.25, 0.42, 0.49, 0.55]
THREE = [0.04, 0.12, 0.25, 0.43, 0.63]


def run(text, nu, mu=None, trials=TRIALS):
    design = design_from_text(text, arms=len(nu), rewarded=mu is not None)
    truth = sb.Instance.bernoulli(mu or [0.5] * len(nu), nu, design.alpha, allow_infeasible=True)
    return simulate_design(design, sb.Scenario("published", truth), trials=trials, seed=1)


def shares(runs, doses):
    """How often none is selected, then each dose."""
    return np.array([(runs.selected == k).mean() for k in range(-1, doses)])


def agree(found, published, trials_there, rounding=0.0005, trials=TRIALS):
    """Shares within three standard errors of their difference, and what was rounded away."""
    for ours, theirs in zip(found, published, strict=True):
        variance = max(theirs, 1 / trials_there) * (1 - theirs)
        if not abs(ours - theirs) <= 3 * math.sqrt(variance / trials + variance / trials_there) + rounding:
            return False
    return True


@pytest.mark.parametrize(
    ("text", "nu", "published", "size"),
    [
        (f"{BOIN},enough=9", TWO, [0.004, 0.317, 0.552, 0.114, 0.012, 0.001], 21.1),
        (f"{BOIN},enough=9", ONE, [0.066, 0.783, 0.131, 0.017, 0.003, 0.0], 14.7),
        (BOIN, TWO, [0.006, 0.231, 0.617, 0.131, 0.014, 0.002], None),
    ],
)
def test_boin_as_the_r_package(text, nu, published, size):
    """BOIN 2.7.2, 10,000 trials."""
    runs = run(text, nu)
    assert agree(shares(runs, 5), published, 10_000)
    if size is not None:
        error = runs.size.std() * math.sqrt(1 / TRIALS + 1 / 10_000)
        assert abs(runs.size.mean() - size) <= 3 * error + 0.05


@pytest.mark.parametrize(
    ("nu", "correct", "over", "right"),
    [(ONE, 0.770, 0.167, 0), (TWO, 0.556, 0.145, 1), (THREE, 0.567, 0.123, 2)],
)
def test_boin_that_stays_after_one_of_three(nu, correct, over, right):
    """Zhao et al. (2024), 10,000 trials: the right dose selected, and a higher one."""
    found = shares(run(f"{BOIN},enough=9,stay_at_one_of_three=true", nu), 5)[1:]
    assert agree([found[right], found[right + 1 :].sum()], [correct, over], 10_000)


def test_boin12():
    """Doses 2 and 3 by trialdesign.org; units per dose by the script of a published comparison, 10,000 trials."""
    nu, mu = [0.03, 0.17, 0.35, 0.50, 0.65], [0.12, 0.39, 0.43, 0.55, 0.65]
    runs = run("boin12:tolerated=0.35,wanted=0.25,cohort=3,units=36,enough=12", nu, mu)
    assert agree(shares(runs, 5)[2:4], [0.573, 0.213], 10_000)
    errors = runs.plays.std(axis=0) * math.sqrt(1 / TRIALS + 1 / 10_000)
    assert (abs(runs.plays.mean(axis=0) - [5.25, 9.04, 6.22, 2.98, 0.65]) <= 3 * errors + 0.005).all()


def test_crm():
    """The R package dfcrm, 5,000 trials."""
    found = shares(run("crm:target=0.3,cohort=3,units=36", [0.05, 0.12, 0.2, 0.3, 0.45, 0.6], trials=2_000), 6)
    assert agree(found, [0, 0, 0.018, 0.228, 0.555, 0.190, 0.009], 5_000, trials=2_000)


def test_mtpi():
    """Ji et al. (2010), 1,000 trials, to two digits: doses 1 to 3."""
    found = shares(run("mtpi:target=0.25,cohort=3,units=30", [0.05, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]), 8)
    assert agree(found[1:4], [0.14, 0.78, 0.08], 1_000, rounding=0.005)


def test_three_plus_three_is_as_its_exact_chances_say():
    nu = [0.1, 0.2, 0.3, 0.4, 0.5]
    runs, exact = run("three-plus-three", nu), exact_three_plus_three(nu)
    counts = [(runs.selected == k).sum() for k in range(-1, 5)]
    # By chance in 1 of 10,000 seeds, as what follows.
    assert stats.chisquare(counts, TRIALS * np.array([exact.none, *exact.selected])).pvalue > 1e-4
    errors = runs.plays.std(axis=0) / math.sqrt(TRIALS)
    assert (abs(runs.plays.mean(axis=0) - exact.units) <= 4.5 * errors).all()
    # It ends by its own answer, or, where six units had every dose, by the last unit; or because no dose is left.
    assert set(runs.cause[(runs.selected >= 0) & (runs.size < 30)]) == {2}
    assert set(runs.cause[runs.selected < 0]) == {1}
