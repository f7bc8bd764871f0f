"""A trial by a design: cohorts, looks, arms that are dropped, the stop, what is selected then, and what comes later."""

import json
from typing import NamedTuple

import pytest

import safebandit as sb
from safebandit import Trial
from safebandit.core.arms import CHANCE
from safebandit.core.conduct import MASKED
from safebandit.core.policies.interface import DONE, HOLD, decide
from safebandit.core.streams import uniform
from safebandit.errors import ConflictError, StoppedError, TrialError
from safebandit.problems.scenario import Scenario
from safebandit.trials.conduct_words import BARS
from safebandit.trials.descriptions import describe
from safebandit.trials.design import Design
from safebandit.trials.events import canonical
from safebandit.trials.histories import histories
from safebandit.trials.simulated import CAUSES, plan_of, play

ARMS = ["low", "mid", "high"]
STOP = ["arm-harm:confidence=.8,least=2", "too-many-harms:harms=5"]


def design(**changes):
    """Cohorts of two, of which an arm with two harms is dropped; five harms stop the trial."""
    return Design(**{"arms": ARMS, "alpha": 0.3, "policy": "docb", "units": 12, "cohort": 2, "stop": STOP, **changes})


def run(trial, harm=lambda arm: 0, reward=lambda arm: 1):
    """Tell every unit's outcome before the next asks, until no arm is given any more."""
    while trial.status == "open":
        unit = trial.ask()
        trial.tell(unit.id, reward=reward(unit.arm), risk=harm(unit.arm))
    return trial


def kinds(trial, *wanted):
    return [event for event in trial.log if event.kind in wanted]


@pytest.fixture(scope="module")
def harmed():
    """Every arm harms all its units: two are dropped, then five harms are reached."""
    return run(Trial(design(), seed=1), lambda arm: 1)


def test_a_cohort_gets_one_arm_and_the_next_waits():
    trial = Trial(design(), seed=1)
    first, second, third = (trial.ask(unit) for unit in "abc")
    assert (second.arm, second.why) == (first.arm, f"unit 2 of 2 of the cohort on {first.arm}")
    assert third.waiting
    assert third.why == f"the cohort on {first.arm} waits for 2 outcomes before the next unit is given an arm"
    decision = trial.log[-1].content
    assert all(arm["permissible"] for arm in decision["arms"].values())
    trial.tell("a", reward=1, risk=0)
    trial.give_up("b", reason="moved away")
    assert trial.ask("c").arm not in (None, first.arm)


def test_why_an_arm_is_given_or_not_where_the_design_says_so():
    first = Trial(design(cohort=1, ordered=True, steps=1, known_below=2, first="low", stop=()), seed=1)
    assert first.ask("a").why == "the arm that the design begins with"
    views = {view.arm: view.why for view in first.explain().arms}
    assert views["low"] == "waits for outcomes of units already given it"
    assert views["mid"].startswith("is not reached yet: it is too many levels up, or too little is known")
    burning = Trial(design(cohort=1, waits=False, burn_in=3, stop=()), seed=1)
    given = [burning.ask(unit) for unit in "abc"]
    assert {unit.arm for unit in given} == set(ARMS)
    assert given[0].why == "one of the first 3 units: they get the arms that were given least often, in turn"
    propensities = [
        event.content["arms"][unit.arm]["propensity"] for event, unit in zip(burning.log[1:], given, strict=True)
    ]
    assert propensities == [pytest.approx(1 / 3, abs=0.06), pytest.approx(1 / 2, abs=0.06), 1.0]
    assert first.verify().holds
    assert burning.verify().holds


def test_an_arm_above_one_that_is_not_safe_enough_says_so():
    trial = Trial(design(ordered=True, steps=1, climb=0.6, stop=()), seed=1)
    for unit, harm in (("a", 0), ("b", 1)):
        trial.ask(unit)
        trial.tell(unit, reward=1, risk=harm)
    above = [view.why for view in trial.explain().arms if view.arm != "low"]
    assert above == ["is above an arm that is not safe enough to climb on"] * 2
    assert trial.verify().holds
    assert set(BARS) == set(range(1 + MASKED))


def test_an_arm_that_one_below_excludes_says_so():
    trial = run(Trial(design(ordered=True, steps=1, stop=()), seed=1), lambda arm: 1)
    low, *above = [view.why for view in trial.explain().arms]
    assert low.startswith("not permissible: lower risk index 0.")
    assert above == ['not permissible: "low" below it is not, and that excludes the arms above it'] * 2
    assert 'no arm is permissible: of "low": lower risk index 0.' in trial.stopped["why"]
    assert "; that excludes the arms above it" in trial.stopped["why"]


