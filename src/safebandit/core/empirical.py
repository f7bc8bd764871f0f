"""Empirical likelihood for a mean: how strongly outcomes in [0, 1] speak against "the mean is at most r".

Over laws on [0, 1], the least divergence from the outcomes' own law to one of mean at most r is
(Honda and Takemura 2010; Cappe, Garivier, Maillard, Munos and Stoltz 2013)

    K(r) = max over 0 <= u <= 1 of the mean of log(1 - u + u y / r).

Outcomes are kept as weights on the points 0, 1/bins, ..., 1: each is split between its two neighbours so that its mean
stays. The logarithm is concave, so splitting only lessens K: a bound by weights is never tighter than the bound by
the outcomes themselves, keeps their mean exactly, and with one bin it is the bound of KL-UCB.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from safebandit.core.dispatch import inlined, shared

Numbers: TypeAlias = NDArray[np.float64]

STEPS = 100
TINY = 1e-300
# exp(-700) is the smallest share that is told from 0.
LARGEST = 700.0


@inlined
def split_between(weights: Numbers, bins: int, y: float) -> None:
    """Add one outcome to the weights of the two points next to it, so that its mean stays."""
    place = y * bins
    j = min(int(place), bins - 1)
    weights[j] += 1.0 - (place - j)
    weights[j + 1] += place - j


@inlined
def _last(weights: Numbers, bins: int) -> int:
    """The highest point that has a weight."""
    j = bins
    while j > 0 and weights[j] <= 0.0:
        j -= 1
    return j


@inlined
def _first(weights: Numbers) -> int:
    """The lowest point that has a weight."""
    j = 0
    while weights[j] <= 0.0:
        j += 1
    return j


@inlined
def _squares(weights: Numbers, bins: int, first: int, last: int, mean: float) -> float:
    """The sum of squared distances to the mean."""
    squares = 0.0
    for j in range(first, last + 1):
        distance = j / bins - mean
        squares += weights[j] * distance * distance
    return squares


@inlined
def _slope(weights: Numbers, first: int, last: int, scale: float, u: float) -> tuple[float, float]:
    """The first derivative in u of the sum of log(1 - u + u y / r), and minus the second."""
    slope, curvature = 0.0, 0.0
    for j in range(first, last + 1):
        # Of bits, only the two ends have a weight.
        if weights[j] <= 0.0:
            continue
        d = j * scale - 1.0
        share = d / (1.0 + u * d)
        slope += weights[j] * share
        curvature += weights[j] * share * share
    return slope, curvature


@shared
def evidence_above(weights: Numbers, bins: int, plays: float, mean: float, r: float) -> float:
    """N K(r): the evidence against "the mean is at most r", in nats; 0 where the mean is not above r.

    A concave maximisation by Newton's method, held between bounds that close in on the maximum. Stopping early gives
    less evidence, never more.
    """
    if not mean > r:
        return 0.0
    if r <= TINY:
        return math.inf
    first, last = _first(weights), _last(weights, bins)
    scale = 1.0 / (bins * r)
    # The maximum lies right of the one for bits of the same mean, and near the guess where K is small.
    low = (mean - r) / (1.0 - r)
    guess = r * (mean - r) / (_squares(weights, bins, first, last, mean) / plays + (mean - r) ** 2)
    # u = 1 is a candidate only where no outcome is 0.
    high = 1.0 if first == 0 else 2.0
    u = max(low, min(guess, 0.5 * (1.0 + low)))
    for _ in range(STEPS):
        slope, curvature = _slope(weights, first, last, scale, u)
        low, high = (u, high) if slope > 0.0 else (low, u)
        after = min(1.0, u + slope / max(curvature, TINY))
        # What is left to gain after this step is about the square of what it gains.
        near = slope * slope <= 1e-9 * curvature
        if not low < after < high:
            after = u if near else 0.5 * (low + min(1.0, high))
        u = after
        if near or low >= min(1.0, high):
            break
    total = 0.0
    for j in range(first, last + 1):
        if weights[j] > 0.0:
            total += weights[j] * math.log(1.0 + u * (j * scale - 1.0))
    return max(0.0, total)


@inlined
def _within_reach(weights: Numbers, bins: int, plays: float, first: int, last: int, budget: float) -> float:
    """The bound where all weight has its place at e = 0 and the rest of the budget moves some to 0; else NaN."""
    if first == 0:
        return math.nan
    logs, inverses = 0.0, 0.0
    for j in range(first, last + 1):
        logs += weights[j] * math.log(j / bins)
        inverses += weights[j] * bins / j
    psi = logs / plays + math.log(inverses / plays)
    return math.exp(psi - budget) * plays / inverses if psi <= budget else math.nan


@inlined
def _psi(
    weights: Numbers, bins: int, plays: float, first: int, last: int, mean: float, z: float
) -> tuple[float, float, float]:
    """psi, its derivative in z, and the mean of the outcomes weighed by 1 / (e + y), where e = mean / (exp(z) - 1)."""
    away = math.exp(-z)
    scale = -math.expm1(-z) / (mean * bins)
    logs, inverses, weighted, slope, steep = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(first, last + 1):
        if weights[j] <= 0.0:
            continue
        a = away + scale * j
        share = weights[j] / a
        d = j / (bins * mean) - 1.0
        logs += weights[j] * math.log(a)
        inverses += share
        weighted += share * j
        slope += share * d
        steep += share / a * d
    psi = logs / plays + math.log(inverses / plays)
    return psi, away * (slope / plays - steep / inverses), weighted / (inverses * bins)


@shared
def empirical_lower(weights: Numbers, bins: int, plays: float, mean: float, budget: float) -> float:
    """min{ r <= mean : K(r) <= budget }, by the dual: no maximisation within a search.

    The law of mean r that is nearest to the outcomes weighs each by 1 / (e + y), and has the divergence
    psi(e) = mean log(e + y) + log mean 1 / (e + y). Where even psi(0) is within the budget, the rest of it moves weight
    to 0. With e = mean / (exp(z) - 1), psi grows with z like its square at first and like z itself later: Newton's
    method in z, held between bounds.
    """
    if mean <= 0.0 or budget <= 0.0:
        return max(0.0, mean)
    first, last = _first(weights), _last(weights, bins)
    bound = _within_reach(weights, bins, plays, first, last, budget)
    if bound >= 0.0:
        return max(TINY, bound)
    variance = _squares(weights, bins, first, last, mean) / plays
    low, high = 0.0, LARGEST
    z = min(LARGEST, mean * math.sqrt(2.0 * budget / max(variance, TINY)))
    for _ in range(STEPS):
        psi, slope, bound = _psi(weights, bins, plays, first, last, mean, z)
        excess = psi - budget
        if excess <= 0.0 and z >= LARGEST:
            return TINY
        low, high = (low, z) if excess > 0.0 else (z, high)
        after = z - excess / slope
        # K falls by 1 / (e + r) per unit of r there: so near, a step in r leaves an error of about its square.
        if abs(after - z) <= 1e-5 * z:
            bound += excess * (mean / math.expm1(z) + bound)
            break
        z = after if low < after < high else 0.5 * (low + high)
    return max(TINY, min(mean, bound))
