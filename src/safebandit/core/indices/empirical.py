"""Empirical KL-UCB: what a mean may be, by the likelihood of the outcomes themselves, for any law on [0, 1]."""

from __future__ import annotations

from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.dispatch import inlined
from safebandit.core.empirical import empirical_lower, evidence_above, split_between
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
from safebandit.core.indices.kl import Level, budget
from safebandit.core.streams import Stream

SOURCE = "Cappe, Garivier, Maillard, Munos and Stoltz 2013, empirical KL-UCB"


@described(
    "U = max{ q >= mean : N K_inf(P, q) <= gamma_t }, P the outcomes' own law, split between points 1/bins apart",
    SOURCE,
    positive=("bins",),
    not_negative=("tail",),
    steady=True,
)
class EmpiricalUpper(NamedTuple):
    """The largest mean of a law on [0, 1] that the outcomes do not refute; narrow where they vary little.

    Outcomes are split between `bins` + 1 points so that their mean stays: the bound is never tighter than without bins,
    and for bits it is `KLUpper`.
    """

    level: Level = Level.practical
    bins: int = 32
    tail: float = 0.0


@described(
    "L = min{ q <= mean : N K_inf(P, q) <= gamma_t }, P the outcomes' own law, split between points 1/bins apart",
    f"{SOURCE}, by x -> 1-x",
    positive=("bins",),
    not_negative=("tail",),
    steady=True,
)
class EmpiricalLower(NamedTuple):
    """The smallest mean risk of a law on [0, 1] that the outcomes do not refute: `EmpiricalUpper` by x -> 1-x."""

    level: Level = Level.practical
    bins: int = 32
    tail: float = 0.0


@width.register(EmpiricalUpper)
@width.register(EmpiricalLower)
def empirical_width(index: EmpiricalUpper | EmpiricalLower) -> int:
    """A weight for each point, and the evidence."""
    return index.bins + 2


@start.register(EmpiricalUpper)
@start.register(EmpiricalLower)
def empirical_start(index: EmpiricalUpper | EmpiricalLower, own: Numbers, alpha: float) -> None:
    for j in range(index.bins + 2):
        own[j] = 0.0


@learn.register(EmpiricalUpper)
def empirical_upper_learn(index: EmpiricalUpper, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """A reward counts by its distance from 1: an upper bound is a lower bound on that."""
    split_between(seen.own, index.bins, 1.0 - value)


@inlined
def known_share(seen: Seen) -> float:
    """The share of the plays that are known; those pending count as if they had the same outcomes."""
    return seen.plays / (seen.plays + seen.pending)


@upper.register(EmpiricalUpper)
def empirical_upper_index(index: EmpiricalUpper, seen: Seen, t: int, stream: Stream) -> float:
    if seen.plays == 0:
        return 1.0
    share = budget(index.level, index.tail, t) * known_share(seen) / seen.plays
    return 1.0 - empirical_lower(seen.own, index.bins, seen.plays, 1.0 - seen.mean, share)


@learn.register(EmpiricalLower)
def empirical_lower_learn(index: EmpiricalLower, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's last own number is its risk evidence, N K_inf(P, alpha), which only a play changes."""
    split_between(seen.own, index.bins, value)
    seen.own[index.bins + 1] = evidence_above(seen.own, index.bins, seen.plays, seen.mean, alpha)


@permits.register(EmpiricalLower)
def empirical_lower_permits(index: EmpiricalLower, seen: Seen, t: int, alpha: float, stream: Stream) -> bool:
    """L <= alpha is N K_inf(P, alpha) <= gamma_t: no inversion is needed."""
    return seen.own[index.bins + 1] <= budget(index.level, index.tail, t)


@evidence.register(EmpiricalLower)
def empirical_evidence(index: EmpiricalLower, seen: Seen, alpha: float) -> float:
    return seen.own[index.bins + 1]


@lower.register(EmpiricalLower)
def empirical_lower_index(index: EmpiricalLower, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.plays == 0:
        return 0.0
    share = budget(index.level, index.tail, t) / seen.plays
    return empirical_lower(seen.own, index.bins, seen.plays, seen.mean, share)
