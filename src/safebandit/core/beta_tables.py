"""Beta laws as tables on an even grid of logits, as wide as the law: the chance to lie below, the density, its slope.

On logits Beta densities fade on both sides, so that even steps serve a law of any width, at the edges of [0, 1] too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.dispatch import compiled, inlined

# How many points a table has, and how many deviations, or powers of e in a tail that fades as slowly, it reaches.
POINTS = 22
REACH = 5.0
TAIL = 11.0
# The last place of a table, but for rounding.
LAST = POINTS - 1.001


class Laws(NamedTuple):
    """Tables of Beta laws, one per row: the first logit, the step, and at each point its value, the chance to lie below
    it, the density per step and its slope.
    """

    first: Numbers
    step: Numbers
    value: Numbers
    below: Numbers
    density: Numbers
    slope: Numbers


@compiled
def new_laws(rows: int) -> Laws:
    """Room for so many tables."""
    shape = (rows, POINTS)
    return Laws(np.empty(rows), np.empty(rows), np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape))


@inlined
def reach_of(a: float, b: float) -> tuple[float, float]:
    """The logits between which next to all of Beta(a, b) lies."""
    deviation, middle = math.sqrt(1.0 / a + 1.0 / b), math.log(a / b)
    return middle - max(REACH * deviation, TAIL / a), middle + max(REACH * deviation, TAIL / b)


@compiled
def tabulate(laws: Laws, row: int, a: float, b: float) -> None:
    """Write the table of Beta(a, b). Its density on logits is x^a (1-x)^b / B(a, b), of slope a - (a+b) x per density.

    The chance to lie below is summed up by the quintic that has the densities, their slopes and their curvatures.
    """
    first, last = reach_of(a, b)
    step = (last - first) / (POINTS - 1)
    highest = -a * math.log1p(b / a) - b * math.log1p(a / b)
    total, before, slope_before, bend_before = 0.0, 0.0, 0.0, 0.0
    for i in range(POINTS):
        logit = first + i * step
        odds_against = math.exp(-logit)
        value, log_value = 1.0 / (1.0 + odds_against), -math.log1p(odds_against)
        density = step * math.exp(a * log_value + b * (log_value - logit) - highest)
        rate = (a - (a + b) * value) * step
        slope = density * rate
        bend = density * (rate * rate - (a + b) * value * (1.0 - value) * step * step)
        if i > 0:
            added = 0.5 * (before + density) + 0.1 * (slope_before - slope) + (bend_before + bend) / 120.0
            total += max(0.0, added)
        laws.value[row, i], laws.below[row, i] = value, total
        laws.density[row, i], laws.slope[row, i] = density, slope
        before, slope_before, bend_before = density, slope, bend
    for i in range(POINTS):
        laws.below[row, i] /= total
        laws.density[row, i] /= total
        laws.slope[row, i] /= total
    laws.first[row], laws.step[row] = first, step


@inlined
def look_up(laws: Laws, row: int, logit: float) -> tuple[float, float]:
    """The chance to lie below a logit, and the density there, by the quintic that has the table's chances, densities
    and slopes. At the ends of the table and beyond there is no density.
    """
    place = (logit - laws.first[row]) / laws.step[row]
    if not place > 0.0:
        return 0.0, 0.0
    if place >= LAST:
        return 1.0, 0.0
    i = int(place)
    x = place - i
    rise = laws.below[row, i + 1] - laws.below[row, i]
    left, right = laws.density[row, i], laws.density[row, i + 1]
    bend, other = 0.5 * laws.slope[row, i], 0.5 * laws.slope[row, i + 1]
    c3 = 10.0 * rise - 6.0 * left - 4.0 * right - 3.0 * bend + other
    c4 = -15.0 * rise + 8.0 * left + 7.0 * right + 3.0 * bend - 2.0 * other
    c5 = 6.0 * rise - 3.0 * (left + right) - bend + other
    below = laws.below[row, i] + x * (left + x * (bend + x * (c3 + x * (c4 + x * c5))))
    density = (left + x * (2.0 * bend + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))) / laws.step[row]
    # Where a law fades, the curve may swing a little below 0.
    return min(1.0, max(0.0, below)), max(0.0, density)
