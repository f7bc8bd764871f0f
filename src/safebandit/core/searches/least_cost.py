"""The least cost of IMED: every arm has a line over the largest mean m that its cost, convex in m, does not fall below.

The last winner, then the arm of the lowest line, are tried against the lines of all others; where that does not
decide, arms that can still win are compared by the definition, and their lines are drawn anew. An arm that wins is next
tried against the line of its rival, and one number that all other lines stay below while m does not fall much.

Costs have their sign changed here, as an index has: the highest line is the least cost.

What it buys: the cost of one arm in a round instead of all: 1.7 times as many rounds a second with five arms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import REWARD, Seen, State, at, quantity
from safebandit.core.dispatch import apart, inlined
from safebandit.core.indices.imed import forgiveness, imed_cost, imed_evidence
from safebandit.core.policies.choice import play_when_none
from safebandit.core.searches.gates import ARM_FIELDS, TRIAL_FIELDS, follow_gates
from safebandit.core.searches.interface import NEVER, NOTES, Notes, find
from safebandit.core.searches.lines import (
    LINE_NUMBERS,
    ZERO,
    Ahead,
    eight_behind,
    forget_if_changed,
    height,
    keep_line,
    next_reaching,
    saw_the_same,
    with_arm,
)
from safebandit.core.streams import uniform

# Far above the rounding of a line, far below any difference in evidence that matters.
MARGIN = 1e-6
STEEPEST = 1e8
# So much, over t, may the largest mean fall before what all lines stay below is sought anew.
FALL = 4.0
STANDING_FIELDS = [("bar", "f8"), ("lowest", "f8"), ("rival", "i8"), ("log_plays", "f8"), ("per_play", "f8")]


class ByLeastCost(NamedTuple):
    """The search for IMED behind a steady safety index."""


NOTES[ByLeastCost] = Notes(
    # Of each arm: the next one of the same cost where several tie.
    np.dtype([("next", "i8"), *ARM_FIELDS]),
    # The round up to which all lines hold; the largest mean of an open arm, whose it is, and a number that no other
    # mean exceeds; a number that no line exceeds while the largest mean is at least `lowest`, but for those of the arm
    # played last and of its rival, which may be itself (infinity: none is known); and a line over the plays of the arm
    # played last that their logarithm does not exceed.
    np.dtype([("largest", "f8"), ("top", "i8"), ("second", "f8"), *TRIAL_FIELDS, ("until", "i8"), *STANDING_FIELDS]),
    LINE_NUMBERS,
)


@find.register(ByLeastCost)
def find_by_least_cost(
    search: ByLeastCost, policy: Any, state: State, work: Any, notes: Any, t: int
) -> tuple[int, bool]:
    if policy.each_first and t <= state.size:
        return t - 1, False
    last = notes.played - 1
    several = follow_gates(policy, state, work, notes, t)
    if last < 0 or t > notes.until:
        last, several = (last if last > 0 else 0), True
        notes.until = t + t // 64 + 2 if policy.reward.discount > 0.0 else NEVER
        for k in range(state.size):
            at(work, k).changed = 1
    for k in range(0 if several else last, state.size if several else last + 1):
        forget_if_changed(work, state.size, k)
    winner, none = -1, True
    if notes.open_arms > 0:
        if several:
            notes.bar = np.inf
            _find_largest_mean(state, work, notes)
        else:
            _follow_largest_mean(state, work, notes, last)
        forgiven, later = forgiveness(policy.reward, t), forgiveness(policy.reward, notes.until)
        winner, none = _least(state, work, notes, last, t, forgiven, later), False
    if winner < 0:
        notes.bar = np.inf
        winner = play_when_none(policy.when_none, policy.safety, state, t + policy.head_start, policy.lasting)
        none = True
    if winner >= 0:
        notes.played = winner + 1
    return winner, none


@inlined
def _least(state: State, work: Any, notes: Any, last: int, t: int, forgiven: float, later: float) -> int:
    """The open arm of least cost, ties at random; -1 if no cost is a number."""
    m, floor, is_open = notes.largest, -math.inf, at(work, last).open
    seen = quantity(state, last, REWARD)
    if is_open:
        if m >= notes.lowest:
            floor = -(imed_evidence(seen, m, forgiven) + notes.log_plays + notes.per_play * seen.plays)
            if floor > notes.bar and _beats(state, work, floor, last, notes.rival, m):
                return last
        floor = -imed_cost(seen, m, forgiven)
    # Lines fall with m: what none exceeds at less, none exceeds from there on.
    notes.lowest, notes.bar = max(0.0, m - FALL / t), np.inf
    ahead = _highest(state, work, m, notes.lowest, last, later)
    second, rival = ahead.second + MARGIN, ahead.arm if ahead.arm >= 0 else last
    if is_open:
        if floor > second and _beats(state, work, floor, last, rival, m):
            return _standing(notes, seen, second, rival, last)
        _draw_line(state, work, last, m, later)
    if ahead.arm >= 0:
        other = quantity(state, rival, REWARD)
        least = -imed_cost(other, m, forgiven)
        if least > floor + MARGIN and least > second:
            return _standing(notes, other, second, last, rival)
        _draw_line(state, work, rival, m, later)
        if floor > least + MARGIN and floor > second:
            return _standing(notes, seen, second, rival, last)
        floor = least if least > floor else floor
    return _compare(state, work, m, forgiven, later, floor - MARGIN)


@inlined
def _standing(notes: Any, seen: Seen, bar: float, rival: int, winner: int) -> int:
    """Note what the winner is tried against next, and the tangent of the logarithm of its plays."""
    notes.bar, notes.rival = bar, rival
    notes.log_plays, notes.per_play = math.log(seen.plays) - 1.0, 1.0 / seen.plays
    return winner


@inlined
def _beats(state: State, work: Any, floor: float, k: int, rival: int, m: float) -> bool:
    """Whether `floor`, of arm k, exceeds the line of its rival, if it has one."""
    return k == rival or floor > height(work, state.size, rival, m) + MARGIN


@inlined
def _highest(state: State, work: Any, m: float, x: float, but: int, later: float) -> Ahead:
    """Which arm, `but` one, has the highest line at x; lines that are not known are drawn where they are at m."""
    ahead, k = Ahead(-1, -np.inf, -np.inf), ZERO
    while k < state.size:
        while eight_behind(work, state.size, k, ahead.second, x):
            k += 8
        reach = height(work, state.size, k, x)
        if reach > ahead.second and k != but:
            if reach == np.inf:
                _draw_line(state, work, k, m, later)
                reach = height(work, state.size, k, x)
            ahead = with_arm(ahead, k, reach)
        k += 1
    return ahead


@apart
def _draw_line(state: State, work: Any, k: int, m: float, forgiven: float) -> None:
    """Draw the line of an arm anew: the tangent of its cost, with the sign changed, at the largest mean."""
    seen, slope = quantity(state, k, REWARD), 0.0
    if seen.plays > 0 and seen.mean < m:
        slope = seen.plays * (seen.mean - m) / (m * (1.0 - m)) if m < 1.0 else -math.inf
    if slope < -STEEPEST:
        keep_line(work, state.size, k, -imed_cost(seen, 0.0, forgiven), 0.0)
    else:
        keep_line(work, state.size, k, -imed_cost(seen, m, forgiven) - slope * m, slope)


@apart
def _compare(state: State, work: Any, m: float, forgiven: float, later: float, floor: float) -> int:
    """The open arm of least cost, ties at random, among those whose lines reach `floor`, as that of the least does."""
    before, same, winner, latest, top, ties = 0, np.nan, -1, -1, -np.inf, 0
    k = next_reaching(work, state.size, ZERO, floor, m)
    while k < state.size:
        if at(work, k).open:
            # At first many arms have seen the same, and have the same cost.
            if not (same == same and saw_the_same(quantity(state, k, REWARD), quantity(state, before, REWARD))):  # noqa: PLR0124
                same = -imed_cost(quantity(state, k, REWARD), m, forgiven)
            before = k
            if same > top or (ties == 0 and same == top):
                winner, latest, top, ties = k, k, same, 1
            elif same == top:
                at(work, latest).next = k
                latest, ties = k, ties + 1
            if not height(work, state.size, k, m) < same + MARGIN:
                _draw_line(state, work, k, m, later)
        k = next_reaching(work, state.size, k + 1, floor, m)
    for _ in range(int(uniform(state.stream) * ties) if ties > 1 else 0):
        winner = at(work, winner).next
    return winner


@inlined
def _follow_largest_mean(state: State, work: Any, notes: Any, last: int) -> None:
    """Bring the largest mean of an open arm up to date, where only the arm that was played last has learnt."""
    mean = quantity(state, last, REWARD).mean
    if at(work, last).open and last != notes.top:
        if mean > notes.largest:
            notes.second, notes.top, notes.largest = notes.largest, last, mean
        elif mean > notes.second:
            notes.second = mean
    elif last == notes.top:
        if at(work, last).open and mean >= notes.second:
            notes.largest = mean
        else:
            _find_largest_mean(state, work, notes)


@apart
def _find_largest_mean(state: State, work: Any, notes: Any) -> None:
    """Find the largest mean of an open arm; 0 where nothing is known of any."""
    notes.largest, notes.second, notes.top = 0.0, 0.0, -1
    for k in range(state.size):
        seen = quantity(state, k, REWARD)
        if at(work, k).open and seen.plays > 0:
            if seen.mean > notes.largest:
                notes.largest, notes.second, notes.top = seen.mean, notes.largest, k
            elif seen.mean > notes.second:
                notes.second = seen.mean