def test_arms_are_dropped_and_the_trial_stops_at_a_look(harmed):
    assert harmed.status == "stopped"
    assert [event.content["arm"] for event in kinds(harmed, "dropped")] == list(harmed.dropped)
    # The look after the sixth unit finds six harms; the third arm is dropped there before the second rule is asked.
    assert len(harmed.dropped) == 3
    assert harmed.stopped["rule"] == "too-many-harms"
    assert harmed.log[-1].kind == "stopped"
    assert harmed.log[-1].actor == "safebandit"
    assert harmed.stopped["why"] == "6 harms in all (5 stop the trial)"
    assert harmed.selected is None
    measured = {each["rule"]: each for each in harmed.log[-1].content["measures"]}
    assert measured["too-many-harms"] == {
        "rule": "too-many-harms",
        "level": 5.0,
        "measures": {"low": 6.0, "mid": None, "high": None},
    }
    # P(Beta(1 + 2, 1) > 0.3) = 1 - 0.3^3, and 0.8 drops an arm.
    assert kinds(harmed, "dropped")[0].content["measure"] == pytest.approx(1 - 0.3**3, abs=1e-12)
    assert harmed.verify().holds


@pytest.mark.parametrize("corrected", [False, True])
def test_exclusion_upwards_holds_at_a_look_after_a_correction(corrected):
    """The arms are counted anew after a correction; the next look comes before any decision."""
    conduct = {"burn_in": 9, "cohort": 1, "waits": False, "pending_cap": 9, "looks": [9]}
    rules = {"ordered": True, "upwards": True, "stop": ["arm-harm:confidence=.9"]}
    trial = Trial(design(policy="equal", **conduct, **rules), seed=1)
    given = [trial.ask(str(unit)) for unit in range(9)]
    for unit in given[:8]:
        trial.tell(unit.id, reward=1, risk=int(unit.arm == "low"))
    if corrected:
        trial.correct(given[0].id, reward=0, reason="misread")
    trial.tell(given[8].id, reward=1, risk=int(given[8].arm == "low"))
    assert trial.dropped == ("low", "mid", "high")
    assert trial.status == "stopped"


@pytest.mark.parametrize("policy", ["docb", "bwcr", "optimistic-in-set:reward=kl-upper,safety=kl-lower"])
def test_nobody_is_given_an_arm_above_one_that_is_not_permissible(policy):
    """Neither by the policy's own rule nor as the first play of an arm."""
    above = 0
    for seed in range(6):
        trial, t = Trial(design(policy=policy, cohort=1, stop=[], ordered=True, upwards=True), seed=seed), 0
        while trial.status == "open":
            unit, t = trial.ask(), t + 1
            saw = trial.log[-1].content["arms"]
            permissible = [saw[arm]["permissible"] for arm in ARMS]
            assert all(permissible[: ARMS.index(unit.arm)])
            # An arm that is excluded excludes those above it in turn.
            assert permissible == sorted(permissible, reverse=True)
            above += not all(permissible)
            trial.tell(unit.id, reward=1, risk=int((seed + t) % 3 == 0 or unit.arm != "low"))
        assert trial.verify().holds
    assert above > 0


@pytest.mark.parametrize("policy", ["docb", "safe-ids"])
def test_nobody_waits_for_an_arm_that_was_dropped(policy):
    trial = Trial(design(policy=policy, cohort=1, stop=[], units=40), seed=1)
    allocator = trial._engine.state.allocator
    for k in (1, 2):
        allocator.drop(k)
    run(trial, lambda arm: 1)
    # The gates of the dropped arms are open; there is nothing to wait for all the same.
    decision = allocator.consider(trial.round)
    assert (decision.k, decision.none, decision.permissible.tolist()) == (HOLD, True, [False, True, True])
    assert trial.stopped["rule"] == "no arm"


def test_rules_are_asked_at_looks_only():
    trial = Trial(design(looks=[8], stop=["too-many-harms:harms=1"]), seed=1)
    run(trial, lambda arm: int(arm == "low"))
    assert (trial.round - 1, trial.stopped["rule"]) == (8, "too-many-harms")


