"""Dose-finding designs: who gets the next dose, where arms are doses in order; one file each.

Each is asked at the start of a cohort, and all that it needs are the counts and the present dose.
"""

from safebandit.core.policies.dose.boin import Boin
from safebandit.core.policies.dose.boin12 import Boin12
from safebandit.core.policies.dose.crm import Crm
from safebandit.core.policies.dose.mtpi import Mtpi, Tpi
from safebandit.core.policies.dose.thompson import DoseTs, RiskModel
from safebandit.core.policies.dose.three_plus_three import ThreePlusThree

__all__ = ["Boin", "Boin12", "Crm", "DoseTs", "Mtpi", "RiskModel", "ThreePlusThree", "Tpi"]
