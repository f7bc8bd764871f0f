"""Safe sets: a polyhedron of half-spaces in which an arm's mean vector (reward, risk 1, risk 2, ...) should lie.

The paper's remark in its section on definitions asks for "some known safe set" of a vector of risks; feasible arms
(Katz-Samuels and Scott 2018) are those whose mean vector lies in a polyhedron. Normals have length 1 here, so that what
is left of a bound is a distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Numbers, State, quantity
from safebandit.core.dispatch import apart, compiled, inlined
from safebandit.errors import PolicyError

# Of so many half-spaces every corner and edge is looked at, where a point lies outside of several at once.
MOST_HALF_SPACES = 12
# How `scipy.optimize.linprog` says that no point meets all conditions.
INFEASIBLE = 2
# What rounding may do to a bound: a mean that is on the boundary lies in the set.
ROUNDING = 1e-12
# A corner that is computed lies in the set if it is no further outside than this.
NEARLY = 1e-9


class SafeSet(NamedTuple):
    """The points x with rows x <= bounds: a row for every half-space, with a number for the reward and for every risk.

    >>> one = half_spaces([[0, 3, 4]], [2.5])
    >>> one.rows.tolist(), one.bounds.tolist()
    ([[0.0, 0.6, 0.8]], [0.5])
    >>> one.contains([0.9, 0.1, 0.1]), [round(one.distance([0.9, x, x]), 12) for x in (0.1, 0.5)]
    (True, [0.36, -0.2])
    """

    rows: Numbers
    bounds: Numbers

    def contains(self, point: Sequence[float] | Numbers) -> bool:
        """Whether a point lies in the set, its boundary included."""
        return bool(depth(self, np.asarray(point, np.float64)) >= -ROUNDING)

    def distance(self, point: Sequence[float] | Numbers) -> float:
        """How far a point inside is from the boundary; below 0, how far a point outside is from the set."""
        return float(signed_distance(self, np.asarray(point, np.float64)))


def half_spaces(rows: Any, bounds: Any) -> SafeSet:
    """The set of all points x with rows x <= bounds, checked: some point of [0, 1]^d must lie in it."""
    try:
        normals, limits = np.array(rows, np.float64), np.array(bounds, np.float64)
    except (TypeError, ValueError):
        raise PolicyError(f"a safe set has rows and bounds of numbers, got {rows!r} and {bounds!r}") from None
    if normals.ndim != 2 or limits.shape != (len(normals),) or not len(normals):
        raise PolicyError(f"a safe set has a row of numbers and a bound for every half-space, got {rows!r}, {bounds!r}")
    if len(normals) > MOST_HALF_SPACES:
        raise PolicyError(f"a safe set has at most {MOST_HALF_SPACES} half-spaces, got {len(normals)}; leave some out")
    if not (np.isfinite(normals).all() and np.isfinite(limits).all()):
        raise PolicyError(f"a safe set must be of finite numbers, got {rows!r}, {bounds!r}")
    lengths = np.sqrt((normals**2).sum(axis=1))
    if not lengths.all():
        empty = int(np.argmin(lengths)) + 1
        raise PolicyError(f"half-space {empty} of the safe set asks about nothing; give it a reward or a risk")
    made = SafeSet(np.ascontiguousarray(normals / lengths[:, None]), limits / lengths)
    _check_some_point(made)
    return made


def box(limits: Sequence[float]) -> SafeSet:
    """The set in which every risk is at most its limit."""
    return half_spaces(np.eye(1 + len(limits))[1:], limits)


def check_of_risks(safe_set: SafeSet) -> SafeSet:
    """A set of risks alone, in which less risk is never worse; another is refused."""
    if safe_set.rows[:, 0].any():
        raise PolicyError("a safe set of risks cannot ask about the reward; leave those half-spaces out")
    if (safe_set.rows < 0).any():
        raise PolicyError("a safe set of risks cannot ask for more of a risk; write every half-space with sums and <=")
    return safe_set


def _check_some_point(safe_set: SafeSet) -> None:
    """Refuse a set in which no mean vector can lie: an empty one."""
    from scipy.optimize import linprog

    found = linprog(np.zeros(safe_set.rows.shape[1]), safe_set.rows, safe_set.bounds, bounds=(0, 1))
    if found.status == INFEASIBLE:
        raise PolicyError("the safe set is empty: no mean reward and risks in [0, 1] lie in it; loosen a half-space")


@inlined
def depth(safe_set: SafeSet, point: Numbers) -> float:
    """How much is left of the tightest half-space at a point: of one inside, its distance to the boundary."""
    least = math.inf
    for i in range(safe_set.bounds.shape[0]):
        left = safe_set.bounds[i]
        for j in range(point.shape[0]):
            # What a half-space does not ask about may be unknown, and that is not a number.
            if safe_set.rows[i, j] != 0.0:
                left -= safe_set.rows[i, j] * point[j]
        if math.isnan(left):
            return left
        least = min(least, left)
    return least


@inlined
def signed_distance(safe_set: SafeSet, point: Numbers) -> float:
    """Of a point inside, its distance to the boundary; of one outside, minus its distance to the set."""
    inside = depth(safe_set, point)
    return -_distance_from_outside(safe_set, point) if inside < 0.0 else inside


@apart
def _distance_from_outside(safe_set: SafeSet, point: Numbers) -> float:
    """The distance of a point to the set: the least to a face of it, over all faces.

    The nearest point of the set lies on the planes of at most d half-spaces, and is nearest on those; every other point
    that is found so and lies in the set is no nearer.
    """
    count, size = safe_set.rows.shape
    nearest, foot = math.inf, np.empty(size)
    chosen = np.empty(min(count, size), np.int64)
    for mask in range(1, 1 << count):
        planes = 0
        for i in range(count):
            if mask >> i & 1:
                if planes < chosen.shape[0]:
                    chosen[planes] = i
                planes += 1
        if planes <= chosen.shape[0]:
            away = _foot(safe_set, point, chosen[:planes], foot)
            if away < nearest and depth(safe_set, foot) >= -NEARLY:
                nearest = away
    return nearest


@apart
def _foot(safe_set: SafeSet, point: Numbers, chosen: Any, foot: Numbers) -> float:
    """Write the nearest point on some planes, and give its distance: infinite where the planes are not independent."""
    rows, size, planes = safe_set.rows, point.shape[0], chosen.shape[0]
    # The foot is the point less a sum of normals, by weights w with (A A') w = A x - b.
    system = np.empty((planes, planes + 1))
    for p in range(planes):
        over = -safe_set.bounds[chosen[p]]
        for j in range(size):
            over += rows[chosen[p], j] * point[j]
        system[p, planes] = over
        for q in range(planes):
            product = 0.0
            for j in range(size):
                product += rows[chosen[p], j] * rows[chosen[q], j]
            system[p, q] = product
    if not _solve(system):
        return math.inf
    squares = 0.0
    for j in range(size):
        step = 0.0
        for p in range(planes):
            step += system[p, planes] * rows[chosen[p], j]
        foot[j] = point[j] - step
        squares += step * step
    return math.sqrt(squares)


@apart
def _solve(system: Numbers) -> bool:
    """Solve a positive definite system in place: the answer is its last column. False where it is singular."""
    size = system.shape[0]
    for p in range(size):
        pivot = system[p, p]
        if pivot < NEARLY:
            return False
        for q in range(p, size + 1):
            system[p, q] /= pivot
        for r in range(size):
            if r != p:
                factor = system[r, p]
                for q in range(p, size + 1):
                    system[r, q] -= factor * system[p, q]
    return True


@inlined
def asks_about(safe_set: SafeSet, j: int) -> bool:
    """Whether the reward (j = 0) or risk j has a part in the set."""
    asks = False
    for i in range(safe_set.rows.shape[0]):
        asks = asks or safe_set.rows[i, j] != 0.0
    return asks


@inlined
def write_means(safe_set: SafeSet, state: State, k: int, point: Numbers) -> tuple[int, int]:
    """Write an arm's mean vector. Give back how many units are known, and how many are known or pending, of the
    coordinates that the set asks about.
    """
    known, coming = -1, -1
    for j in range(1 + state.risks):
        seen = quantity(state, k, j)
        plays, pending = seen.plays, seen.pending
        point[j] = seen.mean
        if asks_about(safe_set, j):
            known = plays if known < 0 else min(known, plays)
            coming = plays + pending if coming < 0 else min(coming, plays + pending)
    return known, coming


@compiled
def inside_of(safe_set: SafeSet, points: Numbers) -> Any:
    """Whether each of many points (the last axis) lies in the set; one that is not a number never does."""
    found = np.zeros(points.shape[:2], np.bool_)
    for i in range(points.shape[0]):
        for k in range(points.shape[1]):
            found[i, k] = depth(safe_set, points[i, k]) >= -ROUNDING
    return found
