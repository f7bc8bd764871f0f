"""What a steady index may answer so that its search is fast; what it does not answer is found by computing it.

What it makes of the round, whether it exceeds a number, its value from one nearby, and a line over log t above it.
"""

from __future__ import annotations

import math

from safebandit.core.arms import Seen
from safebandit.core.bernoulli import binomial_tail, kl_exceeds, kl_upper_from
from safebandit.core.dispatch import generic, inlined
from safebandit.core.empirical import evidence_above
from safebandit.core.indices.bayes import BayesUpper, bayes_failures, quantile_level
from safebandit.core.indices.empirical import EmpiricalUpper, known_share
from safebandit.core.indices.interface import upper
from safebandit.core.indices.joint import JointUpper
from safebandit.core.indices.kl import KLLower, KLUpper, KLUpperRisk, budget
from safebandit.core.searches.interface import NEVER
from safebandit.core.streams import Stream

# An index from one nearby is exact to about the square of this.
NEAR = 1e-5


@generic
def clock(index: object, t: int) -> float:
    """What a steady index makes of the round, whatever the arm, so that it is made once: its budget, or t itself."""
    raise NotImplementedError


@generic
def exceeds(index: object, seen: Seen, now: float, bar: float, stream: Stream) -> bool:
    """Whether U > bar, for an index that is `steady`, in the round that its `clock` says."""
    raise NotImplementedError


@generic
def near(index: object, seen: Seen, t: int, before: float, stream: Stream) -> float:
    """The bound that a steady index gives, perhaps sooner because `before` is near it: that of another round, or 0.

    U of a reward index; L of the safety indices that answer this.
    """
    raise NotImplementedError


@generic
def line(index: object, seen: Seen, t: int, u: float, stream: Stream) -> tuple[float, float, int]:
    """A reach and a slope such that U is at most reach + slope log s in rounds s from t up to the last number.

    `u` is U in round t.
    """
    raise NotImplementedError


@clock.register(object)
def _round_itself(index: object, t: int) -> float:
    return float(t)


@clock.register(KLUpper)
@clock.register(KLLower)
@clock.register(KLUpperRisk)
@clock.register(JointUpper)
@clock.register(EmpiricalUpper)
def budget_of_round(index: KLUpper | KLLower | KLUpperRisk | JointUpper | EmpiricalUpper, t: int) -> float:
    return budget(index.level, index.tail, t)


@exceeds.register(object)
def _upper_above_bar(index: object, seen: Seen, now: float, bar: float, stream: Stream) -> bool:
    return upper(index, seen, int(now), stream) > bar


@near.register(object)
def _upper_itself(index: object, seen: Seen, t: int, before: float, stream: Stream) -> float:
    return upper(index, seen, t, stream)


@line.register(object)
def _flat(index: object, seen: Seen, t: int, u: float, stream: Stream) -> tuple[float, float, int]:
    """What U will be a little later: a steady index only grows."""
    until = t + t // 512 + 2
    return upper(index, seen, until, stream), 0.0, until


@exceeds.register(KLUpper)
def kl_upper_exceeds(index: KLUpper, seen: Seen, now: float, bar: float, stream: Stream) -> bool:
    if seen.plays == 0 or bar >= 1.0:
        return bar < 1.0
    return kl_exceeds(seen.mean, seen.plays, now, bar)


@near.register(KLUpper)
def kl_upper_index_near(index: KLUpper, seen: Seen, t: int, before: float, stream: Stream) -> float:
    if seen.plays == 0:
        return 1.0
    return kl_upper_from(seen.mean, budget(index.level, index.tail, t) / seen.plays, before, NEAR)


@near.register(KLLower)
def kl_lower_index_near(index: KLLower, seen: Seen, t: int, before: float, stream: Stream) -> float:
    if seen.plays == 0:
        return 0.0
    return 1.0 - kl_upper_from(1.0 - seen.mean, budget(index.level, index.tail, t) / seen.plays, 1.0 - before, NEAR)


