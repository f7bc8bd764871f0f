"""DOSS, doubly optimistic safe linear bandits (Gangrade, Chen and Saligrama 2024), with finitely many arms.

Published for actions in a polytope; with finitely many arms the same rule looks at each of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.arms import REWARD, Sizes, State
from safebandit.core.policies.catalogue import named_policy
from safebandit.core.policies.checking import read_above_0, read_delta, when_none_code
from safebandit.core.policies.interface import Setup, begin, decide, learned
from safebandit.core.policies.linear.bounds import sure_beta
from safebandit.core.policies.linear.model import (
    NO_ARM,
    begin_model,
    choose,
    dimension_of,
    learn_model,
    read_norm,
    sizes_of_model,
    write_reward_bounds,
    write_risk_bounds,
)
from safebandit.core.policies.words import Decision, why_largest


class Doss(NamedTuple):
    """The largest theta'x + beta ||x|| among arms with phi'x - beta ||x|| <= alpha, beta by the determinant of V.

    `norm` is the length that no coefficients exceed, by default that of as many numbers of 1; `delta` is shared by the
    reward and all risks. `dimension` is how many coefficients there are; it is set when the policy is prepared.
    """

    delta: float = 0.05
    ridge: float = 1.0
    norm: float | None = None
    when_none: Any = None
    dimension: int = 0

    def sizes(self, arms: int, risks: int) -> Sizes:
        return sizes_of_model(self, arms, risks)

    @property
    def by_features(self) -> bool:
        """That it goes by the features of arms and units."""
        return True

    def prepare(self, setup: Setup) -> Doss:
        """The policy with its parameters checked, `delta` for each regression, and its dimension."""
        return Doss(
            read_delta(self.delta) / (1 + len(setup.limits)),
            read_above_0("ridge", self.ridge),
            read_norm(self.norm, setup),
            when_none_code(self.when_none, setup),
            dimension_of(setup),
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not."""
        return why_largest(decision, arm)


@named_policy(
    "as linear, with beta = sqrt(ridge) S + sqrt(log((1 + m) / delta) / 2 + log det(V / ridge) / 4) for m risks, "
    "S = norm",
    "doss (Gangrade, Chen and Saligrama 2024): safe linear bandits, doubly optimistic",
)
def doss(delta: float = 0.05, ridge: float = 1.0, norm: float | None = None, when_none: Any = None) -> Doss:
    """Doubly optimistic in features, with bounds that hold in all rounds at once with probability 1 - `delta`.

    Its regret in reward then grows as log^2 T, and what risks exceed alpha by, in all, as sqrt(T), or as log^2 T where
    arms are finitely many. No unit is protected: it learns by giving arms that may be unsafe.
    """
    return Doss(delta, ridge, norm, when_none)


begin.register(Doss)(begin_model)
learned.register(Doss)(learn_model)


@decide.register(Doss)
def _decide(policy: Doss, state: State, t: int) -> tuple[int, bool]:
    for j in range(1, 1 + state.risks):
        write_risk_bounds(state, j, -sure_beta(policy, state, j))
    write_reward_bounds(state, sure_beta(policy, state, REWARD), NO_ARM)
    return choose(policy.when_none, state)
