"""Which arms are feasible, with so many units, in phases (Katz-Samuels and Scott 2018): MD-SAR.

As in successive accepts and rejects (Bubeck et al. 2013), phase i of K - 1 ends when every arm that is left has
n_i = ceil((T - K) / (log_K (K + 1 - i))) units, log_K = 1/2 + 1/2 + 1/3 + ... + 1/K: then the arm whose sample means
are furthest from the boundary of the safe set is settled, and gets no more. All phases together have at most T units.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import INDEX, RISKS, Counts, Sizes, State, at, write, written
from safebandit.core.dispatch import apart, piece
from safebandit.core.naming import read_number
from safebandit.core.policies.exploring.looking import DISTANCE, LOOKED, needs_of, set_of, write_looks
from safebandit.core.policies.interface import DONE, WAIT, Setup, decide, learned
from safebandit.core.policies.words import Decision
from safebandit.core.safe_sets import SafeSet, signed_distance, write_means
from safebandit.errors import PolicyError

# Where the numbers that it keeps are: the phase, from 0, and then of every arm whether it is settled.
PHASE, SETTLED = 0, 1
# In the place of an arm that is settled next: not enough is known yet, or no arm is left.
UNKNOWN, NONE_LEFT = -1, -2


class MdSar(NamedTuple):
    """In phases, all arms that are left alike; after each the arm that is furthest from the boundary is settled.

    `units` are those planned unless given. It ends with the last phase, and asks for nothing but the safe set, which is
    as in `MdApt`.
    """

    safe_set: Any = None
    units: int | None = None
    ends: Any = None

    def sizes(self, arms: int, risks: int) -> Sizes:  # noqa: ARG002
        return Sizes(0, 0, SETTLED + arms)

    @property
    def needs(self) -> tuple[str, ...]:
        """What it needs of a design."""
        return needs_of(self.safe_set)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every arm."""
        return (*LOOKED, "settled")

    def prepare(self, setup: Setup) -> MdSar:
        """The policy with its safe set, and how many units every arm that is left has at the end of each phase."""
        given = setup.units if self.units is None else self.units
        if given is None:
            raise PolicyError("md-sar needs the number of units, which are not planned; give units=400, for example")
        units = int(read_number("units", given, int, PolicyError))
        if units < len(setup.arms):
            raise PolicyError(f"units of md-sar must be at least 1 for each of {len(setup.arms)} arms, got {units}")
        return MdSar(set_of(self.safe_set, setup), units, phase_ends(units, len(setup.arms)))

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm, or why not."""
        if arm == decision.k:
            return "of the arms that are not settled it has the fewest units"
        if decision.own["settled"][arm] == 1.0:
            return f"it is settled: its means lie {abs(decision.own[DISTANCE][arm]):.4g} from the boundary"
        return "another arm that is not settled has as few units, or fewer"


def phase_ends(units: int, arms: int) -> Counts:
    """How many units every arm that is left has at the end of each phase.

    >>> phase_ends(100, 4).tolist()
    [16, 21, 31]
    """
    steps = np.arange(1, max(arms, 2))
    logarithm = 0.5 + sum(1 / i for i in range(2, arms + 1))
    ends: Counts = np.maximum(1, np.ceil((units - arms) / (logarithm * (arms + 1 - steps)))).astype(np.int64)
    return ends


@learned.register(MdSar)
def _learned(policy: MdSar, state: State, k: int, j: int, value: float, bit: int) -> None:
    _end_phases(policy, state)


@piece
def _end_phases(policy: Any, state: State) -> None:
    """End every phase of which all is known now, and the last one where no arm is left to settle."""
    own, point = state.numbers.own, np.empty(1 + state.risks)
    while own[PHASE] < policy.ends.shape[0]:
        surest = _surest(policy.safe_set, state, policy.ends[int(own[PHASE])], point)
        if surest == UNKNOWN:
            break
        if surest == NONE_LEFT:
            own[PHASE] = policy.ends.shape[0]
            break
        own[SETTLED + surest] = 1.0
        own[PHASE] += 1.0


@apart
def _surest(safe_set: SafeSet, state: State, units: int, point: Any) -> int:
    """The arm furthest from the boundary of those neither settled nor dropped; UNKNOWN while one of them has fewer
    known units, NONE_LEFT where there is none.
    """
    surest, furthest = NONE_LEFT, -1.0
    for k in range(state.size):
        if state.numbers.own[SETTLED + k] == 0.0 and not at(state.arms, k).dropped:
            known, _ = write_means(safe_set, state, k, point)
            if known < units:
                return UNKNOWN
            away = abs(signed_distance(safe_set, point))
            if away > furthest:
                surest, furthest = k, away
    return surest


@decide.register(MdSar)
def _decide(policy: MdSar, state: State, t: int) -> tuple[int, bool]:
    write_looks(policy.safe_set, state)
    # A rule may have dropped the one arm that a phase waited for, with no outcome since.
    _end_phases(policy, state)
    own, column = state.numbers.own, RISKS + state.risks
    phase, fewest, best = int(own[PHASE]), math.inf, WAIT
    for k in range(state.size):
        settled, units = own[SETTLED + k], written(state, k, column + 1)
        write(state, k, column + 2, settled)
        if settled == 0.0 and phase < policy.ends.shape[0] and at(state.arms, k).available:
            write(state, k, INDEX, -units)
            if units < policy.ends[phase] and units < fewest:
                best, fewest = k, units
    return (DONE if phase >= policy.ends.shape[0] else best), False
