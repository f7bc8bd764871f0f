"""Betting: a gambler's wealth against "the mean risk is at most r", valid at all times at once, for any law on [0, 1].

Before each play the share lambda of the wealth W is staked on an outcome above r, from past outcomes only:

    log W += log(1 + lambda (y - r)),  lambda = clip((mean - r) / (V + (mean - r)^2), 0, 1 / (2 r)).

Where the mean is at most r, W ever reaches exp(x) with probability at most exp(-x) (Ville's inequality).

The same stakes are a fair bet against any other r' too. Their wealth is not kept, but bounded from below: with
kappa = lambda / (1 + lambda (y - r)), which is at most 1 / r,

    log W(r') >= log W + r (sum of kappa) log(2 - r'/r)    for r' in [0, 2 r],

with equality at r' = r. The smallest r' at which this does not exceed the budget is a lower bound on the mean, and is
at most r exactly where log W is within the budget.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.bets import bet_on_grid, grid_lower, next_betting_wealth, next_moments, refuted_down_to
from safebandit.core.indices.interface import described, evidence, learn, lower, permits, start, upper, width
from safebandit.core.indices.kl import Level, budget
from safebandit.core.streams import Stream

SOURCE = "Waudby-Smith and Ramdas 2024, betting"


@described(
    "U = 1 - min{ r : W_r of 1 - R is within gamma_t }, on a grid of r, refined by a bound between its points",
    SOURCE,
    positive=("grid",),
    not_negative=("tail",),
    steady=True,
)
class BettingUpper(NamedTuple):
    """The largest mean that no gambler has refuted, one for each point of a grid; a play costs O(grid)."""

    level: Level = Level.practical
    grid: int = 64
    tail: float = 0.0


@described(
    "not permissible where log W > gamma_t; log W += log(1 + lambda (x - alpha)) at each risk x but the first, with "
    "lambda = clip((mean - alpha) / (V + (mean - alpha)^2), 0, 1 / (2 alpha)) of the risks before it",
    SOURCE,
    not_negative=("tail",),
    steady=True,
)
class BettingLower(NamedTuple):
    """A gambler's wealth against alpha; L bounds the smallest mean risk that the same stakes do not refute.

    It never says more than the wealth against alpha lets it: 0 <= L <= 2 alpha, and L <= alpha where log W <= gamma_t.
    """

    level: Level = Level.practical
    tail: float = 0.0


@described(
    "excluded where W >= 1/delta; log W += log(1 + lambda (S - alpha)) at each play, lambda from past plays",
    SOURCE,
    between=("delta",),
    shared=("delta",),
    steady=True,
)
class BettingGate(NamedTuple):
    """Exclude an arm once a gambler's wealth against alpha, as in `BettingLower`, is 1/`delta`; for any law on [0, 1].

    An arm whose mean risk is at most alpha is ever excluded with probability at most `delta`, over all rounds together;
    of several risks each has its share of it.
    """

    delta: float = 0.05


@width.register(BettingLower)
@width.register(BettingGate)
def betting_lower_width(index: BettingLower | BettingGate) -> int:
    return 4


@start.register(BettingLower)
@start.register(BettingGate)
def betting_lower_start(index: BettingLower | BettingGate, own: Numbers, alpha: float) -> None:
    for j in range(4):
        own[j] = 0.0


@learn.register(BettingLower)
@learn.register(BettingGate)
def betting_lower_learn(index: BettingLower | BettingGate, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's own numbers: the mean, N V, log W and the sum of kappa."""
    own = seen.own
    log_wealth, kappas = next_betting_wealth(own[2], own[3], own[0], own[1], seen.plays, value, alpha)
    own[2] = log_wealth
    own[3] = kappas
    mean, squares = next_moments(own[0], own[1], seen.plays, value)
    own[0] = mean
    own[1] = squares


@permits.register(BettingLower)
def betting_lower_permits(index: BettingLower, seen: Seen, t: int, alpha: float, stream: Stream) -> bool:
    return seen.own[2] <= budget(index.level, index.tail, t)


@permits.register(BettingGate)
def betting_gate_permits(index: BettingGate, seen: Seen, t: int, alpha: float, stream: Stream) -> bool:
    return seen.own[2] < -math.log(index.delta)


@evidence.register(BettingLower)
@evidence.register(BettingGate)
def betting_evidence(index: BettingLower | BettingGate, seen: Seen, alpha: float) -> float:
    return max(0.0, seen.own[2])


@lower.register(BettingLower)
def betting_lower_index(index: BettingLower, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    return min(1.0, refuted_down_to(seen.own[2], seen.own[3], alpha, budget(index.level, index.tail, t)))


@lower.register(BettingGate)
def betting_gate_lower(index: BettingGate, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    return min(1.0, refuted_down_to(seen.own[2], seen.own[3], alpha, -math.log(index.delta)))


@width.register(BettingUpper)
def betting_upper_width(index: BettingUpper) -> int:
    return 2 + 2 * index.grid


@start.register(BettingUpper)
def betting_upper_start(index: BettingUpper, own: Numbers, alpha: float) -> None:
    for j in range(2 + 2 * index.grid):
        own[j] = 0.0


@learn.register(BettingUpper)
def betting_upper_learn(index: BettingUpper, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's own numbers: the mean of 1 - R and N V, then log W and the sum of kappa for r = j / grid."""
    bet_on_grid(seen.own, seen.plays, 1.0 - value, index.grid)


@upper.register(BettingUpper)
def betting_upper_index(index: BettingUpper, seen: Seen, t: int, stream: Stream) -> float:
    if seen.plays == 0:
        return 1.0
    # Pending plays count as plays of the same outcomes.
    log_limit = budget(index.level, index.tail, t) * (seen.plays / (seen.plays + seen.pending))
    return 1.0 - grid_lower(seen.own, index.grid, log_limit)
