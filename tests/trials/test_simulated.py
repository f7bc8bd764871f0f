"""Simulated trials, held to the live trial's own arms, step by step, and to a plain transcription of their clock."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

import safebandit as sb
from safebandit.core.arms import at, quantity
from safebandit.core.conduct import Conduct
from safebandit.core.delays import EXPONENTIAL, FIXED, UNIFORM
from safebandit.core.policies import Setup, policy_from_text, prepare
from safebandit.core.selection.interface import select
from safebandit.core.stopping.interface import measure
from safebandit.core.streams import streams_of, trial_streams
from safebandit.core.timing import Timing
from safebandit.trials import simulated
from safebandit.trials.allocator import Allocator
from safebandit.trials.histories import histories

MU, NU, ALPHA = [0.2, 0.5, 0.6, 0.7], [0.05, 0.2, 0.35, 0.6], 0.3
INSTANCE = sb.Instance.bernoulli(MU, NU, ALPHA)
ARMS = INSTANCE.arms
AT_ONCE = Timing(1.0, False, FIXED, 0.0, 0.0, FIXED, 0.0, 0.0, 0.0, 0.0, 100.0)
LATE = Timing(0.5, True, EXPONENTIAL, 3.0, 0.0, UNIFORM, 1.0, 9.0, 0.1, 0.1, 30.0)


class MostGiven(NamedTuple):
    """Select the arm that was given most."""


@select.register(MostGiven)
def most_given(rule, state):
    most = 0
    for k in range(state.size):
        most = k if at(state.arms, k).asked > at(state.arms, most).asked else most
    return most


class HarmsOfAnArm(NamedTuple):
    """So many harms on one arm."""

    level: float = 4.0
    drops: bool = False


@measure.register(HarmsOfAnArm)
def harms_of_an_arm(rule, state, found):
    for k in range(state.size):
        found[k] = quantity(state, k, 1).ones


def conduct(units=30, cohort=1, *, looks=None, **others):
    values = {"waits": cohort > 1, "first": -1, "burn_in": 0, "steps": 0, "known_below": 0, "upwards": False}
    values |= {"looks": np.array(range(cohort, units + 1, cohort) if looks is None else looks, np.int64)}
    return Conduct(units, cohort, **{**values, "pending_cap": 3, "rewarded": True, **others})


def plan(rules=(), timing=AT_ONCE, seed=1, *, policy="docb", **others):
    ready = prepare(policy_from_text(policy), Setup(ARMS, (ALPHA,), "hold"))
    return simulated.Plan(
        ready, conduct(**others), tuple(rules), ("stop",) * len(rules), MostGiven(), INSTANCE.law, timing, (ALPHA,),
        seed, tuple(range(len(ARMS))), len(ARMS), np.zeros(1, np.int64),
    )  # fmt: skip


CONDUCTS = {
    "plain": {},
    "cohorts": {"cohort": 3},
    "steps": {"cohort": 2, "first": 0, "steps": 1, "known_below": 2, "upwards": True},
    "burn-in": {"burn_in": 8},
    "no reward": {"rewarded": False},
    "lost is ignored": {"lost_is_harm": False},
}


@pytest.mark.parametrize("timing", [AT_ONCE, LATE], ids=["at once", "late"])
@pytest.mark.parametrize("changes", CONDUCTS.values(), ids=CONDUCTS)
def test_a_live_trial_given_the_same_outcomes_gives_the_same_arms(changes, timing):
    for seed in range(6):
        made = plan(timing=timing, seed=seed, **changes)
        (history,) = histories(made, range(1))
        live = Allocator(
            ARMS, (ALPHA,), policy_from_text("docb"), risks=("risk",), seed=seed, conduct=made.conduct
        )  # fmt: skip
        known, plays = {}, {}
        for event in history:
            if event.kind == "given":
                assert live.decide(event.unit).k == event.arm
                plays[event.unit] = live.give(event.arm, event.unit)
                known[event.unit] = (None, None)
                continue
            lost = event.kind == "given up"
            news = (None, 1.0) if lost and made.conduct.lost_is_harm else event.outcome
            live.learn(event.arm, plays[event.unit], event.unit, known[event.unit], news, lost=lost)
            known[event.unit] = tuple(
                old if new is None else new for old, new in zip(known[event.unit], news, strict=True)
            )  # fmt: skip
        runs = simulated.play(made, range(1))
        assert live.course["given"] == runs.size[0] == sum(event.kind == "given" for event in history)
        assert live.course["settled"] == runs.size[0]
        assert live.course["looks"] == runs.looks[0]
        assert live.memory.quantities["total"].tolist() == [
            [[reward, risk] for reward, risk in zip(runs.reward_totals[0], runs.risk_totals[0, 0], strict=True)]
        ]


def test_what_is_due_is_heard_in_order_and_before_anyone_is_given_an_arm():
    """Units arrive every day, and are heard of two days later: at the very moment at which another arrives."""
    met = 0
    for history in histories(plan(timing=AT_ONCE._replace(reward_a=2.0, risk_a=2.0)), range(20)):
        order = [(event.day, event.kind == "given") for event in history]
        assert order == sorted(order)
        assert [event.event for event in history] == list(range(len(history)))
        met += len(order) - len({day for day, _ in order})
    assert met > 100


def test_cohorts_get_one_arm_and_wait_for_each_other():
    for history in histories(plan(timing=LATE, cohort=3), range(20)):
        given = [event for event in history if event.kind == "given"]
        for first in range(0, len(given), 3):
            assert len({event.arm for event in given[first : first + 3]}) == 1
            assert all(_settled(history, unit, given[first].event) for unit in range(1, first + 1))


def _settled(history, unit, until):
    heard = [each for each in history if each.unit == unit and each.event <= until and each.kind != "given"]
    told = [value for each in heard for value in each.outcome if value is not None]
    return len(told) == 2 or any(each.kind == "given up" for each in heard)


def test_a_rule_that_is_reached_stops_the_trial_at_the_look():
    made = plan(rules=[HarmsOfAnArm(4.0)], cohort=3)
    runs = simulated.play(made, range(400))
    assert set(runs.cause.tolist()) == {0, len(simulated.CAUSES)}
    most = runs.risk_totals[:, 0].max(axis=1)
    # A cohort has three units: no more harms can be seen on an arm than one look brings.
    assert (most[runs.cause == 0] <= 6).all()
    assert (most[runs.cause > 0] >= 4).all()
    assert (most <= 6).all()
    assert (runs.size[runs.cause == 0] == 30).all()
    assert (runs.selected == np.argmax(runs.plays, axis=1)).all()


def test_a_rule_may_drop_an_arm_for_good():
    made = plan(rules=[HarmsOfAnArm(2.0, True)], looks=range(1, 31))
    runs = simulated.play(made, range(400))
    assert (runs.dropped == (runs.risk_totals[:, 0] >= 2)).all()
    assert (runs.risk_totals[:, 0] <= 2).all()
    assert set(runs.cause.tolist()) == {0, 1}
    assert (runs.dropped[runs.cause == 1].all(axis=1)).all()


@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_bits_whatever_the_chunks(workers, monkeypatch):
    made = plan(rules=[HarmsOfAnArm(4.0)], timing=LATE)
    whole = simulated.play_chunk(made, range(60))
    monkeypatch.setattr(simulated, "MOST_TRIALS", 7)
    parts = simulated.play(made, range(60), workers=workers)
    for name, mine, theirs in zip(simulated.Runs._fields, whole, parts, strict=True):
        if name != "seconds":
            assert np.array_equal(mine, theirs), name


def test_units_on_an_arm_have_the_same_outcomes_under_every_conduct():
    """The n-th unit of arm k in trial i has the same reward and risk."""
    one, other = (histories(plan(**changes), range(10)) for changes in ({}, {"cohort": 3}))
    for mine, theirs in zip(one, other, strict=True):
        for k in range(len(ARMS)):
            first, second = (
                [event.outcome for event in each if event.arm == k and event.kind == "told"] for each in (mine, theirs)
            )  # fmt: skip
            shared = min(len(first), len(second))
            assert first[:shared] == second[:shared]


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**63 - 1])
def test_streams_of_many_trials_are_those_of_each(seed):
    for trials in (range(3), range(2**32 - 2, 2**32 + 2)):
        states, keys = streams_of(seed, trials, 4)
        for i, trial in enumerate(trials):
            one = trial_streams(seed, trial, 4)
            assert states[i].tobytes() == one.policy.tobytes() + one.arms.tobytes()
            assert keys[i].tolist() == one.keys.tolist()


@pytest.mark.parametrize(("cohort", "climb"), [(3, 0.5), (1, 0.5), (1, 0.35)])
def test_nobody_climbs_above_an_arm_that_is_not_safe_enough(cohort, climb):
    """By SciPy: at each decision every lower arm of which something is known is safe with the chance that is asked."""
    climbed = 0
    for history in histories(plan(cohort=cohort, first=0, steps=1, known_below=cohort, climb=climb), range(200)):
        harms, known = np.zeros(len(ARMS)), np.zeros(len(ARMS))
        for event in history:
            if event.kind == "given" and event.unit % cohort == 1 % cohort:
                chances = stats.beta.cdf(ALPHA, 1 + harms, 1 + known - harms)
                assert all(chances[k] >= climb for k in range(event.arm) if known[k] > 0)
                climbed += event.arm > 0
            elif event.kind == "told":
                known[event.arm] += 1
                harms[event.arm] += event.outcome[1]
    assert climbed > 100
