"""What a weighted mean of arms' outcomes was on average, point by point, from chances that were recorded.

At point t arms have coefficients c_t(k), known before; the arm W_t is drawn with the chances e_t(k), and gives Y_t in
[0, 1]. With predictions m_t(k) from what came before, and v = c / e,

    x_t = v_t(W_t) (Y_t - m_t(W_t)),  G_t = sum over k of c_t(k) m_t(k) + x_t,  E[G_t | past] = T_t = sum c_t(k) mu(k).

The aim is the mean of T_1, ..., T_n. It moves with n, so what holds at one time says nothing of another, and sequences
are not intersected. Predictions are held within 1/v of the end at which x_t would be least, so that x_t >= -1 however
large the weights are (Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro 2022). Then for every 0 <= l < 1

    exp(l * sum (G_t - T_t) - (-log(1 - l) - l) * sum x_t^2)

is a supermartingale (Howard, Ramdas, McAuliffe and Sekhon 2021, after Fan, Grama and Liu 2015), and so is a mixture
over l: the sum of G_t - T_t is ever above `margin` with a chance of at most 1 - confidence, over all n together.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Counts, Numbers

# The l of the mixture, and their weights: most on those that serve 10 to 10^4 points, the rest for ever smaller ones.
_RATES = 0.9 * 2.0 ** (-0.5 * np.arange(40))
_COSTS = -np.log1p(-_RATES) - _RATES
_FIRST = 12
_LOG_WEIGHTS = np.log(
    np.where(np.arange(40) < _FIRST, 0.9 / _FIRST, 0.0) + 0.1 / ((np.arange(40) + 1.0) * (np.arange(40) + 2.0))
)


class Points(NamedTuple):
    """Points in order: the arm that was drawn, its outcome (NaN: not known), and by arm (columns) chances of the draw
    and predictions of outcomes, both from what came before.
    """

    arm: Counts
    value: Numbers
    chances: Numbers
    predictions: Numbers


def margin(squares: float, confidence: float) -> float:
    """The largest s with sum of weights * exp(l s - cost(l) * squares) <= 1 / (1 - confidence).

    >>> round(margin(100.0, 0.975), 3)
    36.579
    """
    level = -math.log(1.0 - confidence)
    # One rate alone bounds s from above.
    low, high = 0.0, float(np.min((level - _LOG_WEIGHTS + _COSTS * squares) / _RATES))
    for _ in range(60):
        middle = 0.5 * (low + high)
        exponents = _LOG_WEIGHTS + _RATES * middle - _COSTS * squares
        top = float(exponents.max())
        if top + math.log(np.exp(exponents - top).sum()) <= level:
            low = middle
        else:
            high = middle
    return high


def estimate(points: Points, coefficients: Numbers) -> float:
    """The doubly robust estimate of the mean of T_t: that of G_t; what is not known is as predicted."""
    ratio, error = _ratios(points, coefficients), points.value - _of_drawn(points, points.predictions)
    centres = (coefficients * points.predictions).sum(axis=1)
    return float(np.mean(centres + _of_drawn(points, ratio) * np.nan_to_num(error)))


def bounds(points: Points, coefficients: Numbers, confidence: float) -> tuple[float, float]:
    """The ends between which the mean of T_t lies; both sides together err by 1 - confidence, over all n together.

    What is not known is, for each end, what moves it outwards.
    """
    half = 0.5 * (1.0 + confidence)
    return _lower(points, coefficients, half), -_lower(points, -coefficients, half)


def _lower(points: Points, coefficients: Numbers, confidence: float) -> float:
    ratio = _ratios(points, coefficients)
    with np.errstate(divide="ignore"):
        room = 1.0 / np.abs(ratio)
    held = np.where(ratio > 0.0, np.minimum(points.predictions, room), np.maximum(points.predictions, 1.0 - room))
    drawn = _of_drawn(points, ratio)
    value = np.where(np.isnan(points.value), np.where(drawn > 0.0, 0.0, 1.0), points.value)
    x = drawn * (value - _of_drawn(points, held))
    total = float((coefficients * held).sum() + x.sum())
    return (total - margin(float(x @ x), confidence)) / len(x)


def _ratios(points: Points, coefficients: Numbers) -> Numbers:
    """The ratio c / e; an arm that cannot be drawn has no coefficient."""
    ratio = np.zeros(coefficients.shape)
    np.divide(coefficients, points.chances, out=ratio, where=points.chances > 0.0)
    return ratio


def _of_drawn(points: Points, table: Numbers) -> Numbers:
    """Of each point, the number of the arm that was drawn."""
    return np.asarray(table[np.arange(len(points.arm)), points.arm], float)
