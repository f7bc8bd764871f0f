"""Conservative bandits: never much less reward, in all so far, than a known baseline arm would have given.

Conservative UCB of Wu, Shariff, Lattimore and Szepesvari (2016). It looks at rewards alone, and at their total over all
rounds so far: no arm is ever excluded for its risk. Here to be compared with.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, RISKS, State, at, quantity, write, written
from safebandit.core.dispatch import both, inlined
from safebandit.core.naming import read_number
from safebandit.core.policies.checking import arm_number
from safebandit.core.policies.choice import largest_written
from safebandit.core.policies.interface import WAIT, Setup, decide
from safebandit.core.policies.words import Decision
from safebandit.errors import PolicyError

# Sums of bounds may be exactly what was promised, but for rounding.
ROUNDING = 1e-9


class Conservative(NamedTuple):
    """The arm of the largest upper reward bound, where lower bounds of all rewards so far and of this one add up to at
    least 1 - `loss` of the baseline's; else the baseline arm.

    `baseline_reward` is the baseline arm's known mean reward; in simulation it is taken from the instance where it is
    not given. With probability at least 1 - `delta` the promise is kept in every round.
    """

    baseline: Any = 0
    baseline_reward: float | None = None
    loss: float = 0.1
    delta: float = 0.05

    @property
    def arm_fields(self) -> tuple[str, ...]:
        """The fields that hold an arm."""
        return ("baseline",)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every arm besides its bound: what the promise leaves to spare if it is given."""
        return ("to spare",)

    def prepare(self, setup: Setup) -> Conservative:
        """The policy with its parameters checked, and the baseline as a number."""
        arm = arm_number("baseline", self.baseline, setup.arms)
        mean = self.baseline_reward
        if mean is None:
            if setup.rewards is None:
                raise PolicyError(
                    f'the mean reward of the baseline arm "{setup.arms[arm]}" must be known; give baseline_reward='
                )
            mean = setup.rewards[arm]
        known = read_number("baseline_reward", mean, float, PolicyError)
        if not 0.0 <= known <= 1.0:
            raise PolicyError(f"baseline_reward must lie in [0, 1], got {known:g}")
        numbers = {}
        for key in ("loss", "delta"):
            numbers[key] = read_number(key, getattr(self, key), float, PolicyError)
            if not 0.0 < numbers[key] < 1.0:
                raise PolicyError(f"{key} must lie between 0 and 1, got {numbers[key]:g}")
        return Conservative(arm, float(known), numbers["loss"], numbers["delta"])

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not."""
        if arm == decision.k:
            if decision.indices[arm] >= np.nanmax(decision.indices):
                return "largest upper reward bound, and the promise is kept"
            return "the baseline arm: the arm of the largest upper reward bound might break the promise"
        return "another arm's upper reward bound is as large, or larger, or it might break the promise"

    def forbids(self, decision: Decision, arm: int) -> str:
        """Why an arm may not be given."""
        short = -decision.own["to spare"][arm]
        return f"with its lower reward bound the promise might be broken by {short:.4g}"


@both
def conservative_width(others: int, plays: int, delta: float) -> float:
    """sqrt(psi(N) / N) with psi(N) = 2 log(K N^3 / delta), of K arms besides the baseline."""
    return math.sqrt(2.0 * (math.log(others / delta) + 3.0 * math.log(plays)) / plays)


@decide.register(Conservative)
def _decide(policy: Conservative, state: State, t: int) -> tuple[int, bool]:
    sure, given = _write_bounds(policy, state)
    promised = (1.0 - policy.loss) * (given + 1.0) * policy.baseline_reward  # type: ignore[operator]
    for k in range(state.size):
        spare = sure + written(state, k, RISKS + state.risks) - promised
        write(state, k, RISKS + state.risks, spare)
        write(state, k, PERMISSIBLE, 1.0 if spare >= -ROUNDING or k == policy.baseline else 0.0)
    k = largest_written(state, INDEX)
    if k < 0:
        return WAIT, False
    if written(state, k, PERMISSIBLE) == 1.0:
        return k, False
    return (policy.baseline, False) if at(state.arms, policy.baseline).available else (WAIT, False)


@inlined
def _write_bounds(policy: Any, state: State) -> tuple[float, float]:
    """Write every arm's upper bound, NaN where it may not be given, and its lower one in the policy's own column; the
    sum of the lower bounds over all units so far, and how many these are.
    """
    sure, given = 0.0, 0.0
    for k in range(state.size):
        reward, asked = quantity(state, k, REWARD), at(state.arms, k).asked
        if k == policy.baseline:
            high = low = policy.baseline_reward
        elif reward.plays == 0:
            # Nothing is known: the largest of all bounds, and the smallest.
            high, low = math.inf, 0.0
        else:
            width = conservative_width(max(1, state.size - 1), reward.plays, policy.delta)
            high, low = reward.mean + width, max(0.0, reward.mean - width)
        sure, given = sure + asked * low, given + asked
        write(state, k, INDEX, high if at(state.arms, k).available else math.nan)
        write(state, k, RISKS + state.risks, low)
    return sure, given
