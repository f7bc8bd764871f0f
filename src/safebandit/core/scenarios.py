"""The compiled loop of a scenario: units arrive, are given arms, and what happens to them is told late, or never.

Time is counted in arrivals. With a delay of d, d more units arrive before a unit's outcome is told; 0 is before the
next. A unit that gets no arm waits, in order of arrival, until something is told. Decisions are made by the policy's
definition, as in a live trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import REWARD, Counts, Memory, Numbers, Records, State, at, fits, quantity
from safebandit.core.dispatch import compiled, compiled_here, piece
from safebandit.core.kernels import is_ours, learn_news, state_of
from safebandit.core.laws import draw_reward, draw_risk
from safebandit.core.policies.interface import begin, decide
from safebandit.core.streams import Stream, Streams, uniform

# What a risk that is never heard of counts as.
HARM = 1.0

# One unit: its arm and the number of its play, and which parts of its outcome will be heard of.
UNIT = np.dtype([("arm", "i8"), ("play", "i8"), ("reward_heard", "i8"), ("risk_heard", "i8")])
# Which arrival it is, how many units have arrived and how many were given an arm, how much is due, and whether the last
# unit that asked was held and nothing has been heard since.
CLOCK = np.dtype([("now", "i8"), ("arrived", "i8"), ("given", "i8"), ("due", "i8"), ("held", "i8")])
# What is due of a unit.
TELL_REWARD, TELL_RISKS, TELL_BOTH, GIVE_UP = 0, 1, 2, 3
KINDS = 4


class Scenario(NamedTuple):
    """How units arrive and what is heard of them: see `rehearse`. `lost_is_harm` is whether a risk that is never heard
    of counts as harm; `pending_cap` how many units of an arm may wait for their risk before any is known.
    """

    units: int
    reward_delay: int
    risk_delay: int
    missing: float
    missing_risk: float
    give_up_after: int
    pending_cap: int
    lost_is_harm: bool


class Runs(NamedTuple):
    """What runs (rows) came to. Harms have a layer per risk; a harm counts whether it is heard of or not.

    `waited` are the units that did not get an arm when they arrived, `waits` the arrivals that they waited in all,
    `without_arm` those that never got one. `held_after` is how many units had an arm when first none was permissible
    and the trial held; -1 if it never did.
    """

    plays: Counts
    harms: Numbers
    rewards: Numbers
    waited: Counts
    waits: Counts
    without_arm: Counts
    given_up: Counts
    held_after: Counts


def empty_runs(runs: int, arms: int, risks: int) -> Runs:
    """Room for so many runs."""
    counts = [np.zeros(runs, np.int64) for _ in range(5)]
    return Runs(np.zeros((runs, arms), np.int64), np.zeros((runs, risks, arms)), np.zeros(runs), *counts)


class Book(NamedTuple):
    """What is written down during a run.

    Every unit; its outcome (first layer) and what is known of it (second); what is new; of each thing that is due,
    which one is due behind it; of each arrival that is near, the first and the last of them; the clock.
    """

    units: Records
    outcomes: Numbers
    news: Numbers
    behind: Counts
    near: Counts
    clock: Records


def new_book(scenario: Scenario, risks: int) -> Book:
    """An empty one."""
    longest = max(scenario.reward_delay, scenario.risk_delay, scenario.give_up_after)
    return Book(
        np.zeros(scenario.units, UNIT),
        np.zeros((scenario.units, 2, 1 + risks)),
        np.zeros(1 + risks),
        np.zeros(KINDS * scenario.units, np.int64),
        np.zeros((longest + 2, 2), np.int64),
        np.zeros(1, CLOCK),
    )


def _run_scenarios(
    policy: Any,
    law: Any,
    scenario: Scenario,
    memory: Memory,
    outcomes: Streams,
    losses: Streams,
    book: Book,
    out: Runs,
    stop: Counts,
) -> int:
    """Run a scenario in every row; how many were finished before `stop` was set."""
    for i in range(memory.arms.shape[0]):
        if stop[0] != 0:
            return i
        state, clock = state_of(memory, i, False), book.clock[0]
        begin(policy, state)
        clock.now = clock.arrived = clock.given = clock.due = clock.held = 0
        book.near[:] = -1
        out.held_after[i] = -1
        while clock.arrived < scenario.units or clock.due > 0:
            clock.now += 1
            _hear(policy, state, scenario, book, out, i)
            if clock.arrived < scenario.units:
                _arrive(scenario, book, losses[i])
            _serve(policy, law, state, scenario, book, outcomes, out, i)
            if clock.given < clock.arrived and clock.arrived == clock.now:
                out.waited[i] += 1
        out.without_arm[i] = clock.arrived - clock.given
    return memory.arms.shape[0]


@piece
def _arrive(scenario: Scenario, book: Book, losses: Stream) -> None:
    """The next unit arrives; what will be heard of it does not depend on its arm."""
    unit = book.units[book.clock[0].arrived]
    heard = uniform(losses) >= scenario.missing
    risk_heard = uniform(losses) >= scenario.missing_risk
    unit.reward_heard, unit.risk_heard = heard, heard and risk_heard
    book.clock[0].arrived += 1


@piece
def _serve(
    policy: Any, law: Any, state: State, scenario: Scenario, book: Book, outcomes: Streams, out: Runs, i: int
) -> None:
    """Give arms to those who wait, in order, until one is held; while nothing was told nobody asks again."""
    clock = book.clock[0]
    while clock.given < clock.arrived and not clock.held:
        k, none = decide(policy, state, clock.given + 1)
        if k < 0:
            clock.held = True
            if none and out.held_after[i] < 0:
                out.held_after[i] = clock.given
            return
        # A unit arrives with the arrival of its number, from 1.
        out.waits[i] += clock.now - (clock.given + 1)
        out.plays[i, k] += 1
        values = _give(law, state, scenario, book, k, outcomes[i, k])
        out.rewards[i] += values[0]
        for j in range(state.risks):
            out.harms[i, j, k] += values[1 + j]
        _expect(scenario, book, clock.given)
        clock.given += 1


@piece
def _give(law: Any, state: State, scenario: Scenario, book: Book, k: int, stream: Stream) -> Numbers:
    """Give the next unit arm k, and draw its outcome."""
    unit, arm = book.units[book.clock[0].given], at(state.arms, k)
    values, known = book.outcomes[book.clock[0].given, 0], book.outcomes[book.clock[0].given, 1]
    unit.arm, unit.play = k, arm.asked
    arm.asked += 1
    known[:] = math.nan
    values[0], place = draw_reward(law, k, stream)
    for j in range(1 + state.risks):
        quantity(state, k, j).pending += 1
        if j > 0:
            values[j] = draw_risk(law, k, j - 1, place, stream)
    _set_available(state, k, scenario.pending_cap)
    return values


@piece
def _expect(scenario: Scenario, book: Book, number: int) -> None:
    """Put down what will be heard of a unit, and when."""
    unit = book.units[number]
    both = unit.reward_heard and unit.risk_heard and scenario.reward_delay == scenario.risk_delay
    for kind in range(KINDS):
        happens, delay = not (unit.reward_heard and unit.risk_heard), scenario.give_up_after
        if kind == TELL_REWARD:
            happens, delay = unit.reward_heard and not both, scenario.reward_delay
        elif kind == TELL_RISKS:
            happens, delay = unit.risk_heard and not both, scenario.risk_delay
        elif kind == TELL_BOTH:
            happens, delay = both, scenario.reward_delay
        if happens:
            event = KINDS * number + kind
            near = book.near[(book.clock[0].now + 1 + delay) % book.near.shape[0]]
            book.behind[event] = -1
            if near[0] < 0:
                near[0] = event
            else:
                book.behind[near[1]] = event
            near[1] = event
            book.clock[0].due += 1


@piece
def _hear(policy: Any, state: State, scenario: Scenario, book: Book, out: Runs, i: int) -> None:
    """Count what is due now; what is never heard of a unit is then given up."""
    clock, near = book.clock[0], book.near[book.clock[0].now % book.near.shape[0]]
    event = near[0]
    near[:] = -1
    while event >= 0:
        number, kind = event // KINDS, event % KINDS
        unit, values, known = book.units[number], book.outcomes[number, 0], book.outcomes[number, 1]
        for j in range(1 + state.risks):
            told = kind in (TELL_BOTH, TELL_REWARD if j == REWARD else TELL_RISKS)
            lost = kind == GIVE_UP and math.isnan(known[j])
            if told or lost:
                quantity(state, unit.arm, j).pending -= 1
            harm = lost and j != REWARD and scenario.lost_is_harm
            book.news[j] = values[j] if told else HARM if harm else math.nan
        learn_news(policy, state, unit.arm, unit.play, book.news, known)
        for j in range(1 + state.risks):
            known[j] = known[j] if math.isnan(book.news[j]) else book.news[j]
        _set_available(state, unit.arm, scenario.pending_cap)
        out.given_up[i] += kind == GIVE_UP
        clock.due -= 1
        clock.held = False
        event = book.behind[event]


@piece
def _set_available(state: State, k: int, cap: int) -> None:
    available = True
    for j in range(1, 1 + state.risks):
        risk = quantity(state, k, j)
        available = available and fits(risk.pending, risk.plays, cap)
    at(state.arms, k).available = available


_KEPT_ON_DISK: Callable[..., int] = compiled(_run_scenarios)
_IN_THIS_PROCESS: Callable[..., int] = compiled_here(_run_scenarios)


def scenario_kernel(policy: Any, law: Any) -> Callable[..., int]:
    """The compiled loop: kept on disk if all types are ours, else in this process only."""
    return _KEPT_ON_DISK if is_ours(policy) and is_ours(law) else _IN_THIS_PROCESS
