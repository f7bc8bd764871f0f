"""Bets against "the mean is at most r", for any law on [0, 1]: what is staked before each play, and what it made.

    log W += log(1 + lambda (y - r)),  lambda = clip((mean - r) / (V + (mean - r)^2), 0, 1 / (2 r)),

from past outcomes only. Where the mean is at most r, W ever reaches exp(x) with probability at most exp(-x) (Ville's
inequality). The indices `BettingLower`, `BettingUpper` and `BettingGate` bet so, and so do confidence sequences.
"""

from __future__ import annotations

import math

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.dispatch import inlined

LOG_TWO = 0.6931471805599453
# What is left of [0, 1] where only 0 itself is refuted.
ABOVE_NOTHING = 1e-300


@inlined
def next_moments(mean: float, squares: float, plays: int, value: float) -> tuple[float, float]:
    """The mean, and the sum of squared distances to it, after one more play; `plays` counts it (Welford 1962).

    >>> next_moments(0.25, 0.125, 2, 0.75)
    (0.5, 0.25)
    """
    after = mean + (value - mean) / plays
    return after, squares + (value - mean) * (value - after)


@inlined
def stake(mean: float, variance: float, r: float) -> float:
    """lambda, from what was seen before the play: clip((mean - r) / (V + (mean - r)^2), 0, 1 / (2 r))."""
    gap = mean - r
    if gap <= 0.0:
        return 0.0
    risk = variance + gap * gap
    # gap / risk where that is below the limit, without dividing by 0.
    return gap / risk if 2.0 * r * gap < risk else 0.5 / r


@inlined
def refuted_down_to(log_wealth: float, kappas: float, r: float, log_limit: float) -> float:
    """The smallest r' whose wealth, by the stakes against r, is not shown above the limit.

    With kappa = lambda / (1 + lambda (y - r)), at most 1 / r, the same stakes make against r' in [0, 2 r] at least
    log W + r (sum of kappa) log(2 - r'/r), with equality at r' = r.
    """
    excess = log_wealth - log_limit
    if excess == math.inf:
        return 2.0 * r if r > 0.0 else ABOVE_NOTHING
    if -excess >= LOG_TWO * r * kappas:
        return 0.0
    bound = r * (2.0 - math.exp(-excess / (r * kappas)))
    # Above r where the wealth is above the limit, also where the difference is lost in rounding.
    return max(bound, np.nextafter(r, 2.0)) if excess > 0.0 else min(bound, r)


@inlined
def bet_on_grid(own: Numbers, plays: int, y: float, grid: int) -> None:
    """Stake on an outcome, the one of this number, against every r = j / grid below the mean so far.

    `own` has the mean and N V, then log W and the sum of kappa for every j.
    """
    mean = own[0]
    variance = own[1] / max(1, plays - 1)
    for j in range(1, grid):
        r = j / grid
        if plays == 1 or mean <= r:
            break
        staked = stake(mean, variance, r)
        wealth = 1.0 + staked * (y - r)
        own[2 * j] += math.log(wealth)
        own[2 * j + 1] += staked / wealth
    after, squares = next_moments(mean, own[1], plays, y)
    own[0] = after
    own[1] = squares


@inlined
def grid_lower(own: Numbers, grid: int, log_limit: float) -> float:
    """The mean is above every r up to the first that is not refuted; between it and the one before, its own stakes say
    where. Only one point needs to be right, the first above the true mean: the error does not add up over the grid.
    """
    j = 1
    while j < grid and own[2 * j] > log_limit:
        j += 1
    within = 0.0
    if j < grid:
        within = refuted_down_to(own[2 * j], own[2 * j + 1], j / grid, log_limit)
    return max((j - 1) / grid, within)


@inlined
def next_betting_wealth(
    log_wealth: float, kappas: float, mean: float, squares: float, plays: int, value: float, r: float
) -> tuple[float, float]:
    """Give log W against r and the sum of kappa after one more play, which `plays` counts; moments are before it."""
    if r > 0.0 and plays > 1:
        staked = stake(mean, squares / (plays - 1), r)
        wealth = 1.0 + staked * (value - r)
        return log_wealth + math.log(wealth), kappas + staked / wealth
    if r <= 0.0 and value > 0.0:
        # A mean of 0 gives no outcome above 0: one refutes it for good.
        return math.inf, kappas
    return log_wealth, kappas
