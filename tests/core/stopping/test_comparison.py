"""Superiority, inferiority, equivalence, and selection by the chance to be best: by SciPy on random counts."""

import math

import numpy as np
import pytest

from safebandit import PolicyError
from safebandit.core.rules import selection_rules, stopping_rules
from safebandit.core.selection import NONE_SELECTED, BestProbability
from safebandit.core.stopping import Equivalence, Inferiority, Superiority, Terms

from .. import posterior_truth as truth
from ..states import States, prepare_selection, prepare_stopping

STATES = States(40, 4, most=60, dropped=0.2)
CLOSE = 1e-6
BOTH = pytest.mark.parametrize("lowest", [False, True], ids=["largest reward", "lowest risk"])


def counts(states, i, lowest):
    """Of one trial: the arms that are left, their plays, and those that were good."""
    left = np.flatnonzero(~states.dropped[i])
    plays, ones = (numbers[i, left, int(lowest)] for numbers in (states.plays, states.ones))
    return left, plays, plays - ones if lowest else ones


def by_arm(states, lowest, chances):
    """What a function of plays and good ones says of the arms that are left, a row for each trial."""
    rows = np.full(states.dropped.shape, math.nan)
    for i in range(len(rows)):
        left, plays, good = counts(states, i, lowest)
        if len(left):
            rows[i, left] = chances(left, plays, good)
    return rows


def against_control(control, difference):
    def chances(left, plays, good):
        if control not in left:
            return np.full(len(left), math.nan)
        return truth.better(plays, good, list(left).index(control), difference)

    return chances


@BOTH
def test_superiority_is_the_chance_to_be_best_of_those_left(lowest):
    expected = by_arm(STATES, lowest, lambda left, plays, good: truth.best(plays, good))
    found = STATES.measured(Superiority(0.9, lowest=lowest))
    assert found == pytest.approx(expected, abs=CLOSE, nan_ok=True)
    assert 0 < (found >= 0.9).any(axis=1).sum() < len(found)


@BOTH
@pytest.mark.parametrize("difference", [0.0, 0.1, -0.1])
def test_against_a_control_it_is_the_chance_to_be_better_by_more_than_a_difference(lowest, difference):
    expected = by_arm(STATES, lowest, against_control(1, difference))
    found = STATES.measured(Superiority(0.9, "arm 1", difference, lowest))
    assert found == pytest.approx(expected, abs=CLOSE, nan_ok=True)
    inferior = STATES.measured(Inferiority(0.9, "arm 1", difference, lowest))
    assert inferior == pytest.approx(1.0 - expected, abs=CLOSE, nan_ok=True)
    assert np.isnan(found[:, 1]).all()
    assert (found >= 0.9).any()


@BOTH
def test_inferiority_is_the_chance_not_to_be_best_and_never_takes_all(lowest):
    level = 0.76
    best = by_arm(STATES, lowest, lambda left, plays, good: truth.best(plays, good))
    found = STATES.measured(Inferiority(level, lowest=lowest))
    assert found == pytest.approx(1.0 - best, abs=CLOSE, nan_ok=True)
    gone = found >= level
    assert ((~gone & ~STATES.dropped).any(axis=1) | STATES.dropped.all(axis=1)).all()
    assert gone.any(axis=1).sum() > 10
    # Nobody goes because others have gone: there is nothing to be asked again.
    again = States(40, 4, most=60, dropped=0.2)
    again.memory.arms["dropped"] |= gone
    assert not (again.measured(Inferiority(level, lowest=lowest)) >= level).any()


@BOTH
def test_equivalence_is_the_chance_that_all_that_are_left_are_alike(lowest):
    expected = np.full(STATES.dropped.shape, math.nan)
    for i in range(len(expected)):
        left, plays, good = counts(STATES, i, lowest)
        if len(left) > 1:
            expected[i, 0] = truth.alike(plays, good, 0.4)
    found = STATES.measured(Equivalence(0.5, 0.4, lowest))
    assert found == pytest.approx(expected, abs=CLOSE, nan_ok=True)
    assert 0 < (found[:, 0] >= 0.5).sum() < len(found)


