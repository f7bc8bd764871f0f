"""Safe-LTS (Moradipari, Amani, Alizadeh and Thrampoulidis 2021): Thompson sampling among arms that are surely safe.

Published for actions in a convex set around a known safe one. Here arms are finitely many, and one is known to be safe.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, Sizes, State, at, write
from safebandit.core.policies.catalogue import named_policy
from safebandit.core.policies.checking import arm_number, read_above_0, read_delta
from safebandit.core.policies.choice import HOLD_RULE, may_follow
from safebandit.core.policies.interface import Setup, begin, decide, learned
from safebandit.core.policies.linear.bounds import published_beta
from safebandit.core.policies.linear.model import (
    begin_model,
    choose,
    dimension_of,
    draw_noise,
    learn_model,
    longest_of,
    read_norm,
    sizes_of_model,
    why_surely_safe,
    within_limits,
    write_risk_bounds,
)
from safebandit.core.policies.words import Decision
from safebandit.core.ridge import draw_coefficients, predicted_by_draw, ridge_place
from safebandit.errors import PolicyError


class SafeLts(NamedTuple):
    """The largest theta~'x among arms with phi'x + beta ||x|| <= alpha, and the arm known to be safe; theta~ is drawn.

    It is normal, with mean theta and covariance (inflation beta)^2 V^-1. The `inflation` makes up for good arms that
    are not surely safe yet: by default 1 + 2 L S / alpha. `norm`, `delta`, `dimension` and `longest` are as in
    `SafeLucb`.
    """

    safe_arm: Any = 0
    inflation: float | None = None
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

    def prepare(self, setup: Setup) -> SafeLts:
        """The policy with its parameters checked, `delta` for each regression, and what features are like."""
        norm, longest = read_norm(self.norm, setup), longest_of(setup)
        inflation = self.inflation
        if inflation is None:
            if min(setup.limits) <= 0.0:
                raise PolicyError("the inflation is 1 + 2 L S / alpha, and alpha is 0; give inflation=")
            inflation = 1.0 + 2.0 * longest * norm / min(setup.limits)
        return SafeLts(
            arm_number("safe_arm", self.safe_arm, setup.arms),
            read_above_0("inflation", inflation),
            read_delta(self.delta) / (1 + len(setup.limits)),
            read_above_0("ridge", self.ridge),
            norm,
            dimension_of(setup),
            longest,
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not."""
        return why_surely_safe(decision, arm)

    def risk_word(self, arm: int) -> str:  # noqa: ARG002
        """What the risk index is called."""
        return "upper risk index"


@named_policy(
    "play argmax theta~'x among the safe arm and arms with phi'x + beta ||x|| <= alpha; "
    "theta~ = theta + (1 + 2 L S / alpha) beta V^-1/2 eta, eta standard normal; beta, L and S as in safe-lucb",
    "safe-lts (Moradipari, Amani, Alizadeh and Thrampoulidis 2021): safe linear Thompson sampling",
)
def safe_lts(
    safe_arm: Any = 0,
    inflation: float | None = None,
    delta: float = 0.05,
    ridge: float = 1.0,
    norm: float | None = None,
) -> SafeLts:
    """Thompson sampling for the reward, pessimistic for risks, around an arm known to be safe.

    With probability 1 - `delta` no unit is ever given an unsafe arm, if risks are linear and no longer than `norm`. Its
    draws make it try more of the safe arms than safe-lucb does, and so learn sooner which others are safe; the
    published inflation tries them for very long. Without features it never leaves the safe arm.
    """
    return SafeLts(safe_arm, inflation, delta, ridge, norm)


begin.register(SafeLts)(begin_model)
learned.register(SafeLts)(learn_model)


@decide.register(SafeLts)
def _decide(policy: SafeLts, state: State, t: int) -> tuple[int, bool]:
    for j in range(1, 1 + state.risks):
        write_risk_bounds(state, j, published_beta(policy, state, j))
    d, first = state.dimension, ridge_place(REWARD, state.dimension)
    scale = policy.inflation * published_beta(policy, state, REWARD)  # type: ignore[operator]
    draw_coefficients(state.numbers, first, d, draw_noise(state), scale)
    for k in range(state.size):
        safe = k == policy.safe_arm or (within_limits(state, k) and may_follow(state, k))
        write(state, k, PERMISSIBLE, 1.0 if safe else 0.0)
        value = predicted_by_draw(state.numbers, first, d, state.features, k)
        write(state, k, INDEX, value if safe and at(state.arms, k).available else math.nan)
    return choose(HOLD_RULE, state)
