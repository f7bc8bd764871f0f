"""Joint KL-UCB: evidence against an arm's reward and against its safety, charged to one budget.

The lower bound of the paper has the sum of the two divergences, the upper bounds of its policies have the larger one. A
policy hands joint reward indices the safety index's evidence (`charge`); each spends it in its own way.
"""

from __future__ import annotations

from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.bernoulli import kl_exceeds, kl_upper, kl_upper_near
from safebandit.core.indices.interface import (
    charge,
    described,
    exceeds,
    line,
    line_until,
    start,
    steady,
    upper,
    upper_near,
    width,
)
from safebandit.core.indices.kl import Level, budget, tangent
from safebandit.core.streams import Stream


@described("U = max{ q >= mean : N d(mean||q) <= gamma_t - evidence }", "ours: section 4, the lower bound's sum")
class JointUpper(NamedTuple):
    """KL-UCB with what the evidence against the arm's safety leaves of the budget; never looser than `KLUpper`."""

    level: Level = Level.practical


@width.register(JointUpper)
def _keeps_evidence(index: JointUpper) -> int:
    return 1


@start.register(JointUpper)
def _starts_without_evidence(index: JointUpper, own: Numbers) -> None:
    own[0] = 0.0


@charge.register(JointUpper)
def _notes_evidence(index: JointUpper, seen: Seen, against: float) -> None:
    seen.own[0] = against


@upper.register(JointUpper)
def joint_upper_index(index: JointUpper, seen: Seen, t: int) -> float:
    if seen.plays == 0:
        return 1.0
    return kl_upper(seen.mean, (budget(index.level, t) - seen.own[0]) / (seen.plays + seen.pending))


@upper_near.register(JointUpper)
def joint_upper_near(index: JointUpper, seen: Seen, t: int, before: float) -> float:
    left = budget(index.level, t) - seen.own[0]
    if seen.plays == 0 or left <= 0.0:
        return 1.0 if seen.plays == 0 else seen.mean
    return kl_upper_near(seen.mean, left / (seen.plays + seen.pending), before)


@exceeds.register(JointUpper)
def joint_upper_exceeds(index: JointUpper, seen: Seen, t: int, bar: float) -> bool:
    if seen.plays == 0:
        return bar < 1.0
    return kl_exceeds(seen.mean, seen.plays + seen.pending, budget(index.level, t) - seen.own[0], bar)


@line.register(JointUpper)
def joint_line(index: JointUpper, seen: Seen, t: int, until: int, before: float, stream: Stream) -> tuple[float, float]:
    if budget(index.level, t) <= seen.own[0]:
        # It will leave the mean in some later round.
        return upper(index, seen, until, stream), 0.0
    return tangent(index.level, seen.mean, seen.plays + seen.pending, t, upper_near(index, seen, t, before, 0, stream))


@line_until.register(JointUpper)
def joint_line_until(index: JointUpper, t: int) -> int:
    return t + t // 8 + 2


@steady.register(JointUpper)
def joint_upper_is_steady(index: JointUpper) -> bool:
    return True