@BOTH
def test_selected_is_who_is_most_likely_best(lowest):
    best = by_arm(STATES, lowest, lambda left, plays, good: truth.best(plays, good))
    empty = STATES.dropped.all(axis=1)
    top = np.nan_to_num(best, nan=-1.0).argmax(axis=1)
    assert STATES.selected(BestProbability(lowest=lowest)).tolist() == np.where(empty, NONE_SELECTED, top).tolist()
    enough = np.nan_to_num(best, nan=-1.0).max(axis=1) >= 0.7
    chosen = STATES.selected(BestProbability(0.7, lowest))
    assert chosen.tolist() == np.where(enough, top, NONE_SELECTED).tolist()
    assert 0 < enough.sum() < len(enough)


def test_of_arms_that_are_alike_the_lowest_is_selected():
    alike = States(3, 3, dropped=0.0)
    alike.set(np.full((3, 3, 2), 7), np.full((3, 3, 2), 4))
    alike.memory.arms["dropped"][1, 0] = alike.memory.arms["dropped"][2] = 1
    assert alike.selected(BestProbability()).tolist() == [0, 1, NONE_SELECTED]
    # Where no arm is left, there is nothing to be found.
    assert np.isnan(alike.measured(Superiority())[2]).all()
    assert np.isnan(alike.measured(Equivalence())[2]).all()


WITH_CONTROL = Terms(["new", "old"], (0.3,), ("fall",), control="old")
WITHOUT = Terms(["new", "old", "{other}"], (0.3,), ("fall",))


def test_rules_take_the_control_of_the_design():
    assert prepare_stopping(Superiority(), WITH_CONTROL).control == 1
    assert prepare_stopping(Inferiority(), WITH_CONTROL._replace(arms=["old", "new"])).control == 0
    assert prepare_stopping(Superiority(control="new"), WITH_CONTROL).control == 0
    assert prepare_stopping(Superiority(), WITHOUT).control == -1
    once = prepare_stopping(Inferiority(), WITH_CONTROL)
    assert prepare_stopping(once, WITH_CONTROL) == once


def test_they_are_known_by_name():
    assert {"superiority", "inferiority", "equivalence"} <= stopping_rules().keys()
    assert selection_rules()["best-probability"] is BestProbability


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (Superiority(1.0), "level of Superiority must lie between 0 and 1"),
        (Superiority(difference=0.1), "difference of superiority is one from a control, and there is none; got 0.1"),
        (Superiority(control="new", difference=1.0), "difference of superiority must lie between -1 and 1"),
        (Superiority(control="none"), "control of superiority must be an arm"),
        (Inferiority(0.6), "level of inferiority must be above 0.6667 for 3 arms, or all could be dropped at once"),
        (Equivalence(difference=0.0), "difference of Equivalence must be above 0"),
    ],
)
def test_parameters_are_checked(rule, problem):
    with pytest.raises(PolicyError, match=problem):
        prepare_stopping(rule, WITHOUT)


def test_they_say_what_they_do():
    assert Superiority().says(WITHOUT) == (
        "The trial stops once an arm has a chance of at least 0.99 to have the largest reward of the arms that are "
        "left (prior Beta(1, 1))."
    )
    assert Superiority(0.95, "old", 0.05, True).says(WITHOUT) == (
        'The trial stops once an arm has a chance of at least 0.95 that its fall is below that of "old" by more than '
        "0.05 (prior Beta(1, 1))."
    )
    assert Inferiority(lowest=True).says(WITHOUT) == (
        "An arm is dropped once it has a chance of at most 0.01 to have the lowest fall of the arms that are left "
        "(prior Beta(1, 1))."
    )
    assert "differ in their reward by less than 0.05" in Equivalence().says(WITHOUT)
    assert "most likely has the lowest fall" in BestProbability(lowest=True).says(WITHOUT)


def test_they_say_what_happened():
    found, arms = np.array([0.995, math.nan, 0.2]), WITHOUT.arms
    assert Superiority().why(found, arms) == (
        '"new" is the best of the arms that were left with a chance of 0.995 (0.99 stops)'
    )
    against = prepare_stopping(Superiority(control="{other}"), WITHOUT)
    assert against.why(found, arms) == '"new" is better than "{other}" with a chance of 0.995 (0.99 stops)'
    assert Inferiority().why(found, arms) == (
        '"new" is not the best of the arms that were left with a chance of 0.995 (0.99 drops an arm)'
    )
    assert "differ by less than 0.05 with a chance of 0.995" in Equivalence().why(found, arms)
    selection = prepare_selection(BestProbability(0.5), WITHOUT)
    assert selection.why(0, STATES.memory.quantities[0], WITHOUT).startswith('"new" is most likely the best')
    assert "at least 0.5" in selection.why(NONE_SELECTED, STATES.memory.quantities[0], WITHOUT)
