"""Joint indices by sampling: a draw of the reward that keeps its optimism only where a draw of the risk is safe."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.arms import Numbers, Seen, State, at
from safebandit.bounds import beta_quantile, binomial_tail
from safebandit.dispatch import compiled, generic, inlined
from safebandit.indices.contest import largest_index
from safebandit.indices.interface import best, charge, described, learn, learn_together, start, upper, width
from safebandit.indices.sampling import first_to_draw, posterior_beyond, posterior_limit
from safebandit.streams import Stream, beta, uniform

# Their own numbers: about the posterior mean, a limit that a draw seldom exceeds, the chance exp(-evidence), and for
# the Dirichlet law alpha and the counts of (reward, risk) = (0, 0), (0, 1), (1, 0), (1, 1).
CHANCE, ALPHA, TABLE = 2, 3, 4
TRIES = 6
SETTLED = 1.0


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
    """The same, with reward and risk drawn together from the table of both outcomes, as they depend on each other.

    A draw is tested among draws at least as large. Where a reward that large comes with a safe risk, as when R = 1 - S,
    it stands: the two kinds of evidence are then one, and are not counted twice. No draw exceeds Thompson sampling's.
    """

    soft: float = 1.0


@width.register(JointThompson)
def joint_thompson_width(index: JointThompson) -> int:
    return 3


@width.register(JointDirichlet)
def joint_dirichlet_width(index: JointDirichlet) -> int:
    return 8


@start.register(JointThompson)
def joint_thompson_start(index: JointThompson, own: Numbers, alpha: float) -> None:
    own[0] = 0.0
    own[1] = math.inf
    own[CHANCE] = 1.0


@start.register(JointDirichlet)
def joint_dirichlet_start(index: JointDirichlet, own: Numbers, alpha: float) -> None:
    own[0] = 0.0
    own[1] = math.inf
    own[CHANCE] = 1.0
    own[ALPHA] = alpha
    for i in range(4):
        own[TABLE + i] = 0.0


@learn.register(JointThompson)
@learn.register(JointDirichlet)
def joint_sample_learn(index: JointThompson | JointDirichlet, seen: Seen) -> None:
    seen.own[0] = seen.ones * (1.0 / (seen.plays + 1.0))
    seen.own[1] = posterior_limit(seen)


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
    """The definition; `best` tests only draws that decide."""
    rho = beta(stream, seen.ones + 1.0, seen.plays - seen.ones + 1.0)
    if seen.own[CHANCE] >= 1.0 or risk_passes(index, seen, t, rho, stream):
        return rho
    return min(rho, seen.mean)


@best.register(JointThompson)
@best.register(JointDirichlet)
def best_of_tested(index: JointThompson | JointDirichlet, state: State, t: int) -> int:
    """The permitted arm of the largest draw once tested, ties at random, without drawing or testing every arm.

    The arm of about the largest posterior mean is drawn first; of others, draws are made that are beyond what is surely
    reached. Then the largest is tested, until what is the largest would be so even if it failed.
    """
    first = first_to_draw(state)
    if first < 0:
        return first
    bar = _draw_untested(at(state.first, first), -math.inf, state.stream)
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.permitted and k != first:
            bar = _draw_untested(arm, bar, state.stream)
    while True:
        winner, second = _largest_two(state)
        arm = at(state.first, winner)
        failed = min(arm.index, arm.reward.mean)
        if arm.ceiling == SETTLED:
            # Arms of equal means that lost their optimism tie.
            return largest_index(state)
        if failed > second:
            return winner
        if risk_passes(index, arm.reward, t, arm.index, state.stream):
            return winner
        arm.index = failed
        arm.ceiling = SETTLED


@inlined
def _draw_untested(arm: Any, bar: float, stream: Stream) -> float:
    """Draw an arm into its `index` where that is beyond `bar`, and say what is now surely reached.

    `ceiling` notes whether the draw stands as it is, or a test may take its optimism.
    """
    arm.index = posterior_beyond(arm.reward, bar, stream)
    if arm.reward.own[CHANCE] >= 1.0:
        arm.ceiling = SETTLED
        return max(bar, arm.index) if arm.index > bar else bar
    arm.ceiling = 0.0
    return max(bar, min(arm.index, arm.reward.mean)) if arm.index > bar else bar


@inlined
def _largest_two(state: State) -> tuple[int, float]:
    """The permitted arm of the largest index, and the second largest index."""
    winner, top, second = -1, -math.inf, -math.inf
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.permitted == 0:
            continue
        if arm.index > top:
            winner, top, second = k, arm.index, top
        elif arm.index > second:
            second = arm.index
    return winner, second


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
    are settled by one uniform, and only the rest are made, the risk first.
    """
    better = binomial_tail(seen.plays - seen.ones + 1.0, seen.plays + 1.0, 1.0 - rho)
    for _ in range(draws):
        if uniform(stream) * better < seen.own[CHANCE] and reward_given_safe(seen, stream) >= rho:
            return True
    return False


@compiled
def reward_given_safe(seen: Seen, stream: Stream) -> float:
    """A draw of the mean reward, given a risk drawn from Beta(S, N-S+1) that is at most alpha, by the 2 x 2 table."""
    neither, risk_only = seen.own[TABLE], seen.own[TABLE + 1]
    reward_only, both = seen.own[TABLE + 2], seen.own[TABLE + 3]
    risks = risk_only + both
    sigma = risk_below(risks, neither + reward_only + 1.0, seen.own[ALPHA], stream) if risks > 0.0 else 0.0
    with_risk = beta(stream, both + 0.5, risk_only + 0.5)
    return sigma * with_risk + (1.0 - sigma) * beta(stream, reward_only + 0.5, neither + 0.5)


@compiled
def risk_below(a: float, b: float, alpha: float, stream: Stream) -> float:
    """A draw of Beta(a, b) given that it is at most alpha: by trying, where that seldom succeeds by its quantile."""
    for _ in range(TRIES):
        sigma = beta(stream, a, b)
        if sigma <= alpha:
            return sigma
    share = binomial_tail(a, a + b - 1.0, alpha) * (1.0 - uniform(stream))
    return beta_quantile(a, b, share) if share > 0.0 else alpha