@near.register(KLUpperRisk)
def kl_upper_risk_near(index: KLUpperRisk, seen: Seen, t: int, before: float, stream: Stream) -> float:
    if seen.plays == 0:
        return 1.0
    return kl_upper_from(seen.mean, budget(index.level, index.tail, t) / seen.plays, before, NEAR)


@line.register(KLUpper)
def kl_line(index: KLUpper, seen: Seen, t: int, u: float, stream: Stream) -> tuple[float, float, int]:
    """The tangent over log t: U is concave there, so that it never exceeds it."""
    reach, slope = _tangent(index.level, index.tail, seen, t, u)
    return reach, slope, NEVER


@inlined
def _tangent(level: int, tail: float, seen: Seen, t: int, u: float) -> tuple[float, float]:
    gap = u - seen.mean
    # Where the budget begins to grow faster, and where the index leaves the mean, it is not concave: at most 1 it is.
    if seen.plays == 0 or gap < 1e-6 or (level == 1 and t <= 2):
        return 1.0, 0.0
    log_t = math.log(t)
    growth = 1.0 + tail + (3.0 / log_t if level == 1 else 0.0)
    slope = growth * u * (1.0 - u) / (seen.plays * gap)
    return u - slope * log_t, slope


@exceeds.register(JointUpper)
def joint_upper_exceeds(index: JointUpper, seen: Seen, now: float, bar: float, stream: Stream) -> bool:
    if seen.plays == 0 or bar >= 1.0:
        return bar < 1.0
    return kl_exceeds(seen.mean, seen.plays, now - seen.own[0], bar)


@near.register(JointUpper)
def joint_upper_near(index: JointUpper, seen: Seen, t: int, before: float, stream: Stream) -> float:
    left = budget(index.level, index.tail, t) - seen.own[0]
    if seen.plays == 0 or left <= 0.0:
        return 1.0 if seen.plays == 0 else seen.mean
    return kl_upper_from(seen.mean, left / seen.plays, before, NEAR)


@line.register(JointUpper)
def joint_line(index: JointUpper, seen: Seen, t: int, u: float, stream: Stream) -> tuple[float, float, int]:
    until = t + t // 8 + 2
    if budget(index.level, index.tail, t) <= seen.own[0]:
        # It will leave the mean in some later round.
        return upper(index, seen, until, stream), 0.0, until
    reach, slope = _tangent(index.level, index.tail, seen, t, u)
    return reach, slope, until


@exceeds.register(BayesUpper)
def bayes_upper_exceeds(index: BayesUpper, seen: Seen, now: float, bar: float, stream: Stream) -> bool:
    if seen.plays == seen.ones or bar >= 1.0:
        return bar < 1.0
    failures, plays = bayes_failures(seen)
    return binomial_tail(failures, plays, 1.0 - bar) > quantile_level(index.schedule, index.tail, plays, int(now))


@exceeds.register(EmpiricalUpper)
def empirical_upper_exceeds(index: EmpiricalUpper, seen: Seen, now: float, bar: float, stream: Stream) -> bool:
    """U > bar is N K_inf(P, bar) < gamma_t: no inversion is needed."""
    if seen.plays == 0 or bar >= 1.0:
        return bar < 1.0
    spent = now * known_share(seen)
    against = evidence_above(seen.own, index.bins, seen.plays, 1.0 - seen.mean, 1.0 - bar)
    return seen.mean > bar or against < spent


@line.register(EmpiricalUpper)
def empirical_line(index: EmpiricalUpper, seen: Seen, t: int, u: float, stream: Stream) -> tuple[float, float, int]:
    """The chord from half the round on: K_inf is convex, so that U is concave over log t, and stays below it.

    Rounding of the two ends grows with the distance.
    """
    # At first the budget of the level `theory` is not concave.
    if seen.plays == 0 or t < 6:
        return 1.0, 0.0, 8 * t
    rise = u - upper(index, seen, t // 2, stream)
    slope = (rise if rise > 0.0 else 0.0) / (math.log(t) - math.log(t // 2))
    return u - slope * math.log(t), slope, 8 * t
