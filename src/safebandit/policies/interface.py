"""The questions that a policy answers: which arm, what it keeps, what a play changes."""

from __future__ import annotations

from safebandit.arms import Numbers, State
from safebandit.dispatch import generic

# What `choose` answers instead of an arm.
HOLD = -1  # no arm is permissible, and the policy plays nothing then
WAIT = -2  # permissible arms exist, but none may be given out before an outcome arrives

# How `when_none` is written for compiled code; an arm stands for itself, from 0.
LEAST_RISKY = -1


@generic
def choose(policy: object, state: State, t: int, alpha: float) -> tuple[int, bool]:
    """The arm for round t (or HOLD, or WAIT), and whether no arm was permissible."""
    raise NotImplementedError


@generic
def widths(policy: object) -> tuple[int, int]:
    """How many numbers of its own the policy keeps per arm, for the reward and for the risk."""
    raise NotImplementedError


@generic
def begin(policy: object, state: State, alpha: float) -> None:
    """Set the policy's own numbers of arms that have not been played."""
    raise NotImplementedError


@generic
def learn_reward(policy: object, state: State, k: int, play: int, value: float, alpha: float) -> None:
    """Count a reward of arm k, of its play number `play`."""
    raise NotImplementedError


@generic
def learn_risk(policy: object, state: State, k: int, play: int, value: float, alpha: float) -> None:
    """Count a risk of arm k, of its play number `play`."""
    raise NotImplementedError


@generic
def look(policy: object, state: State, t: int, alpha: float, table: Numbers) -> None:
    """For people: write each arm's risk index, whether it is permissible (0 or 1), its reward index, and the
    probability that it is played, where the policy mixes arms.

    What is drawn is left as NaN; a reward index that was drawn is in the arm's `index` after `choose`.
    """
    raise NotImplementedError
