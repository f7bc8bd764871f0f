"""Checks of the theory's bounds: the paper's constants, and every slope by the sums of its theorems."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from safebandit.problems import Instance, instance_by_name
from safebandit.problems.theory import bounds_of
from safebandit.studies.validation import numbers
from safebandit.studies.validation.check import Check, Extent, Obtained
from safebandit.studies.validation.definitions import divergence

GROUP = "bounds"


def _slope(alpha: float, name: str) -> Callable[[Extent], Obtained]:
    return lambda _: Obtained(getattr(bounds_of(instance_by_name("drug-trial", alpha)), name))


def _sums(_: Extent) -> Obtained:
    """The largest relative difference of six slopes from the theorems' sums, on eight instances of six arms."""
    worst = 0.0
    for seed in range(8):
        mu, nu = np.random.default_rng(seed).uniform(0.05, 0.95, (2, 6))
        alpha = float(np.sort(nu)[2]) + 1e-3
        best, sums = max(m for m, n in zip(mu, nu, strict=True) if n <= alpha), np.zeros(6)
        for m, n in zip(mu, nu, strict=True):
            reward = divergence(m, best) if m < best else 0.0
            risk = divergence(n, alpha) if n > alpha else 0.0
            cost = max(best - m, n - alpha, 0.0)
            if cost > 0:
                rates = np.array([1 / max(reward, risk), 1 / max(reward, risk * 2 / 3), 1 / (reward + risk)])
                sums += np.concatenate([cost * rates, rates * (n > alpha)])
        bounds = bounds_of(Instance.bernoulli(mu, nu, alpha))
        names = [f"{whose}{what}_slope" for what in ("regret", "unsafe") for whose in ("", "tsbu_", "lower_")]
        found = np.array([getattr(bounds, name) for name in names])
        worst = max(worst, float(np.abs(found / sums - 1.0).max()))
    return Obtained(worst)


def _checks() -> Iterator[Check]:
    printed = "the paper, section 6.2 (137 log t and 81 log t), and an independent computation"
    for alpha, slopes in numbers.SLOPES.items():
        source = printed if alpha == 0.21 else "an independent computation; the paper says roughly 40 and 1,500"
        for what, slope in zip(("regret", "unsafe"), slopes, strict=True):
            name = f"drug trial, alpha {alpha:g}: {what.replace('unsafe', 'unsafe plays')} per log t, Theorem 1"
            yield Check(
                name,
                GROUP,
                source,
                slope,
                _slope(alpha, f"{what}_slope"),
                "half of the last printed digit",
                numbers.SLOPE_DIGITS[alpha] / 2,
            )
    for alpha, slopes in numbers.TSBU_SLOPES.items():
        for what, slope, margin in zip(("regret", "unsafe"), slopes, (0.05, 0.5), strict=True):
            name = f"drug trial, alpha {alpha:g}: {what.replace('unsafe', 'unsafe plays')} per log t, Theorem 4"
            yield Check(
                name,
                GROUP,
                "an independent computation; the paper says roughly 40 and 1,500",
                slope,
                _slope(alpha, f"tsbu_{what}_slope"),
                "half of the last printed digit",
                margin,
            )
    yield Check(
        "slopes of three theorems: the largest relative difference",
        GROUP,
        "the theorems' sums by SciPy, on eight instances",
        0.0,
        _sums,
        "digits that both promise: 9",
        1e-9,
    )


CHECKS = tuple(_checks())
