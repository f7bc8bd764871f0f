"""Joint indices by sampling: a draw of the reward that keeps its optimism only where a draw of the risk is safe."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import Numbers, Seen
from safebandit.core.dispatch import both, generic, shared
from safebandit.core.indices.interface import described, learn_together, note_evidence, start, upper, width
from safebandit.core.streams import Stream, beta, beta_above, uniform

# The own number of `JointThompson`: the chance exp(-evidence). Those of `JointDirichlet`: alpha, and the counts of
# (reward, risk) = (0, 0), (0, 1), (1, 0), (1, 1) of the units of which both are known.
CHANCE = 0
ALPHA, TABLE = 0, 1


@described(
    "U ~ Beta(R+1, N-R+1); where the evidence E is above 0, min(U, mean) with chance 1 - exp(-E) (1 + soft log t)",
    "ours: Thompson sampling with the lower bound's sum",
    not_negative=("soft",),
)
class JointThompson(NamedTuple):
    """A posterior draw that loses its optimism where the risk, drawn too, is above alpha; `soft` tests leniently.

    E is the safety index's evidence, summed over the risks. That of `BayesLower` is 0 where S <= alpha N; else exp(-E)
    is the chance of a draw from Beta(S, N-S+1) of at most alpha. A draw that fails is capped at the mean of the
    outcomes themselves, not at that of the reduced bits that it is drawn from.
    """

    soft: float = 0.0


@described(
    "U ~ Beta(R+1, N-R+1); where S > alpha N, min(U, mean) unless one of 1 + floor(soft log t) draws from "
    "Dirichlet(1/2 + counts of both outcomes), given a reward of at least U, has a risk of at most alpha",
    "ours: Thompson sampling for outcomes that depend on each other",
    not_negative=("soft",),
    one_risk=True,
)
class JointDirichlet(NamedTuple):
    """A posterior draw whose test draws reward and risk together, from the table of both outcomes.

    Under (p00, p01, p10, p11) ~ Dirichlet(1/2 + counts) of (reward, risk) the reward p10 + p11 is Thompson sampling's
    draw. A draw is tested by draws at least as large: where a reward that large comes with a safe risk, as when
    R = 1 - S, it stands. The two kinds of evidence are then one, and are not counted twice. S and N are the table's.
    """

    soft: float = 0.7


@width.register(JointThompson)
def joint_thompson_width(index: JointThompson) -> int:
    return 1


@width.register(JointDirichlet)
def joint_dirichlet_width(index: JointDirichlet) -> int:
    return TABLE + 4


@start.register(JointThompson)
def joint_thompson_start(index: JointThompson, own: Numbers, alpha: float) -> None:
    own[CHANCE] = 1.0


@start.register(JointDirichlet)
def joint_dirichlet_start(index: JointDirichlet, own: Numbers, alpha: float) -> None:
    own[ALPHA] = alpha
    for i in range(4):
        own[TABLE + i] = 0.0


@note_evidence.register(JointThompson)
def joint_thompson_notes_evidence(index: JointThompson, seen: Seen, against: float) -> None:
    seen.own[CHANCE] = math.exp(-against) if against > 0.0 else 1.0


@learn_together.register(JointDirichlet)
def joint_dirichlet_learn_together(index: JointDirichlet, seen: Seen, reward: int, risk: int) -> None:
    seen.own[TABLE + 2 * reward + risk] += 1.0


@upper.register(JointThompson)
@upper.register(JointDirichlet)
def joint_sample_upper(index: JointThompson | JointDirichlet, seen: Seen, t: int, stream: Stream) -> float:
    rho = beta(stream, seen.ones + 1.0, seen.plays - seen.ones + 1.0)
    return rho if draw_stands(index, seen, t, rho, stream) else min(rho, seen.mean)


@generic
def draw_stands(index: object, seen: Seen, t: int, rho: float, stream: Stream) -> bool:
    """Whether the mean reward, drawn as `rho`, keeps its optimism: the arm is not in doubt, or its test passes."""
    raise NotImplementedError


@draw_stands.register(object)
def never_tested(index: object, seen: Seen, t: int, rho: float, stream: Stream) -> bool:
    return True


@draw_stands.register(JointThompson)
def joint_thompson_stands(index: JointThompson, seen: Seen, t: int, rho: float, stream: Stream) -> bool:
    return seen.own[CHANCE] >= 1.0 or uniform(stream) < seen.own[CHANCE] * (1.0 + index.soft * math.log(t))


@both
def in_doubt(index: JointDirichlet, seen: Seen) -> bool:
    """Whether draws of the arm are tested: not where the data are not against its safety."""
    harmed = seen.own[TABLE + 1] + seen.own[TABLE + 3]
    return harmed > seen.own[ALPHA] * (harmed + seen.own[TABLE] + seen.own[TABLE + 2])


@both
def tests_of(index: JointDirichlet, t: int) -> int:
    """How often a draw is tested: it stands if it passes once."""
    return 1 + int(index.soft * math.log(t))


@draw_stands.register(JointDirichlet)
def joint_dirichlet_stands(index: JointDirichlet, seen: Seen, t: int, rho: float, stream: Stream) -> bool:
    return not in_doubt(index, seen) or joint_dirichlet_passes(index, seen, t, rho, stream)


@both
def joint_dirichlet_passes(index: JointDirichlet, seen: Seen, t: int, rho: float, stream: Stream) -> bool:
    """Whether one of the tests of a draw passes."""
    for _ in range(tests_of(index, t)):  # noqa: SIM110 (Numba has no generators here)
        if _draw_is_safe(seen, rho, stream):
            return True
    return False


@shared
def _draw_is_safe(seen: Seen, rho: float, stream: Stream) -> bool:
    """Whether a draw of both means, given a reward of at least rho, has a risk of at most alpha.

    Of a Dirichlet law the reward p10 + p11 and the shares of risk with a reward, p11 / (p10 + p11), and without one,
    p01 / (p00 + p01), are independent, each by a Beta law.
    """
    neither, risk_only = seen.own[TABLE] + 0.5, seen.own[TABLE + 1] + 0.5
    reward_only, both = seen.own[TABLE + 2] + 0.5, seen.own[TABLE + 3] + 0.5
    with_reward, without = beta(stream, both, reward_only), beta(stream, risk_only, neither)
    # The risk lies between those at rewards of rho and of 1: mostly that settles it.
    if min(with_reward, without + rho * (with_reward - without)) > seen.own[ALPHA]:
        return False
    reward = beta_above(stream, seen.ones + 1.0, seen.plays - seen.ones + 1.0, rho)
    return without + reward * (with_reward - without) <= seen.own[ALPHA]
