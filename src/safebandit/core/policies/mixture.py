"""Policies over mixtures of arms: play from the mixture that maximises reward while its mean risk index is <= alpha.

BwCR (optimistic risks) and Pess (pessimistic risks, with an arm known to be safe) are this one policy. They keep risk
low in aggregate, not for every unit: here to be compared with, and with one risk only.

The best mixture has at most two arms, because there is one constraint (appendix, policy approaches): one that is safe
by its risk index, and perhaps one that is not, of larger reward index, with as much of it as alpha allows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import (
    CHANCE,
    INDEX,
    PERMISSIBLE,
    REWARD,
    RISKS,
    Sizes,
    State,
    at,
    quantity,
    write,
    written,
)
from safebandit.core.dispatch import inlined, piece
from safebandit.core.indices.interface import learn, lower, start, upper, width
from safebandit.core.naming import read_number, read_value
from safebandit.core.policies.checking import (
    arm_number,
    check_by_reward_alone,
    check_index,
    fit_index,
    plan_index,
    when_none_code,
)
from safebandit.core.policies.choice import first_unplayed, may_come, may_follow, play_when_none
from safebandit.core.policies.interface import WAIT, Setup, begin, decide, learned
from safebandit.core.policies.words import FIRST_PLAY, NOT_NEEDED, Decision, risk_word_of
from safebandit.core.streams import uniform, wins_tie
from safebandit.errors import PolicyError

# Values this close are equal: they come from iterations that may end a little apart.
TIE = 1e-9


class PolicyMixture(NamedTuple):
    """The best mixture of at most two arms by a reward index and a risk index, both deterministic.

    An optimistic risk index makes it BwCR, a pessimistic one (`KLUpperRisk`) Pess. `safe_arm`, if any, is known to have
    mean risk `safe_risk`; in simulation that is taken from the instance where it is not given.
    """

    reward: Any
    risk: Any
    safe_arm: Any = None
    safe_risk: float | None = None
    when_none: Any = None
    each_first: bool = True

    def sizes(self, arms: int, risks: int) -> Sizes:  # noqa: ARG002
        return Sizes(width(self.reward), width(self.risk), 0)

    @property
    def arm_fields(self) -> tuple[str, ...]:
        """The fields that hold an arm."""
        return ("safe_arm",)

    def planned(self, units: int | None) -> PolicyMixture:
        """The policy for so many planned units, where an index of it asks for them."""
        return self._replace(reward=plan_index(self.reward, units), risk=plan_index(self.risk, units))

    def prepare(self, setup: Setup) -> PolicyMixture:
        """The policy with its parameters checked, and arms and `when_none` as numbers."""
        if len(setup.limits) > 1:
            raise PolicyError(
                f"bwcr and pess mix arms under one risk, got {len(setup.limits)}; take a doubly optimistic policy"
            )
        safe_arm = -1 if self.safe_arm is None else arm_number("safe_arm", self.safe_arm, setup.arms)
        safe_risk = self._known_risk(safe_arm, setup)
        reward = fit_index(check_by_reward_alone(self.reward), setup, slack=setup.limits[0] - safe_risk)
        return PolicyMixture(
            check_index(reward, upper, "reward index"),
            check_index(fit_index(self.risk, setup), lower, "risk index"),
            safe_arm,
            safe_risk,
            when_none_code(self.when_none, setup),
            read_value("each_first", self.each_first, bool, PolicyError),
        )

    def _known_risk(self, safe_arm: int, setup: Setup) -> float:
        risk, alpha = self.safe_risk, setup.limits[0]
        if safe_arm >= 0 and risk is None:
            if setup.risks is None:
                name = setup.arms[safe_arm]
                raise PolicyError(f'the mean risk of the safe arm "{name}" must be known; give safe_risk=')
            risk = setup.risks[safe_arm]
        risk = read_number("safe_risk", 0.0 if risk is None else risk, float, PolicyError)
        if not 0.0 <= risk <= alpha:
            raise PolicyError(f"the safe arm's mean risk must lie in [0, alpha] = [0, {alpha:g}], got {risk:g}")
        return float(risk)

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was drawn from the mixture, or why not."""
        chances, given = decision.probabilities, arm == decision.k
        if np.isnan(chances[arm]):
            return FIRST_PLAY if given else NOT_NEEDED
        if chances[arm] == 0.0:
            return "permissible; it has no part in the best mixture"
        parts = [f'{chances[i]:.4g} "{decision.arms[i]}"' for i in np.flatnonzero(chances)]
        best = (
            f"the mixture of largest reward index whose {risk_word_of(self.risk)} is at most alpha: {', '.join(parts)}"
        )
        return f"drawn from {best}" if given else f"another arm was drawn from {best}"

    def risk_word(self, arm: int) -> str:
        """What the risk index of an arm is called; that of the safe arm is known."""
        return "known risk" if arm == self.safe_arm else risk_word_of(self.risk)


