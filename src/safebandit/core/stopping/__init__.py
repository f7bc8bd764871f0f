"""Stopping: when a trial ends, and when an arm is dropped; small values like indices, one file for each kind."""

from safebandit.core.stopping.behind import Behind, BehindE
from safebandit.core.stopping.comparison import Equivalence, Inferiority, Superiority
from safebandit.core.stopping.counts import Enough, HarmShare, TooManyHarms
from safebandit.core.stopping.futility import ArmFutility, ArmFutilityE, Futility, FutilityE
from safebandit.core.stopping.harm import ArmHarm, ArmHarmE, Harm, HarmE
from safebandit.core.stopping.interface import measure
from safebandit.core.stopping.precision import Precision
from safebandit.core.stopping.superiority import SuperiorityE
from safebandit.core.stopping.words import Terms

__all__ = [
    "ArmFutility", "ArmFutilityE", "ArmHarm", "ArmHarmE", "Behind", "BehindE", "Enough", "Equivalence", "Futility",
    "FutilityE", "Harm", "HarmE", "HarmShare", "Inferiority", "Precision", "Superiority", "SuperiorityE", "Terms",
    "TooManyHarms", "measure",
]  # fmt: skip
