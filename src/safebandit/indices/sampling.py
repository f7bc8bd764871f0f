"""Indices drawn at random from the Beta posterior: Thompson sampling, for rewards and (naively) for risks."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.arms import Numbers, Seen, State, at
from safebandit.dispatch import inlined
from safebandit.indices.bar import (
    OWN,
    arms_above_bar,
    bar_is_poor,
    draw_above,
    draw_below,
    learn_posterior,
    reveal_draws,
    set_bar,
    start_posterior,
)
from safebandit.indices.contest import best_of_drawn
from safebandit.indices.interface import best, described, drawn, learn, lower, reveal, start, upper, width
from safebandit.indices.rivals import larger_of_rivals, reveal_rivals
from safebandit.streams import Stream, beta


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


@lower.register(SampledRisk)
def sampled_risk_lower(index: SampledRisk, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    a, b = seen.ones + index.prior_a, seen.plays - seen.ones + index.prior_b
    n = a + b
    deviation = math.sqrt(a * b / (n + 1.0)) / n
    return beta(stream, a, b) - index.slack * deviation * math.sqrt(math.log(t))


@drawn.register(SampledRisk)
def sampled_risk_is_drawn(index: SampledRisk) -> bool:
    return True
