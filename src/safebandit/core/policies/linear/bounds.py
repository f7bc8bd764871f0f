"""How far a prediction x'theta may be off: beta ||x||. Outcomes in [0, 1] are 1/2-sub-Gaussian."""

from __future__ import annotations

import math
from typing import Any

from safebandit.core.arms import State
from safebandit.core.dispatch import both, piece
from safebandit.core.ridge import log_growth, outcomes_known, ridge_place


@both
def determinant_beta(growth: float, ridge: float, norm: float, delta: float) -> float:
    """sqrt(ridge) S + sqrt(log(1 / delta) / 2 + log det(V / ridge) / 4), S the length of the coefficients at most.

    With probability 1 - delta it holds in all rounds and for all x (Abbasi-Yadkori, Pal and Szepesvari 2011).
    """
    return math.sqrt(ridge) * norm + math.sqrt(0.5 * math.log(1.0 / delta) + 0.25 * growth)


@both
def dimension_beta(known: float, dimension: int, longest: float, ridge: float, norm: float, delta: float) -> float:
    """sqrt(ridge) S + sqrt(d log((1 + n L^2 / ridge) / delta)) / 2 after n outcomes, L the length of features at most.

    It is never less than the one by the determinant, and holds as that does; for d = 1 as if d were 2, without which it
    would be less.
    """
    level = max(2, dimension) * math.log((1.0 + known * longest * longest / ridge) / delta)
    return math.sqrt(ridge) * norm + 0.5 * math.sqrt(level)


@piece
def sure_beta(policy: Any, state: State, j: int) -> float:
    """The beta by the determinant of what is known of the reward (j = 0) or of risk j."""
    growth = log_growth(state.numbers, ridge_place(j, state.dimension), state.dimension)
    return determinant_beta(growth, policy.ridge, policy.norm, policy.delta)


@piece
def published_beta(policy: Any, state: State, j: int) -> float:
    """The beta by the dimension, of what is known of the reward (j = 0) or of risk j."""
    known = outcomes_known(state.numbers, ridge_place(j, state.dimension), state.dimension)
    return dimension_beta(known, state.dimension, policy.longest, policy.ridge, policy.norm, policy.delta)
