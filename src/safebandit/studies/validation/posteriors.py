"""Checks of tails, quantiles and comparisons of posteriors: by SciPy, by exact fractions and by closed forms."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import integrate, special, stats

from safebandit.core.bernoulli import beta_below, beta_quantile, binomial_tail, kl_lower, kl_upper
from safebandit.core.posteriors import chance_alike, chances_best
from safebandit.studies.validation.check import Check, Extent, Obtained
from safebandit.studies.validation.definitions import divergence_root

GROUP = "posteriors"
_COUNTS = tuple((float(n), float(s)) for n in (1, 3, 10, 36, 400, 50_000) for s in sorted({0, 1, n // 5, n // 2, n}))
_PLACES = (0.01, 0.2, 0.21, 0.5, 0.9)
# What the package promises of comparisons.
_CLOSE = 1e-6


def _quantiles(_: Extent) -> Obtained:
    worst = 0.0
    for n, s in _COUNTS:
        for level in (1e-4, 0.05, 0.5, 0.99):
            exact = float(special.betaincinv(s + 1, n - s + 1, level))
            worst = max(worst, abs(beta_quantile(s + 1, n - s + 1, level) - exact))
    return Obtained(worst)


def _tails(_: Extent) -> Obtained:
    differences = [
        abs(binomial_tail(s, n, p) - float(stats.binom.sf(s - 1, n, p))) for n, s in _COUNTS for p in _PLACES
    ]
    return Obtained(max(differences))


def _below(_: Extent) -> Obtained:
    differences = [
        abs(beta_below(s + 1, n - s + 1, x) - float(special.betainc(s + 1, n - s + 1, x)))
        for n, s in _COUNTS
        for x in _PLACES
    ]
    return Obtained(max(differences))


def _inverses(_: Extent) -> Obtained:
    worst = 0.0
    for p in (0.05, 0.21, 0.5, 0.93):
        for budget in (0.001, 0.05, 0.7, 3.0):
            worst = max(worst, abs(kl_upper(p, budget) - divergence_root(p, budget, 1.0)))
            worst = max(worst, abs(kl_lower(p, budget) - divergence_root(p, budget, 1e-300)))
    return Obtained(worst)


def _best_by_quadrature(_: Extent) -> Obtained:
    plays, ones = np.array([60.0, 45.0, 80.0, 5.0]), np.array([30.0, 24.0, 37.0, 1.0])
    laws = [stats.beta(s + 1, n - s + 1) for n, s in zip(plays, ones, strict=True)]
    found, worst = chances_best(plays, ones), 0.0
    for k, law in enumerate(laws):
        others = [each for j, each in enumerate(laws) if j != k]
        density = functools.partial(_density_of_largest, law, others)
        exact = integrate.quad(density, 0.0, 1.0, epsabs=1e-10, limit=200, points=[0.2, 0.4, 0.5, 0.6, 0.8])[0]
        worst = max(worst, abs(float(found[k]) - exact))
    return Obtained(worst)


def _density_of_largest(law: Any, others: list[Any], x: float) -> float:
    return float(law.pdf(x) * math.prod(each.cdf(x) for each in others))


def exactly_larger(one: tuple[int, int], other: tuple[int, int]) -> Fraction:
    """P(X > Y) of two posteriors from flat priors, of (units, ones) each, as a fraction.

    X is number s + 1 of n + 1 uniform numbers in order, and Y number r + 1 of m + 1 others; among all of them in order,
    every mixture of the two kinds is as likely.
    """
    (n, s), (m, r) = one, other
    below = sum(math.comb(s + i, i) * math.comb(n - s + m + 1 - i, m + 1 - i) for i in range(r + 1, m + 2))
    return Fraction(below, math.comb(n + m + 2, m + 1))


def _two_arms(_: Extent) -> Obtained:
    worst = 0.0
    for one, other in (((7, 3), (12, 4)), ((40, 40), (25, 0)), ((90, 31), (80, 33))):
        plays, ones = (np.array(pair, float) for pair in zip(one, other, strict=True))
        worst = max(worst, abs(float(chances_best(plays, ones)[0]) - float(exactly_larger(one, other))))
    return Obtained(worst)


def _alike(_: Extent) -> Obtained:
    worst = 0.0
    for count in (2, 5, 12):
        for d in (0.1, 0.5):
            closed = count * d ** (count - 1) - (count - 1) * d**count
            worst = max(worst, abs(chance_alike(np.zeros(count), np.zeros(count), d) - closed))
    return Obtained(worst)


def _off(name: str, source: str, compute: Callable[[Extent], Obtained], margin: float, how: str) -> Check:
    return Check(f"{name}: the largest difference", GROUP, source, 0.0, compute, how, margin)


_PROMISED = "what the package promises of comparisons of posteriors"
CHECKS = (
    _off("Beta quantiles", "SciPy, special.betaincinv", _quantiles, 1e-9, "digits that both promise: 9"),
    _off("binomial tails", "SciPy, stats.binom.sf", _tails, 1e-10, "digits that both promise: 10"),
    _off("chances below a limit", "SciPy, special.betainc", _below, 1e-10, "digits that both promise: 10"),
    _off("inverses of the divergence", "SciPy, optimize.brentq of the definition", _inverses, 1e-9,
         "the root by bracketing, to 9 digits"),
    _off("chance to be best of four arms", "SciPy, integrate.quad", _best_by_quadrature, _CLOSE, _PROMISED),
    _off("chance that one arm is better", "an exact sum of fractions", _two_arms, _CLOSE, _PROMISED),
    _off("chance that arms are alike, no data", "the range of uniform numbers, closed form", _alike, _CLOSE, _PROMISED),
)  # fmt: skip
