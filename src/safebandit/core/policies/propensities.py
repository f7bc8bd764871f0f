"""With what chance a policy that draws gives each arm, without a draw: exactly, or by integration.

A policy's own answer is registered with `law_of`, that of an index with `reward_law` or `gate_law`; where there is
none, whoever asks must draw. Nothing here takes a random number or has a part in a decision.

    ties of numbers that are not drawn      each arm of the largest number has the same chance
    draws among arms whose gates are not    `draws.chances_largest`, right to 1e-6
    drawn for, or drawn for independently
"""

from __future__ import annotations

import functools
import math
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import REWARD, Numbers, Records
from safebandit.core.bernoulli import beta_below
from safebandit.core.dispatch import compiled
from safebandit.core.draws import CAP, ERROR, PASSES, A, B, Draws, DrawTests, chances_largest
from safebandit.core.indices import IMED, JointDirichlet, JointThompson, PointMassRisk, SampledRisk, Thompson
from safebandit.core.indices.interface import steady
from safebandit.core.indices.joint_sampling import ALPHA, CHANCE, TABLE, in_doubt, tests_of
from safebandit.core.joint_draws import shares_above
from safebandit.core.policies.choice import LEAST_RISKY, gate_round
from safebandit.core.policies.doubly_optimistic import DoublyOptimistic
from safebandit.core.policies.floored import EVERY_ARM, Floored
from safebandit.core.policies.optimistic_in_set import OptimisticInSet

# Chances of an integral are kept to so many digits: more than it is right to, and few enough to be the same anywhere.
DIGITS = 9
# As gates of several risks are asked; called as it is written, not compiled for this alone.
_gate_round: Any = getattr(gate_round, "py_func", gate_round)
# The least chance of an arm that can be given: an integral may find nothing where there is next to nothing.
LEAST = 1e-12


class Situation(NamedTuple):
    """In what a decision of round t is made: records of the arms and of their quantities (columns), what one decision
    saw of every arm, permissible or not and its index, and whether an arm excludes those above it.
    """

    t: int
    arms: Records
    quantities: Records
    permissible: NDArray[np.bool_]
    indices: Numbers
    upwards: bool

    @property
    def available(self) -> NDArray[np.bool_]:
        """Of every arm, whether it may be given."""
        found: NDArray[np.bool_] = self.arms["available"] != 0
        return found


class Law(NamedTuple):
    """The chance of every arm, and that none is given; `error` is 0 where they are exact."""

    arms: tuple[float, ...]
    held: float
    error: float


class RewardLaw(NamedTuple):
    """Of every arm the law of its drawn reward index, as `draws` has it, and which of the draws are tested."""

    a: Numbers
    b: Numbers
    cap: Numbers
    passes: Numbers
    tested: DrawTests | None = None


@singledispatch
def law_of(policy: Any, situation: Situation) -> Law | None:
    """The chance of every arm in this situation; None where it is not known without draws."""
    return None


@singledispatch
def reward_law(index: Any, rewards: Records, t: int) -> RewardLaw | None:
    """The law of the drawn reward indices of all arms, by the records of their rewards; None where it is not known."""
    return None


@singledispatch
def gate_law(index: Any, risk: Any, t: int) -> float | None:
    """The chance that a drawn safety index permits, by the record of one risk; None where it is not known."""
    return None


@reward_law.register(Thompson)
def _thompson(index: Thompson, rewards: Records, t: int) -> RewardLaw | None:
    if min(index.prior_a, index.prior_b) < 1.0:
        return None
    ones, one = rewards["ones"], np.ones(len(rewards))
    return RewardLaw(ones + index.prior_a, rewards["plays"] - ones + index.prior_b, one, one)


@reward_law.register(JointThompson)
def _joint_thompson(index: JointThompson, rewards: Records, t: int) -> RewardLaw:
    ones, passes = rewards["ones"], rewards["own"][:, CHANCE] * (1.0 + index.soft * math.log(t))
    # Where the data are not against an arm's safety, its draw is not tested.
    passes = np.where(rewards["own"][:, CHANCE] < 1.0, np.minimum(passes, 1.0), 1.0)
    return RewardLaw(ones + 1.0, rewards["plays"] - ones + 1.0, rewards["mean"], passes)


@reward_law.register(JointDirichlet)
def _joint_dirichlet(index: JointDirichlet, rewards: Records, t: int) -> RewardLaw:
    laws, tested, known = _joint_laws(index, rewards)

    def shares(k: int) -> Numbers:
        return _shares(*known[k].tolist())

    return RewardLaw(laws[A], laws[B], laws[CAP], laws[PASSES], DrawTests(tested, tests_of(index, t), shares))


@compiled
def _joint_laws(index: JointDirichlet, rewards: Records) -> tuple[Numbers, NDArray[np.bool_], Numbers]:
    """The rows of the law of all arms, which of them are tested, and what their tests go by, a row for each arm."""
    laws, tested, known = np.ones((4, rewards.size)), np.zeros(rewards.size, np.bool_), np.empty((rewards.size, 8))
    for k in range(rewards.size):
        seen = rewards[k]
        laws[A, k], laws[B, k], laws[CAP, k] = seen.ones + 1.0, seen.plays - seen.ones + 1.0, seen.mean
        tested[k] = in_doubt(index, seen)
        known[k, 0], known[k, 1], known[k, 2], known[k, 3] = laws[A, k], laws[B, k], seen.mean, seen.own[ALPHA]
        for i in range(4):
            known[k, 4 + i] = seen.own[TABLE + i]
    return laws, tested, known


