"""Thompson sampling by the bar: the arm of the largest draw, with few draws; with none where one arm exceeds it.

What it buys: tsbu plays more than twice as many rounds a second with five arms, fourteen times as many with a thousand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import State, at
from safebandit.core.dispatch import piece
from safebandit.core.policies.choice import play_when_none
from safebandit.core.searches.bar import (
    BAR_ARM_FIELDS,
    BAR_TRIAL_FIELDS,
    arms_above_bar,
    forget_above,
    keep_bar,
    largest_above,
    largest_below,
)
from safebandit.core.searches.gates import follow_gates
from safebandit.core.searches.interface import NOTES, Notes, find
from safebandit.core.searches.rivals import RIVAL_FIELDS, by_rivals, is_rival, note_rivals


class ByBar(NamedTuple):
    """The search for Thompson sampling with a uniform prior behind a steady safety index."""


NOTES[ByBar] = Notes(np.dtype(BAR_ARM_FIELDS), np.dtype([*RIVAL_FIELDS, *BAR_TRIAL_FIELDS]))


@find.register(ByBar)
def find_by_bar(search: ByBar, policy: Any, state: State, work: Any, notes: Any, t: int) -> tuple[int, bool]:
    if policy.each_first and t <= state.size:
        return t - 1, False
    last = notes.played - 1
    several = forget_changed(policy, state, work, notes, t)
    if several or not is_rival(notes, last):
        notes.rest = 0.0
    if notes.open_arms > 0:
        winner = _largest(policy.reward, state, work, notes, several)
        notes.played = winner + 1
        return winner, False
    notes.rest = 0.0
    winner = play_when_none(policy.when_none, policy.safety, state, t + policy.head_start, policy.lasting)
    if winner >= 0:
        notes.played = winner + 1
    return winner, True


@piece
def forget_changed(policy: Any, state: State, work: Any, notes: Any, t: int) -> bool:
    """Follow the gates; of arms that learnt, or whose gates did, the chance to exceed the bar is not known.

    Whether there may be others than the arm played last.
    """
    last = notes.played - 1
    several = follow_gates(policy, state, work, notes, t)
    for k in range(0 if several else last, state.size if several else last + 1):
        if at(work, k).changed:
            at(work, k).changed = 0
            forget_above(work, k)
    return several


@piece
def _largest(index: Any, state: State, work: Any, notes: Any, several: bool) -> int:
    """The open arm of the largest draw."""
    if keep_bar(index, state, work, notes, several):
        notes.rivals = 0
    if notes.rivals:
        winner = by_rivals(state, work, notes)
        if winner >= 0:
            return winner
    first, count, rest = arms_above_bar(state, work, notes)
    if count == 1:
        return first
    if count == 0:
        return largest_below(state, work, notes)
    if count == 2:
        note_rivals(state, work, notes, first, rest)
    return largest_above(state, work, notes, first)
