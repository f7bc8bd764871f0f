"""Pure exploration: policies that ask which arms are feasible, or which feasible arm is best, whatever it costs.

An arm is feasible if its mean vector (reward and risks) lies in a safe set. None of them keeps a unit from an arm that
may be unsafe: that is what the paper argues about them, and what the paper's own policies do.
"""

from safebandit.core.policies.exploring.feasible import MdApt, MdUcbe
from safebandit.core.policies.exploring.phases import MdSar
from safebandit.core.policies.exploring.top_feasible import TfLucb

__all__ = ["MdApt", "MdSar", "MdUcbe", "TfLucb"]
