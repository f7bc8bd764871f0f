"""Bandits with knapsacks: every risk has a budget of alpha T harms in T planned units; when one is gone, it is over.

The primal-dual algorithm of Badanidiyuru, Kleinberg and Slivkins (2013): prices of the resources grow with what they
are thought to cost, and the arm of the most reward for its price is played. It keeps the total of harms within the
budget, not the risk of any unit: here to be compared with.

Each risk is a resource, and so is time, of which every unit costs the same. Budgets are rescaled to the smallest, B.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, RISKS, Seen, Sizes, State, at, quantity, write, written
from safebandit.core.dispatch import both, inlined
from safebandit.core.policies.checking import planned_units
from safebandit.core.policies.choice import first_unplayed, largest_written
from safebandit.core.policies.interface import HOLD, WAIT, Setup, begin, decide, learned
from safebandit.core.policies.words import FIRST_PLAY, Decision
from safebandit.errors import PolicyError

# A budget is a product, alpha T, and its rounding is not worth a harm.
ROUNDING = 1e-9
# The least that a play can cost: prices that are nothing beside the largest leave more than nothing.
LEAST_COST = 1e-300


class Knapsacks(NamedTuple):
    """The arm of the largest upper reward bound for its lower cost bounds at the present prices; each arm once first.

    It needs the planned `units` T: those of the trial or the simulation where they are not given. It plays nothing
    more once another harm might exceed a budget, so that a budget is never exceeded, or after T units.
    """

    units: int | None = None

    def sizes(self, arms: int, risks: int) -> Sizes:  # noqa: ARG002
        return Sizes(trial=3 + risks)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every arm besides its reward for its price: the harms left of the least budget."""
        return ("harms left",)

    def planned(self, units: int | None) -> Knapsacks:
        """The policy for so many planned units, where it is not told."""
        return self._replace(units=units) if self.units is None else self

    def prepare(self, setup: Setup) -> Knapsacks:
        """The policy with its units, and every budget checked."""
        units = planned_units("bwk", self.units, setup)
        for alpha in setup.limits:
            if alpha * units < 1.0 - ROUNDING:
                raise PolicyError(
                    f"bwk needs a budget of at least one harm, alpha * units, got {alpha:g} * {units} = "
                    f"{alpha * units:g}; raise alpha or plan more units"
                )
        return Knapsacks(units)

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was given, or why not."""
        given = arm == decision.k
        if math.isnan(decision.indices[decision.k]):
            return FIRST_PLAY if given else "another arm was not played yet"
        return "the most reward for its price" if given else "another arm has as much reward for its price, or more"

    def forbids(self, decision: Decision, arm: int) -> str:
        """Why no arm is permissible."""
        left = decision.own["harms left"][arm]
        return f"the budget is gone: {left:.4g} harms are left" if left < 1.0 else "all planned units have an arm"

    def risk_word(self, arm: int) -> str:  # noqa: ARG002
        """What the risk index is called."""
        return "lower cost bound"


@both
def knapsack_radius(level: float, mean: float, plays: int) -> float:
    """rad(v, N) = sqrt(C v / N) + C / N."""
    share = level / plays
    return math.sqrt(share * mean) + share


@inlined
def _least_limit(state: State) -> float:
    least = math.inf
    for j in range(1, 1 + state.risks):
        least = min(least, quantity(state, 0, j).limit)
    return least


@inlined
def _cost(level: float, risk: Seen, plays: int, total: float, least: float) -> float:
    """The lower bound of what a play costs of a risk's budget, rescaled to the smallest budget."""
    mean = total / plays
    bound = mean - knapsack_radius(level, mean, plays)
    return min(1.0, max(0.0, bound)) * least / risk.limit


# Of the policy's own numbers there is one for each risk and one for time: the sum of the lower cost bounds of all plays
# but the first of each arm. The price of resource i is v_i = (1 + epsilon)^sum_i. Behind them lie two that stay as they
# are, for speed: C = log(d T K), and log(1 + epsilon) with epsilon = sqrt(log d / B).
LEVEL, GROWTH = 1, 2


