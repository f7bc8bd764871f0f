"""Policies over mixtures of arms: play from the mixture that maximises reward while its mean risk index is <= alpha.

BwCR (optimistic risks) and Pess (pessimistic risks, with an arm known to be safe) are this one policy. They keep risk
low in aggregate, not for every unit: here to be compared with, and with one risk only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.arms import EVERY, Numbers, State, at
from safebandit.core.indices.interface import width
from safebandit.core.policies.interface import WAIT, Limits, begin, choose, learn_reward, learn_risk, look, widths
from safebandit.core.policies.pairs import best_mixture, forget_arm
from safebandit.core.policies.parts import count_reward, count_risk, first_unplayed, start_arms, when_none_permissible
from safebandit.core.streams import uniform


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


@widths.register(PolicyMixture)
def _widths(policy: PolicyMixture) -> tuple[int, int]:
    return width(policy.reward), width(policy.risk)


@begin.register(PolicyMixture)
def _begin(policy: PolicyMixture, state: State, limits: Limits) -> None:
    start_arms(policy.reward, policy.risk, state, limits)


@learn_reward.register(PolicyMixture)
def _learn_reward(policy: PolicyMixture, state: State, k: int, play: int, value: float, limits: Limits) -> None:
    arm = at(state.first, k)
    before = arm.reward.mean
    count_reward(policy.reward, arm, play, value, limits)
    # About as far above the mean as before: from there it is found soon.
    arm.ceiling += arm.reward.mean - before
    forget_arm(state, k)


@learn_risk.register(PolicyMixture)
def _learn_risk(policy: PolicyMixture, state: State, k: int, j: int, play: int, value: float, limits: Limits) -> None:
    arm = at(state.first, k)
    before = arm.risk.mean
    count_risk(policy.risk, arm, j, play, value, limits)
    arm.risk_bound += arm.risk.mean - before
    forget_arm(state, k)


@choose.register(PolicyMixture)
def _choose(policy: PolicyMixture, state: State, t: int, limits: Limits) -> tuple[int, bool]:
    alpha = limits[0]
    if policy.each_first and t <= state.size:
        k = first_unplayed(state)
        if k >= 0:
            return k, False
    mixture = best_mixture(policy, state, t, alpha)
    if mixture.safe >= 0:
        return (mixture.other if mixture.share > 0.0 and uniform(state.stream) < mixture.share else mixture.safe), False
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.risk_bound <= alpha:
            return WAIT, False
        arm.excess = arm.risk_bound - alpha
    return when_none_permissible(policy.when_none, state), True


@look.register(PolicyMixture)
def _look(policy: PolicyMixture, state: State, t: int, limits: Limits, table: Numbers) -> None:
    alpha = limits[0]
    state.notes.changed = EVERY
    mixture = best_mixture(policy, state, t, alpha)
    for k in range(state.size):
        arm = at(state.first, k)
        table[k, 0] = arm.risk_bound <= alpha
        table[k, 1] = arm.ceiling
        table[k, 2] = 0.0
        table[k, 3] = arm.risk_bound
    if mixture.safe >= 0:
        table[mixture.safe, 2] = 1.0 - mixture.share
        if mixture.share > 0.0:
            table[mixture.other, 2] = mixture.share
