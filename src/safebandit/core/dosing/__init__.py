"""Doses within arms: systems that choose an arm and a dose of it, and answer which arm is best at a safe dose.

A system is a small value. Its `conduct` is a generator: it asks for so many units of one arm at one dose, is sent the
mean reward and the mean risk of those, and ends when it is sure. It knows nothing of the truth.
"""

from safebandit.core.dosing.interface import Ask, Doses, unit_count
from safebandit.core.dosing.safe_linear import SafeLinear
from safebandit.core.dosing.safe_monotonic import SafeMonotonic
from safebandit.core.dosing.uniform import UniformDoses

SYSTEMS = {"safe-linear": SafeLinear, "safe-monotonic": SafeMonotonic, "uniform": UniformDoses}

__all__ = ["SYSTEMS", "Ask", "Doses", "SafeLinear", "SafeMonotonic", "UniformDoses", "unit_count"]
