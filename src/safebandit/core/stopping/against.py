"""Rules that ask what speaks against each arm: stop where it speaks against all that are left, or drop one arm.

`against(rule, state, k)` is a compiled formula: how much speaks against arm k, from its own outcomes alone; a chance,
or an e-value. (It is passed only among parts, which are not kept on disk by themselves.)
"""

from __future__ import annotations

from typing import Any

from safebandit.core.arms import Numbers, State, at
from safebandit.core.dispatch import piece


@piece
def least_against(against: Any, rule: Any, state: State, highest: float, upwards: bool) -> float:
    """The least that speaks against any arm that is left, `highest` where none is.

    With `upwards` what speaks against an arm speaks against those above it.
    """
    least, below = highest, 0.0
    for k in range(state.size):
        here = against(rule, state, k)
        below = max(below, here) if upwards else here
        if not at(state.arms, k).dropped:
            least = min(least, below)
    return least


@piece
def write_against(against: Any, rule: Any, state: State, arm: int, upwards: bool, found: Numbers) -> None:
    """Write what speaks against every arm that is left, or against one alone; with `upwards`, those above it, too."""
    below = 0.0
    for k in range(state.size):
        here = against(rule, state, k) if arm < 0 or k == arm else 0.0
        below = max(below, here) if upwards else here
        if not at(state.arms, k).dropped and (arm < 0 or k == arm or below > 0.0):
            found[k] = below
