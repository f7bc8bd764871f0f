"""A small policy that goes by features: sums of outcomes times features, of which every number depends on the order in
which outcomes were told.
"""

from typing import NamedTuple

import safebandit as sb
from safebandit.core.arms import RISKS
from safebandit.core.policies.interface import HOLD, WAIT
from safebandit.core.streams import uniform


class Sums(NamedTuple):
    """Of the arms whose drawn part of <risk sums, features> is at most alpha, the one of the largest reward sum."""

    dimension: int = 0
    by_features = True

    def prepare(self, setup):
        if setup.features is None:
            return Sums(len(setup.arms))
        return Sums(setup.features.arms.shape[1] * (1 + setup.features.context))

    def why(self, decision, arm):
        return "the largest sum" if arm == decision.k else "another sum is larger"


@sb.sizes.register(Sums)
def keeps_sums(policy, arms, risks):
    return sb.Sizes(trial=policy.dimension * (1 + risks))


@sb.learned.register(Sums)
def adds(policy, state, k, j, value, bit):
    for i in range(policy.dimension):
        number = sb.at(state.features, k * state.dimension + i).value
        state.numbers.own[j * policy.dimension + i] += value * number


@sb.decide.register(Sums)
def decide_by_sums(policy, state, t):
    none = True
    for k in range(state.size):
        reward, worst = 0.0, 0.0
        for i in range(policy.dimension):
            reward += sb.at(state.features, k * state.dimension + i).value * state.numbers.own[i]
        may = True
        for j in range(state.risks):
            worst = 0.0
            for i in range(policy.dimension):
                number = sb.at(state.features, k * state.dimension + i).value
                worst += number * state.numbers.own[(1 + j) * policy.dimension + i]
            worst *= uniform(state.stream)
            sb.write(state, k, RISKS + j, worst)
            may = may and worst <= sb.quantity(state, k, 1 + j).limit
        sb.write(state, k, sb.PERMISSIBLE, 1.0 if may else 0.0)
        none = none and not may
        if may and sb.at(state.arms, k).available:
            sb.write(state, k, sb.INDEX, reward)
    if none:
        return HOLD, True
    k = sb.largest_written(state, sb.INDEX)
    return (k if k >= 0 else WAIT), False
