"""Gates of fixed confidence: what excludes an arm is the same evidence in every round, so that only its own outcomes
open or close its gate. `BettingGate`, beside the other bets, is one, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.bernoulli import beta_quantile, kl_lower, next_tail, point_mass
from safebandit.core.bets import ABOVE_NOTHING
from safebandit.core.indices.interface import described, evidence, learn, lower, permits, start, width
from safebandit.core.sequences import next_mixture_wealth, unrefuted_divergence
from safebandit.core.streams import Stream


@described(
    "excluded where P(risk > alpha) > confidence under Beta(S+1, N-S+1) and a point at alpha of prior odds `odds`, "
    "once N >= least; L = Q(1 - confidence)",
    "with odds = 0 the rule of BOIN (Liu and Yuan 2015) and of most dose-finding designs",
    not_negative=("least", "odds"),
    between=("confidence",),
    steady=True,
)
class PosteriorGate(NamedTuple):
    """Exclude an arm whose risk is above alpha with a posterior chance of more than `confidence`, after `least` units.

    L is the 1 - `confidence` quantile of the posterior, 0 before. Of several risks each is asked alone. The prior is
    flat, with a point at alpha, which is safe, of `odds` to 1. Without it a risk of exactly 0 has no chance: at
    alpha = 0 every arm is excluded after `least` units.
    """

    confidence: float = 0.95
    least: int = 3
    odds: float = 0.0


@described(
    "excluded where W >= 1/delta and S > alpha N; W = B(S+a, N-S+b) / (B(a, b) alpha^S (1-alpha)^(N-S))",
    "Robbins 1970, mixture of likelihood ratios; a = prior_a, b = prior_b",
    positive=("prior_a", "prior_b"),
    between=("delta",),
    shared=("delta",),
    steady=True,
)
class MixtureGate(NamedTuple):
    """Exclude an arm once the likelihood of its bits, mixed over all risks, is 1/`delta` times that of alpha.

    An arm whose risk is at most alpha is ever excluded with probability at most `delta`, over all rounds together; of
    several risks each has its share of it. L is the smallest risk that is not refuted in the same way.
    """

    delta: float = 0.05
    prior_a: float = 1.0
    prior_b: float = 1.0


@width.register(PosteriorGate)
def posterior_width(index: PosteriorGate) -> int:
    return 2


@start.register(PosteriorGate)
def posterior_start(index: PosteriorGate, own: Numbers, alpha: float) -> None:
    own[0] = alpha
    own[1] = alpha


@learn.register(PosteriorGate)
def posterior_learn(index: PosteriorGate, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's own numbers: P(risk <= alpha), which is P(Bin(N+1, alpha) > S), and P(Bin(N+1, alpha) = S+1)."""
    tail, mass = next_tail(seen.own[0], seen.own[1], seen.ones - bit + 1, seen.plays, alpha, bit)
    seen.own[0] = tail
    seen.own[1] = mass


@permits.register(PosteriorGate)
def posterior_permits(index: PosteriorGate, seen: Seen, t: int, alpha: float, stream: Stream) -> bool:
    if seen.plays < index.least:
        return True
    above = 1.0 - seen.own[0]
    if above <= index.confidence:
        # The point at alpha only adds to the chance to be safe.
        return True
    return (1.0 - point_mass(seen.ones, seen.plays, alpha, index.odds)) * above <= index.confidence


@evidence.register(PosteriorGate)
def posterior_evidence(index: PosteriorGate, seen: Seen, alpha: float) -> float:
    """-log P(risk <= alpha) where S is above N alpha."""
    if seen.ones <= alpha * seen.plays:
        return 0.0
    return -math.log(seen.own[0]) if seen.own[0] > 0.0 else math.inf


@lower.register(PosteriorGate)
def posterior_lower(index: PosteriorGate, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.plays < index.least:
        return 0.0
    level, point = 1.0 - index.confidence, point_mass(seen.ones, seen.plays, alpha, index.odds)
    below = (1.0 - point) * seen.own[0]
    if below < level <= below + point:
        return alpha
    level = (level if level <= below else level - point) / (1.0 - point)
    return beta_quantile(seen.ones + 1.0, seen.plays - seen.ones + 1.0, level)


@width.register(MixtureGate)
def mixture_width(index: MixtureGate) -> int:
    return 1


@start.register(MixtureGate)
def mixture_start(index: MixtureGate, own: Numbers, alpha: float) -> None:
    own[0] = 0.0


@learn.register(MixtureGate)
def mixture_learn(index: MixtureGate, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's own number is log W. At alpha = 1, where every risk is safe, nothing is kept."""
    seen.own[0] = next_mixture_wealth(
        seen.own[0], seen.ones - bit, seen.plays - 1, bit, alpha, index.prior_a, index.prior_b
    )


@permits.register(MixtureGate)
def mixture_permits(index: MixtureGate, seen: Seen, t: int, alpha: float, stream: Stream) -> bool:
    """W is a martingale where the risk is alpha. Below alpha it is not, but with S <= alpha N no arm is excluded.

    Of the others W grows with S: an arm of smaller risk is excluded only where one of risk alpha would be.
    """
    return seen.ones <= alpha * seen.plays or seen.own[0] < -math.log(index.delta)


@evidence.register(MixtureGate)
def mixture_evidence(index: MixtureGate, seen: Seen, alpha: float) -> float:
    """The log of W where that is above 0 and S above N alpha."""
    return max(0.0, seen.own[0]) if seen.ones > alpha * seen.plays else 0.0


@lower.register(MixtureGate)
def mixture_lower(index: MixtureGate, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.ones == 0 or alpha >= 1.0:
        return 0.0
    if alpha <= 0.0:
        return ABOVE_NOTHING
    mean = seen.ones / seen.plays
    return kl_lower(mean, unrefuted_divergence(seen.own[0], mean, seen.plays, alpha, index.delta))
