"""Doubly optimistic in features: the paper's policy where rewards and risks are linear in what is known of arms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.core.arms import Sizes, State
from safebandit.core.indices.kl import Level, budget
from safebandit.core.naming import read_choice
from safebandit.core.policies.catalogue import named_policy
from safebandit.core.policies.checking import read_above_0, when_none_code
from safebandit.core.policies.choice import gate_round
from safebandit.core.policies.interface import Setup, begin, decide, learned
from safebandit.core.policies.linear.model import (
    NO_ARM,
    begin_model,
    choose,
    dimension_of,
    learn_model,
    sizes_of_model,
    write_reward_bounds,
    write_risk_bounds,
)
from safebandit.core.policies.words import Decision, why_largest
from safebandit.errors import PolicyError


class Linear(NamedTuple):
    """The largest theta'x + beta ||x|| among arms with phi'x - beta ||x|| <= alpha, beta = sqrt(gamma_t / 2).

    With unit vectors ||x|| is 1 / sqrt(N + ridge), and as the ridge goes to 0 this is Hoeffding's index of the arm
    itself. `dimension` is how many coefficients there are; it is set when the policy is prepared.
    """

    level: Level = Level.practical
    ridge: float = 1.0
    when_none: Any = None
    dimension: int = 0

    def sizes(self, arms: int, risks: int) -> Sizes:
        return sizes_of_model(self, arms, risks)

    @property
    def by_features(self) -> bool:
        """That it goes by the features of arms and units."""
        return True

    def prepare(self, setup: Setup) -> Linear:
        """The policy with its parameters checked, and its dimension."""
        return Linear(
            int(read_choice("level", self.level, Level, PolicyError)),  # type: ignore[arg-type]
            read_above_0("ridge", self.ridge),
            when_none_code(self.when_none, setup),
            dimension_of(setup),
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not."""
        return why_largest(decision, arm)


@named_policy(
    "play argmax theta'x + beta ||x|| among arms with phi'x - beta ||x|| <= alpha; theta, phi by ridge regression, "
    "||x||^2 = x' V^-1 x, beta = sqrt(gamma_t / 2)",
    "ours: doubly optimistic in features; with unit vectors Algorithm 1 with Hoeffding's bounds",
)
def linear(level: Level = Level.practical, ridge: float = 1.0, when_none: Any = None) -> Linear:
    """Doubly optimistic bounds for rewards and risks that are linear in features of arms and units.

    Its bounds are as wide as those of one arm's own outcomes, narrower than what is proved for all directions at once:
    few unsafe plays and little regret are seen, not proved. Means that are not linear in the features mislead it.
    """
    return Linear(level, ridge, when_none)


begin.register(Linear)(begin_model)
learned.register(Linear)(learn_model)


@decide.register(Linear)
def _decide(policy: Linear, state: State, t: int) -> tuple[int, bool]:
    for j in range(1, 1 + state.risks):
        write_risk_bounds(state, j, -math.sqrt(0.5 * budget(policy.level, 0.0, gate_round(t, state.risks))))
    write_reward_bounds(state, math.sqrt(0.5 * budget(policy.level, 0.0, t)), NO_ARM)
    return choose(policy.when_none, state)
