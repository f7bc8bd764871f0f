"""Simulated trials of designs, replayed through the live trial event by event: the same arms, stops and selections."""

import numpy as np
import pytest

import safebandit as sb
from safebandit.trials.histories import histories
from safebandit.trials.simulated import plan_of, play
from safebandit.trials.strata import stratum_names

MU, NU = (0.2, 0.5, 0.6), (0.1, 0.35, 0.6)
AT_ONCE = {}
LATE = {
    "accrual": 0.5, "arrivals": "poisson", "reward_delay": "exponential:3", "risk_delay": "uniform:1..9",
    "missing": 0.05, "missing_risk": 0.1, "give_up_after": 30,
}  # fmt: skip
RULES = ["harm:confidence=0.8", "arm-harm:confidence=0.9", "too-many-harms:harms=9", "enough:units=12"]
DESIGNS = {
    "safe": sb.Design(3, 0.3, "docb", 24, ordered=True, cohort=3, steps=1, stop=RULES),
    "one by one": sb.Design(3, 0.3, "docb", 24, stop=RULES, lost="ignore"),
    "boin": sb.design_from_text("boin:target=.3,units=24,enough=9", arms=3),
}
# It draws risks; a replay of it is slow, so few trials are.
DRAWING = sb.design_from_text("dose-ts:target=.3,units=12", arms=3)


def replayed(design, history, seed):
    """The live trial of the same seed, asked and told the same in the same order."""
    trial = sb.Trial(design, seed=seed)
    for event in history:
        if event.kind == "given":
            assert trial.ask(event.unit, stratum=event.stratum or None).arm == design.arms[event.arm]
        elif event.kind == "given up":
            trial.give_up(event.unit, reason="nothing was heard of it")
        else:
            reward, risk = event.outcome
            trial.tell(event.unit, reward=reward, risk=risk)
    return trial


@pytest.mark.parametrize("timing", [AT_ONCE, LATE], ids=["at once", "late"])
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_a_live_trial_told_the_same_does_the_same(design, timing):
    scenario = sb.Scenario("doses", nu=NU, mu=MU if design.rewarded else None, **timing)
    causes = set()
    for seed in range(25):
        plan = plan_of(design, scenario, seed)
        (history,), runs = histories(plan, range(1)), play(plan, range(1))
        trial = replayed(design, history, seed)
        cause = design.causes[runs.cause[0]]
        causes.add(cause)
        assert trial.status == "stopped"
        assert trial.stopped["rule"] == cause
        selected = int(runs.selected[0])
        assert trial.selected == (None if selected < 0 else design.arms[selected])
        assert trial.round - 1 == runs.size[0]
        with pytest.raises(sb.ConflictError, match="stopped"):
            trial.ask("one more")
        assert trial.verify().holds
    assert len(causes) >= 2


def test_what_would_be_heard_after_a_unit_is_given_up_is_not_told():
    """A live trial would refuse it: what is known of a lost unit is settled."""
    late = {"risk_delay": "uniform:1..9", "reward_delay": "exponential:60", "missing_risk": 0.3, "give_up_after": 30}
    design, told, lost = DESIGNS["one by one"], 0, 0
    for seed in range(12):
        plan = plan_of(design, sb.Scenario("doses", nu=NU, mu=MU, **late), seed)
        (history,), runs = histories(plan, range(1)), play(plan, range(1))
        trial = replayed(design, history, seed)
        assert trial.stopped["rule"] == design.causes[runs.cause[0]]
        gone = {event.unit for event in history if event.kind == "given up"}
        lost += len(gone)
        told += sum(event.kind == "told" and event.unit in gone for event in history)
    # Of 30 in a hundred no risk is heard, and of those the reward came before with a chance of 1 - exp(-30 / 60).
    assert 0 < told < lost


SITES = {"site": ["a", "b"], "age": ["<65", "65+"]}
FRAIL = {"age=65+, site=b": {"share": 0.4, "nu": [0.3, 0.6, 0.9]}, "site=a, age=65+": {"share": 0.1}}


