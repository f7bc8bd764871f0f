"""Doubly optimistic policies: play the arm of the largest reward index among those whose risk index permits it.

Algorithms 1 to 3 of the paper are this one policy with different indices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import EVERY, NEVER, NONE, Numbers, State, at, note_change, set_reach
from safebandit.core.dispatch import inlined, woven
from safebandit.core.indices.interface import (
    best,
    charge,
    drawn,
    evidence,
    learn_together,
    lower,
    permits,
    steady,
    tells_chances,
    upper,
    width,
)
from safebandit.core.indices.interface import reveal as reveal_indices
from safebandit.core.policies.drawn_together import choose_together, look_together
from safebandit.core.policies.interface import (
    LEAST_RISKY,
    WAIT,
    Limits,
    begin,
    choose,
    learn_pair,
    learn_reward,
    learn_risk,
    look,
    reveal,
    widths,
)
from safebandit.core.policies.parts import (
    count_reward,
    count_risk,
    first_unplayed,
    gate_round,
    start_arms,
    when_none_permissible,
)
from safebandit.core.streams import Stream, bernoulli_bit


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
    count_reward(policy.reward, at(state.first, k), play, value, limits)
    note_change(state, k)


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
    note_change(state, k)


@learn_pair.register(DoublyOptimistic)
def _learn_pair(policy: DoublyOptimistic, state: State, k: int, j: int, play: int, reward: float, risk: float) -> None:
    arm = at(state.first, k)
    # Policies that ask how outcomes depend have one risk: two bits a play.
    bits = bernoulli_bit(arm.key, 2 * play, reward), bernoulli_bit(arm.key, 2 * play + 1, risk)
    learn_together(policy.reward, arm.reward, bits[0], bits[1])


@woven
def _draws_both(policy: Any) -> bool:
    """Whether reward and risk are drawn, with chances that can be told: they are then drawn together."""
    return tells_chances(policy.safety) and tells_chances(policy.reward)


@choose.register(DoublyOptimistic)
def _choose(policy: DoublyOptimistic, state: State, t: int, limits: Limits) -> tuple[int, bool]:
    stream, notes = state.stream, state.notes
    if policy.each_first and t <= state.size:
        k = first_unplayed(state)
        if k >= 0:
            return k, False
    if _draws_both(policy):
        return choose_together(policy.safety, policy, state, t + policy.head_start, limits)
    before = (stream.a, stream.b, stream.c, stream.counter)
    if steady(policy.safety):
        _follow_gates(policy.safety, state, t + policy.head_start, limits)
    else:
        _ask_gates(policy.safety, state, t + policy.head_start, limits)
    if notes.open_arms == 0 and notes.safe_arms > 0:
        return WAIT, False
    if notes.open_arms > 0:
        winner = best(policy.reward, state, t)
        if winner >= 0:
            return winner, False
    if policy.when_none == LEAST_RISKY:
        if drawn(policy.safety):
            # The gate drew first, arm by arm: from the same place, `lower` draws the same numbers.
            stream.a, stream.b, stream.c, stream.counter = before
        _compute_excesses(policy.safety, state, t + policy.head_start, limits)
    return when_none_permissible(policy.when_none, state), True


@woven
def _ask_gates(index: Any, state: State, t: int, limits: Limits) -> None:
    """Ask of every arm whether it is permissible."""
    notes = state.notes
    if notes.changed == EVERY:
        _forget(state)
    for k in range(state.size):
        safe = 1 if _permits(index, at(state.first, k), t, limits, state.stream) else 0
        _set_gate(state, k, safe)
    notes.changed = NONE


@woven
def _follow_gates(index: Any, state: State, t: int, limits: Limits) -> None:
    """The same for a steady index: only of the arm that learnt, and in the rounds in which a closed gate may open.

    A steady gate that is open stays open until the arm learns.
    """
    notes = state.notes
    if notes.changed == EVERY:
        _forget(state)
        notes.gates_at = t
    if t >= notes.gates_at:
        notes.gates_at = NEVER
        for k in range(state.size):
            arm = at(state.first, k)
            if arm.ask_gate_at <= t or notes.changed == k + 1:
                _ask_steady_gate(index, state, k, t, limits)
            notes.gates_at = min(notes.gates_at, arm.ask_gate_at)
    elif notes.changed > 0:
        _ask_steady_gate(index, state, notes.changed - 1, t, limits)
        notes.gates_at = min(notes.gates_at, at(state.first, notes.changed - 1).ask_gate_at)
    notes.changed = NONE


@inlined
def _forget(state: State) -> None:
    """Every arm is closed, until its gate is asked, and none is known to have a rival."""
    state.notes.rivals.other = 0
    state.notes.open_arms = 0
    state.notes.safe_arms = 0
    for k in range(state.size):
        arm = at(state.first, k)
        arm.safe = 0
        arm.permitted = 0
        arm.ask_gate_at = 0
        set_reach(state, k, -np.inf)


@inlined
def _set_gate(state: State, k: int, safe: int) -> None:
    arm, notes = at(state.first, k), state.notes
    permitted = safe & arm.available
    notes.safe_arms += safe - arm.safe
    notes.open_arms += permitted - arm.permitted
    if permitted != arm.permitted:
        set_reach(state, k, np.inf if permitted else -np.inf)
    arm.safe = safe
    arm.permitted = permitted


@woven
def _ask_steady_gate(index: Any, state: State, k: int, t: int, limits: Limits) -> None:
    """Ask one gate, and if it is closed, find the round in which it opens, or up to which it surely does not."""
    arm, notes = at(state.first, k), state.notes
    if _permits(index, arm, t, limits, state.stream):
        arm.ask_gate_at = NEVER
        _set_gate(state, k, 1)
        return
    _set_gate(state, k, 0)
    if notes.gates_seen <= t:
        # The same round for all arms, so that they are looked through together, and seldom.
        notes.gates_seen = t + t // 16 + 8
    closed, opened = t, notes.gates_seen + 1
    if _permits(index, arm, notes.gates_seen, limits, state.stream):
        opened = notes.gates_seen
        while opened - closed > 1:
            middle = (closed + opened) // 2
            if _permits(index, arm, middle, limits, state.stream):
                opened = middle
            else:
                closed = middle
    arm.ask_gate_at = opened


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


@reveal.register(DoublyOptimistic)
def _reveal(policy: DoublyOptimistic, state: State, winner: int, t: int) -> None:
    if not _draws_both(policy):
        reveal_indices(policy.reward, state, winner, t)


@look.register(DoublyOptimistic)
def _look(policy: DoublyOptimistic, state: State, t: int, limits: Limits, table: Numbers) -> None:
    if _draws_both(policy):
        first = policy.each_first and t <= state.size and first_unplayed(state) >= 0
        look_together(policy.safety, policy, state, t + policy.head_start, limits, first, table)
        return
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
