"""Response-adaptive randomisation: arms are drawn by shares that follow their chances to be best.

After Thall and Wathen (2007), as trials use it. Shares are computed when the data are looked at, and stay until the
next look: a design says when that is, and before the first look all arms have the same share. Chances come from
`posteriors`, without a draw. It has no gate: an arm is given up only by a rule of the design.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import CHANCE, INDEX, PERMISSIBLE, RISKS, Sizes, State, at, write, written
from safebandit.core.dispatch import inlined
from safebandit.core.naming import read_choice, read_number, read_value
from safebandit.core.policies.checking import arm_number
from safebandit.core.policies.choice import draw_by_chances
from safebandit.core.policies.interface import HOLD, WAIT, Setup, begin, decide, looked
from safebandit.core.policies.words import Decision
from safebandit.core.posteriors import arms_left, chances_best
from safebandit.errors import PolicyError

NO_CONTROL = -1
# A control whose share is not given has as much as the largest of the others.
MATCHED = -1.0
# As compiled code takes `Floor.raised`.
RAISED = 1


class Floor(IntEnum):
    """How no share is below the floor f. `mixed`: of n arms each has f + (1 - n f) w, where w is what it would have.
    `raised`: what is below f is f, and the others divide what is left as before, until none is below (adaptr's way).
    """

    mixed = 0
    raised = 1


class ResponseAdaptive(NamedTuple):
    """Shares in proportion to p^soften, p the chance that the arm is best among those that are left, none below
    `floor`. Best is the largest reward, or the `lowest` first risk.

    A `control` has the share `control_share`, or as much as the largest of the others where that is not given.
    """

    soften: float = 1.0
    floor: float = 0.0
    floors: Floor = Floor.mixed
    control: Any = None
    control_share: float | None = None
    lowest: bool = False

    def sizes(self, arms: int, risks: int) -> Sizes:  # noqa: ARG002
        return Sizes(trial=2 * arms)

    @property
    def arm_fields(self) -> tuple[str, ...]:
        """The fields that hold an arm."""
        return ("control",)

    @property
    def needs(self) -> tuple[str, ...]:
        return () if self.lowest else ("reward",)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every arm besides its share."""
        return ("chance best",)

    @property
    def exact_chances(self) -> bool:
        """That the chances which a decision writes are its exact law."""
        return True

    def prepare(self, setup: Setup) -> ResponseAdaptive:
        """The policy with its parameters checked, and arms and enumerations as numbers."""
        soften = read_number("soften", self.soften, float, PolicyError)
        if soften < 0:
            raise PolicyError(f"soften must be at least 0 (0: equal shares, 1: chances to be best), got {soften:g}")
        control, share = self._control(setup)
        floor = read_number("floor", self.floor, float, PolicyError)
        others = len(setup.arms) - int(share != MATCHED)
        most = (1.0 - max(share, 0.0)) / max(others, 1)
        if not 0.0 <= floor <= most:
            raise PolicyError(f"floor must lie in [0, {most:g}], what {others} arms can all have, got {floor:g}")
        return ResponseAdaptive(
            float(soften),
            float(floor),
            int(read_choice("floors", self.floors, Floor, PolicyError)),  # type: ignore[arg-type]
            control,
            share,
            read_value("lowest", self.lowest, bool, PolicyError),
        )

    def _control(self, setup: Setup) -> tuple[int, float]:
        if self.control is None:
            if self.control_share is not None:
                raise PolicyError(f"control_share needs a control, got {self.control_share:g}; add control=ARM")
            return NO_CONTROL, MATCHED
        control = arm_number("control", self.control, setup.arms)
        if self.control_share is None:
            return control, MATCHED
        share = read_number("control_share", self.control_share, float, PolicyError)
        if not 0.0 < share < 1.0:
            raise PolicyError(f"control_share must lie between 0 and 1, got {share:g}")
        return control, float(share)

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was drawn, or why not."""
        share = decision.probabilities
        if share[arm] == 0.0:
            return "its chance to be best, as of the last look, leaves it no share"
        parts = ", ".join(f'{share[i]:.4g} "{decision.arms[i]}"' for i in np.flatnonzero(share > 0.0))
        drawn = "drawn" if arm == decision.k else "another arm was drawn"
        return f"{drawn} by shares that follow the chances to be best, as of the last look: {parts}"


# Of the policy's own numbers, the first are the arms' chances to be best at the last look; the others, their powers.
@begin.register(ResponseAdaptive)
def _begin(policy: ResponseAdaptive, state: State) -> None:
    for k in range(state.size):
        state.numbers.own[k] = 1.0 / state.size
        state.numbers.own[state.size + k] = 1.0


@looked.register(ResponseAdaptive)
def _looked(policy: ResponseAdaptive, state: State) -> None:
    left = arms_left(state, policy.lowest)
    for k in range(2 * state.size):
        state.numbers.own[k] = 0.0
    if left.arms.size > 0:
        best = chances_best(left.plays, left.ones)
        for i in range(best.size):
            state.numbers.own[left.arms[i]] = best[i]
            state.numbers.own[state.size + left.arms[i]] = best[i] ** policy.soften


@decide.register(ResponseAdaptive)
def _decide(policy: ResponseAdaptive, state: State, t: int) -> tuple[int, bool]:
    left, free = 0, 0
    for k in range(state.size):
        arm = at(state.arms, k)
        left += arm.dropped == 0
        free += arm.available != 0
        write(state, k, PERMISSIBLE, 1.0)
        write(state, k, INDEX, math.nan)
        write(state, k, CHANCE, 0.0)
        write(state, k, RISKS + state.risks, state.numbers.own[k])
    if free == 0:
        return (WAIT, False) if left > 0 else (HOLD, True)
    _write_shares(policy, state, free)
    return draw_by_chances(state), False


@inlined
def _write_shares(policy: Any, state: State, free: int) -> None:
    """Write the share of every arm that may be given now; what others would have had is divided like the rest."""
    control = policy.control if policy.control >= 0 and at(state.arms, policy.control).available else NO_CONTROL
    fixed = control if policy.control_share >= 0.0 and free > 1 else NO_CONTROL
    total = _write_weights(state, control, fixed)
    count, rest = free - (fixed >= 0), 1.0 - policy.control_share if fixed >= 0 else 1.0
    if policy.floors == RAISED:
        _raise_shares(state, fixed, rest, policy.floor)
    else:
        for k in range(state.size):
            if _has_part(state, k, fixed):
                share = (rest - count * policy.floor) * written(state, k, CHANCE) / total
                write(state, k, CHANCE, policy.floor + share)
    if fixed >= 0:
        write(state, fixed, CHANCE, policy.control_share)


@inlined
def _has_part(state: State, k: int, fixed: int) -> bool:
    """Whether an arm has a part in what is divided: it may be given, and its share is not fixed."""
    return k != fixed and at(state.arms, k).available != 0


@inlined
def _write_weights(state: State, control: int, fixed: int) -> float:
    """Write the weights by which shares are divided, that of a matched control included; their sum."""
    top, total = 0.0, 0.0
    for k in range(state.size):
        if k != control and at(state.arms, k).available:
            top = max(top, state.numbers.own[state.size + k])
    for k in range(state.size):
        if _has_part(state, k, fixed):
            # Where nothing is left of what was best, all others are alike.
            weight = 1.0 if top == 0.0 else top if k == control else state.numbers.own[state.size + k]
            write(state, k, CHANCE, weight)
            total += weight
    return total


@inlined
def _raise_shares(state: State, fixed: int, rest: float, floor: float) -> None:
    """Divide `rest` by the weights that are written, with what is below the floor raised to it, again and again."""
    raised, left, total, again = 0, rest, 0.0, True
    while again:
        again, left, total = False, rest - raised * floor, 0.0
        for k in range(state.size):
            if _has_part(state, k, fixed):
                total += max(0.0, written(state, k, CHANCE))
        for k in range(state.size):
            if _has_part(state, k, fixed) and 0.0 <= left * written(state, k, CHANCE) < floor * total:
                write(state, k, CHANCE, -1.0)
                raised, again = raised + 1, True
    for k in range(state.size):
        if _has_part(state, k, fixed):
            weight = written(state, k, CHANCE)
            write(state, k, CHANCE, floor if weight < 0.0 else left * weight / total)
