"""The compiled loop of simulated trials: units arrive, are given arms, and what happens to them is told late, or never.

Many trials are played side by side, each as far as its next look at the data or its end; there the rules of stopping
are measured, and it goes on. So a policy and every rule are compiled once, not once for each pair of them. Decisions
are made by the policy's definition, as in a live trial, by the very steps of `conduct`.

A unit that gets no arm waits, in order of arrival, until something is heard. What is due at the same moment is heard
before anyone is given an arm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import (
    PERMISSIBLE,
    REWARD,
    Counts,
    Memory,
    Numbers,
    Records,
    State,
    write,
    written,
)
from safebandit.core.conduct import Conduct, give, next_arm
from safebandit.core.delays import draw_delay
from safebandit.core.dispatch import compiled, compiled_here, inlined, piece
from safebandit.core.kernels import hear, is_ours, state_of
from safebandit.core.laws import draw_reward, draw_risk
from safebandit.core.policies.interface import DONE, begin
from safebandit.core.streams import Stream, Streams, uniform
from safebandit.core.timing import Timing

# What a risk that is never heard of counts as.
HARM = 1.0

# Why a trial pauses or ends: it goes on, it is time to look, or it has ended because the last unit is settled, because
# no arm may be given any more, or because the policy's question is answered. Rules of stopping come behind these.
GO, LOOK, MOST_UNITS, NO_ARM, POLICY_DONE = -2, -1, 0, 1, 2

# One unit: its arm and the number of its play; when it arrived, and got its arm; how long its reward and its risks take
# to be known; whether they are ever heard of; and the numbers of the events that gave it its arm and told of it.
UNIT = np.dtype(
    [
        ("arm", "i8"),
        ("play", "i8"),
        ("arrived_at", "f8"),
        ("given_at", "f8"),
        ("reward_delay", "f8"),
        ("risk_delay", "f8"),
        ("reward_heard", "i8"),
        ("risk_heard", "i8"),
        ("given_event", "i8"),
        ("reward_event", "i8"),
        ("risk_event", "i8"),
    ]
)
# The time, that of the next arrival, how many units have arrived, how much is due, whether the last unit that asked was
# held and nothing has been heard since, and how many events there were.
CLOCK = np.dtype(
    [("now", "f8"), ("next", "f8"), ("arrived", "i8"), ("due", "i8"), ("held", "i8"), ("events", "i8")]
)  # fmt: skip
DUE = np.dtype([("time", "f8"), ("event", "i8")])
# What is due of a unit.
TELL_REWARD, TELL_RISKS, TELL_BOTH, GIVE_UP = 0, 1, 2, 3
KINDS = 4


class Book(NamedTuple):
    """What is written down of trials (rows): their units, with outcomes and what is known of them (layers), what is
    due, as a heap, and their clocks; and what is new of one unit.
    """

    units: Records
    outcomes: Numbers
    due: Records
    clocks: Records
    news: Numbers


def new_book(trials: int, units: int, risks: int) -> Book:
    """An empty one."""
    return Book(
        np.zeros((trials, units), UNIT),
        np.full((trials, units, 2, 1 + risks), np.nan),
        np.zeros((trials, 2 * units), DUE),
        np.zeros(trials, CLOCK),
        np.zeros(1 + risks),
    )


class Tally(NamedTuple):
    """What trials (rows) came to. Harms have a layer per risk; an outcome counts whether it is heard of or not.

    `excluded` is whether an arm was ever not permissible. `waited` are the units that did not get an arm when they
    arrived, `waits` the days that they waited in all; `held_after` is how many units had an arm when first none was
    permissible, -1 if that never was.
    """

    rewards: Numbers
    harms: Numbers
    excluded: Counts
    waited: Counts
    waits: Numbers
    given_up: Counts
    held_after: Counts


def new_tally(trials: int, arms: int, risks: int) -> Tally:
    """Room for so many trials."""
    return Tally(
        np.zeros((trials, arms)),
        np.zeros((trials, risks, arms)),
        np.zeros((trials, arms), np.int64),
        np.zeros(trials, np.int64),
        np.zeros(trials),
        np.zeros(trials, np.int64),
        np.full(trials, -1, np.int64),
    )


class Chance(NamedTuple):
    """The random numbers of trials (rows): of every arm's outcomes, of what is heard, of delays, of arrivals."""

    outcomes: Streams
    losses: Streams
    delays: Streams
    arrivals: Streams


