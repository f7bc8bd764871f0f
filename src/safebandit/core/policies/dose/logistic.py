"""The posterior of a logistic model of risks with two parameters, on a grid that follows it as it narrows.

The risk of dose k is 1 / (1 + exp(-b0 - b1 u_k)), where b0 is normal with mean 0 and b1 is exponential with mean 1:
risks rise with the dose. Given b1 the logarithm of the density of b0 is concave: its peak is found by Newton's steps,
and cells of equal width lie around it. Such rows lie at values of b1 in equal steps of x, b1 = exp(x - exp(-x)), in
which the density falls off fast on both sides. A draw falls into a cell by its weight, and anywhere in it with the
same chance.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Numbers, State, quantity
from safebandit.core.dispatch import both, compiled
from safebandit.core.streams import Stream, uniform

# What is less than exp(-FALL) of the highest density is left out.
FALL = 20.0
LEAST_WEIGHT = math.exp(-FALL)
# Steps are so many standard deviations at most, and no wider than these in b0 and in x, where the model itself bends.
STEPS, WIDEST, COARSE = 0.5, 1.0, 0.2
# Between these x, b1 lies from a ten-billionth to a hundred.
LEAST_X, MOST_X = -3.0, 4.6
# A step of Newton's that no longer matters, beside the width of the density.
NO_STEP = 1e-6
# What a row of the grid is: b1, the peak of b0, the logarithm of the density there, the width of a cell, the lowest and
# the highest cell as counted from the peak, the sum of the weights of its cells where the peak has 1, and its weight.
SLOPE, PEAK, TOP, WIDTH, LOWEST, HIGHEST, CELLS, WEIGHT = range(8)


class Outcomes(NamedTuple):
    """What the model is given: of every dose its u, its known units and its harms; and the prior variance of b0."""

    u: Numbers
    plays: Numbers
    ones: Numbers
    variance: float


@compiled
def outcomes_of(state: State, first: int, variance: float) -> Outcomes:
    """What is known of every dose; u of the doses lie among the policy's own numbers, from `first` on."""
    u, plays, ones = np.empty(state.size), np.empty(state.size), np.empty(state.size)
    for k in range(state.size):
        risk = quantity(state, k, 1)
        u[k], plays[k], ones[k] = state.numbers.own[first + k], risk.plays, risk.ones
    return Outcomes(u, plays, ones, variance)


@both
def slope_at(x: float) -> float:
    """The slope b1 of the model at a place x of the grid."""
    return math.exp(x - math.exp(-x))


@compiled
def log_density(known: Outcomes, b0: float, b1: float) -> tuple[float, float, float]:
    """The logarithm of the density of b0 given b1, but for a constant, and its first two derivatives in b0."""
    value, slope, bend = -b0 * b0 / (2.0 * known.variance), -b0 / known.variance, -1.0 / known.variance
    for k in range(known.u.size):
        plays = known.plays[k]
        if plays > 0.0:
            logit = b0 + b1 * known.u[k]
            # log p and log(1 - p), neither of which loses its last digits at the ends.
            log_p = -math.log1p(math.exp(-logit)) if logit > -30.0 else logit
            p = math.exp(log_p)
            value += plays * log_p - (plays - known.ones[k]) * logit
            slope += known.ones[k] - plays * p
            bend -= plays * p * (1.0 - p)
    return value, slope, bend


@compiled
def _peak(known: Outcomes, b1: float, start: float) -> tuple[float, float, float]:
    """Where the density of b0 is highest, the logarithm of it there, and its second derivative."""
    peak = start
    top, slope, bend = log_density(known, peak, b1)
    for _ in range(100):
        step = -slope / bend
        value, slope_there, bend_there = log_density(known, peak + step, b1)
        while value < top and abs(step) > NO_STEP:
            step /= 2.0
            value, slope_there, bend_there = log_density(known, peak + step, b1)
        if abs(step) <= NO_STEP:
            break
        peak, top, slope, bend = peak + step, value, slope_there, bend_there
    return peak, top, bend


