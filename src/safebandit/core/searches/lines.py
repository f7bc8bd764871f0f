"""The largest of steady indices: every arm has a line over log t that its index does not exceed.

An arm whose index exceeds all other lines wins. The last winner is tried, then the arm of the highest line. Where that
does not decide, arms that can still win are compared by the definition, and their lines are drawn anew. An arm that
wins is next tried against one number, which all other lines stay below for a while.

What it buys: mostly one index is compared with one number, instead of computing all: on the drug trial, with five arms,
docb plays eleven times as many rounds a second.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from safebandit.core.arms import REWARD, Seen, State, at, cells_after, quantity
from safebandit.core.dispatch import apart, inlined, piece
from safebandit.core.indices.interface import upper, width
from safebandit.core.policies.choice import play_when_none
from safebandit.core.searches.bounds import clock, exceeds, line, near
from safebandit.core.searches.gates import ARM_FIELDS, TRIAL_FIELDS, follow_gates
from safebandit.core.searches.interface import NEVER, NOTES, Notes, find
from safebandit.core.streams import uniform

# Far above the rounding of any index, far below any difference that matters.
MARGIN = 1e-9
# A line this close to its index is not drawn anew.
LOOSE = 1e-7
# A little later is after so many rounds, as a share of those so far, over the number of arms: 1 / LITTLE.
LITTLE = 16
# With fewer arms a scan looks at one after the other.
MANY = 16
# An integer of a type, not a literal: Numba would compile what it is handed to once for 0 and once for any number.
ZERO: Any = np.int64(0)

# Numbers of each arm behind the records: its line, reach + slope log t. The reach is minus infinity where its gate is
# closed, infinity where the line is not known.
LINE_NUMBERS = 2


class ByLines(NamedTuple):
    """The search for a steady reward index behind a steady safety index."""


NOTES[ByLines] = Notes(
    # Of each arm: where its line touched the index, and the next arm of the same index where several tie.
    np.dtype([("touched", "f8"), ("next", "i8"), *ARM_FIELDS]),
    # The round up to which all lines hold; a number that no line but that of the arm played last exceeds up to a round,
    # `below_until`, and the clock of the round in which that was found.
    np.dtype([*TRIAL_FIELDS, ("until", "i8"), ("bar", "f8"), ("below_until", "i8"), ("clock", "f8")]),
    LINE_NUMBERS,
)


@find.register(ByLines)
def find_by_lines(search: ByLines, policy: Any, state: State, work: Any, notes: Any, t: int) -> tuple[int, bool]:
    if policy.each_first and t <= state.size:
        return t - 1, False
    last = notes.played - 1
    several = follow_gates(policy, state, work, notes, t)
    # A steady index exceeds now what it would have exceeded then.
    if (
        not several
        and t <= notes.below_until
        and at(work, last).open
        and exceeds(policy.reward, quantity(state, last, REWARD), notes.clock, notes.bar, state.stream)
    ):
        return last, False
    notes.below_until = 0
    if last < 0 or t > notes.until:
        last, several, notes.until = (last if last > 0 else 0), True, NEVER
        for k in range(state.size):
            at(work, k).changed = 1
    for k in range(0 if several else last, state.size if several else last + 1):
        forget_if_changed(work, state.size, k)
    winner = -1
    if notes.open_arms > 0:
        winner = _largest(policy.reward, state, work, notes, t, last)
    none = winner < 0
    if none:
        winner = play_when_none(policy.when_none, policy.safety, state, t + policy.head_start, policy.lasting)
    if winner >= 0:
        notes.played = winner + 1
    return winner, none


@inlined
def forget_if_changed(work: Any, size: int, k: int) -> None:
    """Of an arm that learnt, or whose gate did, the line is not known; with a closed gate there is none."""
    if at(work, k).changed:
        at(work, k).changed = 0
        keep_line(work, size, k, np.inf if at(work, k).open else -np.inf, 0.0)


@inlined
def keep_line(work: Any, size: int, k: int, reach: float, slope: float) -> None:
    """Note the line of arm k."""
    at(cells_after(work, size), k).value = reach
    at(cells_after(work, size), size + k).value = slope


class Ahead(NamedTuple):
    """The arm whose line is the highest, how high it is, and how high the next one is."""

    arm: int
    reach: float
    second: float


@piece
def _largest(index: Any, state: State, work: Any, notes: Any, t: int, last: int) -> int:
    """The open arm of the largest index, ties at random; -1 if no index is a number."""
    # Lines rise: what none exceeds a little later, none exceeds until then. The lines of many arms lie close together.
    later = t + t // (LITTLE * state.size)
    x, rest = math.log(later), -np.inf
    ahead = _highest(index, state, work, notes, t, x, last)
    notes.clock, floor = clock(index, t), -np.inf
    if at(work, last).open:
        if exceeds(index, quantity(state, last, REWARD), notes.clock, ahead.reach + MARGIN, state.stream):
            return _standing(notes, last, ahead.reach, later)
        floor = _draw_line(index, state, work, notes, last, t)
        rest = height(work, state.size, last, x)
    if ahead.arm >= 0:
        bar = floor if floor > ahead.second else ahead.second
        if exceeds(index, quantity(state, ahead.arm, REWARD), notes.clock, bar + MARGIN, state.stream):
            return _standing(notes, ahead.arm, rest if rest > ahead.second else ahead.second, later)
        reach, second = _draw_line(index, state, work, notes, ahead.arm, t), ahead.second
        if floor > (reach if reach > second else second) + MARGIN:
            rest = height(work, state.size, ahead.arm, x)
            return _standing(notes, last, rest if rest > second else second, later)
        floor = reach if reach > floor else floor
    # With no number to compare with, closed arms would not stay behind.
    return _compare(index, state, work, notes, t, math.log(t), floor - MARGIN if floor > -np.inf else -np.inf)


@inlined
def _standing(notes: Any, winner: int, rest: float, later: int) -> int:
    """Note what the lines of all arms but the winner stay below until later."""
    notes.bar, notes.below_until = rest + MARGIN, min(later, notes.until)
    return winner


@inlined
def height(work: Any, size: int, k: int, x: float) -> float:
    """How high the line of arm k is at x."""
    return at(cells_after(work, size), k).value + at(cells_after(work, size), size + k).value * x


def _eight_below(typing_context: Any, reaches: Any, slopes: Any, x: Any, floor: Any) -> Any:
    """Whether eight lines side by side lie below `floor` at x: one comparison for the processor."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        eight = ir.VectorType(ir.DoubleType(), 8)
        places = ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8)
        all_x, all_floor = (
            builder.shuffle_vector(
                builder.insert_element(ir.Constant(eight, ir.Undefined), each, ir.Constant(ir.IntType(32), 0)),
                ir.Constant(eight, ir.Undefined),
                places,
            )
            for each in args[2:]
        )
        reach, slope = (builder.load(each, align=8, typ=eight) for each in args[:2])
        below = builder.fcmp_ordered("<", builder.fadd(reach, builder.fmul(slope, all_x)), all_floor)
        return builder.icmp_unsigned("==", builder.bitcast(below, ir.IntType(8)), ir.Constant(ir.IntType(8), 255))

    return types.boolean(reaches, slopes, types.float64, types.float64), generate


