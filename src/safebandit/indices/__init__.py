"""Indices: optimistic numbers about one quantity of one arm. `interface` has the questions they answer."""

from safebandit.indices.bayes import BayesLower, BayesUpper, Schedule
from safebandit.indices.contest import best_of_any
from safebandit.indices.interface import (
    DESCRIPTIONS,
    Description,
    described,
    drawn,
    exceeds,
    learn,
    lower,
    permits,
    start,
    steady,
    upper,
    width,
)
from safebandit.indices.kl import KLLower, KLUpper, Level
from safebandit.indices.sampling import SampledRisk, Thompson

__all__ = [
    "DESCRIPTIONS", "BayesLower", "BayesUpper", "Description", "KLLower", "KLUpper", "Level", "SampledRisk", "Schedule",
    "Thompson", "best_of_any", "described", "drawn", "exceeds", "learn", "lower", "permits", "start", "steady", "upper",
    "width",
]  # fmt: skip
