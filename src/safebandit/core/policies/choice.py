"""What families of policies share: first plays, gates, the largest number of a table, and the arm of least risk."""

from __future__ import annotations

import math
from typing import Any

from safebandit.core.arms import CHANCE, PERMISSIBLE, RISKS, Seen, State, at, quantity, write, written
from safebandit.core.dispatch import apart, inlined, piece
from safebandit.core.indices.interface import lower, permits, width
from safebandit.core.policies.interface import HOLD, WAIT
from safebandit.core.streams import Stream, go_back, place_of, uniform, wins_tie

# How `when_none` is written for compiled code; an arm stands for itself, from 0, and any other number for "hold".
LEAST_RISKY = -1
HOLD_RULE = -2


@inlined
def may_be_given(state: State, k: int) -> bool:
    """Whether arm k is permissible, as the table of the decision has it, and available."""
    return written(state, k, PERMISSIBLE) == 1.0 and at(state.arms, k).available != 0


@inlined
def may_follow(state: State, k: int) -> bool:
    """Whether the arm below does not exclude this one: where a course excludes upwards it must be permissible, which
    was written before.
    """
    return not (state.course.upwards and k > 0 and written(state, k - 1, PERMISSIBLE) != 1.0)


@inlined
def first_unplayed(state: State) -> int:
    """The first arm that was never given out and may be; -1 if there is none."""
    for k in range(state.size):
        arm = at(state.arms, k)
        if arm.asked == 0 and arm.available and may_follow(state, k):
            return k
    return -1


@inlined
def may_come(state: State, k: int) -> bool:
    """Whether an arm that may not be given now may be later: not one that was dropped, for which nobody waits."""
    return at(state.arms, k).dropped == 0


@inlined
def largest_written(state: State, column: int) -> int:
    """The arm of the largest number in a column, ties at random by one draw; -1 if none is a number."""
    top, ties = -math.inf, 0
    for k in range(state.size):
        value = written(state, k, column)
        if value > top:
            top, ties = value, 1
        elif value == top:
            ties += 1
    if ties == 0:
        return -1
    place = int(uniform(state.stream) * ties) if ties > 1 else 0
    for k in range(state.size):
        if written(state, k, column) == top:
            if place == 0:
                return k
            place -= 1
    return -1


@inlined
def draw_by_chances(state: State) -> int:
    """An arm drawn by the chances that are written, which add up to 1."""
    left, last = uniform(state.stream), -1
    for k in range(state.size):
        chance = written(state, k, CHANCE)
        if chance > 0.0:
            last, left = k, left - chance
            if left < 0.0:
                break
    # Where rounding leaves something behind the last arm, it is that one's.
    return last


@inlined
def gate_round(t: int, risks: int) -> int:
    """The round that safety indices are asked about: with m risks m t, so that a level of log t becomes log t + log m.

    All risks of an arm together are then refuted by mistake no more often than one would be.
    """
    return t * risks


@piece
def asked_round(safety: Any, risk: Seen, t: int, risks: int, lasting: bool) -> int:
    """The round that the safety index of one risk is asked about in round t.

    Where exclusion lasts, that is the round that its policy noted behind the index's own numbers when an outcome of the
    risk last became known; before the first there is none, and it is the present one.
    """
    if lasting:
        noted = int(risk.own[width(safety)])
        if noted > 0:
            t = noted
    return gate_round(t, risks)


@piece
def is_permissible(index: Any, state: State, k: int, t: int, lasting: bool) -> bool:
    """Whether every risk of the arm is permissible; where somebody reads them, its risk indices are written."""
    return passes_gates(index, state, k, t, lasting, state.watched)


@piece
def passes_gates(index: Any, state: State, k: int, t: int, lasting: bool, noting: bool) -> bool:
    """Whether every risk of the arm is permissible; all are asked, so that draws do not depend on the answers. With
    `noting` the risk indices are written.

    Where a course excludes upwards, the arm below, which was written before, must be permissible, too.
    """
    stream, every = state.stream, may_follow(state, k)
    for j in range(1, 1 + state.risks):
        risk = quantity(state, k, j)
        clock = asked_round(index, risk, t, state.risks, lasting)
        if noting:
            before = place_of(stream)
            write(state, k, RISKS + j - 1, lower(index, risk, clock, risk.limit, stream))
            # What was drawn for the table is drawn again for the gate, and is the same.
            go_back(stream, before)
        if not permits(index, risk, clock, risk.limit, stream):
            every = False
    return every


@inlined
def larger_excess(most: float, excess: float) -> float:
    """The larger of two excesses of a risk above its limit. NaN stays: an arm whose index cannot be computed is not the
    least risky one.
    """
    return excess if excess > most or math.isnan(excess) else most


@inlined
def least_so_far(found: tuple[int, float, int], k: int, excess: float, stream: Stream) -> tuple[int, float, int]:
    """The arm of the least excess so far, that excess, and how many arms share it, after arm k; ties at random."""
    choice, least, ties = found
    if excess < least:
        return k, excess, 1
    if excess == least:
        return (k if wins_tie(ties + 1, stream) else choice), least, ties + 1
    return found


@inlined
def given_or_awaited(state: State, k: int) -> int:
    """A certain arm: itself if it may be given, WAIT if it may be later, else HOLD."""
    return k if at(state.arms, k).available else WAIT if may_come(state, k) else HOLD


@apart
def play_when_none(rule: int, safety: Any, state: State, t: int, lasting: bool) -> int:
    """What is played while no arm is permissible: nothing, a certain arm, or the one whose risk index is the least
    above its limit. With several risks, the excess of an arm is its largest.
    """
    if rule >= 0:
        return given_or_awaited(state, rule)
    if rule != LEAST_RISKY:
        return HOLD
    found, waiting = (HOLD, math.inf, 0), False
    for k in range(state.size):
        most = -math.inf
        for j in range(1, 1 + state.risks):
            risk = quantity(state, k, j)
            clock = asked_round(safety, risk, t, state.risks, lasting)
            most = larger_excess(most, lower(safety, risk, clock, risk.limit, state.stream) - risk.limit)
        if at(state.arms, k).available:
            found = least_so_far(found, k, most, state.stream)
        elif may_come(state, k):
            waiting = True
    return WAIT if found[0] == HOLD and waiting else found[0]
