"""Which feasible arm has the largest mean reward, surely enough (Katz-Samuels and Scott 2019): TF-LUCB.

After N units every mean of an arm lies within b = sqrt(log(4 K d N^2 / delta) / (2 N)) of its sample mean, for K arms
with d means each and all N at once, with a chance of at least 1 - delta (Hoeffding). An arm is refuted where no point
within b of its sample means meets some half-space of the safe set, and certified where every such point meets all of
them. With h the largest sample mean reward of the arms that are not refuted, and l the largest upper bound among the
others, h gets a unit in odd rounds and l in even ones. It ends where h is certified and its lower bound reaches the
upper bound of l; or where every arm is refuted.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import CHANCE, INDEX, PERMISSIBLE, REWARD, RISKS, State, at, quantity, write, written
from safebandit.core.dispatch import apart, both, shared
from safebandit.core.policies.checking import read_delta
from safebandit.core.policies.choice import first_unplayed
from safebandit.core.policies.exploring.looking import DISTANCE, set_of
from safebandit.core.policies.interface import DONE, WAIT, Setup, decide
from safebandit.core.policies.words import FIRST_PLAY, Decision
from safebandit.core.safe_sets import ROUNDING, SafeSet, signed_distance, write_means

# What a decision shows of every arm: the lower bound of its reward, how far its means lie inside of the safe set, and
# whether it is certified to be feasible.
LOWER, CERTIFIED = "lower reward index", "certified"


class TfLucb(NamedTuple):
    """The arm of the largest mean reward that is not refuted, and the one that may still be better, in turn.

    It ends when it is sure: the arm that is selected then is not the best feasible one with a chance of at most
    `delta`. The safe set is as in `MdApt`.
    """

    safe_set: Any = None
    delta: float = 0.1

    @property
    def needs(self) -> tuple[str, ...]:
        """That it decides by rewards."""
        return ("reward",)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every arm."""
        return (LOWER, DISTANCE, CERTIFIED)

    def prepare(self, setup: Setup) -> TfLucb:
        """The policy with its parameters checked, and its safe set."""
        return TfLucb(set_of(self.safe_set, setup), read_delta(self.delta))

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm, or why not."""
        if np.isnan(decision.own[DISTANCE][arm]):
            return FIRST_PLAY if arm == decision.k else "another arm is given first"
        certified = decision.own[CERTIFIED][arm] == 1.0
        bounds = f"reward between {decision.own[LOWER][arm]:.4g} and {decision.indices[arm]:.4g}"
        sure = "surely feasible" if certified else "perhaps feasible"
        turn = "it is the best so far, or the one that may be better" if arm == decision.k else "not its turn"
        return f"{sure}, {bounds}; {turn}"

    def forbids(self, decision: Decision, arm: int) -> str:
        """Why an arm is not permissible."""
        return (
            f"its means lie {abs(decision.own[DISTANCE][arm]):.4g} outside of the safe set, surely, or it was dropped"
        )


@both
def half_width(units: float, means: int, delta: float) -> float:
    """How far a mean may be from its sample mean after so many units, with so many means in all; 1 before the first.

    >>> half_width(100, 6, 0.1)
    0.27102563804295504
    """
    if units < 1:
        return 1.0
    return math.sqrt(math.log(4.0 * means * units * units / delta) / (2.0 * units))


@apart
def _within(safe_set: SafeSet, point: Any, width: float) -> tuple[bool, bool]:
    """Whether some half-space excludes every point so near in each coordinate, and whether all include every one."""
    refuted, certified = False, True
    for i in range(safe_set.bounds.shape[0]):
        left, spread = safe_set.bounds[i], 0.0
        for j in range(point.shape[0]):
            left -= safe_set.rows[i, j] * point[j]
            spread += abs(safe_set.rows[i, j])
        refuted = refuted or left + spread * width < -ROUNDING
        certified = certified and left - spread * width >= -ROUNDING
    return refuted, certified


@shared
def _write_bounds(safe_set: SafeSet, delta: float, state: State) -> None:
    """Write of every arm whether it is refuted, or excluded by one below, the bounds of its means, and whether it is
    certified.
    """
    own, size = RISKS + state.risks, 1 + state.risks
    point, below = np.empty(size), False
    for k in range(state.size):
        known = min(write_means(safe_set, state, k, point)[0], quantity(state, k, REWARD).plays)
        width = half_width(float(known), state.size * size, delta)
        refuted, certified = False, False
        if known > 0:
            refuted, certified = _within(safe_set, point, width)
        below = refuted or (below and state.course.upwards != 0)
        write(state, k, PERMISSIBLE, 0.0 if below or at(state.arms, k).dropped else 1.0)
        write(state, k, INDEX, min(1.0, point[REWARD] + width))
        write(state, k, CHANCE, math.nan)
        for j in range(state.risks):
            write(state, k, RISKS + j, max(0.0, point[1 + j] - width))
        write(state, k, own, max(0.0, point[REWARD] - width))
        write(state, k, own + 1, signed_distance(safe_set, point) if known > 0 and state.watched else math.nan)
        write(state, k, own + 2, 1.0 if certified else 0.0)


@apart
def _best_and_rival(state: State) -> tuple[int, int]:
    """Of the arms not refuted the one of the largest mean reward, and the largest upper bound of the others; or -1."""
    best, rival = -1, -1
    for k in range(state.size):
        if written(state, k, PERMISSIBLE) == 1.0 and (
            best < 0 or quantity(state, k, REWARD).mean > quantity(state, best, REWARD).mean
        ):
            best = k
    for k in range(state.size):
        other = k != best and written(state, k, PERMISSIBLE) == 1.0
        if other and (rival < 0 or written(state, k, INDEX) > written(state, rival, INDEX)):
            rival = k
    return best, rival


@decide.register(TfLucb)
def _decide(policy: TfLucb, state: State, t: int) -> tuple[int, bool]:
    _write_bounds(policy.safe_set, policy.delta, state)
    best, rival = _best_and_rival(state)
    if best < 0:
        return DONE, True
    first, own = first_unplayed(state), RISKS + state.risks
    if first >= 0:
        return first, False
    ahead = rival < 0 or written(state, best, own) >= written(state, rival, INDEX)
    if ahead and written(state, best, own + 2) == 1.0:
        return DONE, False
    wanted, other = (best, rival) if rival < 0 or t % 2 == 1 else (rival, best)
    if at(state.arms, wanted).available:
        return wanted, False
    return (other if other >= 0 and at(state.arms, other).available else WAIT), False
