"""Indices drawn at random from the Beta posterior: Thompson sampling, for rewards and (naively) for risks."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.bernoulli import point_mass
from safebandit.core.indices.interface import described, learn, lower, start, upper, width
from safebandit.core.streams import Stream, beta, uniform


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
    "L ~ Beta(S + prior_a, N - S + prior_b) - slack * deviation * sqrt(log t), the deviation of that law",
    "appendix on a naive Thompson sampling based safety index",
    positive=("prior_a", "prior_b"),
    not_negative=("slack",),
    risk_word="drawn risk index",
)
class SampledRisk(NamedTuple):
    """A draw from the risk's posterior, less a slack; `slack` = 0 is the paper's naive scheme.

    It fails where the best arm's risk is near alpha (linear regret): here to be compared with, not to be used.
    """

    slack: float = 0.0
    prior_a: float = 1.0
    prior_b: float = 1.0


@described(
    "L = alpha with the posterior chance of that, else L ~ Beta(S+1, N-S+1); prior odds of exactly alpha: mass",
    "ours: a sampled safety index for risks that may be exactly alpha",
    not_negative=("mass",),
)
class PointMassRisk(NamedTuple):
    """A draw from the risk's posterior, under a prior that gives exactly alpha the odds `mass` and is flat otherwise.

    The posterior odds of alpha die exponentially where the risk is above it, and grow like sqrt(N) where it is alpha:
    there the arm is soon permissible nearly always. With `mass` = 0 it is the paper's naive scheme.
    """

    mass: float = 1.0


@upper.register(Thompson)
def thompson_upper(index: Thompson, seen: Seen, t: int, stream: Stream) -> float:
    return beta(stream, seen.ones + index.prior_a, seen.plays - seen.ones + index.prior_b)


@lower.register(SampledRisk)
def sampled_risk_lower(index: SampledRisk, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    a, b = seen.ones + index.prior_a, seen.plays - seen.ones + index.prior_b
    risk = beta(stream, a, b)
    if index.slack == 0.0:
        return risk
    n = a + b
    return risk - index.slack * math.sqrt(a * b / (n + 1.0)) / n * math.sqrt(math.log(t))


@width.register(PointMassRisk)
def point_mass_risk_width(index: PointMassRisk) -> int:
    return 1


@start.register(PointMassRisk)
def point_mass_risk_start(index: PointMassRisk, own: Numbers, alpha: float) -> None:
    own[0] = point_mass(0, 0, alpha, index.mass)


@learn.register(PointMassRisk)
def point_mass_risk_learn(index: PointMassRisk, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's own number is the chance that its risk is exactly alpha, which only a play changes."""
    seen.own[0] = point_mass(seen.ones, seen.plays, alpha, index.mass)


@lower.register(PointMassRisk)
def point_mass_risk_lower(index: PointMassRisk, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if uniform(stream) < seen.own[0]:
        return alpha
    return beta(stream, seen.ones + 1.0, seen.plays - seen.ones + 1.0)
