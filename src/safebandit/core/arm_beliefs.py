"""What Beta posteriors say of one arm, in a row of numbers: its reward, whether it is safe, and its excess if not.

The prior of a mean reward is flat. That of a risk is Beta(1, b), by which an arm is as likely safe as not before any
unit is known, with a point of mass at its limit, which is safe. A row changes only with the arm's own outcomes, so that
of all rows one is written anew per unit. It holds

    the table of the reward's law Beta(a, b) (see `beta_tables`), a, and a + b
    the chance to be safe
    the largest excess of its risks over their limits: places, and weights that add up to the chance to be unsafe
    the means of its reward and of each risk
    of each risk the mean over truths in which the arm is safe, times the chance to be so
"""

from __future__ import annotations

import math

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.bernoulli import binomial_pmf, binomial_tail
from safebandit.core.beta_tables import POINTS, TABLE, VALUES, look_up, reach_of, tabulate
from safebandit.core.dispatch import apart, both, inlined

# Where an integral over the excess of a risk is computed, on [-1, 1], and its weights: Gauss and Legendre's.
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
EXCESSES = _PLACES.size
# Where the numbers of a row are, behind the table; of m risks 1 + m means, and then m of safe arms.
A, N, SAFE = TABLE, TABLE + 1, TABLE + 2
EXCESS, WEIGHT, MEANS = TABLE + 3, TABLE + 3 + EXCESSES, TABLE + 3 + 2 * EXCESSES
# Excesses of a smaller chance cost nothing.
NEGLIGIBLE = 1e-9
# Of a smaller limit the prior is that of this one.
LOWEST_LIMIT = 1e-3
LEAST = 1e-100


@both
def row_size(risks: int) -> int:
    """How many numbers the row of an arm with so many risks has."""
    return MEANS + 1 + 2 * risks


@inlined
def prior_failures(limit: float) -> float:
    """The b of a risk's prior Beta(1, b), by which it is as likely above its limit as not; 1 from a limit of 1/2 on.

    >>> prior_failures(0.5), round(prior_failures(0.3), 3)
    (1.0, 1.943)
    """
    return max(1.0, math.log(0.5) / math.log1p(-max(limit, LOWEST_LIMIT)))


@apart
def note_reward(row: Numbers, plays: float, ones: float) -> None:
    """Write what is believed of an arm's reward."""
    row[A], row[N], row[MEANS] = ones + 1.0, plays + 2.0, (ones + 1.0) / (plays + 2.0)
    tabulate(row, ones + 1.0, plays - ones + 1.0)


@apart
def note_risks(row: Numbers, risks: Numbers, limits: Numbers, odds: float) -> None:
    """Write what is believed of an arm's risks: of each its plays and its ones are given, and its limit."""
    count = limits.size
    chances = np.empty((2, count))
    row[SAFE] = 1.0
    for j in range(count):
        plays, harms, limit = risks[j, 0], risks[j, 1], limits[j]
        b = prior_failures(limit)
        n = plays + b
        mean = (harms + 1.0) / (n + 1.0)
        # The posterior odds of the point are the prior ones, by how much its density has grown.
        density = n * binomial_pmf(harms, n - 1.0, limit)
        after = odds * density / (b * (1.0 - limit) ** (b - 1.0))
        point = after / (1.0 + after)
        below = binomial_tail(harms + 1.0, n, limit)
        # E[X ; X <= limit] of X ~ Beta(a, b) is mean * P(X <= limit) - limit^a (1 - limit)^b / (B(a, b) (a + b)).
        edge = limit * (1.0 - limit) * density
        safe = point + (1.0 - point) * below
        chances[0, j], chances[1, j] = point, safe
        row[MEANS + 1 + j] = point * limit + (1.0 - point) * mean
        row[MEANS + 1 + count + j] = point * limit + (1.0 - point) * max(0.0, mean * below - edge / (n + 1.0))
        row[SAFE] *= safe
    for j in range(count):
        row[MEANS + 1 + count + j] *= row[SAFE] / max(chances[1, j], LEAST)
    unsafe = 1.0 - row[SAFE]
    for i in range(2 * EXCESSES):
        row[EXCESS + i] = 0.0
    if unsafe > NEGLIGIBLE and count == 1:
        _spread_one(row, risks, limits[0], unsafe)
    elif unsafe > NEGLIGIBLE:
        _spread_excess(row, risks, limits, chances, unsafe)


@apart
def _spread_one(row: Numbers, risks: Numbers, limit: float, total: float) -> None:
    """Places and weights of the excess of an arm's only risk: by its density, which saves the table."""
    a, b = risks[0, 1] + 1.0, risks[0, 0] - risks[0, 1] + prior_failures(limit)
    first, last = reach_of(a, b)
    low = max(0.0, 1.0 / (1.0 + math.exp(-first)) - limit)
    high = max(0.0, 1.0 / (1.0 + math.exp(-last)) - limit)
    mean, added = a / (a + b), 0.0
    for i in range(EXCESSES):
        y = low + 0.5 * (1.0 + _PLACES[i]) * (high - low)
        x = limit + y
        density = math.exp((a - 1.0) * math.log(x / mean) + (b - 1.0) * math.log((1.0 - x) / (1.0 - mean)))
        row[EXCESS + i], row[WEIGHT + i] = y, _WEIGHTS[i] * density
        added += row[WEIGHT + i]
    # Beyond the reach of the law there is next to nothing.
    scale = total / added if high > low else 0.0
    for i in range(EXCESSES):
        row[WEIGHT + i] *= scale


@apart
def _spread_excess(row: Numbers, risks: Numbers, limits: Numbers, chances: Numbers, total: float) -> None:
    """Places and weights of the largest excess of several risks of an arm over their limits, where there is one."""
    tables = np.empty((limits.size, TABLE))
    low, high = 0.0, 0.0
    for j in range(limits.size):
        tabulate(tables[j], risks[j, 1] + 1.0, risks[j, 0] + prior_failures(limits[j]) - risks[j, 1])
        low = max(low, tables[j, VALUES] - limits[j])
        high = max(high, tables[j, VALUES + POINTS - 1] - limits[j])
    added = 0.0
    for i in range(EXCESSES):
        y = low + 0.5 * (1.0 + _PLACES[i]) * (high - low)
        # Of the largest excess: the chance to lie below y, and the density there, by the rule of products.
        within, density = 1.0, 0.0
        for j in range(limits.size):
            x, point = limits[j] + y, chances[0, j]
            if x < 1.0:
                below, own = look_up(tables[j], math.log(x / (1.0 - x)))
                below, own = point + (1.0 - point) * below, (1.0 - point) * own / (x * (1.0 - x))
                within, density = within * below, density * below + within * own
        row[EXCESS + i], row[WEIGHT + i] = y, _WEIGHTS[i] * 0.5 * (high - low) * density
        added += row[WEIGHT + i]
    # Beyond the reach of the tables there is next to nothing.
    scale = total / added if 2.0 * added > total else 0.0
    for i in range(EXCESSES):
        row[WEIGHT + i] *= scale
