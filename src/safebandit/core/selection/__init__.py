"""Selection: what a trial says when it has ended; small values like indices, one file for each kind."""

from safebandit.core.selection.best_safe import BestSafe
from safebandit.core.selection.doses import Isotonic, Utility
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.core.selection.nothing import Nothing

__all__ = ["NONE_SELECTED", "BestSafe", "Isotonic", "Nothing", "Utility", "select"]
