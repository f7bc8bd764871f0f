"""Policies over mixtures of arms: play from the mixture that maximises reward while its mean risk index is <= alpha.

BwCR (optimistic risks) and Pess (pessimistic risks, with an arm known to be safe) are this one policy. They keep risk
low in aggregate, not for every unit: here to be compared with, and with one risk only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.arms import Numbers, Seen, State, at
from safebandit.dispatch import generic, inlined, woven
from safebandit.indices.bayes import BayesUpper
from safebandit.indices.interface import lower_near, upper_near, width
from safebandit.indices.kl import KLUpper
from safebandit.policies.interface import WAIT, Limits, begin, choose, learn_reward, learn_risk, look, widths
from safebandit.policies.parts import count_reward, count_risk, first_unplayed, start_arms, when_none_permissible
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
def _begin(policy: PolicyMixture, state: State, limits: Limits) -> None:
    start_arms(policy.reward, policy.risk, state, limits)


@learn_reward.register(PolicyMixture)
def _learn_reward(policy: PolicyMixture, state: State, k: int, play: int, value: float, limits: Limits) -> None:
    count_reward(policy.reward, at(state.first, k), play, value, limits)


@learn_risk.register(PolicyMixture)
def _learn_risk(policy: PolicyMixture, state: State, k: int, j: int, play: int, value: float, limits: Limits) -> None:
    count_risk(policy.risk, at(state.first, k), j, play, value, limits)


@choose.register(PolicyMixture)
def _choose(policy: PolicyMixture, state: State, t: int, limits: Limits) -> tuple[int, bool]:
    alpha = limits[0]
    if policy.each_first and t <= state.size:
        k = first_unplayed(state)
        if k >= 0:
            return k, False
    _compute_indices(policy, state, t, alpha)
    pair = _best_pair(state, alpha)
    if pair.safe >= 0:
        return (pair.other if pair.share > 0.0 and uniform(state.stream) < pair.share else pair.safe), False
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.risk_bound <= alpha:
            return WAIT, False
        arm.excess = arm.risk_bound - alpha
    return when_none_permissible(policy.when_none, state), True


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


@look.register(PolicyMixture)
def _look(policy: PolicyMixture, state: State, t: int, limits: Limits, table: Numbers) -> None:
    alpha = limits[0]
    _compute_indices(policy, state, t, alpha)
    pair = _best_pair(state, alpha)
    for k in range(state.size):
        arm = at(state.first, k)
        table[k, 0] = arm.risk_bound <= alpha
        table[k, 1] = arm.ceiling
        table[k, 2] = 0.0
        table[k, 3] = arm.risk_bound
    if pair.safe >= 0:
        table[pair.safe, 2] = 1.0 - pair.share
        if pair.share > 0.0:
            table[pair.other, 2] = pair.share
