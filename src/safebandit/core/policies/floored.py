"""A floor under any policy: every arm that is permissible and may be given has at least so much chance, or one arm has.

With w the policy's own chances and n arms that are permissible and available, each of these has f + (1 - n f) w: with
chance n f one of them is drawn, all alike, else the policy's own arm stands. Where the floor is that of one arm alone,
such as a control, n is 1, and all others have (1 - f) w. So what is recorded can be weighted by
inverse chances later. An arm that is not permissible has no floor; where no arm is, the policy's own answer stands.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import CHANCE, Sizes, State, write, written
from safebandit.core.dispatch import inlined
from safebandit.core.indices.interface import steady
from safebandit.core.naming import read_number
from safebandit.core.policies.checking import arm_number, plan, prepare
from safebandit.core.policies.choice import may_be_given
from safebandit.core.policies.interface import Setup, begin, decide, learned, learned_pair, looked, sizes
from safebandit.core.policies.words import Decision, forbids, risk_word, why
from safebandit.core.streams import uniform
from safebandit.errors import PolicyError

# The floor is that of every arm.
EVERY_ARM = -1


class Floored(NamedTuple):
    """A policy in which each permissible arm has at least the chance `floor`; in a text, `tsbu:floor=0.05`. With
    `floor_of` that arm alone has it, while it is permissible: `tsbu:floor=0.2,floor_of=placebo`.
    """

    policy: Any
    floor: float
    floor_of: Any = None

    def sizes(self, arms: int, risks: int) -> Sizes:
        return sizes(self.policy, arms, risks)

    @property
    def arm_fields(self) -> tuple[str, ...]:
        """The fields that hold an arm."""
        return ("floor_of",)

    @property
    def columns(self) -> tuple[str, ...]:
        """The policy's own numbers of every arm."""
        return tuple(getattr(self.policy, "columns", ()))

    @property
    def needs(self) -> tuple[str, ...]:
        """What the policy needs of a design."""
        return tuple(getattr(self.policy, "needs", ()))

    @property
    def by_features(self) -> bool:
        """Whether the policy goes by the features of arms and units."""
        return bool(getattr(self.policy, "by_features", False))

    @property
    def exact_chances(self) -> bool:
        """Whether the policy tells its own, so that those with the floor are exact, too."""
        return bool(getattr(self.policy, "exact_chances", False))

    def planned(self, units: int | None) -> Floored:
        """The policy for so many planned units, where it asks for them."""
        return self._replace(policy=plan(self.policy, units))

    def prepare(self, setup: Setup) -> Floored:
        """The policy with its parameters checked, and a floor that all arms can have together."""
        floor, most = read_number("floor", self.floor, float, PolicyError), 1.0 / len(setup.arms)
        one = EVERY_ARM if self.floor_of is None else arm_number("floor_of", self.floor_of, setup.arms)
        if one == EVERY_ARM and not 0.0 < floor <= most:
            raise PolicyError(
                f"floor must lie in (0, {most:.4g}], what {len(setup.arms)} arms can all have, got {floor:g}"
            )
        if not 0.0 < floor < 1.0 and one != EVERY_ARM:
            raise PolicyError(f"the floor of one arm must lie between 0 and 1, got {floor:g}")
        if "present dose" in self.columns:
            kind = type(self.policy).__name__
            raise PolicyError(f"{kind} moves from dose to dose, and takes no floor; leave it out, or take tsbu")
        safety = getattr(self.policy, "safety", None)
        if (safety is not None and not steady(safety)) or getattr(self.policy, "draws_gates", False):
            kind = type(self.policy if safety is None else safety).__name__
            raise PolicyError(f"a floor needs gates that are not drawn for, got {kind}; take a policy such as tsbu")
        return Floored(prepare(self.policy, setup), float(floor), one)

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not: by the policy's own rule, or drawn for the floor."""
        numbers, given = decision.indices[~np.isnan(decision.indices)], arm == decision.k
        largest = not numbers.size or decision.indices[arm] == numbers.max()
        if given and not largest:
            return f"drawn by its floor of {self.floor:g}; the policy's own rule gives another arm"
        own = why(self.policy, decision._replace(k=arm) if largest else decision, arm)
        if given:
            return f"{own}, or drawn by its floor of {self.floor:g}" if self.floor_of in (EVERY_ARM, arm) else own
        return f"{own}, but another arm was drawn by its floor" if largest and numbers.size else own

    def forbids(self, decision: Decision, arm: int) -> str | None:
        """Why the policy does not permit an arm."""
        return forbids(self.policy, decision, arm)

    def risk_word(self, arm: int) -> str:
        """What the policy calls the risk index of an arm."""
        return risk_word(self.policy, arm)


@begin.register(Floored)
def _begin(policy: Floored, state: State) -> None:
    begin(policy.policy, state)


@learned.register(Floored)
def _learned(policy: Floored, state: State, k: int, j: int, value: float, bit: int) -> None:
    learned(policy.policy, state, k, j, value, bit)


@learned_pair.register(Floored)
def _learned_pair(policy: Floored, state: State, k: int, j: int, reward: int, risk: int) -> None:
    learned_pair(policy.policy, state, k, j, reward, risk)


@looked.register(Floored)
def _looked(policy: Floored, state: State) -> None:
    looked(policy.policy, state)


@decide.register(Floored)
def _decide(policy: Floored, state: State, t: int) -> tuple[int, bool]:
    k, none = decide(policy.policy, state, t)
    if k < 0 or none:
        return k, none
    count = 0
    for i in range(state.size):
        count += _has_floor(policy, state, i)
    left = 1.0 - count * policy.floor
    for i in range(state.size):
        own = left * written(state, i, CHANCE)
        write(state, i, CHANCE, own + policy.floor if _has_floor(policy, state, i) else own)
    place = int(uniform(state.stream) / policy.floor)
    if place < count:
        for i in range(state.size):
            if _has_floor(policy, state, i):
                if place == 0:
                    return i, False
                place -= 1
    return k, False


@inlined
def _has_floor(policy: Any, state: State, k: int) -> bool:
    if EVERY_ARM != policy.floor_of != k:
        return False
    return may_be_given(state, k)
