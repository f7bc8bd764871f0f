"""Selection: what a trial says when it has ended; small values like indices, one file for each kind."""

from safebandit.core.selection.best_safe import BestSafe
from safebandit.core.selection.crm import CrmDose
from safebandit.core.selection.dose_ts import TsDose
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.core.selection.nothing import Nothing
from safebandit.core.selection.probability import BestProbability
from safebandit.core.selection.three_plus_three import ThreePlusThreeDose
from safebandit.core.selection.tolerated import Isotonic, Utility
from safebandit.core.selection.top_feasible import TopFeasible

__all__ = [
    "NONE_SELECTED", "BestProbability", "BestSafe", "CrmDose", "Isotonic", "Nothing", "ThreePlusThreeDose",
    "TopFeasible", "TsDose", "Utility", "select",
]  # fmt: skip
