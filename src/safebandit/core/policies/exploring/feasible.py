"""Which arms are feasible, with so many units (Katz-Samuels and Scott 2018): MD-APT and MD-UCBE.

An arm is feasible if its mean vector lies in a polyhedron. With d the distance of an arm's sample means to the boundary
of that, inside or outside, and N its units, the next unit goes to the arm of which it is least sure on which side it
lies: MD-APT takes the least sqrt(N) (d + tolerance), after APT (Locatelli et al. 2016); MD-UCBE the largest
sqrt(a / N) - d, after UCB-E (Audibert et al. 2010). Both promise an error that falls as exp(-c T / H) in the units T,
H = sum of d^-2 over the true distances: MD-APT knowing nothing, MD-UCBE with a = (25/36) (T - K) / H.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.core.arms import INDEX, RISKS, State, at, write, written
from safebandit.core.dispatch import inlined
from safebandit.core.policies.choice import first_unplayed, largest_written
from safebandit.core.policies.exploring.looking import (
    LOOKED,
    needs_of,
    read_not_negative,
    set_of,
    why_wanted,
    write_looks,
)
from safebandit.core.policies.interface import WAIT, Setup, decide
from safebandit.core.policies.words import Decision
from safebandit.errors import PolicyError

# MD-UCBE needs the hardness of a problem that nobody knows; every arm is supposed to be so far from the boundary.
SUPPOSED_DISTANCE = 0.1


class MdApt(NamedTuple):
    """The least sqrt(N) (distance to the boundary + tolerance): an arm that is nearer to it gets more units.

    Arms no further from the boundary than `tolerance` need not be told apart. The safe set is a text such as
    "risk1 + risk2 <= 0.5, reward >= 0.2"; without one every risk must be at most its alpha.
    """

    safe_set: Any = None
    tolerance: float = 0.0

    @property
    def needs(self) -> tuple[str, ...]:
        """What it needs of a design."""
        return needs_of(self.safe_set)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every arm."""
        return LOOKED

    def prepare(self, setup: Setup) -> MdApt:
        """The policy with its parameters checked, and its safe set."""
        return MdApt(set_of(self.safe_set, setup), read_not_negative("tolerance", self.tolerance))

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm, or why not."""
        return why_wanted(decision, arm, "least distance for its units, -index = sqrt(units) (distance + tolerance)")


class MdUcbe(NamedTuple):
    """The largest sqrt(explore / N) - distance to the boundary.

    `explore` should be (25/36) (T - K) / H for T units of K arms, H the sum of the inverse squares of the true
    distances. Unless it is given, every arm is supposed to be 0.1 off the boundary. The safe set is as in `MdApt`.
    """

    safe_set: Any = None
    explore: float | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """What it needs of a design."""
        return needs_of(self.safe_set)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every arm."""
        return LOOKED

    def prepare(self, setup: Setup) -> MdUcbe:
        """The policy with its parameters checked, its safe set, and how much it explores."""
        explore = self.explore
        if explore is None:
            if setup.units is None:
                raise PolicyError(
                    "md-ucbe needs the number of units, which are not planned; give explore=1, for example"
                )
            explore = exploration(setup.units, len(setup.arms), len(setup.arms) / SUPPOSED_DISTANCE**2)
        return MdUcbe(set_of(self.safe_set, setup), read_not_negative("explore", explore))

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm, or why not."""
        return why_wanted(decision, arm, "largest index, sqrt(explore / units) - distance")


def exploration(units: int, arms: int, hardness: float) -> float:
    """How much MD-UCBE should explore on a problem of this hardness.

    >>> exploration(1_004, 4, 500.0)
    1.3888888888888888
    """
    return 25 / 36 * max(units - arms, 0) / hardness


@inlined
def _first_or_largest(state: State) -> int:
    """An arm that was never given, or else the one of the largest index; WAIT where none may be given."""
    first = first_unplayed(state)
    k = first if first >= 0 else largest_written(state, INDEX)
    return k if k >= 0 else WAIT


@inlined
def _distance(state: State, k: int) -> float:
    """How far an arm's means are from the boundary; it is least sure of one of which nothing is known: as if on it."""
    away = written(state, k, RISKS + state.risks)
    return 0.0 if math.isnan(away) else abs(away)


@decide.register(MdApt)
def _decide_apt(policy: Any, state: State, t: int) -> tuple[int, bool]:
    write_looks(policy.safe_set, state)
    for k in range(state.size):
        if at(state.arms, k).available and at(state.arms, k).asked > 0:
            units = written(state, k, RISKS + state.risks + 1)
            write(state, k, INDEX, -math.sqrt(units) * (_distance(state, k) + policy.tolerance))
    return _first_or_largest(state), False


@decide.register(MdUcbe)
def _decide_ucbe(policy: Any, state: State, t: int) -> tuple[int, bool]:
    write_looks(policy.safe_set, state)
    for k in range(state.size):
        if at(state.arms, k).available and at(state.arms, k).asked > 0:
            units = max(written(state, k, RISKS + state.risks + 1), 1.0)
            write(state, k, INDEX, math.sqrt(policy.explore / units) - _distance(state, k))
    return _first_or_largest(state), False
