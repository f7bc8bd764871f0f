"""Policies over mixtures of arms: play from the mixture that maximises reward while its mean risk index is <= alpha.

BwCR (optimistic risks) and Pess (pessimistic risks, with an arm known to be safe) are this one policy. They keep risk
low in aggregate, not for every unit: here to be compared with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.arms import Numbers, Seen, State, at, count_outcome
from safebandit.dispatch import generic, inlined, woven
from safebandit.indices.bayes import BayesUpper
from safebandit.indices.interface import learn, lower_near, start, upper_near, width
from safebandit.indices.kl import KLUpper
from safebandit.policies.interface import (
    HOLD,
    LEAST_RISKY,
    WAIT,
    begin,
    choose,
    learn_reward,
    learn_risk,
    look,
    widths,
)
from safebandit.streams import Stream, uniform, wins_tie

# Values this close are equal: they come from iterations that may end a little apart.
TIE = 1e-9


class PolicyMixture(NamedTuple):
    """The best mixture of at most two arms by a reward index and a risk index, both deterministic.

    A lower risk index makes it optimistic about risks (BwCR), an upper one pessimistic (Pess). `safe_arm`, if any, is
    known to have mean risk `safe_risk`; in simulation that is taken from the instance where it is not given.
    """

    reward: Any
    risk: Any
    safe_arm: Any = None
    safe_risk: Any = None
    when_none: Any = None
    each_first: bool = True


class Pair(NamedTuple):
    """A mixture: arm `other` with probability `share`, else arm `safe`. A single arm has share 0."""

    safe: int
    other: int
    share: float


@generic
def risk_bound(index: object, seen: Seen, t: int, alpha: float, before: float, stream: Stream) -> float:
    """The bound on a mean risk that an index gives: a lower one, unless it is an upper index."""
    raise NotImplementedError


@risk_bound.register(object)
def _lower_bound(index: object, seen: Seen, t: int, alpha: float, before: float, stream: Stream) -> float:
    return lower_near(index, seen, t, alpha, before, stream)


@risk_bound.register(KLUpper)
@risk_bound.register(BayesUpper)
def _upper_bound(index: object, seen: Seen, t: int, alpha: float, before: float, stream: Stream) -> float:
    return upper_near(index, seen, t, before, stream)


@widths.register(PolicyMixture)
def _widths(policy: PolicyMixture) -> tuple[int, int]:
    return width(policy.reward), width(policy.risk)


@begin.register(PolicyMixture)
def _begin(policy: PolicyMixture, state: State, alpha: float) -> None:
    for k in range(state.size):
        arm = at(state.first, k)
        start(policy.reward, arm.reward.own, alpha)
        start(policy.risk, arm.risk.own, alpha)


@learn_reward.register(PolicyMixture)
def _learn_reward(policy: PolicyMixture, state: State, k: int, play: int, value: float, alpha: float) -> None:
    arm = at(state.first, k)
    learn(policy.reward, arm.reward, value, count_outcome(arm.reward, arm.key, 2 * play, value), alpha)


@learn_risk.register(PolicyMixture)
def _learn_risk(policy: PolicyMixture, state: State, k: int, play: int, value: float, alpha: float) -> None:
    arm = at(state.first, k)
    learn(policy.risk, arm.risk, value, count_outcome(arm.risk, arm.key, 2 * play + 1, value), alpha)


@choose.register(PolicyMixture)
def _choose(policy: PolicyMixture, state: State, t: int, alpha: float) -> tuple[int, bool]:
    if policy.each_first and t <= state.size:
        for k in range(state.size):
            arm = at(state.first, k)
            if arm.asked == 0 and arm.available:
                return k, False
    _compute_indices(policy, state, t, alpha)
    pair = _best_pair(state, alpha)
    if pair.safe >= 0:
        return (pair.other if pair.share > 0.0 and uniform(state.stream) < pair.share else pair.safe), False
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.risk_bound <= alpha:
            return WAIT, False
    return _when_none(policy, state), True


@woven
def _compute_indices(policy: PolicyMixture, state: State, t: int, alpha: float) -> None:
    """Every arm's reward index into `ceiling`, its risk index into `risk_bound`; the last ones are near."""
    for k in range(state.size):
        arm = at(state.first, k)
        arm.ceiling = upper_near(policy.reward, arm.reward, t, arm.ceiling, state.stream)
        if k == policy.safe_arm:
            arm.risk_bound = policy.safe_risk
        else:
            arm.risk_bound = risk_bound(policy.risk, arm.risk, t, alpha, arm.risk_bound, state.stream)


@inlined
def _best_pair(state: State, alpha: float) -> Pair:
    """The mixture of largest reward index with risk index <= alpha, ties at random; safe = -1 if there is none.

    The optimum of a linear program with one constraint mixes at most two arms: one safe by its index, and one unsafe
    of larger reward index, in the proportion that makes the mixture's risk index alpha (appendix, policy approaches).
    """
    best, top, ties = Pair(-1, -1, 0.0), -np.inf, 0
    for i in range(state.size):
        one = at(state.first, i)
        if not (one.risk_bound <= alpha) or one.available == 0:
            continue
        for j in range(state.size):
            two = at(state.first, j)
            if j == i:
                candidate, value = Pair(i, i, 0.0), one.ceiling
            elif two.risk_bound > alpha and two.ceiling > one.ceiling and two.available:
                share = (alpha - one.risk_bound) / (two.risk_bound - one.risk_bound)
                candidate, value = Pair(i, j, share), one.ceiling + share * (two.ceiling - one.ceiling)
            else:
                continue
            if value > top + TIE:
                best, top, ties = candidate, value, 1
            elif value >= top - TIE:
                ties += 1
                if wins_tie(ties, state.stream):
                    best = candidate
    return best


@woven
def _when_none(policy: PolicyMixture, state: State) -> int:
    """What happens while no arm is safe by its index."""
    if policy.when_none >= 0:
        return policy.when_none if at(state.first, policy.when_none).available else WAIT
    if policy.when_none != LEAST_RISKY:
        return HOLD
    choice, least, ties = HOLD, np.inf, 0
    waiting = False
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.available == 0:
            waiting = True
            continue
        if arm.risk_bound < least:
            choice, least, ties = k, arm.risk_bound, 1
        elif arm.risk_bound == least:
            ties += 1
            if wins_tie(ties, state.stream):
                choice = k
    return WAIT if choice == HOLD and waiting else choice


@look.register(PolicyMixture)
def _look(policy: PolicyMixture, state: State, t: int, alpha: float, table: Numbers) -> None:
    _compute_indices(policy, state, t, alpha)
    pair = _best_pair(state, alpha)
    for k in range(state.size):
        arm = at(state.first, k)
        table[k, 0] = arm.risk_bound
        table[k, 1] = arm.risk_bound <= alpha
        table[k, 2] = arm.ceiling
        table[k, 3] = 0.0
    if pair.safe >= 0:
        table[pair.safe, 3] = 1.0 - pair.share
        if pair.share > 0.0:
            table[pair.other, 3] = pair.share
