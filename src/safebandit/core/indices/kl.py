"""KL-UCB indices: what a mean may be, given the Bernoulli divergence and a budget that grows like log t."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.bernoulli import divergence_above, kl_lower, kl_upper
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


class Level(IntEnum):
    """The budget of a KL bound: log t in practice, log t + 3 log log t in theory.

    The words are those of `Schedule`; here what is simulated of the theory is what the proof has.
    """

    practical = 0
    theory = 1
    proof = 1


@inlined
def budget(level: int, tail: float, t: int) -> float:
    """gamma_t: (1 + tail) log t, plus 3 log log t (never less than 0) at the level `theory`."""
    log_t = math.log(t)
    if level == 1:
        return (1.0 + tail) * log_t + 3.0 * math.log(max(1.0, log_t))
    return (1.0 + tail) * log_t


@described(
    "U = max{ q >= mean : N d(mean||q) <= gamma_t }",
    "section on doubly optimistic confidence bounds",
    not_negative=("tail",),
    steady=True,
)
class KLUpper(NamedTuple):
    """The largest mean that the data do not refute: U = max{ q : N d(mean||q) <= gamma_t }."""

    level: Level = Level.practical
    tail: float = 0.0


@described(
    "L = min{ q <= mean : N d(mean||q) <= gamma_t }",
    "section on doubly optimistic confidence bounds",
    not_negative=("tail",),
    steady=True,
)
class KLLower(NamedTuple):
    """The smallest mean risk that the data do not refute: L = min{ q : N d(mean||q) <= gamma_t }."""

    level: Level = Level.practical
    tail: float = 0.0


@upper.register(KLUpper)
def kl_upper_index(index: KLUpper, seen: Seen, t: int, stream: Stream) -> float:
    if seen.plays == 0:
        return 1.0
    # Pending plays count as plays of the same mean: a cohort spreads over the arms.
    return kl_upper(seen.mean, budget(index.level, index.tail, t) / (seen.plays + seen.pending))


@width.register(KLLower)
def kl_lower_width(index: KLLower) -> int:
    return 1


@start.register(KLLower)
def kl_lower_start(index: KLLower, own: Numbers, alpha: float) -> None:
    own[0] = 0.0


@learn.register(KLLower)
def kl_lower_learn(index: KLLower, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's own number is its risk evidence, N d_>(mean||alpha), which only a play changes."""
    seen.own[0] = seen.plays * divergence_above(seen.mean, alpha)


@permits.register(KLLower)
def kl_lower_permits(index: KLLower, seen: Seen, t: int, alpha: float, stream: Stream) -> bool:
    """L <= alpha is N d_>(mean||alpha) <= gamma_t: no inversion is needed."""
    return seen.own[0] <= 0.0 or seen.own[0] <= budget(index.level, index.tail, t)


@evidence.register(KLLower)
def kl_evidence(index: KLLower, seen: Seen, alpha: float) -> float:
    return seen.own[0]


@lower.register(KLLower)
def kl_lower_index(index: KLLower, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.plays == 0:
        return 0.0
    return kl_lower(seen.mean, budget(index.level, index.tail, t) / seen.plays)


@described(
    "the largest q >= mean with N d(mean||q) <= gamma_t, in the place of L",
    "section on prior formulations: pessimistic risks",
    risk_word="upper risk index",
    not_negative=("tail",),
)
class KLUpperRisk(NamedTuple):
    """The largest mean risk that the data do not refute: a safety index that is pessimistic, as `pess` has it."""

    level: Level = Level.practical
    tail: float = 0.0


@lower.register(KLUpperRisk)
def kl_upper_risk_index(index: KLUpperRisk, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    if seen.plays == 0:
        return 1.0
    # By what is known alone: units that are pending make no arm safer.
    return kl_upper(seen.mean, budget(index.level, index.tail, t) / seen.plays)
