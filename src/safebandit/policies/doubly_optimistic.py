"""Doubly optimistic policies: play the arm of the largest reward index among those whose risk index permits it.

Algorithms 1 to 3 of the paper are this one policy with different indices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.arms import Numbers, State, at, count_outcome
from safebandit.dispatch import woven
from safebandit.indices.interface import best, drawn, learn, lower, permits, start, steady, upper, width
from safebandit.policies.interface import (
    HOLD,
    LEAST_RISKY,
    WAIT,
    begin,
    choose,
    learn_reward,
    learn_risk,
    look,
    widths,
)
from safebandit.streams import Stream, wins_tie

NEVER = 1 << 62


class DoublyOptimistic(NamedTuple):
    """Any reward index with any safety index.

    `when_none` says what happens while no arm is permissible: "least_risky" plays the arm of the smallest lower
    index (the default in simulation), "hold" plays nothing (the default in a live trial), an arm plays that arm.
    `each_first` plays every arm once before any index is asked, as Algorithms 1 and 2 do.
    """

    reward: Any
    safety: Any
    when_none: Any = None
    each_first: bool = True


@widths.register(DoublyOptimistic)
def _widths(policy: DoublyOptimistic) -> tuple[int, int]:
    return width(policy.reward), width(policy.safety)


@begin.register(DoublyOptimistic)
def _begin(policy: DoublyOptimistic, state: State, alpha: float) -> None:
    for k in range(state.size):
        arm = at(state.first, k)
        start(policy.reward, arm.reward.own, alpha)
        start(policy.safety, arm.risk.own, alpha)


@learn_reward.register(DoublyOptimistic)
def _learn_reward(policy: DoublyOptimistic, state: State, k: int, play: int, value: float, alpha: float) -> None:
    arm = at(state.first, k)
    bit = count_outcome(arm.reward, arm.key, 2 * play, value)
    learn(policy.reward, arm.reward, value, bit, alpha)
    arm.until = 0


@learn_risk.register(DoublyOptimistic)
def _learn_risk(policy: DoublyOptimistic, state: State, k: int, play: int, value: float, alpha: float) -> None:
    arm = at(state.first, k)
    bit = count_outcome(arm.risk, arm.key, 2 * play + 1, value)
    learn(policy.safety, arm.risk, value, bit, alpha)
    arm.ask_gate_at = 0


@choose.register(DoublyOptimistic)
def _choose(policy: DoublyOptimistic, state: State, t: int, alpha: float) -> tuple[int, bool]:
    stream = state.stream
    if policy.each_first and t <= state.size:
        for k in range(state.size):
            arm = at(state.first, k)
            if arm.asked == 0 and arm.available:
                return k, False
    before = (stream.a, stream.b, stream.c, stream.counter)
    open_arms, safe_arms = 0, 0
    for k in range(state.size):
        arm = at(state.first, k)
        if t >= arm.ask_gate_at:
            _ask_gate(policy.safety, arm, t, alpha, stream)
        arm.permitted = arm.safe & arm.available
        safe_arms += arm.safe
        open_arms += arm.permitted
    if open_arms == 0 and safe_arms > 0:
        return WAIT, False
    if open_arms > 0:
        winner = best(policy.reward, state, t)
        if winner >= 0:
            return winner, False
    if drawn(policy.safety) and policy.when_none == LEAST_RISKY:
        # The gate drew first, arm by arm: from the same place, `lower` draws the same numbers.
        stream.a, stream.b, stream.c, stream.counter = before
    return _when_none(policy, state, t, alpha), True


@woven
def _ask_gate(index: Any, arm: Any, t: int, alpha: float, stream: Stream) -> None:
    """Ask whether the arm is permissible, and note in which round the answer may next be another one.

    A play asks anew. A steady index that permits goes on permitting; one that does not permit in a later round
    does not permit before it either.
    """
    arm.safe = 1 if permits(index, arm.risk, t, alpha, stream) else 0
    arm.ask_gate_at = 0
    if steady(index):
        later = t + t // 128
        if arm.safe:
            arm.ask_gate_at = NEVER
        elif not permits(index, arm.risk, later, alpha, stream):
            arm.ask_gate_at = later + 1


@woven
def _when_none(policy: DoublyOptimistic, state: State, t: int, alpha: float) -> int:
    """What happens while no arm is permissible."""
    if policy.when_none >= 0:
        return policy.when_none if at(state.first, policy.when_none).available else WAIT
    if policy.when_none != LEAST_RISKY:
        return HOLD
    choice, least, ties = HOLD, np.inf, 0
    waiting = False
    for k in range(state.size):
        arm = at(state.first, k)
        bound = lower(policy.safety, arm.risk, t, alpha, state.stream)
        if arm.available == 0:
            waiting = True
            continue
        if bound < least:
            choice, least, ties = k, bound, 1
        elif bound == least:
            ties += 1
            if wins_tie(ties, state.stream):
                choice = k
    return WAIT if choice == HOLD and waiting else choice


@look.register(DoublyOptimistic)
def _look(policy: DoublyOptimistic, state: State, t: int, alpha: float, table: Numbers) -> None:
    for k in range(state.size):
        arm = at(state.first, k)
        table[k, 0] = lower(policy.safety, arm.risk, t, alpha, state.stream)
        if drawn(policy.safety):
            table[k, 1] = table[k, 0] <= alpha
        else:
            table[k, 1] = permits(policy.safety, arm.risk, t, alpha, state.stream)
    for k in range(state.size):
        arm = at(state.first, k)
        table[k, 2] = upper(policy.reward, arm.reward, t, state.stream) if steady(policy.reward) else np.nan