def _begin_all(policy: Any, timing: Timing, memory: Memory, book: Book, chance: Chance) -> None:
    """Every trial before its first unit arrives."""
    for i in range(memory.arms.shape[0]):
        begin(policy, state_of(memory, i, False))
        book.clocks[i].next = _interval(timing, chance.arrivals[i])


def _advance(
    policy: Any,
    conduct: Conduct,
    law: Any,
    timing: Timing,
    memory: Memory,
    book: Book,
    chance: Chance,
    tally: Tally,
    rows: Counts,
    answers: Counts,
    closing: bool,
) -> None:
    """Play some trials, by their rows, as far as their next look or their end, and write which it is.

    With `closing` no arm is given any more, and what is still due is heard.
    """
    for n in range(rows.shape[0]):
        i = rows[n]
        state, clock, answer = state_of(memory, i, False), book.clocks[i], GO
        while answer == GO:
            if clock.due > 0 and book.due[i, 0].time <= clock.now:
                look = _hear_next(policy, conduct, state, book, tally, i)
                answer = LOOK if look and not closing else GO
            elif closing and clock.due == 0:
                answer = MOST_UNITS
            elif closing:
                clock.now = book.due[i, 0].time
            elif state.course.given < clock.arrived and not clock.held:
                answer = _serve(policy, conduct, law, timing, state, book, chance, tally, i)
            elif clock.arrived < conduct.units and (clock.due == 0 or clock.next < book.due[i, 0].time):
                _arrive(timing, book, chance, i)
            elif clock.due > 0:
                clock.now = book.due[i, 0].time
            else:
                answer = MOST_UNITS if state.course.given == conduct.units else NO_ARM
        answers[n] = answer


@inlined
def _interval(timing: Timing, stream: Stream) -> float:
    """The days until the next unit arrives."""
    return (-math.log1p(-uniform(stream)) if timing.poisson else 1.0) / timing.accrual


@inlined
def _arrive(timing: Timing, book: Book, chance: Chance, i: int) -> None:
    """The next unit arrives; what will be heard of it, and when, does not depend on its arm."""
    clock = book.clocks[i]
    unit, losses, delays = book.units[i, clock.arrived], chance.losses[i], chance.delays[i]
    clock.now = clock.next
    clock.next += _interval(timing, chance.arrivals[i])
    clock.arrived += 1
    unit.arrived_at = clock.now
    heard = uniform(losses) >= timing.missing
    risk_heard = uniform(losses) >= timing.missing_risk
    unit.reward_heard, unit.risk_heard = heard, heard and risk_heard
    unit.reward_delay = draw_delay(timing.reward_kind, timing.reward_a, timing.reward_b, delays)
    unit.risk_delay = draw_delay(timing.risk_kind, timing.risk_a, timing.risk_b, delays)


@piece
def _serve(
    policy: Any,
    conduct: Conduct,
    law: Any,
    timing: Timing,
    state: State,
    book: Book,
    chance: Chance,
    tally: Tally,
    i: int,
) -> int:
    """Give an arm to who has waited longest; where none is given, nobody asks again until something is heard."""
    clock, course = book.clocks[i], state.course
    for k in range(state.size):
        write(state, k, PERMISSIBLE, math.nan)
    k, none = next_arm(policy, conduct, state, course.given + 1)
    for arm in range(state.size):
        tally.excluded[i, arm] |= written(state, arm, PERMISSIBLE) == 0.0
    if k == DONE:
        return POLICY_DONE
    if k < 0:
        if none and tally.held_after[i] < 0:
            tally.held_after[i] = course.given
        if course.settled == course.given:
            return NO_ARM
        clock.held = True
        return GO
    unit, values = book.units[i, course.given], book.outcomes[i, course.given, 0]
    unit.arm, unit.given_at, unit.given_event = k, clock.now, clock.events
    clock.events += 1
    if clock.now > unit.arrived_at:
        tally.waited[i] += 1
        tally.waits[i] += clock.now - unit.arrived_at
    values[0], place = draw_reward(law, k, chance.outcomes[i, k])
    tally.rewards[i, k] += values[0]
    for j in range(state.risks):
        values[1 + j] = draw_risk(law, k, j, place, chance.outcomes[i, k])
        tally.harms[i, j, k] += values[1 + j]
    _expect(conduct, timing, book, i, course.given)
    unit.play = give(conduct, state, k, course.given + 1)
    return GO


