"""The chance that each arm has the largest draw of all arms that may win, by integration.

The draw of arm k comes from Beta(a, b). With chance `passes` it stands as it is, else it is held down to at most `cap`.
With chance `may_win` the arm has a part at all. All draws are independent. With G the chance of the Beta law to lie
below, H that of the draw, held down or not, and F that of a draw where an arm without a part has none:

    H(x) = G(x) below the cap, 1 - passes * (1 - G(x)) from there on
    F(x) = 1 - may_win * (1 - H(x))
    P(k wins) = may_win_k * [ integral of h_k * product of F_j over j other than k, and the same sum at k's cap ]

where h is the density of H, and the cap has the mass that H jumps there. Equal draws, which only caps have, share.
`posteriors` has the integral; panels end at caps, where H has its corners. `a` and `b` are at least 1.

Measured against finer integrals on 300 random states of 2 to 7 arms and of 0 to 10^5 plays: right to 4e-10, and each
chance above 1e-6 to 1e-8 of itself; `posteriors` has harder states, on which it is right to 3e-7.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.bernoulli import beta_below
from safebandit.core.dispatch import compiled, inlined
from safebandit.core.posteriors import BELOW, SHARE, places, tabulate

# What is promised of each chance.
ERROR = 1e-6


class Draws(NamedTuple):
    """By what each arm's draw is made: Beta(a, b), held down to `cap` unless it `passes`; and whether it `may_win`."""

    a: Numbers
    b: Numbers
    cap: Numbers
    passes: Numbers
    may_win: Numbers


# Rows of what compiled code takes: one array, because each costs time to compile.
A, B, CAP, PASSES, MAY_WIN = range(5)


def chances_largest(draws: Draws) -> Numbers:
    """Of each arm the chance that its draw is the largest of those that have a part; what is left is that none has.

    >>> one = np.ones(2)
    >>> chances_largest(Draws(one, one, one, one, np.array([1.0, 0.5]))).round(6).tolist()
    [0.75, 0.25]
    """
    rows = np.array(draws, float)
    caps = rows[CAP, (rows[PASSES] < 1.0) & (rows[CAP] > 0.0) & (rows[CAP] < 1.0)]
    wins: Numbers = _chances_largest(rows, np.sort(np.arcsin(np.sqrt(caps))))
    # One arm wins unless none has a part.
    none, total = np.prod(1.0 - rows[MAY_WIN]), wins.sum()
    return wins * ((1.0 - none) / total) if total > 0.0 else wins


@compiled
def _chances_largest(draws: Numbers, corners: Numbers) -> Numbers:
    """The chances, but for what is rounded; `corners` are the angles of caps, in rising order."""
    count = draws.shape[1]
    plays, ones = np.empty(count), np.empty(count)
    for k in range(count):
        plays[k], ones[k] = draws[A, k] + draws[B, k] - 2.0, draws[A, k] - 1.0
    tables, x = tabulate(plays, ones, 0.0, corners), places(plays, ones, corners)
    wins, before, after = np.zeros(count), np.ones((count, x.size)), np.ones(x.size)
    # The product over all others is that over the arms before times that over those after.
    for k in range(1, count):
        for i in range(x.size):
            before[k, i] = before[k - 1, i] * _not_above(draws, k - 1, x[i], tables[BELOW, k - 1, i])
    for k in range(count - 1, -1, -1):
        for i in range(x.size):
            wins[k] += _stands(draws, k, x[i]) * tables[SHARE, k, i] * before[k, i] * after[i]
            after[i] *= _not_above(draws, k, x[i], tables[BELOW, k, i])
        wins[k] += _wins_at_cap(draws, k)
    return wins


@inlined
def _stands(draws: Numbers, k: int, x: float) -> float:
    """The chance that a draw of arm k at x has a part, and stands."""
    return draws[MAY_WIN, k] * (1.0 if x < draws[CAP, k] else draws[PASSES, k])


@inlined
def _not_above(draws: Numbers, k: int, x: float, below: float) -> float:
    """F: the chance that arm k has no draw above x, where its Beta law has the chance `below`."""
    return 1.0 - _stands(draws, k, x) * (1.0 - below)


@compiled
def _wins_at_cap(draws: Numbers, k: int) -> float:
    """The chance that arm k is held down to its cap, and wins there."""
    cap, count = draws[CAP, k], draws.shape[1]
    held = draws[MAY_WIN, k] * (1.0 - draws[PASSES, k])
    if held > 0.0:
        held *= 1.0 - beta_below(draws[A, k], draws[B, k], cap)
    if held <= 0.0:
        return 0.0
    # By how many others have the very same draw: the chance of that, with no other above.
    ties = np.zeros(count)
    ties[0] = 1.0
    for j in range(count):
        if j == k:
            continue
        below = beta_below(draws[A, j], draws[B, j], cap)
        equal = 0.0
        if draws[CAP, j] == cap:
            equal = draws[MAY_WIN, j] * (1.0 - draws[PASSES, j]) * (1.0 - below)
        less = _not_above(draws, j, cap, below) - equal
        for n in range(count - 1, 0, -1):
            ties[n] = ties[n] * less + ties[n - 1] * equal
        ties[0] *= less
    wins = 0.0
    for n in range(count):
        wins += held * ties[n] / (n + 1.0)
    return wins
