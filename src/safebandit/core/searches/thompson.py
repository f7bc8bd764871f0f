"""Thompson sampling by the bar: the arm of the largest draw, with few draws; with none where one arm exceeds it.

What it buys: tsbu plays 1.7 times as many rounds a second with five arms, and fourteen times as many with a thousand.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import State, at
from safebandit.core.dispatch import piece
from safebandit.core.policies.choice import play_when_none
from safebandit.core.searches.bar import (
    BAR_ARM_FIELDS,
    BAR_TRIAL_FIELDS,
    arms_above_bar,
    draw_above,
    draw_below,
    forget_above,
    keep_bar,
)
from safebandit.core.searches.gates import follow_gates
from safebandit.core.searches.interface import NOTES, Notes, find
from safebandit.core.searches.rivals import RIVAL_FIELDS, larger_of_rivals


class ByBar(NamedTuple):
    """The search for Thompson sampling with a uniform prior behind a steady safety index."""


NOTES[ByBar] = Notes(np.dtype(BAR_ARM_FIELDS), np.dtype([*RIVAL_FIELDS, *BAR_TRIAL_FIELDS]))


@find.register(ByBar)
def find_by_bar(search: ByBar, policy: Any, state: State, work: Any, notes: Any, t: int) -> tuple[int, bool]:
    if policy.each_first and t <= state.size:
        return t - 1, False
    forget_changed(policy, state, work, notes, t)
    if notes.open_arms > 0:
        winner = _largest(policy.reward, state, work, notes)
        notes.played = winner + 1
        return winner, False
    winner = play_when_none(policy.when_none, policy.safety, state, t + policy.head_start, policy.lasting)
    if winner >= 0:
        notes.played = winner + 1
    return winner, True


@piece
def forget_changed(policy: Any, state: State, work: Any, notes: Any, t: int) -> None:
    """Follow the gates; of arms that learnt, or whose gates did, the chance to exceed the bar is not known."""
    last = notes.played - 1
    several = follow_gates(policy, state, work, notes, t)
    for k in range(0 if several else last, state.size if several else last + 1):
        if at(work, k).changed:
            at(work, k).changed = 0
            forget_above(work, k)


@piece
def _largest(index: Any, state: State, work: Any, notes: Any) -> int:
    """The open arm of the largest draw."""
    keep_bar(index, state, work, notes)
    first, count, rest = arms_above_bar(index, state, work, notes)
    if count == 1:
        return first
    winner, x = -1, -math.inf
    if count == 0:
        for k in range(state.size):
            if at(work, k).open:
                drawn = draw_below(state, k, notes.bar)
                if drawn > x:
                    winner, x = k, drawn
        return winner
    if count == 2:
        winner = larger_of_rivals(state, work, notes, first, rest)
    k = first if winner < 0 else -1
    while k >= 0:
        drawn = draw_above(state, k, notes.bar)
        if drawn > x:
            winner, x = k, drawn
        k = at(work, k).next
    return winner
