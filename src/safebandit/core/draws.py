"""The chance that each arm has the largest draw of all arms that may win, by integration.

The draw x of arm k comes from Beta(a, b). With chance p(x) it stands as it is, else it is held down to at most `cap`;
p is `passes`, or of an arm whose draws are tested 1 - (1 - q(x))^tries, with q by `joint_draws`. With chance `may_win`
the arm has a part at all. All draws are independent. With g the density of the Beta law, h that of draws that stand,
and F the chance of no draw above x where an arm without a part has none:

    h(x) = g(x) below the cap, g(x) p(x) from there on
    A(x) = chance of a draw above x: that of the Beta law below the cap, integral from x to 1 of h from there on
    F(x) = 1 - may_win * A(x)
    P(k wins) = may_win_k * [ integral of h_k * product of F_j over j other than k, and the same sum at k's cap ]

where the cap has the mass that A jumps there. Equal draws, which only caps have, share. `posteriors` has the integral;
panels end at caps and where the polynomials of q do, for there A has its corners. It begins where it is certain that
some arm's draw is above, and arms that do not reach up to there have no chance. `a` and `b` are at least 1.

Measured against finer integrals on 300 random states of 2 to 7 arms and of 0 to 10^5 plays, none of them tested: right
to 2e-10, and each chance above 1e-6 to 1e-8 of itself; `posteriors` has harder states, on which it is right to 3e-7,
and `joint_draws` says how right q is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.core.bernoulli import beta_below
from safebandit.core.dispatch import compiled, inlined, shared
from safebandit.core.joint_draws import FIRST, NO_SHARES, angle_of, law_over_angles, share_at
from safebandit.core.posteriors import (
    BELOW,
    NODES,
    PLACES,
    RUNNING,
    SHARE,
    WEIGHTS,
    add_up,
    laws_of,
    panels_of,
)

# What is promised of each chance.
ERROR = 1e-6
# So many deviations from its mode a law has nothing: e^-40 of its highest density.
FAR = 9.0


class Draws(NamedTuple):
    """By what each arm's draw is made: Beta(a, b), held down to `cap` unless it `passes`; and whether it `may_win`."""

    a: Numbers
    b: Numbers
    cap: Numbers
    passes: Numbers
    may_win: Numbers


class DrawTests(NamedTuple):
    """Which arms' draws are tested, how often each, and of an arm the polynomials of the chance to pass one test."""

    arms: NDArray[np.bool_]
    tries: int
    shares: Callable[[int], Numbers]


# Rows of what compiled code takes: one array, because each costs time to compile. Of an arm that is tested its rows in
# the table of polynomials lie between two numbers; of any other they are the same.
A, B, CAP, PASSES, MAY_WIN, TESTED, TESTED_TO = range(7)
ROWS = 7
# The layer of a table that first has the chance of a draw below each place, then of one above it; and the layers of
# those at the beginnings of panels.
ABOVE = BELOW
DRAWN, STANDS = range(2)


def chances_largest(draws: Draws, tested: DrawTests | None = None) -> Numbers:
    """Of each arm the chance that its draw is the largest of those that have a part; what is left is that none has.

    >>> one = np.ones(2)
    >>> chances_largest(Draws(one, one, one, one, np.array([1.0, 0.5]))).round(6).tolist()
    [0.75, 0.25]
    """
    rows = np.zeros((ROWS, len(draws.a)))
    rows[A], rows[B], rows[CAP], rows[PASSES], rows[MAY_WIN] = draws
    if tested is None:
        alone: Numbers = _chances_largest(rows, NO_SHARES, 1)
        return alone
    parts, size = [NO_SHARES], 0
    for k, asked in enumerate((tested.arms & reaching(rows)).tolist()):
        if asked:
            parts.append(tested.shares(k))
            rows[TESTED, k], size = size, size + len(parts[-1])
            rows[TESTED_TO, k] = size
    wins: Numbers = _chances_largest(rows, np.concatenate(parts) if size else NO_SHARES, tested.tries)
    return wins


