"""Joint indices by sampling: a draw of the reward that keeps its optimism only where a draw of the risk is safe."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.core.arms import Numbers, Seen, State, at
from safebandit.core.bernoulli import binomial_tail
from safebandit.core.dispatch import compiled, generic, inlined, woven
from safebandit.core.indices.bar import (
    BELOW,
    OWN,
    arms_above_bar,
    bar_is_poor,
    draw_above,
    draw_below,
    learn_posterior,
    set_bar,
    share_standing,
    standing,
    standing_is_exact,
    start_posterior,
)
from safebandit.core.indices.interface import (
    best,
    charge,
    described,
    learn,
    learn_together,
    reveal,
    start,
    upper,
    width,
)
from safebandit.core.streams import Stream, beta, beta_below, uniform

# Behind the posterior's own numbers: the chance exp(-evidence), and for the Dirichlet law alpha and the counts of
# (reward, risk) = (0, 0), (0, 1), (1, 0), (1, 1).
CHANCE, ALPHA, TABLE = OWN, OWN + 1, OWN + 2
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
    return ALPHA


@width.register(JointDirichlet)
def joint_dirichlet_width(index: JointDirichlet) -> int:
    return TABLE + 4


@start.register(JointThompson)
def joint_thompson_start(index: JointThompson, own: Numbers, alpha: float) -> None:
    start_posterior(own)
    own[CHANCE] = 1.0


@start.register(JointDirichlet)
def joint_dirichlet_start(index: JointDirichlet, own: Numbers, alpha: float) -> None:
    start_posterior(own)
    own[CHANCE] = 1.0
    own[ALPHA] = alpha
    for i in range(4):
        own[TABLE + i] = 0.0


@learn.register(JointThompson)
@learn.register(JointDirichlet)
def joint_sample_learn(index: JointThompson | JointDirichlet, seen: Seen, value: float, bit: int) -> None:
    learn_posterior(seen, bit)


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


@standing.register(JointThompson)
@standing.register(JointDirichlet)
def joint_sample_standing(index: JointThompson | JointDirichlet, arm: Any, bar: float) -> float:
    # A draw that fails its test is as the mean, which may be above the bar, too.
    return 1.0 if arm.reward.mean > bar else arm.reward.own[CHANCE]


@standing_is_exact.register(JointThompson)
def joint_thompson_standing_is_exact(index: JointThompson) -> bool:
    return index.soft == 0.0


@standing_is_exact.register(JointDirichlet)
def joint_dirichlet_standing_is_exact(index: JointDirichlet) -> bool:
    return False


@best.register(JointThompson)
@best.register(JointDirichlet)
def best_of_tested(index: JointThompson | JointDirichlet, state: State, t: int) -> int:
    """The permitted arm of the largest draw once tested, ties at random, without drawing or testing every arm."""
    if bar_is_poor(state):
        set_bar(index, state)
    bar = state.notes.bar
    first, count, _ = arms_above_bar(index, state)
    if count > 0:
        alone = at(state.first, first)
        if count == 1 and (alone.reward.mean > bar or _stands(index, alone, bar)):
            return first
        _draw_chain(index, state, first)
        winner = _largest_tested(index, state, t, first, bar)
        if winner >= 0:
            return winner
    state.notes.work += state.size
    return _largest_tested(index, state, t, _draw_rest(index, state, first), -math.inf)


@woven
def _stands(index: Any, arm: Any, bar: float) -> bool:
    """Whether a draw that exceeds the bar and counts needs no test."""
    return arm.reward.own[CHANCE] >= 1.0 or share_standing(index, arm, bar) < 1.0


@woven
def _draw_chain(index: Any, state: State, first: int) -> None:
    """Draw the arms that exceed the bar; `ceiling` notes whether a draw stands, or a test may take its optimism."""
    k = first
    while k >= 0:
        arm = at(state.first, k)
        arm.index = draw_above(arm.reward, state)
        arm.ceiling = SETTLED if _stands(index, arm, state.notes.bar) else 0.0
        k = arm.next


@woven
def _draw_rest(index: Any, state: State, first: int) -> int:
    """Draw all other permitted arms, and chain all of them together; the first is returned."""
    drawn, start, last = first, -1, -1
    for k in range(state.size):
        arm = at(state.first, k)
        if k == drawn:
            drawn = arm.next
        elif arm.permitted:
            _draw_other(index, state, arm)
        else:
            continue
        if last < 0:
            start = k
        else:
            at(state.first, last).next = k
        last = k
        arm.next = -1
    return start


@woven
def _draw_other(index: Any, state: State, arm: Any) -> None:
    """Draw an arm that does not exceed the bar, or does so and failed its test."""
    seen, bar = arm.reward, state.notes.bar
    share, below = share_standing(index, arm, bar), seen.own[BELOW]
    if share < 1.0 and uniform(state.stream) * (1.0 - share + share * below) >= below:
        arm.index = seen.mean
        arm.ceiling = SETTLED
    else:
        arm.index = draw_below(seen, state)
        arm.ceiling = SETTLED if seen.own[CHANCE] >= 1.0 else 0.0


@woven
def _largest_tested(index: Any, state: State, t: int, first: int, bar: float) -> int:
    """The arm of a chain of the largest draw once tested, ties at random; -1 if it is not above the bar.

    The largest is tested, until what is the largest would be so even if it failed.
    """
    while True:
        winner, top, second, ties = -1, -math.inf, bar, 0
        k = first
        while k >= 0:
            arm = at(state.first, k)
            if arm.index > top:
                winner, top, second, ties = k, arm.index, max(second, top), 1
            else:
                second = max(second, arm.index)
                ties += arm.index == top
            k = arm.next
        if not top > bar:
            return -1
        arm = at(state.first, winner)
        failed = min(arm.index, arm.reward.mean)
        if arm.ceiling == SETTLED:
            # Arms of equal means that lost their optimism tie.
            return winner if ties == 1 else _tied(state, winner, top, ties)
        if failed > second or risk_passes(index, arm.reward, t, arm.index, state.stream):
            return winner
        arm.index = failed
        arm.ceiling = SETTLED


@inlined
def _tied(state: State, first: int, top: float, ties: int) -> int:
    """One of the arms of a chain, from `first` on, whose index is the largest."""
    place, k = int(uniform(state.stream) * ties), first
    while place > 0:
        k = at(state.first, k).next
        place -= at(state.first, k).index == top
    return k


@reveal.register(JointThompson)
@reveal.register(JointDirichlet)
def reveal_tested(index: JointThompson | JointDirichlet, state: State, winner: int, t: int) -> None:
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.permitted and math.isnan(arm.index):
            if k == winner:
                _draw_chain(index, state, k)
            else:
                _draw_other(index, state, arm)
            if arm.ceiling != SETTLED and not risk_passes(index, arm.reward, t, arm.index, state.stream):
                arm.index = min(arm.index, arm.reward.mean)


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