@inlined
def _expect(conduct: Conduct, timing: Timing, book: Book, i: int, number: int) -> None:
    """Put down what will be heard of a unit, and when."""
    unit, now = book.units[i, number], book.clocks[i].now
    reward = unit.reward_heard and conduct.rewarded
    if reward and unit.risk_heard and unit.reward_delay == unit.risk_delay:
        _put(book, i, now + unit.risk_delay, KINDS * number + TELL_BOTH)
        return
    if reward:
        _put(book, i, now + unit.reward_delay, KINDS * number + TELL_REWARD)
    if unit.risk_heard:
        _put(book, i, now + unit.risk_delay, KINDS * number + TELL_RISKS)
    else:
        _put(book, i, now + timing.give_up_after, KINDS * number + GIVE_UP)


@inlined
def _sooner(one: Any, other: Any) -> bool:
    return one.time < other.time or (one.time == other.time and one.event < other.event)


@inlined
def _swap(one: Any, other: Any) -> None:
    time, event = one.time, one.event
    one.time, one.event = other.time, other.event
    other.time, other.event = time, event


@inlined
def _put(book: Book, i: int, time: float, event: int) -> None:
    """Put an event into the heap of what is due."""
    due, place = book.due, book.clocks[i].due
    book.clocks[i].due += 1
    due[i, place].time, due[i, place].event = time, event
    while place > 0 and _sooner(due[i, place], due[i, (place - 1) // 2]):
        _swap(due[i, place], due[i, (place - 1) // 2])
        place = (place - 1) // 2


@inlined
def _take(book: Book, i: int) -> int:
    """Take the soonest event from the heap of what is due; of several at one time, the one of the first unit."""
    due, size, place = book.due, book.clocks[i].due - 1, 0
    event = due[i, 0].event
    book.clocks[i].due = size
    _swap(due[i, 0], due[i, size])
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _sooner(due[i, child + 1], due[i, child]):
            child += 1
        if not _sooner(due[i, child], due[i, place]):
            break
        _swap(due[i, place], due[i, child])
        place = child
    return event


@piece
def _hear_next(policy: Any, conduct: Conduct, state: State, book: Book, tally: Tally, i: int) -> bool:
    """Count what is due first; what is never heard of a unit is then given up. Whether it is time to look."""
    event = _take(book, i)
    number, kind, clock = event // KINDS, event % KINDS, book.clocks[i]
    unit, values, known = book.units[i, number], book.outcomes[i, number, 0], book.outcomes[i, number, 1]
    for j in range(1 + state.risks):
        told = kind in (TELL_BOTH, TELL_REWARD if j == REWARD else TELL_RISKS)
        harm = kind == GIVE_UP and j != REWARD and conduct.lost_is_harm
        book.news[j] = values[j] if told and (j != REWARD or conduct.rewarded) else HARM if harm else math.nan
    if kind in (TELL_REWARD, TELL_BOTH):
        unit.reward_event = clock.events
    if kind != TELL_REWARD:
        unit.risk_event = clock.events
    clock.events += 1
    clock.held = False
    tally.given_up[i] += kind == GIVE_UP
    look = hear(policy, conduct, state, unit.arm, unit.play, number + 1, book.news, known, kind == GIVE_UP)
    for j in range(1 + state.risks):
        known[j] = known[j] if math.isnan(book.news[j]) else book.news[j]
    return look


class TrialKernels(NamedTuple):
    """The compiled loops."""

    begin: Callable[..., None]
    advance: Callable[..., None]


_KEPT_ON_DISK = TrialKernels(compiled(_begin_all), compiled(_advance))
_IN_THIS_PROCESS = TrialKernels(compiled_here(_begin_all), compiled_here(_advance))


def trial_kernels(policy: Any, law: Any) -> TrialKernels:
    """The compiled loops: kept on disk if all types are ours, else in this process only."""
    return _KEPT_ON_DISK if is_ours(policy) and is_ours(law) else _IN_THIS_PROCESS
