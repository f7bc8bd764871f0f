"""Beta laws as tables on an even grid of logits, as wide as the law: the chance to lie below, the density, its slope.

On logits Beta densities fade on both sides, so that even steps serve a law of any width, at the edges of [0, 1] too.
A table is a row of numbers: the first logit, the step, the value of each point, and from each point to the next the
quintic, in steps, that has the chances to lie below, the densities and their slopes at both; behind the last point the
first three of its numbers.
"""

from __future__ import annotations

import math

from safebandit.core.arms import Numbers
from safebandit.core.dispatch import inlined

# How many points a table has, and how many deviations, or powers of e in a tail that fades as slowly, it reaches.
POINTS = 22
REACH = 5.0
TAIL = 11.0
# The last place of a table, but for rounding.
LAST = POINTS - 1.001
# Where the parts of a table are, how many numbers a curve has, and how many a table.
FIRST, STEP, VALUES, CURVES = 0, 1, 2, 2 + POINTS
CURVE = 6
TABLE = CURVES + CURVE * POINTS


@inlined
def reach_of(a: float, b: float) -> tuple[float, float]:
    """The logits between which next to all of Beta(a, b) lies."""
    deviation, middle = math.sqrt(1.0 / a + 1.0 / b), math.log(a / b)
    return middle - max(REACH * deviation, TAIL / a), middle + max(REACH * deviation, TAIL / b)


@inlined
def tabulate(table: Numbers, a: float, b: float) -> None:
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
        curve = CURVES + CURVE * i
        table[VALUES + i], table[curve], table[curve + 1], table[curve + 2] = value, total, density, slope
        before, slope_before, bend_before = density, slope, bend
    table[FIRST], table[STEP] = first, step
    _draw_curves(table, total)


@inlined
def _draw_curves(table: Numbers, total: float) -> None:
    """Make the quintic from each point to the next of the chances, densities and slopes, whose total is given."""
    for i in range(POINTS):
        curve = CURVES + CURVE * i
        table[curve] /= total
        table[curve + 1] /= total
        table[curve + 2] = 0.5 * (table[curve + 2] / total)
    for curve in range(CURVES, CURVES + CURVE * (POINTS - 1), CURVE):
        after = curve + CURVE
        rise = table[after] - table[curve]
        left, right, bend, other = table[curve + 1], table[after + 1], table[curve + 2], table[after + 2]
        table[curve + 3] = 10.0 * rise - 6.0 * left - 4.0 * right - 3.0 * bend + other
        table[curve + 4] = -15.0 * rise + 8.0 * left + 7.0 * right + 3.0 * bend - 2.0 * other
        table[curve + 5] = 6.0 * rise - 3.0 * (left + right) - bend + other


@inlined
def density_at(table: Numbers, point: int) -> float:
    """The density per step at a point of the table."""
    return table[CURVES + CURVE * point + 1]


@inlined
def look_up(table: Numbers, logit: float) -> tuple[float, float]:
    """The chance to lie below a logit, and the density there. At the ends of the table and beyond there is none."""
    place = (logit - table[FIRST]) / table[STEP]
    if not place > 0.0:
        return 0.0, 0.0
    if place >= LAST:
        return 1.0, 0.0
    point = int(place)
    x, curve = place - point, CURVES + CURVE * point
    left, bend = table[curve + 1], table[curve + 2]
    c3, c4, c5 = table[curve + 3], table[curve + 4], table[curve + 5]
    below = table[curve] + x * (left + x * (bend + x * (c3 + x * (c4 + x * c5))))
    density = (left + x * (2.0 * bend + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))) / table[STEP]
    # Where a law fades, the curve may swing a little below 0.
    return min(1.0, max(0.0, below)), max(0.0, density)
