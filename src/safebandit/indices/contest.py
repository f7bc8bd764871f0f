"""Which permitted arm has the largest index: by the definition, and with less work for an index that is steady."""

from __future__ import annotations

from typing import Any

import numpy as np

from safebandit.arms import State, at
from safebandit.dispatch import inlined, woven
from safebandit.indices.interface import best, exceeds, steady, upper, upper_near
from safebandit.streams import uniform

# Far above the rounding of any index, far below any difference that matters.
MARGIN = 1e-9


@best.register(object)
def best_of_any(index: Any, state: State, t: int) -> int:
    if steady(index):
        return _best_of_steady(index, state, t)
    return _best(index, state, t, -np.inf)


@woven
def _best(index: Any, state: State, t: int, floor: float) -> int:
    """The permitted arm of the largest index, ties at random, -1 if no index is a number.

    Arms whose ceiling is below `floor` cannot win, and are passed over; from minus infinity it is the definition.
    """
    for k in range(state.size):
        arm = at(state.first, k)
        arm.index = np.nan
        if arm.permitted and not arm.ceiling < floor:
            arm.index = upper(index, arm.reward, t, state.stream)
    return largest_index(state)


@inlined
def largest_index(state: State) -> int:
    """The arm of the largest `index`, ties at random; -1 if none is a number."""
    best, top, ties = -1, -np.inf, 0
    for k in range(state.size):
        index = at(state.first, k).index
        # The first number counts even if it is minus infinity.
        if index > top or (best < 0 and index == top):
            best, top, ties = k, index, 1
        elif index == top:
            ties += 1
    if ties > 1:
        # One draw, for the largest only: it must not depend on which arms were passed over.
        place = int(uniform(state.stream) * ties)
        for k in range(state.size):
            if at(state.first, k).index == top:
                if place == 0:
                    return k
                place -= 1
    return best


@woven
def _best_of_steady(index: Any, state: State, t: int) -> int:
    """The arm that `_best` gives, for an index that only grows between plays, with less work.

    An arm's index as it will be in a later round, its ceiling, bounds it until then or until a play resets it. An arm
    that exceeds the ceilings of all others wins: the last winner is tried, then the arm of the highest ceiling.
    Where that does not decide, arms whose ceiling can still win are compared by the definition.
    """
    k = state.notes.leader
    for _ in range(2):
        front = at(state.first, k)
        if front.permitted == 0:
            break
        rival, bar = _highest_ceiling(index, state, t, k)
        if bar + MARGIN < 1.0 and exceeds(index, front.reward, t, bar + MARGIN, state.stream):
            state.notes.leader = k
            return k
        k = rival
    front = at(state.first, k)
    floor = upper(index, front.reward, t, state.stream) - MARGIN if front.permitted else -np.inf
    best = _best(index, state, t, floor)
    state.notes.leader = max(0, best)
    return best


@woven
def _highest_ceiling(index: Any, state: State, t: int, but: int) -> tuple[int, float]:
    """Which permitted arm, `but` one, has the highest ceiling; ceilings out of date are computed anew."""
    rival, bar = but, -np.inf
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.permitted == 0 or k == but:
            continue
        if arm.until < t:
            arm.until = t + t // 512 + 2
            arm.ceiling = upper_near(index, arm.reward, arm.until, arm.ceiling, state.stream)
        if arm.ceiling > bar:
            rival, bar = k, arm.ceiling
    return rival, bar