# Written for the compiler itself, which would compare one line after the other.
eight_below: Any = intrinsic(_eight_below)


@inlined
def eight_behind(work: Any, size: int, k: int, floor: float, x: float) -> bool:
    """Whether the lines of eight arms from k on lie below `floor`: a scan of many arms passes over them at once."""
    if k + MANY > size:
        return False
    lines = cells_after(work, size)
    return eight_below(at(lines, k), at(lines, size + k), x, floor)


@inlined
def next_reaching(work: Any, size: int, k: int, floor: float, x: float) -> int:
    """The first arm from k on whose line does not lie below `floor`; `size` if there is none."""
    while eight_behind(work, size, k, floor, x):
        k += 8
    while k < size and height(work, size, k, x) < floor:
        k += 1
    return k


@inlined
def with_arm(ahead: Ahead, k: int, reach: float) -> Ahead:
    """Who is ahead once arm k has come, too."""
    if reach > ahead.reach or (ahead.arm < 0 and reach == ahead.reach):
        return Ahead(k, reach, ahead.reach)
    return Ahead(ahead.arm, ahead.reach, reach if reach > ahead.second else ahead.second)


@piece
def _highest(index: Any, state: State, work: Any, notes: Any, t: int, x: float, but: int) -> Ahead:
    """Which arm, `but` one, has the highest line; lines that are not known are drawn."""
    ahead, k = Ahead(-1, -np.inf, -np.inf), ZERO
    while k < state.size:
        while eight_behind(work, state.size, k, ahead.second, x):
            k += 8
        reach = height(work, state.size, k, x)
        if reach > ahead.second and k != but:
            if reach == np.inf:
                _draw_line(index, state, work, notes, k, t)
                reach = height(work, state.size, k, x)
            ahead = with_arm(ahead, k, reach)
        k += 1
    return ahead


@apart
def _draw_line(index: Any, state: State, work: Any, notes: Any, k: int, t: int) -> float:
    """Draw the line of an arm anew, and give its index in round t, which the line may not touch."""
    arm, seen = at(work, k), quantity(state, k, REWARD)
    arm.touched = near(index, seen, t, arm.touched, state.stream)
    _set_line(index, state, work, notes, k, t)
    return arm.touched


@piece
def _set_line(index: Any, state: State, work: Any, notes: Any, k: int, t: int) -> None:
    reach, slope, until = line(index, quantity(state, k, REWARD), t, at(work, k).touched, state.stream)
    keep_line(work, state.size, k, reach, slope)
    notes.until = min(notes.until, until)


@inlined
def saw_the_same(one: Seen, other: Seen) -> bool:
    """Whether two arms with at most one own number have the same index."""
    return one.plays == other.plays and one.total == other.total and one.own[0] == other.own[0]


@apart
def _compare(index: Any, state: State, work: Any, notes: Any, t: int, x: float, floor: float) -> int:
    """The arm of the largest index, ties at random, among open arms whose lines reach `floor`, as the largest does."""
    before, same, winner, latest, top, ties = 0, np.nan, -1, -1, -np.inf, 0
    k = next_reaching(work, state.size, ZERO, floor, x)
    while k < state.size:
        arm = at(work, k)
        if arm.open:
            # At first many arms have seen the same, and have the same index.
            if not (
                width(index) <= 1
                and same == same  # noqa: PLR0124
                and saw_the_same(quantity(state, k, REWARD), quantity(state, before, REWARD))
            ):
                same = upper(index, quantity(state, k, REWARD), t, state.stream)
            before, arm.touched = k, same
            if same > top or (ties == 0 and same == top):
                winner, latest, top, ties = k, k, same, 1
            elif same == top:
                at(work, latest).next = k
                latest, ties = k, ties + 1
            if not height(work, state.size, k, x) < same + LOOSE:
                _set_line(index, state, work, notes, k, t)
        k = next_reaching(work, state.size, k + 1, floor, x)
    for _ in range(int(uniform(state.stream) * ties) if ties > 1 else 0):
        winner = at(work, winner).next
    return winner
