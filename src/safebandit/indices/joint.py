"""Joint indices that draw nothing: evidence against an arm's reward and against its safety, charged to one budget.

The lower bound of the paper has the sum of the two divergences, the upper bounds of its policies have the larger one. A
policy hands these reward indices the safety index's evidence (`charge`); each spends it in its own way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.arms import Numbers, Seen, State, at
from safebandit.bounds import divergence, divergence_below, kl_upper, kl_upper_near
from safebandit.dispatch import inlined
from safebandit.indices.contest import largest_index
from safebandit.indices.interface import best, charge, described, exceeds, start, steady, upper, upper_near, width
from safebandit.indices.kl import Level, budget


@described("U = max{ q >= mean : N d(mean||q) <= gamma_t - evidence }", "ours: section 4, the lower bound's sum")
class JointUpper(NamedTuple):
    """KL-UCB with what the evidence against the arm's safety leaves of the budget; never looser than `KLUpper`."""

    level: Level = Level.practical


@described(
    "play argmin N d_<(mean||m) + max(0, evidence - discount log(1 + log t)) + log N, m the largest permissible mean",
    "ours: IMED (Honda and Takemura 2015) with the lower bound's sum",
    not_negative=("discount",),
)
class IMED(NamedTuple):
    """The arm against which the least evidence speaks, of reward and risk together, and of being played already.

    `discount` forgives a little risk evidence, growing like log log t: fewer runs in which an arm whose risk is
    exactly alpha is starved, for more plays of unsafe arms.
    """

    discount: float = 0.0


@width.register(JointUpper)
@width.register(IMED)
def _keeps_evidence(index: JointUpper | IMED) -> int:
    return 1


@start.register(JointUpper)
@start.register(IMED)
def _starts_without_evidence(index: JointUpper | IMED, own: Numbers) -> None:
    own[0] = 0.0


@charge.register(JointUpper)
@charge.register(IMED)
def _notes_evidence(index: JointUpper | IMED, seen: Seen, against: float) -> None:
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
    p = seen.mean
    return p > bar or (seen.plays + seen.pending) * divergence(p, bar) < budget(index.level, t) - seen.own[0]


@steady.register(JointUpper)
def joint_upper_is_steady(index: JointUpper) -> bool:
    return True


@upper.register(IMED)
def imed_upper(index: IMED) -> float:
    # There is no number of one arm alone: `best` compares it with the largest permissible mean.
    return math.nan


@best.register(IMED)
def best_of_imed(index: IMED, state: State, t: int) -> int:
    """The permitted arm of least cost, ties at random; an arm's `index` is its cost with the sign changed."""
    largest = -math.inf
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.safe and arm.reward.plays > 0:
            largest = max(largest, arm.reward.mean)
    forgiven = index.discount * math.log(1.0 + math.log(t))
    for k in range(state.size):
        arm = at(state.first, k)
        arm.index = -imed_cost(arm.reward, largest, forgiven) if arm.permitted else math.nan
    return largest_index(state)


@inlined
def imed_cost(seen: Seen, largest: float, forgiven: float) -> float:
    """N d_<(mean||largest) + max(0, evidence - forgiven) + log N; minus infinity for an arm that was never played."""
    plays = seen.plays + seen.pending
    if plays == 0:
        return -math.inf
    against = divergence_below(seen.mean, largest) if seen.plays > 0 else 0.0
    return plays * against + max(0.0, seen.own[0] - forgiven) + math.log(plays)
