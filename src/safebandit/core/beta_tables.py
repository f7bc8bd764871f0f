"""Beta laws as tables on an even grid of logits, as wide as the law: the chance to lie below, the density, its slope.

On logits Beta densities fade on both sides, so that even steps serve a law of any width, at the edges of [0, 1] too.
A table is a row of numbers: the first logit, the step, the value of each point, and from each point to the next the
quintic, in steps, that has the chances to lie below, the densities and their slopes at both.
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
FIRST, STEP, PER_STEP, VALUES, CURVES = 0, 1, 2, 3, 3 + POINTS
CURVE = 6
TABLE = CURVES + CURVE * (POINTS - 1)


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
    below, left, left_slope, left_bend = 0.0, 0.0, 0.0, 0.0
    for i in range(POINTS):
        logit = first + i * step
        value = 1.0 / (1.0 + math.exp(-logit))
        log_value = math.log(value)
        right = step * math.exp(a * log_value + b * (log_value - logit) - highest)
        rate = (a - (a + b) * value) * step
        slope = right * rate
        bend = right * (rate * rate - (a + b) * value * (1.0 - value) * step * step)
        if i > 0:
            rise = max(0.0, 0.5 * (left + right) + 0.1 * (left_slope - slope) + (left_bend + bend) * (1.0 / 120.0))
            _draw_curve(table, CURVES + CURVE * (i - 1), below, rise, left, right, 0.5 * left_slope, 0.5 * slope)
            below += rise
        table[VALUES + i] = value
        left, left_slope, left_bend = right, slope, bend
    scale = 1.0 / below
    for i in range(CURVES, TABLE):
        table[i] *= scale
    table[FIRST], table[STEP], table[PER_STEP] = first, step, 1.0 / step


@inlined
def _draw_curve(
    table: Numbers, at: int, below: float, rise: float, left: float, right: float, bend: float, other: float
) -> None:
    """Write the quintic between two points: the chance to lie below the first, how much it rises, the densities at
    both, and half of their slopes.
    """
    table[at], table[at + 1], table[at + 2] = below, left, bend
    table[at + 3] = 10.0 * rise - 6.0 * left - 4.0 * right - 3.0 * bend + other
    table[at + 4] = -15.0 * rise + 8.0 * left + 7.0 * right + 3.0 * bend - 2.0 * other
    table[at + 5] = 6.0 * rise - 3.0 * (left + right) - bend + other


@inlined
def density_at(table: Numbers, point: int) -> float:
    """The density per step at a point of the table other than the last."""
    return table[CURVES + CURVE * point + 1]


@inlined
def look_up(table: Numbers, logit: float) -> tuple[float, float]:
    """The chance to lie below a logit, and the density there. At the ends of the table and beyond there is none."""
    first, per_step = table[FIRST], table[PER_STEP]
    place = (logit - first) * per_step
    if not place > 0.0:
        return 0.0, 0.0
    if place >= LAST:
        return 1.0, 0.0
    point = int(place)
    x, at = place - point, CURVES + CURVE * point
    left, bend, c3, c4, c5 = table[at + 1], table[at + 2], table[at + 3], table[at + 4], table[at + 5]
    below = table[at] + x * (left + x * (bend + x * (c3 + x * (c4 + x * c5))))
    density = (left + x * (2.0 * bend + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))) * per_step
    # Where a law fades, the curve may swing a little below 0.
    return min(1.0, max(0.0, below)), max(0.0, density)
