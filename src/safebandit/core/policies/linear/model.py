"""What linear policies share: regressions of the reward and of each risk, their parameters, and the choice of an arm.

The mean reward of a unit is theta'x, its mean risk phi'x, where x are the features of the arm for that unit (see
`arms`). Reward and risks may become known at different times, so that each has a regression of its own (see `ridge`).
Without features arms have the unit vectors: the regression then knows of each arm what its own outcomes say, shrunk
towards 0 by the ridge.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, RISKS, Features, Sizes, State, at, quantity, write, written
from safebandit.core.dispatch import apart, inlined, piece
from safebandit.core.policies.checking import read_above_0
from safebandit.core.policies.choice import (
    LEAST_RISKY,
    given_or_awaited,
    larger_excess,
    largest_written,
    least_so_far,
    may_come,
    may_follow,
)
from safebandit.core.policies.interface import HOLD, WAIT, Setup
from safebandit.core.policies.words import Decision
from safebandit.core.ridge import add_outcome, predicted, ridge_place, ridge_size, spread, start_ridge
from safebandit.core.streams import normal
from safebandit.errors import PolicyError

# Where an arm is asked for and there is none.
NO_ARM = -1
# A regression keeps the square of as many numbers.
MOST_COEFFICIENTS = 1_000


def features_of(setup: Setup) -> Features:
    """What is known of arms and units; unit vectors where nothing is."""
    known = Features(np.eye(len(setup.arms))) if setup.features is None else setup.features
    if len(known.arms) != len(setup.arms):
        raise PolicyError(f"there are {len(setup.arms)} arms but {len(known.arms)} rows of features; give one per arm")
    return known


def dimension_of(setup: Setup) -> int:
    """How many numbers an arm's features have for a unit, and so how many coefficients there are."""
    known = features_of(setup)
    count = int(known.arms.shape[1]) * (1 + known.context)
    if count > MOST_COEFFICIENTS:
        raise PolicyError(
            f"a linear policy has at most {MOST_COEFFICIENTS:,} coefficients, got {count:,}; give arms fewer features"
        )
    return count


def longest_of(setup: Setup) -> float:
    """The length that no features exceed, whatever the context, whose numbers lie in [0, 1]."""
    known = features_of(setup)
    return float(np.linalg.norm(known.arms, axis=1).max()) * math.sqrt(1 + known.context)


def read_norm(given: Any, setup: Setup) -> float:
    """The length that no coefficients exceed: where it is not given, that of as many numbers of 1."""
    return math.sqrt(dimension_of(setup)) if given is None else read_above_0("norm", given)


# Behind the regressions lies room for two vectors: one to work with, and the noise of a draw.
def sizes_of_model(policy: Any, arms: int, risks: int) -> Sizes:
    """A regression for the reward and for each risk, and room to compute."""
    return Sizes(trial=(1 + risks) * ridge_size(policy.dimension) + 2 * policy.dimension)


def begin_model(policy: Any, state: State) -> None:
    """Nothing is known."""
    for j in range(1 + state.risks):
        start_ridge(state.numbers, ridge_place(j, state.dimension), state.dimension, policy.ridge)


def learn_model(policy: Any, state: State, k: int, j: int, value: float, bit: int) -> None:
    """The outcome itself, at the features of the arm for its unit."""
    d = state.dimension
    add_outcome(state.numbers, ridge_place(j, d), d, state.features, k, value, work_place(state))


@inlined
def work_place(state: State) -> int:
    """Where there is room to compute."""
    return ridge_place(1 + state.risks, state.dimension)


@inlined
def draw_noise(state: State) -> int:
    """Draw a standard normal vector; where it lies."""
    noise = work_place(state) + state.dimension
    for i in range(state.dimension):
        at(state.numbers, noise + i).own[0] = normal(state.stream)
    return noise


@inlined
def bound(state: State, k: int, j: int, beta: float) -> float:
    """The prediction of the reward (j = 0) or of risk j of arm k, and beta times its spread."""
    d, first = state.dimension, ridge_place(j, state.dimension)
    mean = predicted(state.numbers, first, d, state.features, k)
    return mean + beta * spread(state.numbers, first, d, state.features, k, work_place(state))


@inlined
def write_risk_bounds(state: State, j: int, beta: float) -> None:
    """Write the bound of risk j of every arm: a lower one where beta is below 0.

    Where nobody reads it, the prediction itself stands for a lower bound if that is within the limit: so is the bound,
    whose spread takes most of the time. Where an arm may be excluded by another one, its bound may be asked for.
    """
    d, first, brief = state.dimension, ridge_place(j, state.dimension), beta < 0.0
    if state.watched or state.course.upwards:
        brief = False
    for k in range(state.size):
        value = predicted(state.numbers, first, d, state.features, k)
        if not (brief and value <= quantity(state, k, j).limit):
            value += beta * spread(state.numbers, first, d, state.features, k, work_place(state))
        write(state, k, RISKS + j - 1, value)


@inlined
def write_reward_bounds(state: State, beta: float, safe_arm: int) -> None:
    """Write which arms are permissible by the risk bounds that are written, and the upper bound of those that may be
    given. A `safe_arm` (-1: none) is always permissible.
    """
    for k in range(state.size):
        safe = k == safe_arm or (within_limits(state, k) and may_follow(state, k))
        write(state, k, PERMISSIBLE, 1.0 if safe else 0.0)
        write(state, k, INDEX, bound(state, k, REWARD, beta) if safe and at(state.arms, k).available else math.nan)


@inlined
def within_limits(state: State, k: int) -> bool:
    """Whether every risk index that is written is within its limit; NaN compares False, and is not."""
    every = True
    for j in range(1, 1 + state.risks):
        if not written(state, k, RISKS + j - 1) <= quantity(state, k, j).limit:
            every = False
    return every


def why_surely_safe(decision: Decision, arm: int) -> str:
    """The words of a policy that gives the largest index among arms that are surely safe, and one known to be."""
    if arm == decision.k:
        top = decision.indices[arm] >= np.nanmax(decision.indices)
        return "largest reward index among the arms that are surely safe" if top else "one of the safe arms, at random"
    return "surely safe; another arm's reward index is as large, or larger, or arms were given at random"


@piece
def choose(when_none: int, state: State) -> tuple[int, bool]:
    """The largest index that is written, or what happens while no arm is permissible."""
    winner = largest_written(state, INDEX)
    if winner >= 0:
        return winner, False
    for k in range(state.size):
        if written(state, k, PERMISSIBLE) == 1.0 and may_come(state, k):
            return WAIT, False
    return _least_risky(when_none, state), True


@apart
def _least_risky(when_none: int, state: State) -> int:
    """What is played while no arm is permissible: nothing, a certain arm, or the one whose risk index is the least
    above its limit. With several risks, the excess of an arm is its largest.
    """
    if when_none >= 0:
        return given_or_awaited(state, when_none)
    if when_none != LEAST_RISKY:
        return HOLD
    found, waiting = (HOLD, math.inf, 0), False
    for k in range(state.size):
        most = -math.inf
        for j in range(1, 1 + state.risks):
            most = larger_excess(most, written(state, k, RISKS + j - 1) - quantity(state, k, j).limit)
        if at(state.arms, k).available:
            found = least_so_far(found, k, most, state.stream)
        elif may_come(state, k):
            waiting = True
    return WAIT if found[0] == HOLD and waiting else found[0]
