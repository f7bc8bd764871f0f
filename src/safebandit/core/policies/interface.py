"""The questions that a policy answers: which arm, what it keeps, what an outcome changes.

A policy is a NamedTuple for which `decide` has a formula. The rest has defaults: outcomes are counted for every policy,
and one that keeps no numbers of its own has nothing to set or to change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from safebandit.core.arms import Features, Sizes, State
from safebandit.core.declared import declared
from safebandit.core.dispatch import generic

# What `decide` answers instead of an arm.
HOLD = -1  # no arm is permissible, and the policy plays nothing then
WAIT = -2  # permissible arms exist, but none may be given out before an outcome arrives
DONE = -3  # the policy's question is answered: nobody needs an arm any more


@runtime_checkable
class Policy(Protocol):
    """Who gets the next arm: a NamedTuple for which `decide` has a formula.

    It may also have:

        prepare(setup)    the policy as compiled code takes it; it raises a PolicyError where that cannot be
        sizes(arms, risks)    how many numbers of its own it keeps
        planned(units)    the policy for so many planned units
        columns           names of numbers of its own that a decision writes for every arm
        arm_fields        the fields that hold an arm, besides `when_none`
        exact_chances     whether the chances that a decision writes are its exact law wherever an arm is permissible
        draws_gates       whether it draws which arms are permissible; a safety index says so itself
        keeps_table       whether what it writes, from the risk indices on, stays true until an outcome comes
        needs             what it needs of a design: "reward", "order"
        by_features       whether it goes by the features of arms and units
        by_present_dose   whether its steps depend on what is known of the present dose alone
        why, forbids, risk_word     its words for a decision (see `words`)
    """

    @property
    def _fields(self) -> tuple[str, ...]: ...

    def _asdict(self) -> dict[str, Any]: ...


class Setup(NamedTuple):
    """What a policy is told before its first decision.

    The arms by name, alpha of every risk, what to do while no arm is permissible where the policy does not say itself,
    and the arms' mean risks, how many units are planned, the arms' mean rewards, and what features arms and units have,
    where they are known.
    """

    arms: Sequence[str]
    limits: tuple[float, ...]
    when_none: str
    risks: Any = None
    units: int | None = None
    rewards: Any = None
    features: Features | None = None


@generic
def decide(policy: object, state: State, t: int) -> tuple[int, bool]:
    """The arm for round t (or HOLD, WAIT or DONE), and whether no arm was permissible: the policy's definition.

    It looks at every arm, in order, and writes what it saw into the state's table.
    """
    raise NotImplementedError


@declared()
def sizes(policy: object, arms: int, risks: int) -> Sizes:
    """How many numbers of its own the policy keeps: its method `sizes(arms, risks)` says so; without one, none."""
    own: Any = getattr(policy, "sizes", None)
    return Sizes() if own is None else own(arms, risks)


@generic
def begin(policy: object, state: State) -> None:
    """Set the policy's own numbers before the first play."""
    raise NotImplementedError


@generic
def learned(policy: object, state: State, k: int, j: int, value: float, bit: int) -> None:
    """Change the policy's own numbers after an outcome of arm k that is counted: its reward (j = 0) or its risk j."""
    raise NotImplementedError


@generic
def learned_pair(policy: object, state: State, k: int, j: int, reward: int, risk: int) -> None:
    """Change the policy's own numbers once both the reward and risk j of one play are known, reduced to bits."""
    raise NotImplementedError


@generic
def looked(policy: object, state: State) -> None:
    """Change the policy's own numbers when the data are looked at: for one that decides by looks, not by units."""
    raise NotImplementedError


@begin.register(object)
def _has_nothing_to_set(policy: object, state: State) -> None:
    pass


@learned.register(object)
def _changes_nothing(policy: object, state: State, k: int, j: int, value: float, bit: int) -> None:
    pass


@looked.register(object)
def _changes_nothing_by_looks(policy: object, state: State) -> None:
    pass


@learned_pair.register(object)
def _changes_nothing_by_pairs(policy: object, state: State, k: int, j: int, reward: int, risk: int) -> None:
    pass
