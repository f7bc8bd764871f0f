"""What every stopping and selection rule must do; a new one enters these tests by being registered."""

import math
import re

import numpy as np
import pytest

import safebandit as sb
from safebandit.core.arms import QUANTITY
from safebandit.core.rules import check_stopping, selection_rules, stopping_rules
from safebandit.core.selection import words as selection_words
from safebandit.core.stopping import Terms, words
from safebandit.errors import PolicyError

from .states import States, prepare_selection, prepare_stopping

ARMS = ("low", "mid", "high")
TERMS = Terms(ARMS, (0.3,), upwards=True, least_reward=0.2, control="low")
TWO = TERMS._replace(limits=(0.3, 0.1), risks=("fall", "bleeding"), upwards=False)
# Values of the parameters that have no default.
NEEDED = {"harms": 10, "share": 0.5, "units": 12, "width": 0.2}
# Tests of this room's rules; those of others are tested where they are.
OURS = ("safebandit.core.stopping.", "safebandit.core.selection.")
NAMED_STOPPING = {
    "arm-futility", "arm-futility-e", "arm-harm", "arm-harm-e", "behind", "behind-e", "enough",
    "futility", "futility-e", "harm", "harm-e",
    "harm-share", "precision", "superiority-e", "too-many-harms",
}  # fmt: skip


def examples(kinds):
    return {
        name: kind(**{key: NEEDED[key] for key in kind._fields if key not in kind._field_defaults})
        for name, kind in kinds.items()
        if kind.__module__.startswith(OURS)
    }


STOPPING = examples(stopping_rules())
SELECTION = {name: rule for name, rule in examples(selection_rules()).items() if name not in ("crm-dose", "ts-dose")}


def test_rules_are_found_by_name():
    assert NAMED_STOPPING.issubset(STOPPING)
    assert {"best-safe", "isotonic", "utility", "none"} <= SELECTION.keys()
    assert sb.stopping_rules()["harm"] is sb.Harm
    assert words.rule_name(sb.Nothing()) == words.rule_name(sb.Nothing) == "none"


@pytest.mark.parametrize("name", sorted(STOPPING))
def test_a_stopping_rule_says_itself(name):
    rule = prepare_stopping(STOPPING[name], TERMS)
    sentence = words.says(rule, TERMS)
    assert re.fullmatch(r"[A-Z].*\.", sentence)
    assert isinstance(rule.drops, bool)
    assert ("dropped" in sentence) == rule.drops or "stops" in sentence
    assert words.measure_word(rule)
    assert rule.level > 0
    found = np.array([rule.level, math.nan, math.nan])
    assert words.number(rule.level) in words.why(rule, found, ARMS) or name == "precision"
    # What is compiled is complete: to complete it once more changes nothing.
    assert prepare_stopping(rule, TERMS) == rule


@pytest.mark.parametrize("name", sorted(SELECTION))
def test_a_selection_rule_says_itself(name):
    rule = prepare_selection(SELECTION[name], TERMS)
    assert re.fullmatch(r"[A-Z].*\.", selection_words.says(rule, TERMS))
    seen = np.zeros((3, 2), QUANTITY)
    seen["plays"], seen["limit"] = 6, [math.nan, 0.3]
    for arm in (-1, 1):
        assert selection_words.why(rule, arm, seen, TERMS)
    if name not in ("none",):
        assert '"mid"' in selection_words.why(rule, 1, seen, TERMS)


def test_before_anything_is_known_nothing_is_reached_and_nothing_selected():
    states = States(1, 3, dropped=0.0)
    states.set(0 * states.plays, 0)
    states.memory.arms["asked"] = 0
    states.terms = states.terms._replace(least_reward=0.2)
    for rule in [sb.Harm(), sb.Futility(), sb.HarmE(), sb.FutilityE(), sb.ArmHarmE(), sb.Behind(), sb.SuperiorityE()]:
        found = states.measured(rule)
        assert not (found >= rule.level).any()
    for rule in (sb.BestSafe(), sb.Isotonic(), sb.Utility()):
        assert states.selected(rule).tolist() == [-1]


def test_an_arm_that_is_dropped_no_longer_keeps_a_trial_going():
    states = States(1, 2, dropped=0.0)
    states.set(np.array([[[9, 9], [9, 9]]]), np.array([[[9, 0], [9, 9]]]))
    assert states.measured(sb.Harm())[0, 0] < 0.5
    states.memory.arms["dropped"][0] = 1, 0
    assert states.measured(sb.Harm())[0, 0] > 0.99
    states.memory.arms["dropped"][0] = 1, 1
    assert states.measured(sb.Harm())[0, 0] == 1.0
    assert states.measured(sb.HarmE())[0, 0] == math.inf
    assert states.selected(sb.BestSafe()).tolist() == [-1]


