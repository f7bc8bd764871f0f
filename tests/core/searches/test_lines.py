"""Lines over log t: the simulator by them, held to the definition arm for arm."""

import math
from typing import NamedTuple

import pytest

from safebandit import Instance
from safebandit.core.indices import KLLower, upper
from safebandit.core.policies import DoublyOptimistic

from .. import driving

POLICIES = [
    "docb", "docb:level=theory", "klbayes", "joint-kl", "joint-kl:head_start=300", "empirical-kl:bins=12",
    "bayes-upper+bayes-lower:each_first=false", "hoeffding-upper+hoeffding-lower",
    "variance-upper+variance-lower:reward.zeta=0.5", "betting-upper+betting-lower:reward.grid=16",
    "docb:tail=0.25,lasting=true", "kl-upper+mixture-gate",
]  # fmt: skip


@pytest.mark.parametrize("name", driving.PROBLEMS)
@pytest.mark.parametrize("text", POLICIES)
def test_lines_give_the_arms_of_the_definition(text, name):
    driving.assert_lockstep(text, name)


@pytest.mark.parametrize("name", ["five", "forty", "two risks", "none safe"])
@pytest.mark.parametrize(
    "text",
    [
        "docb:level=theory,tail=0.5", "joint-kl:level=theory,tail=0.25,lasting=true", "empirical-kl:bins=12,tail=0.25",
        "klbayes:tail=0.25,lasting=true,head_start=9", "bayes-upper+posterior-gate:reward.tail=0.25",
    ],
)  # fmt: skip
def test_lines_of_higher_levels_give_the_arms_of_the_definition(text, name):
    driving.assert_lockstep(text, name)


class Broken(NamedTuple):
    """One's own index: steady, but no number for arms of low mean: minus infinity, or NaN."""

    nan: bool
    steady = True


@upper.register(Broken)
def broken_upper(index, seen):
    if seen.mean >= 0.5:
        return seen.mean
    return math.nan if index.nan else -math.inf


def test_a_closed_arm_is_never_played_for_want_of_numbers():
    # In one test: a class of one's own is compiled in every process anew.
    for nan in (False, True):
        policy = DoublyOptimistic(Broken(nan), KLLower(), each_first=False)
        driving.assert_lockstep(policy, Instance.bernoulli([0.1, 0.1, 1.0], [0.0, 0.0, 1.0], 0.3))
        driving.assert_lockstep(policy, "five")
        bench = driving.Bench(policy, 3, 0.3)
        for k, outcome in enumerate([(0.0, 0.0), (0.0, 0.0), (1.0, 1.0)]):
            for _ in range(30):
                bench.learn(k, *outcome)
        for t in range(100, 110):
            k, none = bench.decide(t)
            # The first number counts, even minus infinity; of none, the least risky arm is played, and that is said.
            assert (k in (0, 1), none) == (True, nan)
            bench.learn(k, 0.0, 0.0)