@compiled
def reaching(draws: Numbers) -> NDArray[np.bool_]:
    """Which arms may win against another: none where only one has a chance."""
    start, count = _start(draws), draws.shape[1]
    found = np.zeros(count, np.bool_)
    for k in range(count):
        found[k] = _reaches(draws, k, start)
    return found if found.sum() > 1 else np.zeros(count, np.bool_)


@shared
def _start(draws: Numbers) -> float:
    """An angle above which an arm has a draw for certain."""
    start = 0.0
    for k in range(draws.shape[1]):
        if draws[MAY_WIN, k] == 1.0:
            mode, deviation, _, _ = law_over_angles(draws[A, k], draws[B, k])
            start = max(start, min(mode - FAR * deviation, angle_of(draws[CAP, k])))
    return start


@inlined
def _reaches(draws: Numbers, k: int, start: float) -> bool:
    mode, deviation, _, _ = law_over_angles(draws[A, k], draws[B, k])
    return bool(draws[MAY_WIN, k] > 0.0 and mode + FAR * deviation > start)


@compiled
def _chances_largest(draws: Numbers, shares: Numbers, tries: int) -> Numbers:
    """The chances by the rows of all arms and the table of polynomials."""
    start, wins, none = _start(draws), np.zeros(draws.shape[1]), 1.0
    part, size = np.empty(draws.shape[1], np.int64), 0
    for k in range(draws.shape[1]):
        none *= 1.0 - draws[MAY_WIN, k]
        if _reaches(draws, k, start):
            part[size] = k
            size += 1
    if size == 1:
        wins[part[0]] = 1.0 - none
        return wins
    own = np.empty((ROWS, size))
    for row in range(ROWS):
        for k in range(size):
            own[row, k] = draws[row, part[k]]
    found = _integrated(own, shares, tries, start)
    # One arm wins unless none has a part.
    total = found.sum()
    for k in range(size):
        wins[part[k]] = found[k] * ((1.0 - none) / total) if total > 0.0 else 0.0
    return wins


@shared
def _integrated(draws: Numbers, shares: Numbers, tries: int, start: float) -> Numbers:
    """The chances of arms that all reach above the angle `start`, but for what is rounded."""
    count = draws.shape[1]
    laws = laws_of(draws[A] + draws[B] - 2.0, draws[A] - 1.0)
    panels = panels_of(laws, 0.0, _corners(draws, shares), start)
    tables, total = np.empty((2, count, panels.shape[0] * PLACES)), np.zeros(count)
    add_up(laws, panels, 0.0, tables, BELOW, total)
    # Of each arm and at each panel's beginning, the chance of a draw above it, and of one above it that stands.
    edges = np.zeros((2, count, panels.shape[0] + 1))
    for k in range(count):
        _draws_above(draws, k, panels, tables, edges, total[k])
        _that_stand(draws, k, panels, tables, edges, shares, tries)
    wins, after = np.zeros(count), np.ones(tables.shape[2])
    before = np.ones((count, tables.shape[2]))
    # The product over all others is that over the arms before times that over those after.
    for k in range(1, count):
        for i in range(after.size):
            before[k, i] = before[k - 1, i] * (1.0 - draws[MAY_WIN, k - 1] * tables[ABOVE, k - 1, i])
    for k in range(count - 1, -1, -1):
        for i in range(after.size):
            wins[k] += tables[SHARE, k, i] * before[k, i] * after[i]
            after[i] *= 1.0 - draws[MAY_WIN, k] * tables[ABOVE, k, i]
        wins[k] = draws[MAY_WIN, k] * wins[k] + _wins_at_cap(draws, k, panels, edges)
    return wins


@inlined
def _has_corner(draws: Numbers, k: int) -> bool:
    """Whether draws of arm k may be held down, as those above a mean of 1 are not."""
    return bool(draws[CAP, k] < 1.0 and (draws[PASSES, k] < 1.0 or draws[TESTED, k] < draws[TESTED_TO, k]))


@shared
def _corners(draws: Numbers, shares: Numbers) -> Numbers:
    """The angles at which panels must end, in rising order: caps, and beginnings of the polynomials above them."""
    corners, size = np.empty(draws.shape[1] + shares.shape[0]), 0
    for k in range(draws.shape[1]):
        if _has_corner(draws, k):
            corners[size] = angle_of(draws[CAP, k])
            size += 1
            for row in range(int(draws[TESTED, k]), int(draws[TESTED_TO, k])):
                if shares[row, FIRST] > corners[size - 1]:
                    corners[size] = shares[row, FIRST]
                    size += 1
    return np.sort(corners[:size])


