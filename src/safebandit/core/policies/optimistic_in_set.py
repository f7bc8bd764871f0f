"""Doubly optimistic in a safe set: the paper's remark on a vector of risks, whose means should lie in a known set S.

Play the largest reward index among arms whose lower risk indices lie in S. A set of risks in which less risk is never
worse contains some point above the lower indices just where it contains those; with one bound for each risk this is
the policy of `doubly_optimistic`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, RISKS, Sizes, State, at, quantity, write
from safebandit.core.dispatch import piece
from safebandit.core.indices.interface import learn, lower, start, upper, width, write_indices
from safebandit.core.naming import read_value
from safebandit.core.policies.checking import (
    check_by_reward_alone,
    check_index,
    fit_index,
    plan_index,
    shared_among,
    when_none_code,
)
from safebandit.core.policies.choice import (
    LEAST_RISKY,
    first_unplayed,
    gate_round,
    given_or_awaited,
    largest_written,
    may_come,
    may_follow,
)
from safebandit.core.policies.exploring.looking import set_of
from safebandit.core.policies.interface import HOLD, WAIT, Setup, begin, decide, learned
from safebandit.core.policies.words import Decision, risk_word_of, why_largest
from safebandit.core.safe_sets import ROUNDING, check_of_risks, signed_distance
from safebandit.errors import PolicyError

OUTSIDE = "distance outside"


class OptimisticInSet(NamedTuple):
    """Any reward index with any safety index, where an arm is safe if its mean risks lie in the safe set.

    The set is a text such as "risk1 + risk2 <= 0.5, risk1 <= 0.3", in which no half-space asks for more of a risk, or
    about the reward; without one every risk must be at most its alpha. `when_none` and `each_first` are as in
    `DoublyOptimistic`; "least_risky" plays the arm whose lower indices are nearest to the set.
    """

    reward: Any
    safety: Any
    safe_set: Any = None
    when_none: Any = None
    each_first: bool = True

    def sizes(self, arms: int, risks: int) -> Sizes:  # noqa: ARG002
        return Sizes(width(self.reward), width(self.safety), 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every arm."""
        return (OUTSIDE,)

    def prepare(self, setup: Setup) -> OptimisticInSet:
        """The policy with its parameters checked, its safe set, and `when_none` as a number."""
        return OptimisticInSet(
            check_index(fit_index(check_by_reward_alone(self.reward), setup), upper, "reward index"),
            shared_among(check_index(fit_index(self.safety, setup), lower, "safety index"), len(setup.limits)),
            check_of_risks(set_of(self.safe_set, setup)),
            when_none_code(self.when_none, setup),
            read_value("each_first", self.each_first, bool, PolicyError),
        )

    def planned(self, units: int | None) -> OptimisticInSet:
        """The policy for so many planned units, where an index of it asks for them."""
        return self._replace(reward=plan_index(self.reward, units), safety=plan_index(self.safety, units))

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not."""
        return why_largest(decision, arm)

    def forbids(self, decision: Decision, arm: int) -> str | None:
        """Why an arm is not permissible; nothing of its own where only one below excludes it."""
        if decision.own[OUTSIDE][arm] <= ROUNDING:
            return None
        return f"its lower risk indices lie {decision.own[OUTSIDE][arm]:.4g} outside of the safe set"

    def risk_word(self, arm: int) -> str:  # noqa: ARG002
        """What the risk index is called."""
        return risk_word_of(self.safety)


@begin.register(OptimisticInSet)
def _begin(policy: OptimisticInSet, state: State) -> None:
    for k in range(state.size):
        start(policy.reward, quantity(state, k, REWARD).own, quantity(state, k, 1).limit)
        for j in range(1, 1 + state.risks):
            risk = quantity(state, k, j)
            start(policy.safety, risk.own, risk.limit)


@learned.register(OptimisticInSet)
def _learned(policy: OptimisticInSet, state: State, k: int, j: int, value: float, bit: int) -> None:
    seen, limit = quantity(state, k, j), quantity(state, k, max(j, 1)).limit
    if j == REWARD:
        learn(policy.reward, seen, value, bit, limit)
    else:
        learn(policy.safety, seen, value, bit, limit)


@piece
def _write_gates(policy: OptimisticInSet, state: State, t: int) -> tuple[int, int, int]:
    """Write every arm's gate. Give back how many arms are safe, how many of them may be given, and the arm nearest to
    the safe set.
    """
    clock, own, bounds = gate_round(t, state.risks), RISKS + state.risks, np.zeros(1 + state.risks)
    safe_arms, open_arms, nearest, least = 0, 0, WAIT, math.inf
    for k in range(state.size):
        for j in range(1, 1 + state.risks):
            risk = quantity(state, k, j)
            bounds[j] = lower(policy.safety, risk, clock, risk.limit, state.stream)
            write(state, k, RISKS + j - 1, bounds[j])
        outside = -signed_distance(policy.safe_set, bounds)
        # NaN compares False, so an arm with a broken index is never permissible, nor the least risky one.
        safe, available = outside <= ROUNDING and may_follow(state, k), at(state.arms, k).available
        safe_arms += safe and may_come(state, k)
        open_arms += safe and available
        if available and outside < least:
            nearest, least = k, outside
        write(state, k, PERMISSIBLE, 1.0 if safe else 0.0)
        write(state, k, INDEX, math.nan)
        write(state, k, own, max(0.0, outside))
    return safe_arms, open_arms, nearest


@decide.register(OptimisticInSet)
def _decide(policy: OptimisticInSet, state: State, t: int) -> tuple[int, bool]:
    """Ask every gate, then every index; a first play needs neither, and shows the gates all the same."""
    safe_arms, open_arms, nearest = _write_gates(policy, state, t)
    if policy.each_first and t <= state.size:
        k = first_unplayed(state)
        if k >= 0:
            return k, False
    if safe_arms > 0 and open_arms == 0:
        return WAIT, False
    if open_arms > 0:
        write_indices(policy.reward, state, t)
        winner = largest_written(state, INDEX)
        if winner >= 0:
            return winner, False
    if policy.when_none == LEAST_RISKY:
        return nearest, True
    if policy.when_none >= 0:
        return given_or_awaited(state, policy.when_none), True
    return HOLD, True