@pytest.mark.parametrize("timing", [AT_ONCE, LATE], ids=["at once", "late"])
def test_strata_of_a_live_trial_told_the_same_do_the_same(timing):
    design = sb.Design(
        3, 0.3, "docb", 48, ordered=True, cohort=2, steps=1, strata=SITES, control="0", pending_cap=3,
        stop=["arm-harm:confidence=0.8", "too-many-harms:harms=9,then=route", "harm:confidence=0.9", "enough:units=30"],
    )  # fmt: skip
    scenario = design.fit(sb.Scenario("doses", nu=NU, mu=MU, strata=FRAIL, **timing))
    causes, dropped, routed = set(), 0, 0
    for seed in range(12):
        plan = plan_of(design, scenario, seed)
        (history,), runs = histories(plan, range(1)), play(plan, range(1))
        trial = replayed(design, history, seed)
        cause = design.causes[runs.cause[0]]
        causes.add(cause)
        # A stratum that gives no arm any more does not end a live trial: units of others may still come.
        assert trial.status == ("open" if cause == "no arm" else "stopped")
        assert trial.status == "open" or trial.stopped["rule"] == cause
        assert trial.round - 1 == runs.size[0]
        assert {event.stratum for event in history} <= set(stratum_names(design.strata))
        kinds = [event.kind for event in trial.log]
        assert kinds.count("dropped") == runs.dropped[0].sum()
        assert kinds.count("routed") == runs.routed[0]
        dropped, routed = dropped + runs.dropped[0].sum(), routed + runs.routed[0]
        assert trial.verify().holds
    assert len(causes) >= 2
    assert dropped
    assert routed


def test_strata_draw_by_random_numbers_of_their_own_as_in_a_live_trial():
    design = sb.Design(3, 0.3, "tsbu", 30, strata={"site": ["a", "b"]}, pending_cap=30)
    for seed in range(3):
        plan = plan_of(design, design.fit(sb.Scenario("doses", nu=NU, mu=MU)), seed)
        (history,) = histories(plan, range(1))
        assert replayed(design, history, seed).verify().holds


def test_a_policy_that_draws_doses_gives_what_it_explains_and_goes_on_alike_when_read_back():
    arms = []
    for looks in (True, False):
        trial, given = sb.Trial(DRAWING, seed=4), []
        for i in range(12):
            chosen = trial.explain().chosen if looks else None
            unit = trial.ask()
            assert chosen in (None, unit.arm)
            trial.tell(unit.id, risk=int(i % 4 == 0 and unit.arm != "0"))
            given.append(unit.arm)
            if looks and i == 5:
                trial = sb.Trial.from_json(trial.to_json())
        arms.append(given)
    assert arms[0] == arms[1]
    assert len(set(arms[0])) > 1
    for seed in range(2):
        plan = plan_of(DRAWING, sb.Scenario("doses", nu=NU, **LATE), seed)
        (history,), runs = histories(plan, range(1)), play(plan, range(1))
        trial = replayed(DRAWING, history, seed)
        assert trial.selected == DRAWING.arms[runs.selected[0]]
        assert trial.verify().holds


def test_a_sample_of_trials_is_not_all_alike():
    """What is replayed above has stops by every rule of the safe design, over more seeds."""
    design = DESIGNS["one by one"]
    runs = play(plan_of(design, sb.Scenario("doses", nu=NU, mu=MU), 1), range(500))
    assert len(np.unique(runs.cause)) >= 4


def test_in_another_process_the_same_bits():
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    plan = plan_of(DESIGNS["boin"], sb.Scenario("doses", nu=NU), 3)
    here = play(plan, range(60))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        there = play(plan, range(60), executor=executor)
    for name, mine, theirs in zip(here._fields, here, there, strict=True):
        if name != "seconds":
            assert np.array_equal(mine, theirs), name
