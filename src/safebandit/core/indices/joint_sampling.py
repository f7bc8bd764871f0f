"""Joint indices by sampling: a draw of the reward that keeps its optimism only where a draw of the risk is safe."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.bernoulli import binomial_tail
from safebandit.core.dispatch import compiled, generic
from safebandit.core.indices.interface import charge, described, learn_together, start, upper, width
from safebandit.core.streams import Stream, beta, beta_below, uniform

# The own numbers: the chance exp(-evidence), and for the Dirichlet law alpha and the counts of
# (reward, risk) = (0, 0), (0, 1), (1, 0), (1, 1).
CHANCE, ALPHA, TABLE = 0, 1, 2


@described(
    "U ~ Beta(R+1, N-R+1), at most the mean unless a test of chance exp(-evidence) (1 + soft log t) is passed",
    "ours: Thompson sampling with the lower bound's sum",
    not_negative=("soft",),
)
class JointThompson(NamedTuple):
    """A posterior draw that loses its optimism where the risk, drawn too, is above alpha; `soft` tests leniently."""

    soft: float = 0.0


@described(
    "as joint-thompson; passed if one of 1 + soft log t draws of both means, reward at least U, has risk <= alpha",
    "ours: Thompson sampling for outcomes that depend on each other",
    not_negative=("soft",),
    one_risk=True,
)
class JointDirichlet(NamedTuple):
    """A posterior draw whose test draws reward and risk together, from the table of both outcomes.

    A draw is tested among draws at least as large. Where a reward that large comes with a safe risk, as when R = 1 - S,
    it stands: the two kinds of evidence are then one, and are not counted twice. No draw exceeds Thompson sampling's.
    """

    soft: float = 1.0


@width.register(JointThompson)
def joint_thompson_width(index: JointThompson) -> int:
    return ALPHA


@width.register(JointDirichlet)
def joint_dirichlet_width(index: JointDirichlet) -> int:
    return TABLE + 4


@start.register(JointThompson)
def joint_thompson_start(index: JointThompson, own: Numbers, alpha: float) -> None:
    own[CHANCE] = 1.0


@start.register(JointDirichlet)
def joint_dirichlet_start(index: JointDirichlet, own: Numbers, alpha: float) -> None:
    own[CHANCE] = 1.0
    own[ALPHA] = alpha
    for i in range(4):
        own[TABLE + i] = 0.0


@charge.register(JointThompson)
@charge.register(JointDirichlet)
def joint_sample_charge(index: JointThompson | JointDirichlet, seen: Seen, against: float) -> None:
    seen.own[CHANCE] = math.exp(-against) if against > 0.0 else 1.0


@learn_together.register(JointDirichlet)
def joint_dirichlet_learn_together(index: JointDirichlet, seen: Seen, reward: int, risk: int) -> None:
    seen.own[TABLE + 2 * reward + risk] += 1.0


@upper.register(JointThompson)
@upper.register(JointDirichlet)
def joint_sample_upper(index: JointThompson | JointDirichlet, seen: Seen, t: int, stream: Stream) -> float:
    rho = beta(stream, seen.ones + 1.0, seen.plays - seen.ones + 1.0)
    if seen.own[CHANCE] >= 1.0 or risk_passes(index, seen, t, rho, stream):
        return rho
    return min(rho, seen.mean)


@generic
def risk_passes(index: object, seen: Seen, t: int, rho: float, stream: Stream) -> bool:
    """Whether a drawn risk is at most alpha, where the mean reward was drawn as `rho`."""
    raise NotImplementedError


@risk_passes.register(JointThompson)
def joint_thompson_passes(index: JointThompson, seen: Seen, t: int, rho: float, stream: Stream) -> bool:
    return uniform(stream) < seen.own[CHANCE] * (1.0 + index.soft * math.log(t))


@risk_passes.register(JointDirichlet)
def joint_dirichlet_passes(index: JointDirichlet, seen: Seen, t: int, rho: float, stream: Stream) -> bool:
    draws = 1.0 + index.soft * math.log(t)
    # Where so many draws would be expected to hold a safe one, they are not made.
    return seen.own[CHANCE] * draws >= 1.0 or _some_draw_is_safe(seen, rho, int(draws), stream)


@compiled
def _some_draw_is_safe(seen: Seen, rho: float, draws: int, stream: Stream) -> bool:
    """Whether one of so many draws of both means, of those whose reward is at least rho, has a risk of at most alpha.

    P(risk <= alpha | reward >= rho) = P(risk <= alpha) P(reward >= rho | risk <= alpha) / P(reward >= rho): most draws
    are settled by one uniform, and only the rest are made.
    """
    better = binomial_tail(seen.plays - seen.ones + 1.0, seen.plays + 1.0, 1.0 - rho)
    for _ in range(draws):
        if uniform(stream) * better < seen.own[CHANCE] and reward_given_safe(seen, rho, stream) >= rho:
            return True
    return False


@compiled
def reward_given_safe(seen: Seen, rho: float, stream: Stream) -> float:
    """A draw of the mean reward, given a risk drawn from Beta(S, N-S+1) that is at most alpha, by the 2 x 2 table.

    Where it is surely below rho, a number not below it, but below rho.
    """
    neither, risk_only = seen.own[TABLE], seen.own[TABLE + 1]
    reward_only, both = seen.own[TABLE + 2], seen.own[TABLE + 3]
    without_risk, with_risk = beta(stream, reward_only + 0.5, neither + 0.5), beta(stream, both + 0.5, risk_only + 0.5)
    most = without_risk + max(0.0, with_risk - without_risk) * seen.own[ALPHA]
    if most < rho:
        return most
    risks = risk_only + both
    sigma = beta_below(stream, risks, neither + reward_only + 1.0, seen.own[ALPHA]) if risks > 0.0 else 0.0
    return sigma * with_risk + (1.0 - sigma) * without_risk
