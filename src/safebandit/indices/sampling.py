"""Indices drawn at random from the Beta posterior: Thompson sampling, for rewards and (naively) for risks."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.arms import Numbers, Seen, State, at
from safebandit.bounds import beta_quantile, binomial_tail
from safebandit.dispatch import compiled, inlined
from safebandit.indices.interface import best, described, drawn, learn, lower, start, upper, width
from safebandit.streams import Stream, beta, uniform

SCREEN = 1.0 / 64.0
LOG_SCREEN = 4.1588830833596715


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
@inlined
def thompson_upper(index: Thompson, seen: Seen, t: int, stream: Stream) -> float:
    return beta(stream, seen.ones + index.prior_a, seen.plays - seen.ones + index.prior_b)


@width.register(Thompson)
def thompson_width(index: Thompson) -> int:
    return 2


@start.register(Thompson)
def thompson_start(index: Thompson, own: Numbers) -> None:
    own[0] = 0.0
    own[1] = math.inf


@learn.register(Thompson)
def thompson_learn(index: Thompson, seen: Seen) -> None:
    """The arm's own numbers: about its posterior mean, and a limit that a draw exceeds with chance at most SCREEN."""
    seen.own[0] = seen.ones * (1.0 / (seen.plays + 1.0))
    seen.own[1] = posterior_limit(seen) if index.prior_a == 1.0 and index.prior_b == 1.0 else math.inf


@inlined
def posterior_limit(seen: Seen) -> float:
    """A number that a draw of Beta(R+1, N-R+1) exceeds with chance at most SCREEN.

    P(draw > x) = P(Bin(N+1, x) <= R) <= exp(-(N+1) d(R/(N+1)||x)); the bounds of Pinsker and Bernstein solve it for x.
    """
    share = 1.0 / (seen.plays + 1.0)
    p = seen.ones * share
    c = LOG_SCREEN * share
    return p + min(math.sqrt(0.5 * c), c + math.sqrt(c * (c + 2.0 * p)))


@inlined
def posterior_beyond(seen: Seen, bar: float, stream: Stream) -> float:
    """A draw of Beta(R+1, N-R+1) where it is above `bar`, else perhaps NaN: one uniform w settles most arms.

    Above the arm's own limit, w < SCREEN is needed for more; the arm then exceeds the bar if w is below the exact
    chance, and its draw is the number that it exceeds with chance w.
    """
    if bar >= seen.own[1]:
        w = uniform(stream)
        return math.nan if w >= SCREEN else _draw_above(seen, bar, w)
    return beta(stream, seen.ones + 1.0, seen.plays - seen.ones + 1.0)


@inlined
def first_to_draw(state: State) -> int:
    """The permitted arm of about the largest posterior mean, the first own number; -1 if there is none."""
    first, mean = -1, -math.inf
    for k in range(state.size):
        arm = at(state.first, k)
        arm.index = math.nan
        if arm.permitted and arm.reward.own[0] > mean:
            first, mean = k, arm.reward.own[0]
    return first


@best.register(Thompson)
def best_of_thompson(index: Thompson, state: State, t: int) -> int:
    """The permitted arm of the largest draw, without drawing every arm.

    The arm of about the largest posterior mean is drawn, x. Another arm exceeds x with a chance of at most SCREEN
    where x is above its own limit: one uniform then settles most rounds.
    """
    winner = first_to_draw(state)
    if winner < 0:
        return winner
    first, arm = winner, at(state.first, winner)
    x = thompson_upper(index, arm.reward, t, state.stream)
    arm.index = x
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.permitted == 0 or k == first:
            continue
        if x >= arm.reward.own[1]:
            arm.index = posterior_beyond(arm.reward, x, state.stream)
        else:
            arm.index = thompson_upper(index, arm.reward, t, state.stream)
        if arm.index > x:
            winner, x = k, arm.index
    return winner


@compiled
def _draw_above(seen: Seen, x: float, w: float) -> float:
    """The number that a draw of Beta(R+1, N-R+1) exceeds with chance w, if it is above x; else NaN."""
    failures = seen.plays - seen.ones + 1
    if w >= binomial_tail(failures, seen.plays + 1, 1.0 - x):
        return math.nan
    return 1.0 - beta_quantile(failures, seen.ones + 1, w)


@lower.register(SampledRisk)
def sampled_risk_lower(index: SampledRisk, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    a, b = seen.ones + index.prior_a, seen.plays - seen.ones + index.prior_b
    n = a + b
    deviation = math.sqrt(a * b / (n + 1.0)) / n
    return beta(stream, a, b) - index.slack * deviation * math.sqrt(math.log(t))


@drawn.register(SampledRisk)
def sampled_risk_is_drawn(index: SampledRisk) -> bool:
    return True