@shared
def _draws_above(draws: Numbers, k: int, panels: Numbers, tables: Numbers, edges: Numbers, total: float) -> None:
    """Write of arm k the chances of a draw above each place and each panel's beginning, where all of them stand."""
    mode, deviation, _, _ = law_over_angles(draws[A, k], draws[B, k])
    first = panels[0, 0]
    # Where panels do not begin below all of its law, they have what is above.
    rest = 1.0
    if mode - FAR * deviation < first:
        rest = beta_below(draws[B, k], draws[A, k], math.cos(first) ** 2)
    scale = rest / total if total > 0.0 else 0.0
    for panel in range(panels.shape[0]):
        edges[DRAWN, k, panel] = rest
        for i in range(panel * PLACES, (panel + 1) * PLACES):
            tables[SHARE, k, i] *= scale
            rest -= tables[SHARE, k, i]
            tables[ABOVE, k, i] = edges[DRAWN, k, 0] - tables[BELOW, k, i] * scale


@shared
def _that_stand(
    draws: Numbers, k: int, panels: Numbers, tables: Numbers, edges: Numbers, shares: Numbers, tries: int
) -> None:
    """Write over them, from the cap on, the chances of a draw that stands."""
    if not _has_corner(draws, k):
        return
    cap, row, passed = angle_of(draws[CAP, k]), int(draws[TESTED_TO, k]) - 1, np.empty(PLACES)
    for panel in range(panels.shape[0] - 1, -1, -1):
        begin, half, first = panels[panel, 0], 0.5 * panels[panel, 1], panel * PLACES
        if begin < cap:
            break
        while row > draws[TESTED, k] and shares[row, FIRST] >= begin + half:
            row -= 1
        above = edges[STANDS, k, panel + 1]
        for i in range(PLACES):
            chance = draws[PASSES, k]
            if row >= draws[TESTED, k]:
                safe = share_at(shares, row, begin + half * (1.0 + NODES[i]))
                chance = 1.0 - (1.0 - safe) ** tries
            passed[i] = tables[SHARE, k, first + i] * chance / WEIGHTS[i]
            tables[SHARE, k, first + i] *= chance
            above += tables[SHARE, k, first + i]
        edges[STANDS, k, panel] = above
        for j in range(PLACES):
            tables[ABOVE, k, first + j] = above
            for i in range(PLACES):
                tables[ABOVE, k, first + j] -= RUNNING[i, j] * passed[i]


@shared
def _wins_at_cap(draws: Numbers, k: int, panels: Numbers, edges: Numbers) -> float:
    """The chance that arm k is held down to its cap, and wins there."""
    cap, count, edge = draws[CAP, k], draws.shape[1], 0
    while edge < panels.shape[0] and panels[edge, 0] < angle_of(cap):
        edge += 1
    held = _held(draws, k, edges, edge)
    if not held > 0.0:
        return 0.0
    # By how many others have the very same draw: the chance of that, with no other above.
    ties = np.zeros(count)
    ties[0] = 1.0
    for j in range(count):
        if j == k:
            continue
        falls = _has_corner(draws, j) and draws[CAP, j] <= cap
        equal = _held(draws, j, edges, edge) if draws[CAP, j] == cap else 0.0
        less = 1.0 - draws[MAY_WIN, j] * edges[STANDS if falls else DRAWN, j, edge] - equal
        for n in range(count - 1, 0, -1):
            ties[n] = ties[n] * less + ties[n - 1] * equal
        ties[0] *= less
    wins = 0.0
    for n in range(count):
        wins += held * ties[n] / (n + 1.0)
    return wins


@inlined
def _held(draws: Numbers, k: int, edges: Numbers, edge: int) -> float:
    """The chance that arm k has a part and is held down to its cap, at which the panel of this number begins."""
    if not _has_corner(draws, k):
        return 0.0
    return float(draws[MAY_WIN, k] * (edges[DRAWN, k, edge] - edges[STANDS, k, edge]))