def test_sentences():
    assert sb.Harm(0.9, 3).says(TERMS._replace(upwards=False)) == (
        "The trial stops once every arm has a chance of at least 0.9 that its risk is above 0.3, after at least 3 "
        "known units of it (prior Beta(1, 1))."
    )
    assert sb.ArmHarm(arm="mid").says(TERMS) == (
        'Arm "mid" is dropped once it has a chance of at least 0.95 that its risk is above 0.3, after at least 3 known '
        "units of it (prior Beta(1, 1); what speaks against an arm speaks against those above it)."
    )
    assert "a risk is above its limit (fall 0.3, bleeding 0.1)" in sb.HarmE().says(TWO)
    assert sb.TooManyHarms(7).says(TWO) == (
        "The trial stops once there are 7 harms in all, of all risks together (fall, bleeding)."
    )
    assert (
        sb.Futility()
        .says(TERMS)
        .startswith("The trial stops once every arm has a chance of at least 0.95 that its reward is below 0.2, after")
    )
    assert "the 0.9 interval of the fall and of bleeding of the arm of the largest mean reward is at most 0.3" in (
        sb.Precision(0.3, True, 0.9).says(TWO)
    )
    assert 'above that of "low", divided by 2 comparisons, is at least 20' in sb.SuperiorityE().says(TERMS)
    assert "that every risk is at most its limit (fall 0.3, bleeding 0.1)" in sb.BestSafe().says(TWO)
    assert "a chance of at least 0.8 that its reward is at least 0.2 (" in sb.BestSafe(reward_confidence=0.8).says(TWO)
    assert "is nearest to 0.25: (harms + 0.05)" in sb.Isotonic(0.25).says(TERMS)
    assert "neither 30, both 70" in sb.Utility(neither=30.0).says(TERMS)


def test_reasons():
    assert sb.Harm().why(np.array([0.973, math.nan]), ARMS) == (
        "every arm is too risky with a chance of at least 0.973 (0.95 stops)"
    )
    assert sb.ArmHarm().why(np.array([0.2, 0.96, 0.99999]), ARMS) == (
        '"mid" is too risky with a chance of 0.96 (0.95 drops an arm); '
        '"high" is too risky with a chance of above 0.9999 (0.95 drops an arm)'
    )
    assert sb.Precision(0.25, of_risk=True).why(np.array([math.nan, 5.0, math.nan]), ARMS) == (
        'the 0.95 interval of the risk of "mid" is 0.2 wide (0.25 stops)'
    )
    assert sb.Enough(12).why(np.array([3.0, 12.0, 4.0]), ARMS) == '12 settled units of "mid" (12 stop)'
    seen = np.zeros((3, 2), QUANTITY)
    seen["plays"], seen["limit"] = 6, [math.nan, 0.3]
    seen["ones"][1] = seen["total"][1] = 3, 1
    seen["mean"][1] = 0.5, 1 / 6
    assert sb.BestSafe().why(1, seen, TERMS) == (
        '"mid" has the largest mean reward of the arms that meet all conditions, 0.5 of 6 units; from its own outcomes '
        "it is safe with a chance of 0.6706 (harms: 1 of 6)"
    )
    assert sb.Isotonic().why(1, seen, TERMS) == ('the estimated risk of "mid" is nearest to 0.3 (1 of 6 units harmed)')


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (sb.Harm(1.0), "^confidence of Harm must lie between 0 and 1, got 1.0$"),
        (sb.Harm("much"), "^confidence must be a finite number, got 'much'$"),
        (sb.Harm(least=-1), "^least of Harm must be at least 0, got -1$"),
        (sb.Harm(least=2.5), "^least must be a whole number, got 2.5$"),
        (sb.HarmE(delta=0.0), "^delta of HarmE must lie between 0 and 1, got 0.0$"),
        (sb.Enough(0), "^units of Enough must be above 0, got 0$"),
        (sb.TooManyHarms(-1), "^harms of TooManyHarms must be above 0, got -1$"),
        (sb.HarmShare(1.5), "^share of HarmShare must lie between 0 and 1, got 1.5$"),
        (sb.Precision(0.2, "risk"), "^of_risk must be true or false, got 'risk'$"),
        (sb.ArmHarm(arm="top"), r"^arm of arm-harm must be an arm \(0 to 2, or one of low, mid, high\), got 'top'$"),
        (sb.SuperiorityE(control=3), "^control of superiority-e must be an arm "),
        (sb.BestSafe(), "^a stopping rule is a NamedTuple with a formula registered for measure, got BestSafe"),
    ],
)
def test_a_mistake_is_one_line(rule, message):
    with pytest.raises(PolicyError, match=message):
        prepare_stopping(rule, TERMS)


def test_texts_are_read_as_numbers():
    assert check_stopping(sb.Harm("0.9", "4")) == sb.Harm(0.9, 4)
    assert check_stopping(sb.Precision("0.2", "true")) == sb.Precision(0.2, True)