@compiled
def _rows_needed(known: Outcomes) -> tuple[float, float, float]:
    """The x of the first row, the step to the next, and the x that none is above.

    By Laplace's approximation at coarse steps: where the density of x is more than exp(-FALL) of the highest.
    """
    count = int((MOST_X - LEAST_X) / COARSE) + 1
    heights, peak = np.empty(count), 0.0
    for i in range(count):
        x = LEAST_X + i * COARSE
        b1 = slope_at(x)
        peak, top, bend = _peak(known, b1, peak)
        heights[i] = top - b1 - 0.5 * math.log(-bend) + math.log(b1 * (1.0 + math.exp(-x)))
    best = min(max(int(np.argmax(heights)), 1), count - 2)
    low = high = best
    while low > 0 and heights[low] > heights[best] - FALL:
        low -= 1
    while high < count - 1 and heights[high] > heights[best] - FALL:
        high += 1
    fall = 2.0 * heights[best] - heights[best - 1] - heights[best + 1]
    step = COARSE * min(1.0, STEPS / math.sqrt(max(fall, 1e-12)))
    return LEAST_X + low * COARSE, step, LEAST_X + high * COARSE


@compiled
def grid_of(known: Outcomes) -> Numbers:
    """The rows of the grid, with their weights."""
    first, step, last = _rows_needed(known)
    rows = np.empty((int((last - first) / step) + 1, WEIGHT + 1))
    highest, peak = -math.inf, 0.0
    for i in range(rows.shape[0]):
        x, row = first + i * step, rows[i]
        b1 = slope_at(x)
        peak, top, bend = _peak(known, b1, peak)
        row[SLOPE], row[PEAK], row[TOP], row[WIDTH] = b1, peak, top, min(WIDEST, STEPS / math.sqrt(-bend))
        _count_cells(known, row)
        row[WEIGHT] = top - b1 + math.log(b1 * (1.0 + math.exp(-x)) * row[WIDTH] * row[CELLS])
        highest = max(highest, row[WEIGHT])
    # One by one: Numba takes half a second to compile what could go wrong with whole columns.
    for i in range(rows.shape[0]):
        rows[i, WEIGHT] = math.exp(rows[i, WEIGHT] - highest)
    return rows


@compiled
def _count_cells(known: Outcomes, row: Numbers) -> None:
    """Find how far the cells of a row reach, and the sum of their weights."""
    row[CELLS] = 1.0
    for end, sign in ((LOWEST, -1), (HIGHEST, 1)):
        cells = 0
        weight = _cell(known, row, sign)
        while weight > LEAST_WEIGHT:
            row[CELLS] += weight
            cells += 1
            weight = _cell(known, row, sign * (cells + 1))
        row[end] = sign * cells


@compiled
def _cell(known: Outcomes, row: Numbers, i: int) -> float:
    """The weight of the cell i places above the peak of its row, which has 1."""
    return math.exp(log_density(known, row[PEAK] + i * row[WIDTH], row[SLOPE])[0] - row[TOP])


@compiled
def sum_up(known: Outcomes, rows: Numbers, target: float, chances: Numbers, means: Numbers) -> None:
    """The chance that the risk of each dose is above the target, and its posterior mean; of no means where there is
    no place for them.
    """
    chances[:], means[:] = 0.0, 0.0
    bar = math.log(target / (1.0 - target))
    for r in range(rows.shape[0]):
        row = rows[r]
        for i in range(int(row[LOWEST]), int(row[HIGHEST]) + 1):
            weight, b0 = row[WEIGHT] / row[CELLS] * _cell(known, row, i), row[PEAK] + i * row[WIDTH]
            for k in range(chances.size):
                part = (b0 + row[SLOPE] * known.u[k] - bar) / row[WIDTH] + 0.5
                chances[k] += weight * min(max(part, 0.0), 1.0)
            for k in range(means.size):
                means[k] += weight / (1.0 + math.exp(-b0 - row[SLOPE] * known.u[k]))
    total = rows[:, WEIGHT].sum()
    chances /= total
    means /= total


@compiled
def draw(known: Outcomes, rows: Numbers, stream: Stream) -> tuple[float, float]:
    """A draw of b0 and b1 from the posterior."""
    left, r = uniform(stream) * rows[:, WEIGHT].sum(), 0
    while r < rows.shape[0] - 1 and left >= rows[r, WEIGHT]:
        left -= rows[r, WEIGHT]
        r += 1
    row = rows[r]
    left, i = uniform(stream) * row[CELLS], int(row[LOWEST])
    while i < int(row[HIGHEST]) and left >= _cell(known, row, i):
        left -= _cell(known, row, i)
        i += 1
    return row[PEAK] + (i + uniform(stream) - 0.5) * row[WIDTH], row[SLOPE]
