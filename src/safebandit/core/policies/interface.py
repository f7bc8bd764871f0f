"""The questions that a policy answers: which arm, what it keeps, what a play changes."""

from __future__ import annotations

from typing import TypeAlias

from safebandit.core.arms import Numbers, State
from safebandit.core.dispatch import generic

# alpha of every risk. A tuple's length is part of its type: with one risk, loops over risks vanish when compiled.
Limits: TypeAlias = tuple[float, ...]

# What `choose` answers instead of an arm.
HOLD = -1  # no arm is permissible, and the policy plays nothing then
WAIT = -2  # permissible arms exist, but none may be given out before an outcome arrives

# How `when_none` is written for compiled code; an arm stands for itself, from 0.
LEAST_RISKY = -1


@generic
def choose(policy: object, state: State, t: int, limits: Limits) -> tuple[int, bool]:
    """The arm for round t (or HOLD, or WAIT), and whether no arm was permissible."""
    raise NotImplementedError


@generic
def widths(policy: object) -> tuple[int, int]:
    """How many numbers of its own the policy keeps per arm, for the reward and for the risk."""
    raise NotImplementedError


@generic
def begin(policy: object, state: State, limits: Limits) -> None:
    """Set the policy's own numbers of arms that have not been played."""
    raise NotImplementedError


@generic
def learn_reward(policy: object, state: State, k: int, play: int, value: float, limits: Limits) -> None:
    """Count a reward of arm k, of its play number `play`."""
    raise NotImplementedError


@generic
def learn_risk(policy: object, state: State, k: int, j: int, play: int, value: float, limits: Limits) -> None:
    """Count risk j of arm k, of its play number `play`."""
    raise NotImplementedError


@generic
def learn_pair(policy: object, state: State, k: int, j: int, play: int, reward: float, risk: float) -> None:
    """Note the reward and risk j of one play together, once both are known; each was learnt by itself before."""
    raise NotImplementedError


@learn_pair.register(object)
def _does_not_ask_how_they_depend(policy: object) -> None:
    pass


@generic
def reveal(policy: object, state: State, winner: int, t: int) -> None:
    """For people: write into every permitted arm's `index` the number it was drawn, also where `choose` needed none.

    Where `look` has written it already, nothing is left to do.
    """
    raise NotImplementedError


@reveal.register(object)
def _has_nothing_to_reveal(policy: object) -> None:
    pass


@generic
def look(policy: object, state: State, t: int, limits: Limits, table: Numbers) -> None:
    """For people: write whether each arm is permissible (0 or 1), its reward index, the probability that it is played,
    where the policy mixes arms, and its risk indices.

    A reward index that is drawn may be left as NaN: it is in the arm's `index` after `choose` and `reveal`.
    """
    raise NotImplementedError
