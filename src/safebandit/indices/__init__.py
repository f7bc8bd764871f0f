"""Indices: optimistic numbers about one quantity of one arm. `interface` has the questions they answer."""

from safebandit.indices.bayes import BayesLower, BayesUpper, Schedule
from safebandit.indices.betting import BettingLower, BettingUpper
from safebandit.indices.contest import best_of_any
from safebandit.indices.empirical import EmpiricalLower, EmpiricalUpper
from safebandit.indices.hoeffding import HoeffdingLower, HoeffdingUpper
from safebandit.indices.imed import IMED
from safebandit.indices.interface import (
    DESCRIPTIONS,
    Description,
    charge,
    described,
    drawn,
    evidence,
    exceeds,
    learn,
    learn_together,
    lower,
    permits,
    start,
    steady,
    upper,
    width,
)
from safebandit.indices.joint import JointUpper
from safebandit.indices.joint_sampling import JointDirichlet, JointThompson
from safebandit.indices.kl import KLLower, KLUpper, Level
from safebandit.indices.sampling import SampledRisk, Thompson
from safebandit.indices.variance import VarianceLower, VarianceUpper

__all__ = [
    "DESCRIPTIONS", "IMED", "BayesLower", "BayesUpper", "BettingLower", "BettingUpper", "Description", "EmpiricalLower",
    "EmpiricalUpper", "HoeffdingLower", "HoeffdingUpper", "JointDirichlet", "JointThompson", "JointUpper", "KLLower",
    "KLUpper", "Level", "SampledRisk", "Schedule", "Thompson", "VarianceLower", "VarianceUpper", "best_of_any",
    "charge", "described", "drawn", "evidence", "exceeds", "learn", "learn_together", "lower", "permits", "start",
    "steady", "upper", "width",
]  # fmt: skip