def test_a_stopped_trial_gives_no_more_arms_and_stays_so(harmed):
    with pytest.raises(StoppedError, match="by the rule too-many-harms; selected: no arm") as refusal:
        harmed.ask("late")
    assert refusal.value.plain == 'trial "trial" has stopped by its design: no more units are given arms'
    number = len(harmed.log)
    for request, said in (
        (lambda: harmed.amend(alpha=0.4, reason="no"), "a stopped trial cannot be amended"),
        (lambda: harmed.pause(reason="no"), "has stopped by its design, and stays so"),
        (lambda: harmed.resume(reason="no"), "has stopped by its design, and stays so"),
    ):
        with pytest.raises(ConflictError, match=said):
            request()
    assert len(harmed.log) == number
    # Who has an arm is told it again.
    assert harmed.ask("1").arm in ARMS
    assert harmed.explain().chosen is None


def test_when_every_arm_is_dropped_there_is_none_to_give():
    trial = run(Trial(design(stop=STOP[:1]), seed=1), lambda arm: 1)
    assert len(trial.dropped) == 3
    assert trial.stopped["why"] == "nothing is waited for, and every arm was dropped"
    assert trial.verify().holds


def test_most_units_end_the_trial_when_the_last_is_settled():
    trial = Trial(design(units=2, stop=()), seed=1)
    arm = trial.ask("a").arm
    trial.ask("b")
    with pytest.raises(ConflictError, match="all 2 units of its design; it stops when all is known"):
        trial.ask("c")
    trial.tell("a", reward=1, risk=0)
    assert trial.status == "open"
    trial.tell("b", reward=1, risk=0)
    assert (trial.stopped["rule"], trial.selected) == ("most units", arm)
    assert trial.verify().holds


def test_a_unit_that_is_voided_makes_room_for_another():
    trial = Trial(design(units=2, stop=()), seed=1)
    trial.ask("a"), trial.ask("b")
    trial.void("b", reason="a typing error")
    assert trial.ask("c").arm is not None
    for unit in "ac":
        trial.tell(unit, reward=1, risk=0)
    assert trial.stopped["rule"] == "most units"
    assert trial.verify().holds


def test_no_arm_ends_the_trial_when_nothing_is_pending():
    one = design(arms=["only"], alpha=0.05, units=200, cohort=1, stop=(), looks=100, pending_cap=3)
    trial = Trial(one, seed=1)
    held = False
    trial.ask("0"), trial.ask("1")
    trial.tell("0", reward=1, risk=1)
    number = 2
    while trial.status == "open" and not held:
        given = trial.ask(str(number))
        held = given.held
        if not held:
            trial.tell(given.id, reward=1, risk=1)
        number += 1
    # Unit 1 is pending: the trial holds, and goes on waiting.
    assert held
    assert trial.status == "open"
    trial.tell("1", reward=1, risk=1)
    assert (trial.status, trial.stopped["rule"]) == ("stopped", "no arm")
    assert "no arm is permissible" in trial.stopped["why"]
    assert trial.verify().holds


class Twice(NamedTuple):
    """Give the first arm twice, and be done."""


@decide.register(Twice)
def decide_twice(policy, state, t):
    for k in range(state.size):
        sb.write(state, k, sb.PERMISSIBLE, 1.0)
    return (0 if state.course.given < 2 else DONE), False


def test_a_policy_that_is_done_ends_the_trial():
    told = Trial(design(policy=Twice(), cohort=1, stop=()), seed=1)
    run(told)
    assert (told.round - 1, told.stopped["rule"], told.log[-2].kind) == (2, "policy", "told")
    asked = Trial(design(policy=Twice(), cohort=1, waits=False, pending_cap=9, stop=()), seed=1)
    asked.ask("a"), asked.ask("b")
    assert asked.status == "open"
    # Nothing is known yet: it is said to who asks.
    assert asked.ask("c").arm is None
    assert (asked.stopped["rule"], asked.log[-2].kind) == ("policy", "held")
    assert asked.log[-2].content["done"]
    assert told.verify().holds
    assert asked.verify().holds


class Die(NamedTuple):
    """Every arm with the same chance, which it tells."""

    exact_chances = True


@decide.register(Die)
def decide_by_die(policy, state, t):
    for k in range(state.size):
        sb.write(state, k, sb.PERMISSIBLE, 1.0)
        sb.write(state, k, CHANCE, 1.0 / state.size)
    return int(uniform(state.stream) * state.size), False