@begin.register(PolicyMixture)
def _begin(policy: PolicyMixture, state: State) -> None:
    for k in range(state.size):
        risk = quantity(state, k, 1)
        start(policy.reward, quantity(state, k, REWARD).own, risk.limit)
        start(policy.risk, risk.own, risk.limit)


@learned.register(PolicyMixture)
def _learned(policy: PolicyMixture, state: State, k: int, j: int, value: float, bit: int) -> None:
    alpha = quantity(state, k, 1).limit
    if j == REWARD:
        learn(policy.reward, quantity(state, k, REWARD), value, bit, alpha)
    else:
        learn(policy.risk, quantity(state, k, 1), value, bit, alpha)


@decide.register(PolicyMixture)
def _decide(policy: PolicyMixture, state: State, t: int) -> tuple[int, bool]:
    for k in range(state.size):
        risk = quantity(state, k, 1)
        write(state, k, INDEX, upper(policy.reward, quantity(state, k, REWARD), t, state.stream))
        write(state, k, RISKS, lower(policy.risk, risk, t, risk.limit, state.stream))
    return decide_by_bounds(policy, state, t)


@piece
def decide_by_bounds(policy: Any, state: State, t: int) -> tuple[int, bool]:  # noqa: C901
    """The decision once every arm's indices are written."""
    alpha = quantity(state, 0, 1).limit
    if policy.safe_arm >= 0:
        write(state, policy.safe_arm, RISKS, policy.safe_risk)
    for k in range(state.size):
        safe = written(state, k, RISKS) <= alpha and may_follow(state, k)
        write(state, k, PERMISSIBLE, 1.0 if safe else 0.0)
        write(state, k, CHANCE, math.nan)
    if policy.each_first and t <= state.size:
        k = first_unplayed(state)
        if k >= 0:
            for i in range(state.size):
                write(state, i, INDEX, math.nan)
            return k, False
    safe, other, share = best_mixture(state, alpha)
    if safe >= 0:
        for k in range(state.size):
            write(state, k, CHANCE, 0.0)
        write(state, safe, CHANCE, 1.0 - share)
        if share > 0.0:
            write(state, other, CHANCE, share)
            if uniform(state.stream) < share:
                return other, False
        return safe, False
    for k in range(state.size):
        if written(state, k, PERMISSIBLE) == 1.0 and may_come(state, k):
            return WAIT, False
    return play_when_none(policy.when_none, policy.risk, state, t, False), True


@inlined
def best_mixture(state: State, alpha: float) -> tuple[int, int, float]:
    """The safe arm, the other one and its share, of the largest mean reward index, ties at random; -1 if there is none.

    A single arm is both, with share 0. An arm whose reward index is not a number has no part, nor one that another one
    excludes.
    """
    best, top, ties = (-1, -1, 0.0), -math.inf, 0
    for i in range(state.size):
        u, s = written(state, i, INDEX), written(state, i, RISKS)
        if written(state, i, PERMISSIBLE) != 1.0 or math.isnan(u) or not at(state.arms, i).available:
            continue
        for j in range(state.size):
            mixture, value = (i, i, 0.0), u
            if j != i:
                more, worse = written(state, j, INDEX), written(state, j, RISKS)
                if not (worse > alpha and more > u + TIE and s < alpha and at(state.arms, j).available):
                    continue
                if not may_follow(state, j):
                    continue
                share = (alpha - s) / (worse - s)
                mixture, value = (i, j, share), u + share * (more - u)
            if value > top + TIE or ties == 0:
                best, top, ties = mixture, value, 1
            elif value >= top - TIE:
                ties += 1
                if wins_tie(ties, state.stream):
                    best = mixture
    return best
