"""Thompson sampling behind a gate that is drawn, too, without drawing every arm.

An arm counts if the draw of its reward exceeds the bar and the draws of its risks are near their limits: permissible in
this round, or in one of the next. They are drawn apart from each other, so that the chance of this is a product, and
who counts is found as it is found who exceeds the bar. Where that is one arm, its reward is not drawn; only where no
arm counts and is permissible, all are drawn.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import EVERY, NEVER, NONE, Numbers, State, at, set_reach
from safebandit.core.dispatch import generic, inlined, woven
from safebandit.core.indices.bar import (
    BELOW,
    DRAWN,
    arms_above_bar,
    bar_is_poor,
    draw_above,
    draw_below,
    set_bar,
    standing,
)
from safebandit.core.indices.interface import chance_near, lower, lower_if, permits_if_near
from safebandit.core.indices.sampling import SampledRisk
from safebandit.core.policies.interface import HOLD, LEAST_RISKY, WAIT, Limits
from safebandit.core.policies.parts import gate_round, when_none_permissible
from safebandit.core.streams import uniform

# What `excess` says of an arm that is permissible, or not, though its risks need not have been drawn.
OPEN, SHUT = -1.0, 1.0


class Gate(NamedTuple):
    """The gate of a round, and a later one, the same for many rounds, up to which near risks stay near."""

    safety: Any
    t: int
    later: int
    limits: Limits


@standing.register(Gate)
def gate_standing(gate: Gate, arm: Any) -> float:
    return _chance_near(gate, arm, 0)


@woven
def _chance_near(gate: Any, arm: Any, first: int) -> float:
    """The chance that all risks of the arm, from the first on, are near their limits."""
    chance = 1.0
    for j in range(first, len(gate.limits)):
        chance *= chance_near(gate.safety, at(arm.risk, j), gate.later, gate.limits[j])
    return chance


@generic
def choose_together(safety: object, policy: Any, state: State, t: int, limits: Limits) -> tuple[int, bool]:
    """The arm of the largest drawn reward among those whose drawn risks are permissible, as `choose` answers."""
    raise NotImplementedError


@generic
def look_together(
    safety: object, policy: Any, state: State, t: int, limits: Limits, first: bool, table: Numbers
) -> None:
    """The same decision, and into the table all numbers behind it; `first` says that arms are played once before."""
    raise NotImplementedError


@choose_together.register(object)
def _does_not_choose(safety: object) -> tuple[int, bool]:
    return HOLD, True


@look_together.register(object)
def _does_not_look(safety: object) -> None:
    pass


@choose_together.register(SampledRisk)
def choose_drawn(safety: SampledRisk, policy: Any, state: State, t: int, limits: Limits) -> tuple[int, bool]:
    gate = _gate_of(safety, state, t, limits)
    if bar_is_poor(state):
        set_bar(gate, state)
    first, count, _ = arms_above_bar(gate, state)
    winner, k = -1, first
    while k >= 0:
        arm = at(state.first, k)
        if _is_open(gate, arm, state):
            if count == 1:
                return k, False
            arm.index = draw_above(arm.reward, state)
            winner = _larger(state, winner, k)
        k = arm.next
    if winner < 0:
        winner = _largest_of_rest(gate, state, first)
    if winner >= 0:
        return winner, False
    if _someone_waits(gate, state):
        return WAIT, False
    if policy.when_none == LEAST_RISKY:
        for k in range(state.size):
            _draw_risks(gate, at(state.first, k), state)
    return when_none_permissible(policy.when_none, state), True


@woven
def _gate_of(safety: Any, state: State, t: int, limits: Limits) -> Gate:
    """The gate of round t; all chances are forgotten where several arms learnt, or it is later than was thought."""
    notes, clock = state.notes, gate_round(t, limits)
    if notes.changed == EVERY or clock > notes.until:
        # The next power of two: it must not depend on when it was asked for.
        notes.until = 1
        while notes.until < min(clock, NEVER):
            notes.until *= 2
        for k in range(state.size):
            arm = at(state.first, k)
            arm.permitted = arm.available
            set_reach(state, k, np.inf if arm.available else -np.inf)
    notes.changed = NONE
    return Gate(safety, clock, notes.until, limits)


@woven
def _is_open(gate: Any, arm: Any, state: State) -> bool:
    """Whether an arm whose risks are near their limits is permissible; all are asked, and `excess` notes the answer."""
    every = True
    for j in range(len(gate.limits)):
        if not permits_if_near(gate.safety, at(arm.risk, j), gate.t, gate.later, gate.limits[j], state.stream):
            every = False
    arm.excess = OPEN if every else SHUT
    return every


@woven
def _opens(gate: Any, arm: Any, state: State, chance: float) -> bool:
    """The same of an arm whose risks are near with such a chance."""
    if uniform(state.stream) < chance:
        return _is_open(gate, arm, state)
    arm.excess = SHUT
    at(arm.risk, 0).own[DRAWN] = math.nan
    return False


@woven
def _opens_below(gate: Any, arm: Any, state: State) -> bool:
    """The same of an arm that does not count above the bar; if it is open, its draw is below the bar."""
    below, near = arm.reward.own[BELOW], _chance_near(gate, arm, 0)
    return _opens(gate, arm, state, near * below / (1.0 - near + near * below))


@inlined
def _larger(state: State, one: int, other: int) -> int:
    """Which of two arms has the larger index; -1 stands for none."""
    return one if one >= 0 and at(state.first, one).index >= at(state.first, other).index else other


@woven
def _largest_of_rest(gate: Any, state: State, first: int) -> int:
    """The open arm of the largest draw where none counts above the bar; those of the chain were seen to be shut."""
    winner, shut = -1, first
    for k in range(state.size):
        arm = at(state.first, k)
        if k == shut:
            shut = arm.next
        elif arm.permitted and _opens_below(gate, arm, state):
            arm.index = draw_below(arm.reward, state)
            winner = _larger(state, winner, k)
    state.notes.work += state.size
    return winner


@woven
def _someone_waits(gate: Any, state: State) -> bool:
    """Whether an arm is open that may not be given out now."""
    found = False
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.available == 0 and _opens(gate, arm, state, _chance_near(gate, arm, 0)):
            found = True
    return found


@woven
def _draw_risks(gate: Any, arm: Any, state: State) -> None:
    """Draw the risks of an arm that is known to be open or shut, where that was not done.

    An arm that is shut without a draw has a risk that is not near: found in turn, and risks behind it are free.
    `excess` is then how far the drawn risk index lies above its limit; of several risks, the one that does so most.
    """
    if math.isnan(at(arm.risk, 0).own[DRAWN]):
        sought, free = arm.excess == SHUT, False
        for j in range(len(gate.limits)):
            risk, limit, near = at(arm.risk, j), gate.limits[j], True
            if sought and not free:
                last, chance = j == len(gate.limits) - 1, chance_near(gate.safety, risk, gate.later, limit)
                some = 1.0 - _chance_near(gate, arm, j)
                near = not (last or uniform(state.stream) * some < 1.0 - chance)
            if free:
                risk.own[DRAWN] = lower(gate.safety, risk, gate.t, limit, state.stream)
            else:
                risk.own[DRAWN] = lower_if(gate.safety, near, risk, gate.t, gate.later, limit, state.stream)
            free = free or not near
    arm.excess = -np.inf
    for j in range(len(gate.limits)):
        arm.excess = max(arm.excess, at(arm.risk, j).own[DRAWN] - gate.limits[j])


@woven
def _draw_risks_freely(gate: Any, arm: Any, state: State) -> None:
    """Draw the risks of an arm of which nothing is known."""
    for j in range(len(gate.limits)):
        risk = at(arm.risk, j)
        risk.own[DRAWN] = lower(gate.safety, risk, gate.t, gate.limits[j], state.stream)


@look_together.register(SampledRisk)
def look_drawn(
    safety: SampledRisk, policy: Any, state: State, t: int, limits: Limits, first: bool, table: Numbers
) -> None:
    for k in range(state.size):
        arm = at(state.first, k)
        arm.index, arm.excess = math.nan, math.nan
    winner = WAIT if first else choose_together(safety, policy, state, t, limits)[0]
    gate = _gate_of(safety, state, t, limits)
    for k in range(state.size):
        arm = at(state.first, k)
        if math.isnan(arm.excess):
            if first or arm.available == 0:
                _draw_risks_freely(gate, arm, state)
            else:
                _opens_below(gate, arm, state)
        _draw_risks(gate, arm, state)
        table[k, 0] = 1.0 if arm.excess <= 0.0 else 0.0
        for j in range(len(limits)):
            table[k, 3 + j] = at(arm.risk, j).own[DRAWN]
        if arm.excess <= 0.0 and arm.available and not first:
            if math.isnan(arm.index):
                arm.index = draw_above(arm.reward, state) if k == winner else draw_below(arm.reward, state)
            table[k, 1] = arm.index
