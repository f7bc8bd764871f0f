"""Safe-LUCB (Amani, Alizadeh and Thrampoulidis 2019): optimistic for the reward, among arms that are surely safe.

Published for actions in a convex set around known safe ones, with a constraint on the coefficients of the reward. Here
arms are finitely many, one of them is known to be safe, and each risk has coefficients of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.arms import INDEX, REWARD, Sizes, State, written
from safebandit.core.dispatch import apart
from safebandit.core.naming import read_number
from safebandit.core.policies.catalogue import named_policy
from safebandit.core.policies.checking import arm_number, read_above_0, read_delta
from safebandit.core.policies.choice import HOLD_RULE
from safebandit.core.policies.interface import WAIT, Setup, begin, decide, learned
from safebandit.core.policies.linear.bounds import published_beta
from safebandit.core.policies.linear.model import (
    begin_model,
    choose,
    dimension_of,
    learn_model,
    longest_of,
    read_norm,
    sizes_of_model,
    why_surely_safe,
    write_reward_bounds,
    write_risk_bounds,
)
from safebandit.core.policies.words import Decision
from safebandit.core.streams import uniform
from safebandit.errors import PolicyError


class SafeLucb(NamedTuple):
    """The largest theta'x + beta ||x|| among arms with phi'x + beta ||x|| <= alpha, and the arm known to be safe.

    In the first `explore` rounds one of those arms is given at random. `norm` is the length that no coefficients
    exceed, by default that of as many numbers of 1; `delta` is shared by the reward and all risks. `dimension`, how
    many coefficients there are, and `longest`, the length of features at most, are set when the policy is prepared.
    """

    safe_arm: Any = 0
    explore: int = 0
    delta: float = 0.05
    ridge: float = 1.0
    norm: float | None = None
    dimension: int = 0
    longest: float = 0.0

    def sizes(self, arms: int, risks: int) -> Sizes:
        return sizes_of_model(self, arms, risks)

    @property
    def by_features(self) -> bool:
        """That it goes by the features of arms and units."""
        return True

    @property
    def arm_fields(self) -> tuple[str, ...]:
        """The fields that hold an arm."""
        return ("safe_arm",)

    def prepare(self, setup: Setup) -> SafeLucb:
        """The policy with its parameters checked, `delta` for each regression, and what features are like."""
        explore = int(read_number("explore", self.explore, int, PolicyError))
        if explore < 0:
            raise PolicyError(f"explore must be at least 0 (rounds), got {explore}")
        return SafeLucb(
            arm_number("safe_arm", self.safe_arm, setup.arms),
            explore,
            read_delta(self.delta) / (1 + len(setup.limits)),
            read_above_0("ridge", self.ridge),
            read_norm(self.norm, setup),
            dimension_of(setup),
            longest_of(setup),
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not."""
        return why_surely_safe(decision, arm)

    def risk_word(self, arm: int) -> str:  # noqa: ARG002
        """What the risk index is called."""
        return "upper risk index"


@named_policy(
    "play argmax theta'x + beta ||x|| among the safe arm and arms with phi'x + beta ||x|| <= alpha; "
    "beta = sqrt(ridge) S + sqrt(d log((1 + n L^2 / ridge) (1 + m) / delta)) / 2 for m risks, n outcomes, |x| <= L, "
    "S = norm",
    "safe-lucb (Amani, Alizadeh and Thrampoulidis 2019): safe linear bandits, pessimistic for risk",
)
def safe_lucb(
    safe_arm: Any = 0, explore: int = 0, delta: float = 0.05, ridge: float = 1.0, norm: float | None = None
) -> SafeLucb:
    """Optimistic for the reward, pessimistic for risks, around an arm known to be safe.

    With probability 1 - `delta` no unit is ever given an unsafe arm, if risks are linear and no longer than `norm`. It
    finds the best safe arm only where arms that it may give teach it enough of that arm; without features it never
    leaves the safe arm.
    """
    return SafeLucb(safe_arm, explore, delta, ridge, norm)


begin.register(SafeLucb)(begin_model)
learned.register(SafeLucb)(learn_model)


@decide.register(SafeLucb)
def _decide(policy: SafeLucb, state: State, t: int) -> tuple[int, bool]:
    for j in range(1, 1 + state.risks):
        write_risk_bounds(state, j, published_beta(policy, state, j))
    write_reward_bounds(state, published_beta(policy, state, REWARD), policy.safe_arm)
    if t <= policy.explore:
        return _any_permissible(state), False
    return choose(HOLD_RULE, state)


@apart
def _any_permissible(state: State) -> int:
    """One of the arms that have an index, at random."""
    open_arms = 0
    for k in range(state.size):
        open_arms += written(state, k, INDEX) == written(state, k, INDEX)
    place = int(uniform(state.stream) * open_arms)
    for k in range(state.size):
        if written(state, k, INDEX) == written(state, k, INDEX):
            if place == 0:
                return k
            place -= 1
    return WAIT
