"""Indices drawn at random from the Beta posterior: Thompson sampling, for rewards and (naively) for risks."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen, State, at
from safebandit.core.dispatch import inlined
from safebandit.core.indices.bar import (
    DRAWN,
    OWN,
    arms_above_bar,
    bar_is_poor,
    chance_above,
    draw_above,
    draw_below,
    learn_posterior,
    reveal_draws,
    set_bar,
    start_posterior,
)
from safebandit.core.indices.contest import best_of_drawn
from safebandit.core.indices.interface import (
    best,
    chance_near,
    described,
    drawn,
    learn,
    lower,
    lower_if,
    permits_if_near,
    reveal,
    start,
    tells_chances,
    upper,
    width,
)
from safebandit.core.indices.rivals import larger_of_rivals, reveal_rivals
from safebandit.core.streams import Stream, beta, beta_above, beta_below


@described(
    "U ~ Beta(R + prior_a, N - R + prior_b)",
    "Algorithms 2 and 3",
    positive=("prior_a", "prior_b"),
)
class Thompson(NamedTuple):
    """A draw from the reward's posterior under a Beta(prior_a, prior_b) prior."""

    prior_a: float = 1.0
    prior_b: float = 1.0


@described(
    "L ~ Beta(S + prior_a, N - S + prior_b) - slack * deviation * sqrt(log t)",
    "appendix on a naive Thompson sampling based safety index",
    positive=("prior_a", "prior_b"),
    not_negative=("slack",),
)
class SampledRisk(NamedTuple):
    """A draw from the risk's posterior, less a slack; `slack` = 0 is the paper's naive scheme.

    It fails where the best arm's risk is near alpha (linear regret): here to be compared with, not to be used.
    """

    slack: float = 0.0
    prior_a: float = 1.0
    prior_b: float = 1.0


@upper.register(Thompson)
def thompson_upper(index: Thompson, seen: Seen, t: int, stream: Stream) -> float:
    return beta(stream, seen.ones + index.prior_a, seen.plays - seen.ones + index.prior_b)


@width.register(Thompson)
def thompson_width(index: Thompson) -> int:
    return OWN


@start.register(Thompson)
def thompson_start(index: Thompson, own: Numbers) -> None:
    start_posterior(own)


@learn.register(Thompson)
def thompson_learn(index: Thompson, seen: Seen, value: float, bit: int) -> None:
    learn_posterior(seen, bit)


@best.register(Thompson)
def best_of_thompson(index: Thompson, state: State, t: int) -> int:
    """The permitted arm of the largest draw, with few draws: mostly none, where one or two arms exceed the bar."""
    if index.prior_a != 1.0 or index.prior_b != 1.0:
        return best_of_drawn(index, state, t)
    if bar_is_poor(state):
        set_bar(index, state)
    first, count, rest = arms_above_bar(index, state)
    if count == 1:
        return first
    if count == 0:
        return _largest_below(state)
    if count == 2:
        winner = larger_of_rivals(state, first, rest)
        if winner >= 0:
            return winner
    winner, x, k = -1, -math.inf, first
    while k >= 0:
        arm = at(state.first, k)
        arm.index = draw_above(arm.reward, state)
        if arm.index > x:
            winner, x = k, arm.index
        k = arm.next
    return winner


@inlined
def _largest_below(state: State) -> int:
    winner, x = -1, -math.inf
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.permitted:
            arm.index = draw_below(arm.reward, state)
            if arm.index > x:
                winner, x = k, arm.index
    return winner


@reveal.register(Thompson)
def reveal_thompson(index: Thompson, state: State, winner: int) -> None:
    reveal_rivals(state, winner)
    reveal_draws(state, winner)


@tells_chances.register(Thompson)
@tells_chances.register(SampledRisk)
def posterior_tells_chances(index: Thompson | SampledRisk) -> bool:
    return index.prior_a == 1.0 and index.prior_b == 1.0


@width.register(SampledRisk)
def sampled_risk_width(index: SampledRisk) -> int:
    return DRAWN + 1


@start.register(SampledRisk)
def sampled_risk_start(index: SampledRisk, own: Numbers) -> None:
    start_posterior(own)


@learn.register(SampledRisk)
def sampled_risk_learn(index: SampledRisk, seen: Seen, value: float, bit: int) -> None:
    learn_posterior(seen, bit)


@inlined
def _shift(index: SampledRisk, seen: Seen, t: int) -> float:
    """By how much L lies below the drawn risk."""
    if index.slack == 0.0:
        return 0.0
    a, b = seen.ones + index.prior_a, seen.plays - seen.ones + index.prior_b
    n = a + b
    return index.slack * math.sqrt(a * b / (n + 1.0)) / n * math.sqrt(math.log(t))


@lower.register(SampledRisk)
def sampled_risk_lower(index: SampledRisk, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    risk = beta(stream, seen.ones + index.prior_a, seen.plays - seen.ones + index.prior_b)
    return risk - _shift(index, seen, t)


@drawn.register(SampledRisk)
def sampled_risk_is_drawn(index: SampledRisk) -> bool:
    return True


@inlined
def _near_risk(index: SampledRisk, seen: Seen, later: int, alpha: float) -> float:
    """Up to which drawn risk is near alpha; the slack is rounded up to one digit of 16, so that this seldom changes."""
    shift = min(1.0, _shift(index, seen, later))
    if shift > 0.0:
        mantissa, exponent = math.frexp(shift)
        shift = math.ldexp(math.ceil(16.0 * mantissa) / 16.0, exponent)
    return min(1.0, alpha + shift)


@chance_near.register(SampledRisk)
def sampled_risk_chance_near(index: SampledRisk, seen: Seen, later: int, alpha: float) -> float:
    most = _near_risk(index, seen, later, alpha)
    if most >= 1.0:
        return 1.0
    return 1.0 - chance_above(seen, most) if most > 0.0 else 0.0


@lower_if.register(SampledRisk)
def sampled_risk_lower_if(
    index: SampledRisk, near: bool, seen: Seen, t: int, later: int, alpha: float, stream: Stream
) -> float:
    most, a, b = _near_risk(index, seen, later, alpha), seen.ones + 1.0, seen.plays - seen.ones + 1.0
    return (beta_below(stream, a, b, most) if near else beta_above(stream, a, b, most)) - _shift(index, seen, t)


@permits_if_near.register(SampledRisk)
def sampled_risk_permits_if_near(
    index: SampledRisk, seen: Seen, t: int, later: int, alpha: float, stream: Stream
) -> bool:
    if index.slack == 0.0:
        seen.own[DRAWN] = math.nan
        return True
    seen.own[DRAWN] = lower_if(index, True, seen, t, later, alpha, stream)
    return bool(seen.own[DRAWN] <= alpha)
