"""Which permitted arm has the largest index: by the definition, and with less work for an index that is steady."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Seen, State, at, set_reach
from safebandit.core.dispatch import inlined, woven
from safebandit.core.indices.interface import best, exceeds, line, line_until, steady, upper, width
from safebandit.core.streams import uniform

# Far above the rounding of any index, far below any difference that matters.
MARGIN = 1e-9
LOOSE = 1e-7
# With fewer arms a search through all of them looks at one after the other.
MANY = 16


@best.register(object)
def best_of_any(index: Any, state: State, t: int) -> int:
    if steady(index):
        return _best_of_steady(index, state, t)
    return best_of_drawn(index, state, t)


@woven
def best_of_drawn(index: Any, state: State, t: int) -> int:
    """The permitted arm of the largest index, ties at random, -1 if no index is a number: the definition."""
    leading = NO_ONE
    for k in range(state.size):
        arm = at(state.first, k)
        arm.index = upper(index, arm.reward, t, state.stream) if arm.permitted else np.nan
        leading = led_by(leading, k, arm.index)
    return drawn_of_ties(leading, state, -np.inf, 0.0)


class Leading(NamedTuple):
    """The arm of the largest index so far, -1 if none is a number, that index, and how many arms have it."""

    arm: int
    top: float
    ties: int


NO_ONE = Leading(-1, -np.inf, 0)


@inlined
def led_by(leading: Leading, k: int, index: float) -> Leading:
    """Who leads once arm k has come, too."""
    # The first number counts even if it is minus infinity.
    if index > leading.top or (leading.arm < 0 and index == leading.top):
        return Leading(k, index, 1)
    return Leading(leading.arm, leading.top, leading.ties + 1) if index == leading.top else leading


@inlined
def drawn_of_ties(leading: Leading, state: State, floor: float, x: float) -> int:
    """The arm that leads, ties at random, where those that can reach `floor` were compared."""
    if leading.ties > 1:
        # One draw, for the largest only: it must not depend on which arms were passed over.
        place = int(uniform(state.stream) * leading.ties)
        for k in range(state.size):
            if can_reach(state, k, floor, x) and at(state.first, k).index == leading.top:
                if place == 0:
                    return k
                place -= 1
    return leading.arm


@inlined
def can_reach(state: State, k: int, floor: float, x: float) -> bool:
    """Whether the front lets arm k be as high as `floor` at x."""
    place = at(state.front, k)
    return not place.reach + place.slope * x < floor


@inlined
def _reach(state: State, k: int, x: float) -> float:
    place = at(state.front, k)
    return place.reach + place.slope * x


@inlined
def four_behind(state: State, k: int, floor: float, x: float) -> bool:
    """Whether four arms from k on cannot reach `floor`: a search through many arms passes over them at once."""
    if k + MANY > state.size:
        return False
    one, two = max(_reach(state, k, x), _reach(state, k + 1, x)), max(_reach(state, k + 2, x), _reach(state, k + 3, x))
    return max(one, two) < floor


class Ahead(NamedTuple):
    """The arm that can reach the most, what that is, and what the next one can."""

    arm: int
    reach: float
    second: float


@woven
def _best_of_steady(index: Any, state: State, t: int) -> int:
    """The arm that the definition gives, for an index that only grows between plays, with less work.

    Every arm has a line above its index, over log t. An arm whose index exceeds all other lines wins: the last winner
    is tried, then the arm of the highest line. Where that does not decide, arms that can still win are compared by the
    definition, and their lines are drawn anew.
    """
    notes, x = state.notes, math.log(t)
    if t > notes.until:
        notes.until = line_until(index, t)
        for k in range(state.size):
            if at(state.first, k).permitted:
                set_reach(state, k, np.inf)
    ahead = _furthest(index, state, t, x, notes.leader)
    leader = at(state.first, notes.leader)
    if leader.permitted:
        if _surely_exceeds(index, leader, t, ahead.reach, state):
            return notes.leader
        ahead = with_arm(ahead, notes.leader, _draw_line(index, state, notes.leader, t, x))
    if ahead.arm < 0:
        # No line is a number.
        return best_of_drawn(index, state, t)
    front = at(state.first, ahead.arm)
    # Its index is no less than where its line touched it.
    touched = front.ceiling if at(state.front, ahead.arm).slope > 0.0 else -np.inf
    if touched <= ahead.second + MARGIN and not _surely_exceeds(index, front, t, ahead.second, state):
        floor = upper(index, front.reward, t, state.stream)
        if leader.permitted:
            floor = max(floor, upper(index, leader.reward, t, state.stream))
        # With no number to compare with, arms that are closed would not stay behind.
        return _best_above(index, state, t, x, floor - MARGIN) if floor > -np.inf else best_of_drawn(index, state, t)
    notes.leader = ahead.arm
    return ahead.arm


@woven
def _surely_exceeds(index: Any, arm: Any, t: int, bar: float, state: State) -> bool:
    return bar + MARGIN < 1.0 and exceeds(index, arm.reward, t, bar + MARGIN, state.stream)


@woven
def _draw_line(index: Any, state: State, k: int, t: int, x: float) -> float:
    """Draw the line of an arm anew, and say what it reaches at x."""
    arm, place = at(state.first, k), at(state.front, k)
    place.reach, place.slope = line(index, arm.reward, t, state.notes.until, arm.ceiling, state.stream)
    arm.ceiling = place.reach + place.slope * x
    return arm.ceiling


@inlined
def with_arm(ahead: Ahead, k: int, reach: float) -> Ahead:
    """The same with one more arm."""
    if reach > ahead.reach or (ahead.arm < 0 and reach == ahead.reach):
        return Ahead(k, reach, ahead.reach)
    return Ahead(ahead.arm, ahead.reach, max(ahead.second, reach))


@woven
def _furthest(index: Any, state: State, t: int, x: float, but: int) -> Ahead:
    """Which arm, `but` one, can reach the most; lines that are not known are drawn."""
    ahead, k = Ahead(-1, -np.inf, -np.inf), 0
    while k < state.size:
        while four_behind(state, k, ahead.second, x):
            k += 4
        place = at(state.front, k)
        reach = place.reach + place.slope * x
        if reach > ahead.second and k != but:
            if reach == np.inf:
                reach = _draw_line(index, state, k, t, x)
            ahead = with_arm(ahead, k, reach)
        k += 1
    return ahead


@inlined
def saw_the_same(one: Seen, other: Seen) -> bool:
    counts = one.plays == other.plays and one.pending == other.pending and one.ones == other.ones
    return counts and one.total == other.total and one.own[0] == other.own[0]


@woven
def _best_above(index: Any, state: State, t: int, x: float, floor: float) -> int:
    """The arm of the largest index among those that can reach `floor`, which the largest does."""
    last, leading = at(state.first, 0), NO_ONE
    last.index = np.nan
    for k in range(state.size):
        if can_reach(state, k, floor, x):
            arm, place = at(state.first, k), at(state.front, k)
            # At first many arms have seen the same, and have the same index.
            if width(index) <= 1 and not np.isnan(last.index) and saw_the_same(arm.reward, last.reward):
                arm.index = last.index
            else:
                arm.index = upper(index, arm.reward, t, state.stream)
            last = arm
            leading = led_by(leading, k, arm.index)
            if not place.reach + place.slope * x < arm.index + LOOSE:
                arm.ceiling = arm.index
                _draw_line(index, state, k, t, x)
    best = drawn_of_ties(leading, state, floor, x)
    state.notes.leader = max(0, best)
    return best