def test_the_chance_of_a_cohort_that_goes_on_is_one_whatever_the_policy_tells():
    trial = Trial(design(policy=Die(), stop=()), seed=1)
    given = [trial.ask(unit).arm for unit in "ab"]
    chances = [event.content["arms"][arm]["propensity"] for event, arm in zip(trial.log[1:], given, strict=True)]
    assert chances == [pytest.approx(1 / 3, abs=1e-12), 1.0]
    assert trial.verify().holds


def test_an_outcome_after_the_stop_may_change_the_selection_and_that_is_written():
    trial = Trial(design(units=4, cohort=1, waits=False, pending_cap=4, stop=["too-many-harms:harms=1"]), seed=1)
    given = {unit: trial.ask(unit).arm for unit in "abc"}
    trial.tell("a", reward=1, risk=0)
    trial.tell("b", reward=0.5, risk=1)
    assert (trial.stopped["rule"], trial.selected) == ("too-many-harms", given["a"])
    number = len(trial.log)
    trial.tell("c", reward=0.2, risk=0)
    assert len(trial.log) == number + 1
    trial.correct("a", reward=0, reason="a typing error")
    last = trial.log[-1]
    assert (last.kind, last.actor) == ("selected", "safebandit")
    assert {name: last.content[name] for name in ("before", "after", "because_of")} == {
        "before": given["a"], "after": given["c"], "because_of": len(trial.log) - 1,
    }  # fmt: skip
    assert trial.selected == given["c"]
    assert trial.stopped["selected_at"] == len(trial.log)
    assert describe(last, trial.risks).startswith(f"{given['c']} in the place of {given['a']}, because of event")
    assert trial.verify().holds
    again = Trial.from_json(trial.to_json())
    assert (again.selected, again.stopped, again.dropped) == (trial.selected, trial.stopped, trial.dropped)


def test_a_correction_is_looked_at_anew():
    trial = Trial(design(stop=["too-many-harms:harms=2"]), seed=1)
    for unit in "ab":
        trial.ask(unit)
        trial.tell(unit, reward=1, risk=0)
    trial.correct("a", risk=1, reason="seen later")
    assert trial.status == "open"
    trial.correct("b", risk=1, reason="seen later")
    assert trial.stopped["rule"] == "too-many-harms"
    assert trial.verify().holds


def test_a_design_is_amended_like_anything_else():
    trial = Trial(design(stop=()), seed=1)
    for unit in "ab":
        trial.ask(unit)
        trial.tell(unit, reward=1, risk=1)
    trial.amend(design={"units": 20}, reason="the board")
    trial.amend(withdraw=["high"], reason="the board")
    assert (trial.design.units, trial.settings.active) == (20, ("low", "mid"))
    assert {trial.ask(unit).arm for unit in "cd"} <= {"low", "mid"}
    for changes, said in (
        ({"design": {"unit": 20}}, 'a design has no key "unit"'),
        ({"design": {"units": 20}}, "nothing would change"),
        ({"design": {"alpha": 0.2}, "alpha": 0.1}, "alpha is changed twice"),
        ({"design": {"arms": ["mid", "low", "high"]}}, "arms of a trial keep their places"),
        ({"design": {"units": 1}}, "units"),
        ({"design": 7}, "a table of the fields that change"),
    ):
        with pytest.raises(TrialError, match=said):
            trial.amend(reason="the board", **changes)
    for unit in "cd":
        trial.tell(unit, reward=1, risk=0)
    # What is amended is looked at at once.
    trial.amend(design=design(units=20, stop=["too-many-harms:harms=2"]), reason="the board")
    assert [event.kind for event in trial.log[-2:]] == ["amended", "stopped"]
    assert trial.log[-2].content["changes"]["design"].keys() == {"stop"}
    assert trial.verify().holds
    with pytest.raises(TrialError, match="this trial has no design to amend"):
        Trial(ARMS, 0.3, "docb", seed=1).amend(design={"units": 5}, reason="no")


def test_alpha_and_policy_of_a_design_are_amended_by_their_names():
    trial = Trial(design(), seed=1)
    trial.amend(alpha=0.2, policy="docb:level=theory", add=["very high"], reason="the board")
    assert (trial.design.alpha, trial.limits, trial.arms) == (0.2, (0.2,), (*ARMS, "very high"))
    assert trial.design.policy == trial.settings.policy
    trial.ask("a")
    assert trial.verify().holds


