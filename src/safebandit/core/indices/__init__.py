"""Indices: optimistic numbers about one quantity of one arm. `interface` has the questions they answer."""

from safebandit.core.indices.bayes import BayesLower, BayesUpper, Schedule
from safebandit.core.indices.betting import BettingGate, BettingLower, BettingUpper
from safebandit.core.indices.empirical import EmpiricalLower, EmpiricalUpper
from safebandit.core.indices.fixed import MixtureGate, PosteriorGate
from safebandit.core.indices.hoeffding import HoeffdingLower, HoeffdingUpper
from safebandit.core.indices.imed import IMED
from safebandit.core.indices.interface import (
    DESCRIPTIONS,
    Description,
    described,
    evidence,
    learn,
    learn_together,
    lower,
    note_evidence,
    permits,
    start,
    steady,
    upper,
    width,
)
from safebandit.core.indices.joint import JointUpper
from safebandit.core.indices.joint_sampling import JointDirichlet, JointThompson
from safebandit.core.indices.kl import KLLower, KLUpper, KLUpperRisk, Level
from safebandit.core.indices.planned import (
    PlannedLower,
    PlannedUpper,
    RadiusLower,
    RadiusUpper,
    SlackUpper,
    SlackUpperRisk,
)
from safebandit.core.indices.sampling import PointMassRisk, SampledRisk, Thompson
from safebandit.core.indices.variance import VarianceLower, VarianceUpper

__all__ = [
    "DESCRIPTIONS", "IMED", "BayesLower", "BayesUpper", "BettingGate", "BettingLower", "BettingUpper", "Description",
    "EmpiricalLower", "EmpiricalUpper", "HoeffdingLower", "HoeffdingUpper", "JointDirichlet", "JointThompson",
    "JointUpper", "KLLower", "KLUpper", "KLUpperRisk", "Level", "MixtureGate", "PlannedLower", "PlannedUpper",
    "PointMassRisk", "PosteriorGate", "RadiusLower", "RadiusUpper", "SampledRisk", "Schedule", "SlackUpper",
    "SlackUpperRisk", "Thompson", "VarianceLower", "VarianceUpper", "described", "evidence", "learn",
    "learn_together", "lower", "note_evidence", "permits", "start", "steady", "upper", "width",
]  # fmt: skip
