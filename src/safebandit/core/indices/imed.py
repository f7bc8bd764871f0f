"""Indexed minimum empirical divergence with risk: the arm against which the least evidence speaks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Numbers, Seen, State, at, set_reach
from safebandit.core.bernoulli import divergence_below
from safebandit.core.dispatch import inlined
from safebandit.core.indices.contest import (
    NO_ONE,
    Ahead,
    can_reach,
    drawn_of_ties,
    four_behind,
    led_by,
    saw_the_same,
    with_arm,
)
from safebandit.core.indices.interface import best, charge, described, reveal, start, upper, width

# Far above the rounding of a line, far below any difference in evidence that matters.
MARGIN = 1e-6
STEEPEST = 1e8


@described(
    "play argmin N d_<(mean||m) + max(0, evidence - discount log(1 + log t)) + log N, m the largest permissible mean",
    "ours: IMED (Honda and Takemura 2015) with the lower bound's sum",
    not_negative=("discount",),
)
class IMED(NamedTuple):
    """The arm against which the least evidence speaks, of reward and risk together, and of being played already.

    `discount` forgives a little risk evidence, growing like log log t: fewer runs in which an arm whose risk is
    exactly alpha is starved, for more plays of unsafe arms.
    """

    discount: float = 0.0


@width.register(IMED)
def imed_width(index: IMED) -> int:
    return 1


@start.register(IMED)
def imed_start(index: IMED, own: Numbers) -> None:
    own[0] = 0.0


@charge.register(IMED)
def imed_charge(index: IMED, seen: Seen, against: float) -> None:
    seen.own[0] = against


@upper.register(IMED)
def imed_upper(index: IMED) -> float:
    # There is no number of one arm alone: `best` compares it with the largest permissible mean.
    return math.nan


@inlined
def imed_cost(seen: Seen, largest: float, forgiven: float) -> float:
    """N d_<(mean||largest) + max(0, evidence - forgiven) + log N; minus infinity for an arm that was never played."""
    plays = seen.plays + seen.pending
    if plays == 0:
        return -math.inf
    against = divergence_below(seen.mean, largest) if seen.plays > 0 else 0.0
    return plays * against + max(0.0, seen.own[0] - forgiven) + math.log(plays)


@inlined
def forgiveness(index: IMED, t: int) -> float:
    """How much risk evidence is forgiven in round t."""
    return index.discount * math.log(1.0 + math.log(t)) if index.discount > 0.0 else 0.0


@best.register(IMED)
def best_of_imed(index: IMED, state: State, t: int) -> int:
    """The permitted arm of least cost, ties at random; an arm's `index` is its cost with the sign changed.

    The cost is convex in the largest mean m, so that a line over m, its tangent in some other round, is never above it.
    The last winner, then the arm of the lowest line, are tried against the lines of all others; where that does not
    decide, arms that can still win are compared by the definition, and their lines are drawn anew.
    """
    notes, forgiven = state.notes, forgiveness(index, t)
    if index.discount > 0.0 and t > notes.until:
        notes.until = t + t // 64 + 2
        for k in range(state.size):
            if at(state.first, k).permitted:
                set_reach(state, k, np.inf)
    later = forgiveness(index, notes.until)
    ahead, new = _lowest(state, _largest_mean(state), notes.leader)
    if new:
        # Gates opened, or several arms learnt.
        _find_largest_mean(state)
        _draw_lines(state, notes.largest, later, notes.leader)
        ahead, _ = _lowest(state, notes.largest, notes.leader)
    largest = notes.largest
    leader = at(state.first, notes.leader)
    top = -math.inf
    if leader.permitted:
        top = -imed_cost(leader.reward, largest, forgiven)
        if top > ahead.reach + MARGIN:
            return notes.leader
        _draw_line(state, notes.leader, largest, later)
    if ahead.arm >= 0:
        rival = -imed_cost(at(state.first, ahead.arm).reward, largest, forgiven)
        if rival > max(top, ahead.second) + MARGIN:
            notes.leader = ahead.arm
            return ahead.arm
        top = max(top, rival)
    return _least_cost(state, largest, forgiven, later, top - MARGIN)


@reveal.register(IMED)
def reveal_imed(index: IMED, state: State, winner: int, t: int) -> None:
    # Arms that may not be given out now have a say in the largest mean, and may have learnt since.
    _find_largest_mean(state)
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.permitted:
            arm.index = -imed_cost(arm.reward, state.notes.largest, forgiveness(index, t))


@inlined
def _least_cost(state: State, largest: float, forgiven: float, later: float, floor: float) -> int:
    """The arm of least cost among those that can reach `floor`, which it does."""
    last, leading = at(state.first, 0), NO_ONE
    last.index = math.nan
    for k in range(state.size):
        if can_reach(state, k, floor, largest):
            arm, place = at(state.first, k), at(state.front, k)
            if arm.permitted == 0:
                arm.index = math.nan
                continue
            if not math.isnan(last.index) and saw_the_same(arm.reward, last.reward):
                arm.index = last.index
            else:
                arm.index = -imed_cost(arm.reward, largest, forgiven)
            last = arm
            leading = led_by(leading, k, arm.index)
            if not place.reach + place.slope * largest < arm.index + MARGIN:
                _draw_line(state, k, largest, later)
    winner = drawn_of_ties(leading, state, floor, largest)
    state.notes.leader = max(0, winner)
    return winner


@inlined
def _draw_line(state: State, k: int, largest: float, forgiven: float) -> None:
    """Draw the line of an arm anew: the tangent of its cost, with the sign changed, at the largest mean."""
    arm, place = at(state.first, k), at(state.front, k)
    if arm.permitted == 0:
        return
    seen = arm.reward
    plays = seen.plays + seen.pending
    slope = 0.0
    if seen.plays > 0 and seen.mean < largest:
        slope = plays * (seen.mean - largest) / (largest * (1.0 - largest)) if largest < 1.0 else -math.inf
    if slope < -STEEPEST:
        place.reach, place.slope = -imed_cost(seen, 0.0, forgiven), 0.0
    else:
        place.reach, place.slope = -imed_cost(seen, largest, forgiven) - slope * largest, slope


@inlined
def _draw_lines(state: State, largest: float, forgiven: float, but: int) -> None:
    """Draw all lines that are not known, `but` one."""
    for k in range(state.size):
        if at(state.front, k).reach == np.inf and k != but:
            _draw_line(state, k, largest, forgiven)


@inlined
def _lowest(state: State, largest: float, but: int) -> tuple[Ahead, bool]:
    """Which arm, `but` one, has the line of least cost; and whether some line is not known."""
    ahead, new, k = Ahead(-1, -np.inf, -np.inf), False, 0
    while k < state.size:
        while four_behind(state, k, ahead.second, largest):
            k += 4
        place = at(state.front, k)
        reach = place.reach + place.slope * largest
        if reach > ahead.second and k != but:
            new = new or reach == np.inf
            ahead = with_arm(ahead, k, reach)
        k += 1
    return ahead, new


@inlined
def _largest_mean(state: State) -> float:
    """The largest mean of a safe arm, `largest`, where of safe arms only the last winner has learnt.

    `top` is whose it is, and `second` is no less than the mean of any other.
    """
    notes = state.notes
    leader, top = at(state.first, notes.leader), at(state.first, notes.top)
    if notes.leader != notes.top and leader.safe and leader.reward.plays > 0:
        if leader.reward.mean > top.reward.mean:
            notes.second = top.reward.mean
            notes.top = notes.leader
            top = leader
        else:
            notes.second = max(notes.second, leader.reward.mean)
    if top.safe == 0 or top.reward.mean < notes.second:
        _find_largest_mean(state)
    else:
        notes.largest = top.reward.mean
    return notes.largest


@inlined
def _find_largest_mean(state: State) -> None:
    """The same, by the definition; 0 where nothing is known of any safe arm."""
    notes = state.notes
    notes.largest, notes.second = 0.0, 0.0
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.safe and arm.reward.plays > 0:
            if arm.reward.mean > notes.largest:
                notes.largest, notes.second, notes.top = arm.reward.mean, notes.largest, k
            else:
                notes.second = max(notes.second, arm.reward.mean)