@begin.register(Knapsacks)
def _begin(policy: Knapsacks, state: State) -> None:
    for i in range(1 + state.risks):
        state.numbers.own[i] = 0.0
    resources, budget = 1.0 + state.risks, _least_limit(state) * policy.units  # type: ignore[operator]
    state.numbers.own[state.risks + LEVEL] = math.log(resources * policy.units * state.size)  # type: ignore[operator]
    state.numbers.own[state.risks + GROWTH] = math.log1p(math.sqrt(math.log(resources) / budget))


@learned.register(Knapsacks)
def _learned(policy: Knapsacks, state: State, k: int, j: int, value: float, bit: int) -> None:
    """Add the cost as it was thought before this outcome; the first play of an arm raises no price."""
    risk = quantity(state, k, j)
    if j == REWARD or risk.plays < 2:
        return
    least, level = _least_limit(state), state.numbers.own[state.risks + LEVEL]
    state.numbers.own[j - 1] += _cost(level, risk, risk.plays - 1, max(0.0, risk.total - value), least)
    if j == 1:
        state.numbers.own[state.risks] += least


@decide.register(Knapsacks)
def _decide(policy: Knapsacks, state: State, t: int) -> tuple[int, bool]:
    left, free = _harms_left(policy, state)
    gone = left < 1.0 - ROUNDING or t > policy.units  # type: ignore[operator]
    for k in range(state.size):
        write(state, k, PERMISSIBLE, 0.0 if gone else 1.0)
        write(state, k, INDEX, math.nan)
        write(state, k, RISKS + state.risks, left)
    if gone:
        return HOLD, True
    if free < 1.0 - ROUNDING:
        return WAIT, False
    if t <= state.size:
        k = first_unplayed(state)
        if k >= 0:
            return k, False
    _write_rates(state)
    k = largest_written(state, INDEX)
    return (k, False) if k >= 0 else (WAIT, False)


@inlined
def _harms_left(policy: Any, state: State) -> tuple[float, float]:
    """What is left of the least budget, and what would be if every unit that is pending were harmed."""
    left, free = math.inf, math.inf
    for j in range(1, 1 + state.risks):
        spent, pending, limit = 0.0, 0, 0.0
        for k in range(state.size):
            risk = quantity(state, k, j)
            spent, pending, limit = spent + risk.total, pending + risk.pending, risk.limit
        rest = limit * policy.units - spent
        left, free = min(left, rest), min(free, rest - pending)
    return left, free


@inlined
def _write_rates(state: State) -> None:
    """Write every arm's upper reward bound for its price, and its lower cost bounds."""
    least = _least_limit(state)
    level, growth = state.numbers.own[state.risks + LEVEL], state.numbers.own[state.risks + GROWTH]
    # Prices are taken relative to the largest, so that none overflows: only their ratios matter.
    top = state.numbers.own[state.risks]
    for j in range(state.risks):
        top = max(top, state.numbers.own[j])
    time = least * math.exp(growth * (state.numbers.own[state.risks] - top))
    for k in range(state.size):
        write(state, k, INDEX, time)
    for j in range(1, 1 + state.risks):
        price = math.exp(growth * (state.numbers.own[j - 1] - top))
        for k in range(state.size):
            risk = quantity(state, k, j)
            cost = _cost(level, risk, risk.plays, risk.total, least) if risk.plays > 0 else 0.0
            write(state, k, RISKS + j - 1, cost)
            write(state, k, INDEX, written(state, k, INDEX) + cost * price)
    for k in range(state.size):
        reward = quantity(state, k, REWARD)
        bound = min(1.0, reward.mean + knapsack_radius(level, reward.mean, reward.plays)) if reward.plays > 0 else 1.0
        rate = bound / max(written(state, k, INDEX), LEAST_COST)
        write(state, k, INDEX, rate if at(state.arms, k).available else math.nan)
