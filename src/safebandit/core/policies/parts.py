"""What policies made of a reward index and a risk index share: first plays, counting, the least risky arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from safebandit.core.arms import State, at, count_outcome
from safebandit.core.dispatch import inlined, woven
from safebandit.core.indices.interface import learn, start
from safebandit.core.policies.interface import HOLD, LEAST_RISKY, WAIT, Limits
from safebandit.core.streams import wins_tie


@woven
def start_arms(reward: Any, risk: Any, state: State, limits: Limits) -> None:
    """Set the indices' own numbers of arms that have not been played."""
    for k in range(state.size):
        arm = at(state.first, k)
        start(reward, arm.reward.own, limits[0])
        for j in range(len(limits)):
            start(risk, at(arm.risk, j).own, limits[j])


@woven
def count_reward(index: Any, arm: Any, play: int, value: float, limits: Limits) -> None:
    """Count a reward; each outcome of each play has its own place among the bits of the Bernoulli reduction."""
    bit = count_outcome(arm.reward, arm.key, (1 + len(limits)) * play, value)
    learn(index, arm.reward, value, bit, limits[0])


@woven
def count_risk(index: Any, arm: Any, j: int, play: int, value: float, limits: Limits) -> None:
    """Count risk j."""
    risk = at(arm.risk, j)
    bit = count_outcome(risk, arm.key, (1 + len(limits)) * play + 1 + j, value)
    learn(index, risk, value, bit, limits[j])


@inlined
def gate_round(t: int, limits: Limits) -> int:
    """The round that safety indices are asked about: with m risks m t, so that a level of log t becomes log t + log m.

    All risks of an arm together are then refuted by mistake no more often than one would be.
    """
    return t * len(limits)


@inlined
def first_unplayed(state: State) -> int:
    """The first arm that was never given out and may be; -1 if there is none."""
    notes = state.notes
    while notes.unplayed < state.size and at(state.first, notes.unplayed).asked > 0:
        notes.unplayed += 1
    for k in range(notes.unplayed, state.size):
        arm = at(state.first, k)
        if arm.asked == 0 and arm.available:
            return k
    return -1


@inlined
def when_none_permissible(rule: int, state: State) -> int:
    """What happens while no arm is permissible; `excess` is how far each arm's risk index lies above its limit."""
    if rule >= 0:
        return rule if at(state.first, rule).available else WAIT
    if rule != LEAST_RISKY:
        return HOLD
    choice, least, ties = HOLD, np.inf, 0
    waiting = False
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.available == 0:
            waiting = True
            continue
        if arm.excess < least:
            choice, least, ties = k, arm.excess, 1
        elif arm.excess == least:
            ties += 1
            if wins_tie(ties, state.stream):
                choice = k
    return WAIT if choice == HOLD and waiting else choice
