"""Doubly optimistic policies: play the arm of the largest reward index among those whose risk index permits it.

Algorithms 1 to 3 of the paper are this one policy with different indices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.arms import Numbers, State, at
from safebandit.dispatch import inlined, woven
from safebandit.indices.interface import (
    best,
    charge,
    drawn,
    evidence,
    learn_together,
    lower,
    permits,
    steady,
    upper,
    width,
)
from safebandit.policies.interface import (
    LEAST_RISKY,
    WAIT,
    Limits,
    begin,
    choose,
    learn_pair,
    learn_reward,
    learn_risk,
    look,
    widths,
)
from safebandit.policies.parts import count_reward, count_risk, first_unplayed, start_arms, when_none_permissible
from safebandit.streams import Stream, bernoulli_bit

NEVER = 1 << 62


class DoublyOptimistic(NamedTuple):
    """Any reward index with any safety index.

    `when_none` says what happens while no arm is permissible: "least_risky" plays the arm of the smallest lower
    index (the default in simulation), "hold" plays nothing (the default in a live trial), an arm plays that arm.
    `each_first` plays every arm once before any index is asked, as Algorithms 1 and 2 do. With a `head_start` of t0 the
    safety index is asked about round t + t0: no arm is excluded on weaker evidence than in round t0.
    """

    reward: Any
    safety: Any
    when_none: Any = None
    each_first: bool = True
    head_start: int = 0


@widths.register(DoublyOptimistic)
def _widths(policy: DoublyOptimistic) -> tuple[int, int]:
    return width(policy.reward), width(policy.safety)


@begin.register(DoublyOptimistic)
def _begin(policy: DoublyOptimistic, state: State, limits: Limits) -> None:
    start_arms(policy.reward, policy.safety, state, limits)


@learn_reward.register(DoublyOptimistic)
def _learn_reward(policy: DoublyOptimistic, state: State, k: int, play: int, value: float, limits: Limits) -> None:
    arm = at(state.first, k)
    count_reward(policy.reward, arm, play, value, limits)
    arm.until = 0


@learn_risk.register(DoublyOptimistic)
def _learn_risk(
    policy: DoublyOptimistic, state: State, k: int, j: int, play: int, value: float, limits: Limits
) -> None:
    arm = at(state.first, k)
    count_risk(policy.safety, arm, j, play, value, limits)
    against = 0.0
    for i in range(len(limits)):
        against += evidence(policy.safety, at(arm.risk, i), limits[i])
    charge(policy.reward, arm.reward, against)
    arm.ask_gate_at = 0
    arm.until = 0


@learn_pair.register(DoublyOptimistic)
def _learn_pair(policy: DoublyOptimistic, state: State, k: int, j: int, play: int, reward: float, risk: float) -> None:
    arm = at(state.first, k)
    # Policies that ask how outcomes depend have one risk: two bits a play.
    bits = bernoulli_bit(arm.key, 2 * play, reward), bernoulli_bit(arm.key, 2 * play + 1, risk)
    learn_together(policy.reward, arm.reward, bits[0], bits[1])


@choose.register(DoublyOptimistic)
def _choose(policy: DoublyOptimistic, state: State, t: int, limits: Limits) -> tuple[int, bool]:
    stream = state.stream
    if policy.each_first and t <= state.size:
        k = first_unplayed(state)
        if k >= 0:
            return k, False
    before = (stream.a, stream.b, stream.c, stream.counter)
    open_arms, safe_arms = 0, 0
    for k in range(state.size):
        arm = at(state.first, k)
        if t + policy.head_start >= arm.ask_gate_at:
            _ask_gate(policy.safety, arm, t + policy.head_start, limits, stream)
        arm.permitted = arm.safe & arm.available
        safe_arms += arm.safe
        open_arms += arm.permitted
    if open_arms == 0 and safe_arms > 0:
        return WAIT, False
    if open_arms > 0:
        winner = best(policy.reward, state, t)
        if winner >= 0:
            return winner, False
    if policy.when_none == LEAST_RISKY:
        if drawn(policy.safety):
            # The gate drew first, arm by arm: from the same place, `lower` draws the same numbers.
            stream.a, stream.b, stream.c, stream.counter = before
        _compute_excesses(policy.safety, state, t + policy.head_start, limits)
    return when_none_permissible(policy.when_none, state), True


@inlined
def gate_round(t: int, limits: Limits) -> int:
    """The round that safety indices are asked about: with m risks m t, so that a level of log t becomes log t + log m.

    All risks of an arm together are then refuted by mistake no more often than one would be.
    """
    return t * len(limits)


@woven
def _ask_gate(index: Any, arm: Any, t: int, limits: Limits, stream: Stream) -> None:
    """Ask whether the arm is permissible, and note in which round the answer may next be another one.

    A play asks anew. A steady index that permits goes on permitting; one that does not permit in a later round
    does not permit before it either.
    """
    arm.safe = 1 if _permits(index, arm, t, limits, stream) else 0
    arm.ask_gate_at = 0
    if steady(index):
        later = t + t // 128
        if arm.safe:
            arm.ask_gate_at = NEVER
        elif not _permits(index, arm, later, limits, stream):
            arm.ask_gate_at = later + 1


@woven
def _permits(index: Any, arm: Any, t: int, limits: Limits, stream: Stream) -> bool:
    """Whether every risk of the arm is permissible; all are asked, so that draws do not depend on the answers."""
    every = True
    for j in range(len(limits)):
        if not permits(index, at(arm.risk, j), gate_round(t, limits), limits[j], stream):
            every = False
    return every


@woven
def _compute_excesses(index: Any, state: State, t: int, limits: Limits) -> None:
    """How far each arm's risk index lies above its limit; of several risks, the one that does so most."""
    for k in range(state.size):
        arm = at(state.first, k)
        arm.excess = -np.inf
        for j in range(len(limits)):
            excess = lower(index, at(arm.risk, j), gate_round(t, limits), limits[j], state.stream) - limits[j]
            # NaN stays: an arm whose index cannot be computed is not the least risky one.
            if excess > arm.excess or np.isnan(excess):
                arm.excess = excess


@look.register(DoublyOptimistic)
def _look(policy: DoublyOptimistic, state: State, t: int, limits: Limits, table: Numbers) -> None:
    for k in range(state.size):
        arm = at(state.first, k)
        table[k, 0] = 1.0
        for j in range(len(limits)):
            risk, clock = at(arm.risk, j), gate_round(t + policy.head_start, limits)
            bound = lower(policy.safety, risk, clock, limits[j], state.stream)
            table[k, 3 + j] = bound
            if drawn(policy.safety):
                permitted = bound <= limits[j]
            else:
                permitted = permits(policy.safety, risk, clock, limits[j], state.stream)
            if not permitted:
                table[k, 0] = 0.0
    for k in range(state.size):
        arm = at(state.first, k)
        table[k, 1] = upper(policy.reward, arm.reward, t, state.stream) if steady(policy.reward) else np.nan
