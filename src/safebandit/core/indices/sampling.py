"""Indices drawn at random from the Beta posterior: Thompson sampling, for rewards and (naively) for risks."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Seen
from safebandit.core.indices.interface import described, lower, upper
from safebandit.core.streams import Stream, beta


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
