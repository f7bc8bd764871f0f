"""BayesUCB indices: quantiles of the Beta posterior, decided by the binomial tail."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.bernoulli import beta_quantile, next_tail
from safebandit.core.dispatch import inlined
from safebandit.core.indices.interface import (
    described,
    evidence,
    learn,
    lower,
    permits,
    start,
    upper,
    width,
)
from safebandit.core.streams import Stream


class Schedule(IntEnum):
    """The posterior quantile that BayesUCB reads in round t of an arm with N plays.

    `practical`: 1/(t+1). `theory`: 1/(sqrt(8N) t), as the paper simulates its theory. `proof`: 1/(sqrt(8N) t log^3 t),
    as analysed (log t taken as at least 1).
    """

    practical = 0
    theory = 1
    proof = 2


@inlined
def quantile_level(schedule: int, tail: float, plays: float, t: int) -> float:
    """delta_t before it is held below alpha/2: with a `tail` of b, t^(1 + b) stands for t in it."""
    clock = t + 1.0 if schedule == 0 else float(t)
    delta = 1.0 / clock if schedule == 0 else 1.0 / (math.sqrt(8.0 * max(1, plays)) * clock)
    if schedule == 2:
        delta /= max(1.0, math.log(t)) ** 3
    return delta * clock**-tail if tail > 0.0 else delta


@inlined
def risk_level(schedule: int, tail: float, plays: int, t: int, alpha: float) -> float:
    """delta_t of a safety index: at most alpha/2, so that at first every arm is permissible."""
    delta = quantile_level(schedule, tail, plays, t)
    # At alpha = 0 the paper's min(alpha/2, .) would permit every arm; the plain schedule does not.
    if alpha > 0.0 and schedule != 2:
        delta = min(0.5 * alpha, delta)
    return delta


@described(
    "U = Q(Beta(R+1, N-R), 1 - delta_t), 1 where R = N",
    "Algorithm 3 by x -> 1-x",
    not_negative=("tail",),
    steady=True,
)
class BayesUpper(NamedTuple):
    """The (1 - delta_t) quantile of the reward's posterior, the mirror image of `BayesLower`."""

    schedule: Schedule = Schedule.practical
    tail: float = 0.0


@described(
    "L = Q(Beta(S, N-S+1), delta_t), 0 where S = 0",
    "Algorithm 3",
    not_negative=("tail",),
    steady=True,
)
class BayesLower(NamedTuple):
    """The delta_t quantile of the risk's posterior: L = Q(Beta(S, N-S+1), delta_t), and 0 where S = 0."""

    schedule: Schedule = Schedule.practical
    tail: float = 0.0


@inlined
def bayes_failures(seen: Seen) -> tuple[float, float]:
    """Failures and plays, with pending plays counted at the same share of failures, whole or not."""
    plays = float(seen.plays + seen.pending)
    return (seen.plays - seen.ones) * (plays / seen.plays), plays


@upper.register(BayesUpper)
def bayes_upper_index(index: BayesUpper, seen: Seen, t: int, stream: Stream) -> float:
    if seen.plays == seen.ones:
        return 1.0
    failures, plays = bayes_failures(seen)
    return 1.0 - beta_quantile(failures, plays - failures + 1.0, quantile_level(index.schedule, index.tail, plays, t))


@width.register(BayesLower)
def bayes_lower_width(index: BayesLower) -> int:
    return 2


@start.register(BayesLower)
def bayes_lower_start(index: BayesLower, own: Numbers, alpha: float) -> None:
    own[0] = 1.0
    own[1] = 1.0


@learn.register(BayesLower)
def bayes_lower_learn(index: BayesLower, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's own numbers are P(Bin(N, alpha) >= S) and P(Bin(N, alpha) = S), carried from play to play."""
    tail, mass = next_tail(seen.own[0], seen.own[1], seen.ones - bit, seen.plays - 1, alpha, bit)
    seen.own[0] = tail
    seen.own[1] = mass


@permits.register(BayesLower)
def bayes_lower_permits(index: BayesLower, seen: Seen, t: int, alpha: float, stream: Stream) -> bool:
    """L <= alpha is P(Bin(N, alpha) >= S) >= delta_t: no quantile is needed."""
    return seen.own[0] >= risk_level(index.schedule, index.tail, seen.plays, t, alpha)


@evidence.register(BayesLower)
def bayes_evidence(index: BayesLower, seen: Seen, alpha: float) -> float:
    """-log P(Bin(N, alpha) >= S) where S is above N alpha."""
    if seen.ones <= alpha * seen.plays:
        return 0.0
    return -math.log(seen.own[0]) if seen.own[0] > 0.0 else math.inf


@lower.register(BayesLower)
def bayes_lower_index(index: BayesLower, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.ones == 0:
        return 0.0
    delta = risk_level(index.schedule, index.tail, seen.plays, t, alpha)
    return beta_quantile(float(seen.ones), seen.plays - seen.ones + 1.0, delta)