# What an arm has told changes when it learns, and seldom for those that are in doubt: they are given seldom.
@functools.lru_cache(maxsize=256)
def _shares(a: float, b: float, cap: float, alpha: float, *table: float) -> Numbers:
    return shares_above(a, b, cap, alpha, np.array(table))


@gate_law.register(SampledRisk)
def _sampled_risk(index: SampledRisk, risk: Any, t: int) -> float:
    a, b = risk["ones"] + index.prior_a, risk["plays"] - risk["ones"] + index.prior_b
    n = a + b
    slack = index.slack * math.sqrt(a * b / (n + 1.0)) / n * math.sqrt(math.log(t)) if index.slack > 0.0 else 0.0
    return beta_below(a, b, risk["limit"] + slack)


@gate_law.register(PointMassRisk)
def _point_mass_risk(index: PointMassRisk, risk: Any, t: int) -> float:
    point, harms = float(risk["own"][0]), risk["ones"]
    return point + (1.0 - point) * beta_below(harms + 1.0, risk["plays"] - harms + 1.0, risk["limit"])


@law_of.register(DoublyOptimistic)
def _of_doubly_optimistic(policy: DoublyOptimistic, situation: Situation) -> Law | None:
    return _first_play(policy, situation) or _by_indices(policy, situation, policy.head_start)


@law_of.register(OptimisticInSet)
def _of_optimistic_in_set(policy: OptimisticInSet, situation: Situation) -> Law | None:
    # Drawn risks are in a set together, not one by one.
    if gate_law.dispatch(type(policy.safety)) is not gate_law.dispatch(object):
        return None
    return _first_play(policy, situation) or _by_indices(policy, situation, 0)


@law_of.register(Floored)
def _of_floored(policy: Floored, situation: Situation) -> Law | None:
    own = law_of(policy.policy, situation)
    if own is None:
        return None
    free = situation.permissible & situation.available
    if policy.floor_of != EVERY_ARM:
        free &= np.arange(len(free)) == policy.floor_of
    floors = np.where(free, (1.0 - own.held) * policy.floor, 0.0)
    chances = (floors + (1.0 - free.sum() * policy.floor) * np.array(own.arms)).tolist()
    return Law(tuple(_rounded(chances) if own.error else chances), own.held, own.error)


def _first_play(policy: Any, situation: Situation) -> Law | None:
    """The first arm that was never given, where that comes first."""
    if not policy.each_first or situation.t > len(situation.arms):
        return None
    free = (situation.arms["asked"] == 0) & situation.available
    if situation.upwards:
        free[1:] &= situation.permissible[:-1]
    unplayed = np.flatnonzero(free)
    if unplayed.size == 0:
        return None
    return Law(tuple(float(k == unplayed[0]) for k in range(len(situation.arms))), 0.0, 0.0)


def _by_indices(policy: Any, situation: Situation, head_start: int) -> Law | None:
    safe, available = _gates(policy.safety, situation, head_start), situation.available
    if safe is None:
        return None
    if _draws_nothing(policy.reward) and _draws_nothing(policy.safety):
        return _of_ties(np.where(situation.permissible & available, situation.indices, np.nan))
    rewards, may_win = reward_law(policy.reward, situation.quantities[:, REWARD], situation.t), safe * available
    may = may_win.tolist()
    if rewards is None or not any(may):
        return None
    none, held = _none_of(safe.tolist()), _none_of(may)
    if none > 0.0 and policy.when_none == LEAST_RISKY:
        return None
    largest = chances_largest(Draws(*rewards[:-1], may_win), rewards.tested).tolist()
    chances = [max(LEAST, chance) if part > 0.0 else 0.0 for chance, part in zip(largest, may, strict=True)]
    if none > 0.0 and policy.when_none >= 0 and available[policy.when_none]:
        chances[policy.when_none] += none
        held -= none
    *arms, held = _rounded([*chances, max(0.0, held)])
    return Law(tuple(arms), held, ERROR)


def _none_of(chances: list[float]) -> float:
    return math.prod([1.0 - chance for chance in chances])


def _rounded(chances: list[float]) -> list[float]:
    # As one text: sooner than each by itself.
    return [float(text) for text in (f"%.{DIGITS}g " * len(chances) % tuple(chances)).split()]


def _draws_nothing(index: Any) -> bool:
    return bool(steady(index)) or isinstance(index, IMED)


def _gates(safety: Any, situation: Situation, head_start: int) -> Numbers | None:
    """The chance of every arm that it is permissible, which is 0 or 1 where nothing is drawn for that."""
    if _draws_nothing(safety):
        return situation.permissible.astype(float)
    # Where a drawn gate excludes upwards, those of neighbours are not independent.
    if situation.upwards:
        return None
    risks = situation.quantities[:, REWARD + 1 :]
    clock, safe = _gate_round(situation.t + head_start, risks.shape[1]), np.ones(len(risks))
    for k, row in enumerate(risks):
        for risk in row:
            chance = gate_law(safety, risk, clock)
            if chance is None:
                return None
            safe[k] *= chance
    return safe


def _of_ties(numbers: Numbers) -> Law | None:
    """One chance for all arms of the largest number, none for others; None where there is no number."""
    if np.isnan(numbers).all():
        return None
    best = numbers == np.nanmax(numbers)
    return Law(tuple((best / best.sum()).tolist()), 0.0, 0.0)


def least_given_law(arms: Records) -> Law | None:
    """The chances of a burn-in: the same for each of the arms that were given out least often and may be."""
    asked = np.where(arms["available"] != 0, arms["asked"], np.nan)
    return _of_ties(-asked)
