"""Definitions by SciPy alone, with nothing of the package's own arithmetic."""

from __future__ import annotations

from scipy import optimize, special


def divergence(p: float, q: float) -> float:
    """The Bernoulli divergence d(p||q)."""
    return float(special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q))


def divergence_root(p: float, budget: float, end: float) -> float:
    """Where d(p||q) comes to the budget on the way from p to an end, by bracketing; the end where it never does."""
    if p == end or divergence(p, end) <= budget:
        return end
    return float(optimize.brentq(lambda q: divergence(p, q) - budget, p, end, xtol=1e-15))
