"""Designs that make no sense are refused in one line, with the rule, the value and the remedy."""

from __future__ import annotations

import pytest

import safebandit as sb
from safebandit.core.stopping import Futility, Harm
from safebandit.trials.designs import design_from_text

DOSES = ["low", "mid", "high"]


def design(**changes):
    return sb.Design(**{"arms": DOSES, "alpha": 0.3, "policy": "tsbu", "units": 30, **changes})


MISTAKES = {
    "steps on unordered arms": (
        lambda: design(steps=1),
        "steps",
        "steps is for arms in order, from the lowest dose to the highest, and these are not; say ordered = true, or",
    ),
    "exclusion upwards on unordered arms": (lambda: design(upwards=True), "upwards", "say ordered = true"),
    "more steps than doses": (lambda: design(ordered=True, steps=3), "steps", "and 2, the levels above the lowest arm"),
    "known_below without steps": (lambda: design(known_below=3), "known_below", "this design has no steps, got 3"),
    "climb without steps": (lambda: design(climb=0.5), "climb", "this design has no steps, got 0.5; say steps = 1, or"),
    "a control that is no arm": (
        lambda: design(control="hihg"),
        "control",
        "control must be the name of an arm, got 'hihg'; did you mean \"high\"? known: high, low, mid",
    ),
    "a control by number": (lambda: design(control=1), "control", "must be the name of an arm, got 1"),
    "a first arm that is none": (lambda: design(first="top"), "first", "first must be the name of an arm, got 'top'"),
    "a cohort larger than the trial": (
        lambda: design(cohort=31),
        "cohort",
        "cohort must lie between 1 and units (30), got 31",
    ),
    "a cohort of none": (lambda: design(cohort=0), "cohort", "cohort must lie between 1 and units (30), got 0"),
    "a look after the end": (
        lambda: design(looks=[10, 31]),
        "looks",
        "a look must not come after the end, at 30 units, got 31; drop it",
    ),
    "looks that do not ascend": (
        lambda: design(looks=[10, 10]),
        "looks",
        "looks must ascend from 1, got 10 after 10; put them in order",
    ),
    "no look": (lambda: design(looks=[]), "looks", "looks must list at least one number of units, got none"),
    "looks every zero units": (lambda: design(looks=0), "looks", "looks must lie between 1 and units (30), got 0"),
    "looks as words": (lambda: design(looks="often"), "looks", "looks must be a whole number, got 'often'"),
    "endless looks": (lambda: design(looks="1..99999999999/1"), "looks", "got 31; drop it"),
    "a burn-in with steps": (
        lambda: design(ordered=True, steps=1, burn_in=6),
        "burn_in",
        "a burn-in gives every arm from the beginning, and steps = 1 does not allow that, got burn_in = 6; leave one",
    ),
    "a first arm above the steps": (
        lambda: design(ordered=True, steps=1, first="high"),
        "first",
        'at most 1 above the lowest, as steps says (low, mid), got "high"; begin lower, or allow more steps',
    ),
    "a burn-in longer than the trial": (lambda: design(burn_in=31), "burn_in", "between 0 and units (30), got 31"),
    "futility without a least reward": (
        lambda: design(stop=[Futility()]),
        "stop.futility",
        "least_reward of futility must lie above 0 and be at most 1, got 0; say it in the rule or in the design",
    ),
    "superiority over a control that is not there": (
        lambda: design(stop={"superiority-e": {"control": "placebo"}}),
        "stop.superiority-e",
        "got 'placebo'",
    ),
    "a rule about an arm that is none": (
        lambda: design(stop={"arm-harm": {"arm": "top"}}),
        "stop.arm-harm",
        "must be an arm",
    ),
    "an arm of a rule by number": (
        lambda: design(stop={"arm-harm": {"arm": 1}}),
        "stop.arm-harm.arm",
        "arm must be the name of an arm, in quotes, got 1",
    ),
    "selection by rewards without any": (
        lambda: design(rewarded=False, select="best-safe"),
        "select",
        "best-safe needs a reward, and this design has none; say rewarded = true, or leave the rule out",
    ),
    "futility without rewards": (
        lambda: design(rewarded=False, select="none", stop=[Futility(0.2)]),
        "stop.futility",
        "futility needs a reward",
    ),
    "the tolerated dose of arms without order": (
        lambda: design(select="isotonic"),
        "select",
        "isotonic needs order, and this design has none; say ordered = true",
    ),
    "efficacy without rewards": (
        lambda: design(policy="boin12:wanted=0.2", rewarded=False),
        "policy",
        "decides by rewards, and units of this design have none (rewarded = false)",
    ),
    "dose finding on unordered arms": (
        lambda: design(policy="boin", ordered=False),
        "policy",
        'policy "boin" moves between doses in their order, and these arms have none; say ordered = true',
    ),
    "an unknown stopping rule": (lambda: design(stop={"hram": {}}), "stop.hram", 'did you mean "harm"?'),
    "an unknown selection rule": (lambda: design(select="bestsafe"), "select", 'did you mean "best-safe"?'),
    "an unknown policy": (lambda: design(policy="tbsu"), "policy", 'did you mean "tsbu"?'),
    "an unknown parameter of a rule": (
        lambda: design(stop={"harm": {"confidense": 0.9}}),
        "stop.harm.confidense",
        'stopping rule "harm" has no parameter "confidense"; did you mean "confidence"?',
    ),
    "a parameter out of its range": (
        lambda: design(stop=[{"rule": "harm", "confidence": 1.5}]),
        "stop[1].confidence",
        "confidence of Harm must lie between 0 and 1, got 1.5",
    ),
    "a value out of its range": (
        lambda: design(stop=[Harm(), Harm(confidence=2.0)]),
        "stop[2].confidence",
        "confidence of Harm must lie between 0 and 1, got 2.0",
    ),
    "a parameter that is missing": (
        lambda: design(stop={"enough": {}}),
        "stop.enough",
        'stopping rule "enough" needs units; add units = ...',
    ),
    "a rule that is no table": (
        lambda: design(stop={"harm": 0.9}),
        "stop.harm",
        "a table of its parameters, got harm =",
    ),
    "a selection without a name": (lambda: design(select={"confidence": 0.5}), "select", 'says which: rule = "NAME"'),
    "a rule that is none": (lambda: design(stop=[3]), "stop[1]", "got 3"),
    "an unknown key": (
        lambda: sb.Design.from_dict({"arms": 2, "alpha": 0.3, "units": 9, "cohorts": 3}),
        "cohorts",
        'a design has no key "cohorts"; did you mean "cohort"?',
    ),
    "a list": (lambda: sb.Design.from_dict([1]), "", "a design is a table of its keys, got [1]"),
    "no units": (lambda: sb.Design.from_dict({"arms": 2, "alpha": 0.3}), "", "a design needs units; add units = 36"),
    "too many units": (lambda: design(units=10**8), "units", "must lie between 1 and 10,000,000, got 100000000"),
    "no arms": (lambda: design(arms=[]), "arms", "a design needs at least one arm, got none"),
    "arms of one name": (lambda: design(arms=["a", "a"]), "arms", "names of arms must differ, got a, a"),
    "a limit for a risk that is not there": (
        lambda: design(alpha={"tox": 0.3, "nausea": 0.1}, risks=["tox"]),
        "alpha",
        'alpha has a limit for each risk, got "nausea"; known: tox',
    ),
    "a risk without a limit": (
        lambda: design(alpha={"tox": 0.3}, risks=["tox", "pain"]),
        "alpha",
        'none for "pain"; add it',
    ),
    "an alpha out of range": (lambda: design(alpha=1.5), "alpha", "alpha must lie in [0, 1], got 1.5"),
    "a least reward out of range": (lambda: design(least_reward=2), "least_reward", "must lie in [0, 1], got 2"),
    "a pending cap of none": (lambda: design(pending_cap=0), "pending_cap", "between 1 and 1,000,000, got 0"),
    "an unknown loss": (lambda: design(lost="never"), "lost", "lost must be one of harm, ignore, got 'never'"),
    "a flag that is none": (lambda: design(rewarded="perhaps"), "rewarded", "rewarded must be true or false"),
    "a pattern that is none": (lambda: design(ids="["), "ids", ""),
    "a prior that is no law": (lambda: design(prior=[1, 0]), "prior", "[1, 0]"),
    "an unknown design": (lambda: design_from_text("boin2", arms=3), "", 'unknown design "boin2"; did you mean "boin'),
    "an unknown parameter of a design": (
        lambda: design_from_text("boin:taget=0.3", arms=3),
        "",
        'design "boin" has no parameter "taget"; did you mean "target"?',
    ),
    "a design without its target": (
        lambda: design_from_text("boin", arms=3),
        "",
        'design "boin" needs target, the risk that is tolerated; add target=0.3',
    ),
    "a design without its units": (lambda: design_from_text("safe:alpha=0.3", arms=3), "", "needs units; write safe:u"),
    "a design without what is wanted": (lambda: design_from_text("boin12:tolerated=0.3", arms=3), "", "needs wanted"),
    "arms in a text": (lambda: design_from_text("boin:target=0.3,arms=3", arms=3), "", "leave arms out"),
    "3+3 in other cohorts": (lambda: design_from_text("three-plus-three:cohort=2", arms=3), "", "cohorts of 3, got 2"),
    "a scenario with other arms": (
        lambda: design().fit(sb.Scenario("x", mu=[0.1, 0.2], nu=[0.1, 0.2])),
        "",
        'scenario "x" must have the arms of the design (low, mid, high), got 2',
    ),
    "a scenario without rewards": (
        lambda: design().fit(sb.Scenario("x", nu=[0.1, 0.2, 0.3])),
        "",
        'scenario "x" has no rewards, and units of the design have; give it mu, or say rewarded = false',
    ),
}


@pytest.mark.parametrize(("make", "key", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_in_one_line(make, key, message):
    with pytest.raises(sb.BadValueError) as problem:
        make()
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)
    assert problem.value.key == key
