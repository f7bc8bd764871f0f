"""KL-UCB indices: what a mean may be, given the Bernoulli divergence and a budget that grows like log t."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

from safebandit.core.arms import NEVER, Numbers, Seen
from safebandit.core.bernoulli import (
    divergence_above,
    kl_exceeds,
    kl_lower,
    kl_lower_later,
    kl_lower_near,
    kl_upper,
    kl_upper_later,
    kl_upper_near,
)
from safebandit.core.dispatch import inlined
from safebandit.core.indices.interface import (
    described,
    evidence,
    exceeds,
    learn,
    line,
    line_until,
    lower,
    lower_near,
    permits,
    start,
    steady,
    upper,
    upper_near,
    width,
)
from safebandit.core.streams import Stream


class Level(IntEnum):
    """The budget of a KL bound: log t as simulated, or log t + 3 log log t as analysed."""

    practical = 0
    theory = 1


@inlined
def budget(level: int, t: int) -> float:
    """gamma_t: log t, plus 3 log log t (never less than 0) at the level `theory`."""
    log_t = math.log(t)
    if level == 1:
        return log_t + 3.0 * math.log(max(1.0, log_t))
    return log_t


@described(
    "U = max{ q >= mean : N d(mean||q) <= gamma_t }",
    "section on doubly optimistic confidence bounds",
)
class KLUpper(NamedTuple):
    """The largest mean that the data do not refute: U = max{ q : N d(mean||q) <= gamma_t }."""

    level: Level = Level.practical


@described(
    "L = min{ q <= mean : N d(mean||q) <= gamma_t }",
    "section on doubly optimistic confidence bounds",
)
class KLLower(NamedTuple):
    """The smallest mean risk that the data do not refute: L = min{ q : N d(mean||q) <= gamma_t }."""

    level: Level = Level.practical


@upper.register(KLUpper)
def kl_upper_index(index: KLUpper, seen: Seen, t: int) -> float:
    if seen.plays == 0:
        return 1.0
    # Pending plays count as plays of the same mean: a cohort spreads over the arms.
    return kl_upper(seen.mean, budget(index.level, t) / (seen.plays + seen.pending))


@exceeds.register(KLUpper)
def kl_upper_exceeds(index: KLUpper, seen: Seen, t: int, bar: float) -> bool:
    if seen.plays == 0:
        return bar < 1.0
    return kl_exceeds(seen.mean, seen.plays + seen.pending, budget(index.level, t), bar)


@upper_near.register(KLUpper)
def kl_upper_index_near(index: KLUpper, seen: Seen, t: int, before: float, since: int) -> float:
    if seen.plays == 0:
        return 1.0
    plays, now = seen.plays + seen.pending, budget(index.level, t)
    if since > 0:
        return kl_upper_later(seen.mean, now / plays, (now - budget(index.level, since)) / plays, before)
    return kl_upper_near(seen.mean, now / plays, before)


@line.register(KLUpper)
def kl_line(index: KLUpper, seen: Seen, t: int, until: int, before: float, stream: Stream) -> tuple[float, float]:
    return tangent(index.level, seen.mean, seen.plays + seen.pending, t, upper_near(index, seen, t, before, 0, stream))


@line_until.register(KLUpper)
@line_until.register(KLLower)
def kl_line_until(index: KLUpper | KLLower) -> int:
    return NEVER


@inlined
def tangent(level: int, mean: float, plays: int, t: int, u: float) -> tuple[float, float]:
    """The tangent of a KL index over log t, where it is u: it is concave, so that it never exceeds its tangent."""
    gap = u - mean
    # Where the budget begins to grow faster, and where the index leaves the mean, it is not concave: at most 1 it is.
    if plays == 0 or gap < 1e-6 or (level == 1 and t <= 2):
        return 1.0, 0.0
    log_t = math.log(t)
    growth = 1.0 + 3.0 / log_t if level == 1 else 1.0
    slope = growth * u * (1.0 - u) / (plays * gap)
    return u - slope * log_t, slope


@steady.register(KLUpper)
@steady.register(KLLower)
def kl_is_steady(index: KLUpper | KLLower) -> bool:
    return True


@width.register(KLLower)
def kl_lower_width(index: KLLower) -> int:
    return 1


@start.register(KLLower)
def kl_lower_start(index: KLLower, own: Numbers) -> None:
    own[0] = 0.0


@learn.register(KLLower)
def kl_lower_learn(index: KLLower, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """The arm's own number is its risk evidence, N d_>(mean||alpha), which only a play changes."""
    seen.own[0] = seen.plays * divergence_above(seen.mean, alpha)


@permits.register(KLLower)
def kl_lower_permits(index: KLLower, seen: Seen, t: int) -> bool:
    """L <= alpha is N d_>(mean||alpha) <= gamma_t: no inversion is needed."""
    return seen.own[0] <= 0.0 or seen.own[0] <= budget(index.level, t)


@evidence.register(KLLower)
def kl_evidence(index: KLLower, seen: Seen) -> float:
    return seen.own[0]


@lower.register(KLLower)
def kl_lower_index(index: KLLower, seen: Seen, t: int) -> float:
    if seen.plays == 0:
        return 0.0
    return kl_lower(seen.mean, budget(index.level, t) / seen.plays)


@lower_near.register(KLLower)
def kl_lower_index_near(index: KLLower, seen: Seen, t: int, alpha: float, before: float, since: int) -> float:
    if seen.plays == 0:
        return 0.0
    now = budget(index.level, t)
    if since > 0:
        return kl_lower_later(seen.mean, now / seen.plays, (now - budget(index.level, since)) / seen.plays, before)
    return kl_lower_near(seen.mean, now / seen.plays, before)