def test_units_without_reward_wait_for_their_risks_alone():
    trial = Trial(design(rewarded=False), seed=1)
    trial.ask("a")
    assert list(trial.pending) == ["a"]
    with pytest.raises(TrialError, match="have no reward, got 1 for unit 'a'; tell its risk alone"):
        trial.tell("a", reward=1, risk=0)
    trial.tell("a", risk=0)
    assert trial.pending == {}
    trial.ask("b")
    trial.tell("b", risk=0)
    trial.correct("b", risk=1, reason="seen later")
    with pytest.raises(TrialError, match="have no reward"):
        trial.correct("b", reward=1, reason="seen later")
    assert trial.progress()["settled"] == 2
    assert trial.verify().holds
    assert Trial.from_json(trial.to_json()).pending == {}


def test_progress_says_how_near_every_rule_is():
    trial = Trial(design(), seed=1)
    assert trial.progress()["cohort"] is None
    arm = trial.ask("a").arm
    trial.tell("a", reward=1, risk=1)
    found = trial.progress()
    assert found["cohort"] == {"arm": arm, "given": 1, "of": 2}
    assert [found[name] for name in ("units", "most_units", "settled", "next_look")] == [1, 12, 1, 2]
    harms = found["rules"][1]
    assert [harms[name] for name in ("name", "word", "measure", "level", "near")] == [
        "too-many-harms", "stops the trial", 1.0, 5.0, 0.2,
    ]  # fmt: skip
    assert "5 harms" in harms["says"]
    assert Trial(ARMS, 0.3, "docb", seed=1).progress() is None


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Trial(design(), policy="docb"), "a design says policy; leave policy out"),
        (lambda: Trial(design(), alpha=0.2), "a design says alpha; leave alpha out"),
        (lambda: Trial(design=design(), arms=ARMS), "the design has its arms, low, mid, high; leave arms out"),
        (lambda: Trial(design=7, arms=ARMS), "a design is a Design, its text such as"),
        (lambda: Trial(design={"arms": ARMS, "alpha": 0.3}), "a design needs units"),
        (lambda: Trial(alpha=0.3), "a trial needs arms and alpha, or a design that says them"),
    ],
)  # fmt: skip
def test_what_contradicts_a_design_is_refused(make, said):
    with pytest.raises(TrialError, match=said):
        make()


def test_a_design_by_text_and_by_document():
    text = Trial(design="equal:units=4,alpha=.3", arms=ARMS, seed=1)
    document = Trial(design=text.design.to_dict(), seed=1)
    assert text.settings.to_dict() == document.settings.to_dict()
    assert document.log[0].content["settings"]["design"] == json.loads(canonical(text.design.to_dict()))


def test_settings_without_a_design_are_written_as_before():
    assert "design" not in Trial(ARMS, 0.3, "docb", seed=1).settings.to_dict()


@pytest.mark.parametrize("delay", [0.0, 5.0])
def test_a_simulated_trial_told_live_stops_and_selects_alike(delay):
    """Trial 0 of a seed, event by event: the same arms, drops, cause and selection, at the stop and at the end."""
    made = design(units=10, cohort=1, waits=False, pending_cap=4, looks=2,
                  stop=["arm-harm:confidence=.85,least=2", "too-many-harms:harms=4", "enough:units=5"])  # fmt: skip
    instance = sb.Instance.bernoulli([0.3, 0.6, 0.7], [0.2, 0.4, 0.6], 0.3)
    scenario = Scenario("a guess", instance, risk_delay=delay, reward_delay=2 * delay)
    causes = set()
    for seed in range(12):
        plan = plan_of(made, scenario, seed)
        runs, (history,) = play(plan, range(1)), histories(plan, range(1))
        live = Trial(made, seed=seed)
        at_stop = None
        for event in history:
            if event.kind == "given":
                assert live.ask(str(event.unit)).arm == ARMS[event.arm]
            else:
                live.tell(str(event.unit), reward=event.outcome[0], risk=event.outcome[1])
            if live.stopped and at_stop is None:
                at_stop = live.selected
        causes.add(live.stopped["rule"])
        assert live.stopped["rule"] == made.causes[runs.cause[0]]
        assert [arm in live.dropped for arm in ARMS] == runs.dropped[0].astype(bool).tolist()
        chosen = [None if k < 0 else ARMS[k] for k in (runs.selected_at_stop[0], runs.selected[0])]
        assert [at_stop, live.selected] == chosen
        assert live.verify().holds
    assert causes - set(CAUSES)
