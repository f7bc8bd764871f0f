"""Equal randomisation: every arm once in each block, in random order, whatever is seen; what others are held against.

It has no gate: no arm is ever excluded.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import CHANCE, INDEX, PERMISSIBLE, State, at, write
from safebandit.core.policies.choice import largest_written
from safebandit.core.policies.interface import WAIT, decide
from safebandit.core.policies.words import Decision


class EqualRandomisation(NamedTuple):
    """An arm drawn among those that were given out least often."""

    @property
    def exact_chances(self) -> bool:
        """That the chances which a decision writes are its exact law."""
        return True

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was drawn, or why not."""
        if arm == decision.k:
            return "drawn among the arms that were given out least often"
        if decision.probabilities[arm] > 0.0:
            return "another arm was drawn, given out as seldom"
        return "others were given out less often"


@decide.register(EqualRandomisation)
def _decide(policy: EqualRandomisation, state: State, t: int) -> tuple[int, bool]:
    fewest, ties = 0, 0
    for k in range(state.size):
        arm = at(state.arms, k)
        write(state, k, PERMISSIBLE, 1.0)
        write(state, k, INDEX, math.nan)
        write(state, k, CHANCE, 0.0)
        if arm.available:
            if ties == 0 or arm.asked < fewest:
                fewest, ties = arm.asked, 1
            elif arm.asked == fewest:
                ties += 1
    if ties == 0:
        return WAIT, False
    for k in range(state.size):
        arm = at(state.arms, k)
        if arm.available and arm.asked == fewest:
            write(state, k, CHANCE, 1.0 / ties)
    return largest_written(state, CHANCE), False
