"""The compiled loop of simulated trials: units arrive, are given arms, and what happens to them is told late, or never.

Many trials are played side by side, each as far as its next look at the data or its end; there the rules of stopping
are measured, and it goes on. So a policy and every rule are compiled once, not once for each pair of them. Decisions
are made by the policy's definition, as in a live trial, by the very steps of `conduct`.

A unit that gets no arm waits, in order of arrival, until something is heard. What is due at the same moment is heard
before anyone is given an arm.

Where a design has strata, each decides by a memory of its own, and the trial's own memory counts all units together: by
that rules are measured. A stratum that gives no arm does not hold up the others. Where only the truth has strata,
the trial itself decides for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from safebandit.core.arms import PERMISSIBLE, REWARD, Counts, Memory, Records, State, at, write, written
from safebandit.core.book import Book, Chance, Desk, desk_of, outcome_of
from safebandit.core.conduct import ConductRecord, give, next_arm
from safebandit.core.delays import draw_delay
from safebandit.core.dispatch import compiled, compiled_here, inlined, is_ours, piece
from safebandit.core.due import GIVE_UP, KINDS, TELL_BOTH, TELL_REWARD, TELL_RISKS, put_due, take_due
from safebandit.core.kernels import hear, state_of
from safebandit.core.laws import draw_reward, draw_risk
from safebandit.core.policies.interface import DONE, begin
from safebandit.core.streams import Stream, uniform
from safebandit.core.timing import Timing

# What a risk that is never heard of counts as.
HARM = 1.0

# Why a trial pauses or ends: it goes on, it is time to look, or it has ended because the last unit is settled, because
# no arm may be given any more, or because the policy's question is answered. Rules of stopping come behind these.
GO, LOOK, MOST_UNITS, NO_ARM_LEFT, POLICY_DONE = -2, -1, 0, 1, 2


def _advance(
    policy: Any,
    conduct: Records,
    law: Any,
    timing: Timing,
    memory: Memory,
    deciders: Memory,
    book: Book,
    chance: Chance,
    rows: Counts,
    answers: Counts,
    closing: bool,
) -> None:
    """Play some trials, by their rows, as far as their next look or their end, and write which it is.

    A trial that has not begun does. With `closing` no arm is given any more, and what is still due is heard. Behind one
    another, `deciders` has the memories by which the strata of each trial are decided; where they are decided together,
    it is the `memory` itself. Each turn of the inner loop is one thing that happens, in the order of its branches.
    """
    # How many memories decide in each trial.
    count = deciders.arms.shape[0] // memory.arms.shape[0]
    for n in range(rows.shape[0]):
        state, desk, answer = state_of(memory, rows[n], False), desk_of(book, chance, rows[n]), GO
        clock, rules, first = desk.clock, conduct[0], rows[n] * count
        if not clock.begun:
            begin(policy, state)
            _begin_apart(policy, deciders, first, count)
            clock.begun, clock.next = 1, _interval(timing, desk.arrivals)
        while answer == GO:
            number = -1 if closing else _next_unit(desk, count)
            if clock.due > 0 and desk.due.time <= clock.now:
                event = take_due(desk)
                who = first + _decider_of(desk, event // KINDS)
                look = _hear(policy, rules, state, state_of(deciders, who, False), desk, event, count)
                answer = LOOK if look and not closing else GO
            elif closing and clock.due == 0:
                answer = MOST_UNITS
            elif closing:
                clock.now = desk.due.time
            elif number >= 0:
                decider = state_of(deciders, first + _decider_of(desk, number), False)
                answer = _serve(policy, rules, law, timing, state, decider, desk, number, count == 1)
            elif clock.arrived < rules.units and (clock.due == 0 or clock.next < desk.due.time):
                _arrive(timing, desk)
            elif clock.due > 0:
                clock.now = desk.due.time
            else:
                answer = MOST_UNITS if state.course.given == rules.units else NO_ARM_LEFT
        answers[n] = answer


@piece
def _begin_apart(policy: Any, deciders: Memory, first: int, count: int) -> None:
    if count > 1:
        for s in range(count):
            begin(policy, state_of(deciders, first + s, False))


@inlined
def _decider_of(desk: Desk, number: int) -> int:
    """Who decides for a unit."""
    return at(desk.strata, at(desk.units, number).stratum).decider


@inlined
def _next_unit(desk: Desk, count: int) -> int:
    """The unit that has waited longest, of those for whom one of so many who decide may give an arm; -1 if there is
    none.
    """
    if desk.clock.held < count:
        for number in range(desk.clock.first, desk.clock.arrived):
            if at(desk.units, number).arm < 0 and not at(desk.strata, _decider_of(desk, number)).held:
                return number
    return -1


@inlined
def _interval(timing: Timing, stream: Stream) -> float:
    """The days until the next unit arrives."""
    return (-math.log1p(-uniform(stream)) if timing.poisson else 1.0) / timing.accrual


@inlined
def _arrive(timing: Timing, desk: Desk) -> None:
    """The next unit arrives; its stratum, and what will be heard of it, and when, do not depend on its arm."""
    clock = desk.clock
    unit = at(desk.units, clock.arrived)
    clock.now = clock.next
    clock.next += _interval(timing, desk.arrivals)
    clock.arrived += 1
    unit.arrived_at = clock.now
    if desk.strata_count > 1:
        place = uniform(desk.kinds)
        while unit.stratum < desk.strata_count - 1 and place >= at(desk.strata, unit.stratum).until:
            unit.stratum += 1
    heard = uniform(desk.losses) >= timing.missing
    risk_heard = uniform(desk.losses) >= timing.missing_risk
    unit.risk_heard = heard and risk_heard
    unit.reward_delay = draw_delay(timing.reward_kind, timing.reward_a, timing.reward_b, desk.delays)
    unit.risk_delay = draw_delay(timing.risk_kind, timing.risk_a, timing.risk_b, desk.delays)
    # Once a unit is given up, nothing more is told of it: a live trial would not take it.
    unit.reward_heard = heard and (unit.risk_heard or unit.reward_delay < timing.give_up_after)


@piece
def _serve(
    policy: Any,
    conduct: ConductRecord,
    law: Any,
    timing: Timing,
    state: State,
    decider: State,
    desk: Desk,
    number: int,
    alone: bool,
) -> int:
    """Give an arm to a unit; where none is given, who decides for it is not asked again until something is heard. One
    who is not `alone` does not end the trial.
    """
    clock, course, unit = desk.clock, state.course, at(desk.units, number)
    for k in range(state.size):
        write(decider, k, PERMISSIBLE, math.nan)
    k, none = next_arm(policy, conduct, decider, decider.course.given + 1)
    for arm in range(state.size):
        at(desk.sums, arm).excluded |= written(decider, arm, PERMISSIBLE) == 0.0
    if k == DONE and alone:
        return POLICY_DONE
    if k < 0:
        if none and clock.held_after < 0:
            clock.held_after = course.given
        at(desk.strata, _decider_of(desk, number)).held = 1
        clock.held += 1
        return NO_ARM_LEFT if alone and course.settled == course.given else GO
    values, stream = outcome_of(desk, state, number), at(desk.streams, k)
    unit.arm, unit.given_at, unit.given_event = k, clock.now, clock.events
    clock.events += 1
    while clock.first < clock.arrived and at(desk.units, clock.first).arm >= 0:
        clock.first += 1
    if clock.now > unit.arrived_at:
        clock.waited += 1
        clock.waits += clock.now - unit.arrived_at
    in_law = at(desk.strata, unit.stratum).first_arm + k
    reward, place = draw_reward(law, in_law, stream)
    values.value = reward
    at(desk.sums, k).reward += reward
    for j in range(state.risks):
        risk = draw_risk(law, in_law, j, place, stream)
        at(values, 1 + j).value = risk
        at(desk.harms, k * state.risks + j).value += risk
    _expect(conduct, timing, desk, unit, number)
    unit.round = course.given + 1
    unit.play = give(conduct, state, k, unit.round)
    if not alone:
        give(conduct, decider, k, unit.round)
    return GO


@inlined
def _expect(conduct: ConductRecord, timing: Timing, desk: Desk, unit: Any, number: int) -> None:
    """Put down what will be heard of a unit, and when."""
    now = desk.clock.now
    reward = unit.reward_heard and conduct.rewarded
    if reward and unit.risk_heard and unit.reward_delay == unit.risk_delay:
        put_due(desk, now + unit.risk_delay, KINDS * number + TELL_BOTH)
        return
    if reward:
        put_due(desk, now + unit.reward_delay, KINDS * number + TELL_REWARD)
    if unit.risk_heard:
        put_due(desk, now + unit.risk_delay, KINDS * number + TELL_RISKS)
    else:
        put_due(desk, now + timing.give_up_after, KINDS * number + GIVE_UP)


@piece
def _hear(
    policy: Any, conduct: ConductRecord, state: State, decider: State, desk: Desk, event: int, count: int
) -> bool:
    """Count what was due; what is never heard of a unit is then given up. Give back whether it is time to look. `count`
    is the number of deciders.
    """
    clock, number, kind = desk.clock, event // KINDS, event % KINDS
    unit, values = at(desk.units, number), outcome_of(desk, state, number)
    known, lost = at(values, 1 + state.risks), kind == GIVE_UP
    for j in range(1 + state.risks):
        told = kind in (TELL_BOTH, TELL_REWARD if j == REWARD else TELL_RISKS) and (j != REWARD or conduct.rewarded)
        harm = lost and j != REWARD and conduct.lost_is_harm
        at(desk.news, j).value = at(values, j).value if told else HARM if harm else math.nan
    if kind in (TELL_REWARD, TELL_BOTH):
        unit.reward_event = clock.events
    if kind != TELL_REWARD:
        unit.risk_event = clock.events
    clock.events += 1
    clock.held = 0
    for s in range(count):
        at(desk.strata, s).held = 0
    clock.given_up += lost
    look = hear(policy, conduct, state, unit.arm, unit.play, unit.round, desk.news, known, lost)
    if count > 1:
        hear(policy, conduct, decider, unit.arm, unit.play, unit.round, desk.news, known, lost)
    for j in range(1 + state.risks):
        new = at(desk.news, j).value
        if not math.isnan(new):
            at(known, j).value = new
    return look


_KEPT_ON_DISK: Callable[..., None] = compiled(_advance)
_IN_THIS_PROCESS: Callable[..., None] = compiled_here(_advance)


def advance_for(law: Any) -> Callable[..., None]:
    """The compiled loop for policies that are called: kept on disk if the law's type is ours, else in this process."""
    return _KEPT_ON_DISK if is_ours(law) else _IN_THIS_PROCESS
