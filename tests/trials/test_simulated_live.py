"""Simulated trials of designs, replayed through the live trial event by event: the same arms, stops and selections."""

import numpy as np
import pytest

import safebandit as sb
from safebandit.trials.histories import histories
from safebandit.trials.simulated import plan_of, play

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
            assert trial.ask(event.unit).arm == design.arms[event.arm]
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
