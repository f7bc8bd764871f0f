"""COLTS, constrained linear Thompson sampling (Gangrade and Saligrama 2025): one noise for the reward and all risks.

Where the noise makes a direction look better, it makes it look safer. Published for actions in a convex set; with
finitely many arms, and nothing known before, what applies is the variant that draws several times, R-COLTS.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, RISKS, Sizes, State, at, quantity, write, written
from safebandit.core.dispatch import inlined, piece
from safebandit.core.naming import read_number
from safebandit.core.policies.catalogue import named_policy
from safebandit.core.policies.checking import read_above_0, read_delta, when_none_code
from safebandit.core.policies.choice import larger_excess, may_follow
from safebandit.core.policies.interface import Setup, begin, decide, learned
from safebandit.core.policies.linear.bounds import sure_beta
from safebandit.core.policies.linear.model import (
    begin_model,
    choose,
    dimension_of,
    draw_noise,
    learn_model,
    read_norm,
    sizes_of_model,
)
from safebandit.core.policies.words import Decision, why_largest
from safebandit.core.ridge import draw_coefficients, predicted_by_draw, ridge_place
from safebandit.errors import PolicyError


class Colts(NamedTuple):
    """The largest theta~'x among arms with phi~'x <= alpha, over several `draws` of a noise for all coefficients.

    The noise is `scale` beta V^-1/2 eta, eta standard normal; it is added to theta, and taken from phi. `norm`,
    `delta` and `dimension` are as in `Doss`.
    """

    draws: int = 3
    scale: float = 1.0
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

    @property
    def draws_gates(self) -> bool:
        """That which arms are permissible is drawn, too."""
        return True

    def prepare(self, setup: Setup) -> Colts:
        """The policy with its parameters checked, `delta` for each regression, and its dimension."""
        draws = int(read_number("draws", self.draws, int, PolicyError))
        if draws < 1:
            raise PolicyError(f"draws must be at least 1 (a noise for each), got {draws}")
        return Colts(
            draws,
            read_above_0("scale", self.scale),
            read_delta(self.delta) / (1 + len(setup.limits)),
            read_above_0("ridge", self.ridge),
            read_norm(self.norm, setup),
            when_none_code(self.when_none, setup),
            dimension_of(setup),
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not."""
        return why_largest(decision, arm)

    def risk_word(self, arm: int) -> str:  # noqa: ARG002
        """What the risk index is called."""
        return "drawn risk"


@named_policy(
    "play argmax theta~'x among arms with phi~'x <= alpha, over all draws; theta~ = theta + beta V^-1/2 eta, "
    "phi~ = phi - beta V^-1/2 eta of the same standard normal eta; beta = scale times that of doss",
    "colts (Gangrade and Saligrama 2025): constrained linear Thompson sampling, in its variant with several draws",
)
def colts(
    draws: int = 3,
    scale: float = 1.0,
    delta: float = 0.05,
    ridge: float = 1.0,
    norm: float | None = None,
    when_none: Any = None,
) -> Colts:
    """Thompson sampling for rewards and risks by one noise, which is optimistic of both at once.

    With of the order of log(t / `delta`) draws, regret and what risks exceed alpha by, in all, are of the order of
    d^1.5 sqrt(T). No unit is protected: it learns by giving arms that may be unsafe.
    """
    return Colts(draws, scale, delta, ridge, norm, when_none)


begin.register(Colts)(begin_model)
learned.register(Colts)(learn_model)


@decide.register(Colts)
def _decide(policy: Colts, state: State, t: int) -> tuple[int, bool]:
    """Draw several times, and write of every arm the draw in which it is best, or else nearest to its limits."""
    for i in range(policy.draws):
        _draw(policy, state)
        for k in range(state.size):
            _write_draw(state, k, i == 0)
    for k in range(state.size):
        safe = written(state, k, PERMISSIBLE) == 1.0 and may_follow(state, k)
        write(state, k, PERMISSIBLE, 1.0 if safe else 0.0)
        if not (safe and at(state.arms, k).available):
            write(state, k, INDEX, math.nan)
    return choose(policy.when_none, state)


@piece
def _draw(policy: Colts, state: State) -> None:
    """Draw all coefficients by one noise."""
    noise = draw_noise(state)
    for j in range(1 + state.risks):
        scale = policy.scale * sure_beta(policy, state, j)
        first = ridge_place(j, state.dimension)
        draw_coefficients(state.numbers, first, state.dimension, noise, scale if j == REWARD else -scale)


@inlined
def _by_draw(state: State, k: int, j: int) -> float:
    return predicted_by_draw(state.numbers, ridge_place(j, state.dimension), state.dimension, state.features, k)


@inlined
def _write_draw(state: State, k: int, first: bool) -> None:
    """Write what the last draw says of an arm, where that is better than what is written."""
    excess, before = -math.inf, -math.inf
    for j in range(1, 1 + state.risks):
        limit = quantity(state, k, j).limit
        excess = larger_excess(excess, _by_draw(state, k, j) - limit)
        before = larger_excess(before, written(state, k, RISKS + j - 1) - limit)
    safe, was_safe = excess <= 0.0, not first and written(state, k, PERMISSIBLE) == 1.0
    if was_safe and not safe:
        return
    value = _by_draw(state, k, REWARD)
    better = value > written(state, k, INDEX) if was_safe else safe or excess < before
    if not (first or better):
        return
    write(state, k, PERMISSIBLE, 1.0 if safe else 0.0)
    write(state, k, INDEX, value)
    for j in range(1, 1 + state.risks):
        write(state, k, RISKS + j - 1, _by_draw(state, k, j))
