"""The places where the laws of all arms meet, and what is there of each, of all together, and of all but one.

`beliefs` has what is computed by it. Laws are tables on logits (see `beta_tables`); the common grid steps as finely as
the narrowest law does there, so that steps differ, and integrals are trapezoids corrected by slopes:

    integral of f  ~  sum over places of  HALF * f + LIFT * slope of f

The lines of a grid, a number for every place. Of all arms:

    LOGIT, VALUE    the logit z of a place, and its value x = 1 / (1 + exp(-z))
    WAY             how far it is to the next value
    HALF, LIFT      the weights of a function and of its slope there: (left + right) / 2 and (right^2 - left^2) / 12,
                    where left and right are the steps on either side
    EVERYONE        the product of F over all arms, F_k(x) = 1 - P_k (1 - G_k(x)) as in `beliefs`
    RATE            the slope of its logarithm

Of all arms but one, M the largest reward of the safe ones among them:

    OTHERS, SLOPE           the product of F, and its slope
    AHEAD_RATE, AHEAD_BEND  P(M > x) on logits, and its slope
    AHEAD                   E(M - x)_+
    LINE, SQUARE, CUBIC     the coefficients of its curve to the next place, in ways

Of one arm:

    BELOW, DENSITY  the chance of its reward to lie below, and the density
    INVERSE         1 / F
    OWN_RATE        the slope of log F
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safebandit.core.arm_beliefs import LEAST, MEANS, SAFE, N
from safebandit.core.arms import Numbers
from safebandit.core.beta_tables import FIRST, LAST, POINTS, STEP, look_up
from safebandit.core.dispatch import apart

# The widest step of the common grid.
WIDEST = 0.6
LOGIT, VALUE, WAY, HALF, LIFT, EVERYONE, RATE = 0, 1, 2, 3, 4, 5, 6
OTHERS, SLOPE, AHEAD_RATE, AHEAD_BEND, AHEAD, LINE, SQUARE, CUBIC = 7, 8, 9, 10, 11, 12, 13, 14
LINES = 15
BELOW, DENSITY, INVERSE, OWN_RATE = 0, 1, 2, 3
OWN_LINES = 4


class Grid(NamedTuple):
    """The lines of all arms, or of all but one, and those of each arm (`own`); and by place (rows) the means of every
    arm's reward and risks, one arm after the other, given that the arm is not better than the place.

    The slope of a mean is its rate, the slope of log F, times its turn: how far the mean is from that of an arm that is
    just not better.
    """

    lines: Numbers
    own: Numbers
    means: Numbers
    rates: Numbers
    turns: Numbers


@apart
def common_grid(rows: Numbers) -> Numbers:
    """Logits from the least to the greatest of all tables, each step as fine as the finest table there."""
    logit, last, size = math.inf, -math.inf, 0
    for k in range(rows.shape[0]):
        logit = min(logit, rows[k, FIRST])
        last = max(last, rows[k, FIRST] + (POINTS - 1) * rows[k, STEP])
    places = np.empty(rows.shape[0] * (POINTS + 1) + int((last - logit) / WIDEST) + 2)
    while logit < math.inf:
        places[size] = logit
        size += 1
        after = math.inf
        for k in range(rows.shape[0]):
            first, step = rows[k, FIRST], rows[k, STEP]
            if first > logit:
                after = min(after, first)
            elif logit < first + LAST * step:
                after = min(after, logit + min(step, WIDEST))
        logit = after
    return places[:size]


@apart
def meet_laws(rows: Numbers, logit: Numbers, risks: int) -> Grid:
    """The grid with what is there of all arms. Loops are apart, so that a processor takes several places at once."""
    size, arms, quantities = logit.size, rows.shape[0], 1 + risks
    lines, own = np.empty((LINES, size)), np.empty((OWN_LINES, arms, size))
    shape = (size, arms * quantities)
    means, rates, turns = np.empty(shape), np.empty(shape), np.empty(shape)
    for i in range(size):
        x = 1.0 / (1.0 + math.exp(-logit[i]))
        left = logit[i] - logit[i - 1] if i > 0 else 0.0
        right = logit[i + 1] - logit[i] if i < size - 1 else 0.0
        lines[LOGIT, i], lines[VALUE, i] = logit[i], x
        # Where steps differ, slopes correct the trapezoid rule.
        lines[HALF, i], lines[LIFT, i] = 0.5 * (left + right), (right * right - left * left) / 12.0
        lines[EVERYONE, i], lines[RATE, i] = 1.0, 0.0
    for i in range(size - 1):
        lines[WAY, i] = lines[VALUE, i + 1] - lines[VALUE, i]
    for k in range(arms):
        row, column, safe = rows[k], k * quantities, rows[k, SAFE]
        for i in range(size):
            own[BELOW, k, i], own[DENSITY, k, i] = look_up(row, logit[i])
        for i in range(size):
            not_better = max(1.0 - safe * (1.0 - own[BELOW, k, i]), LEAST)
            inverse = 1.0 / not_better
            rate = safe * own[DENSITY, k, i] * inverse
            own[INVERSE, k, i], own[OWN_RATE, k, i] = inverse, rate
            lines[EVERYONE, i] *= not_better
            lines[RATE, i] += rate
        for i in range(size):
            rate = own[OWN_RATE, k, i]
            # E[X ; X <= x] of X ~ Beta is mean * P(X <= x) less the density on logits over a + b. A mean turns to what
            # an arm is that is just not better.
            mean = row[MEANS] - rate / row[N]
            means[i, column], rates[i, column], turns[i, column] = mean, rate, lines[VALUE, i] - mean
            for j in range(1, quantities):
                if_safe = row[MEANS + risks + j]
                mean = (row[MEANS + j] - if_safe + own[BELOW, k, i] * if_safe) * own[INVERSE, k, i]
                means[i, column + j], rates[i, column + j] = mean, rate
                turns[i, column + j] = if_safe / max(safe, LEAST) - mean
    return Grid(lines, own, means, rates, turns)


@apart
def leave_out(k: int, grid: Grid) -> None:
    """Write the lines of all arms but arm k."""
    lines, own, last = grid.lines, grid.own, grid.lines.shape[1] - 1
    for i in range(last + 1):
        x = lines[VALUE, i]
        others, width = lines[EVERYONE, i] * own[INVERSE, k, i], x * (1.0 - x)
        slope = others * (lines[RATE, i] - own[OWN_RATE, k, i])
        rate = (1.0 - others) * width
        lines[OTHERS, i], lines[SLOPE, i], lines[AHEAD_RATE, i] = others, slope, rate
        lines[AHEAD_BEND, i] = rate * (1.0 - 2.0 * x) - slope * width
    # E(M - x)_+ is the integral of P(M > z) over z above x: trapezoids with their correction by slopes.
    lines[AHEAD, last] = 0.0
    for i in range(last - 1, -1, -1):
        step = lines[LOGIT, i + 1] - lines[LOGIT, i]
        bend = step * step / 12.0 * (lines[AHEAD_BEND, i] - lines[AHEAD_BEND, i + 1])
        lines[AHEAD, i] = lines[AHEAD, i + 1] + 0.5 * step * (lines[AHEAD_RATE, i] + lines[AHEAD_RATE, i + 1]) + bend
    # Between places it is the cubic that has its values and slopes at both.
    for i in range(last):
        left, right = (lines[OTHERS, i] - 1.0) * lines[WAY, i], (lines[OTHERS, i + 1] - 1.0) * lines[WAY, i]
        rise = lines[AHEAD, i + 1] - lines[AHEAD, i]
        lines[LINE, i], lines[SQUARE, i] = left, 3.0 * rise - 2.0 * left - right
        lines[CUBIC, i] = left + right - 2.0 * rise
