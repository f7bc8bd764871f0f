"""Doubly optimistic policies: play the arm of the largest reward index among those whose risk index permits it.

Algorithms 1 to 3 of the paper are this one policy with different indices.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, Sizes, State, at, quantity, write
from safebandit.core.indices.interface import (
    DESCRIPTIONS,
    Description,
    evidence,
    learn,
    learn_together,
    lower,
    note_evidence,
    start,
    steady,
    upper,
    width,
    write_indices,
)
from safebandit.core.naming import read_number, read_value
from safebandit.core.policies.checking import check_index, fit_index, plan_index, shared_among, when_none_code
from safebandit.core.policies.choice import (
    LEAST_RISKY,
    first_unplayed,
    is_permissible,
    largest_written,
    may_come,
    play_when_none,
)
from safebandit.core.policies.interface import WAIT, Setup, begin, decide, learned, learned_pair
from safebandit.core.policies.words import Decision, risk_word_of, why_largest
from safebandit.core.streams import go_back, place_of
from safebandit.errors import PolicyError


class DoublyOptimistic(NamedTuple):
    """Any reward index with any safety index.

    `when_none` says what happens while no arm is permissible: "least_risky" plays the arm of the smallest lower
    index (the default in simulation), "hold" plays nothing (the default in a live trial), an arm plays that arm.
    `each_first` plays every arm once before any index is asked, as Algorithms 1 and 2 do. With a `head_start` of t0 the
    safety index is asked about round t + t0: no arm is excluded on weaker evidence than in round t0.

    A level of log t grows, so that an arm that was excluded comes back with nothing new known of it. `lasting` keeps it
    excluded until its own outcomes say otherwise: each gate is asked about the round in which an outcome of that risk
    last became known of that arm, rounds counted by the outcomes that are known.
    """

    reward: Any
    safety: Any
    when_none: Any = None
    each_first: bool = True
    head_start: int = 0
    lasting: bool = False

    def sizes(self, arms: int, risks: int) -> Sizes:  # noqa: ARG002
        """With lasting exclusion, behind the index's own numbers of a risk the round that its gate is asked about, and
        for each risk how many of its outcomes are known.
        """
        return Sizes(width(self.reward), width(self.safety) + self.lasting, risks if self.lasting else 0)

    def planned(self, units: int | None) -> DoublyOptimistic:
        """The policy for so many planned units, where an index of it asks for them."""
        return self._replace(reward=plan_index(self.reward, units), safety=plan_index(self.safety, units))

    def prepare(self, setup: Setup) -> DoublyOptimistic:
        """The policy with its parameters checked, and arms and `when_none` as numbers."""
        if len(setup.limits) > 1 and DESCRIPTIONS.get(type(self.reward), Description()).one_risk:
            kind = type(self.reward).__name__
            raise PolicyError(f"{kind} asks how the reward depends on one risk, got {len(setup.limits)}; take joint-ts")
        head_start = int(read_number("head_start", self.head_start, int, PolicyError))
        if head_start < 0:
            raise PolicyError(f"head_start must be at least 0 (rounds), got {self.head_start}")
        safety = check_index(fit_index(self.safety, setup), lower, "safety index")
        lasting = read_value("lasting", self.lasting, bool, PolicyError)
        if lasting and not steady(safety):
            kind = type(safety).__name__
            raise PolicyError(f"lasting needs a safety index that is steady, got {kind}; take BayesLower")
        return DoublyOptimistic(
            check_index(fit_index(self.reward, setup), upper, "reward index"),
            shared_among(safety, len(setup.limits)),
            when_none_code(self.when_none, setup),
            read_value("each_first", self.each_first, bool, PolicyError),
            head_start,
            lasting,
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not."""
        return why_largest(decision, arm)

    def risk_word(self, arm: int) -> str:  # noqa: ARG002
        """What the risk index is called."""
        return risk_word_of(self.safety)


@begin.register(DoublyOptimistic)
def _begin(policy: DoublyOptimistic, state: State) -> None:
    for k in range(state.size):
        start(policy.reward, quantity(state, k, REWARD).own, quantity(state, k, 1).limit)
        for j in range(1, 1 + state.risks):
            risk = quantity(state, k, j)
            start(policy.safety, risk.own, risk.limit)
            if policy.lasting:
                risk.own[width(policy.safety)] = 0.0
                state.numbers.own[j - 1] = 0.0


@learned.register(DoublyOptimistic)
def _learned(policy: DoublyOptimistic, state: State, k: int, j: int, value: float, bit: int) -> None:
    if j == REWARD:
        learn(policy.reward, quantity(state, k, REWARD), value, bit, quantity(state, k, 1).limit)
        return
    risk = quantity(state, k, j)
    learn(policy.safety, risk, value, bit, risk.limit)
    if policy.lasting:
        state.numbers.own[j - 1] += 1.0
        risk.own[width(policy.safety)] = 1.0 + state.numbers.own[j - 1] + policy.head_start
    against = 0.0
    for i in range(1, 1 + state.risks):
        against += evidence(policy.safety, quantity(state, k, i), quantity(state, k, i).limit)
    note_evidence(policy.reward, quantity(state, k, REWARD), against)


@learned_pair.register(DoublyOptimistic)
def _learned_pair(policy: DoublyOptimistic, state: State, k: int, j: int, reward: int, risk: int) -> None:
    learn_together(policy.reward, quantity(state, k, REWARD), reward, risk)


@decide.register(DoublyOptimistic)
def _decide(policy: DoublyOptimistic, state: State, t: int) -> tuple[int, bool]:
    """Ask every gate, then every index; a first play needs neither, and shows the gates all the same."""
    stream, gates_at = state.stream, t + policy.head_start
    before = place_of(stream)
    safe_arms, open_arms = 0, 0
    for k in range(state.size):
        safe = is_permissible(policy.safety, state, k, gates_at, policy.lasting)
        if safe and may_come(state, k):
            safe_arms += 1
            open_arms += at(state.arms, k).available
        write(state, k, PERMISSIBLE, 1.0 if safe else 0.0)
        write(state, k, INDEX, math.nan)
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
        # Risks that were drawn above are drawn again from the same place, and are the same.
        go_back(stream, before)
    return play_when_none(policy.when_none, policy.safety, state, gates_at, policy.lasting), True
