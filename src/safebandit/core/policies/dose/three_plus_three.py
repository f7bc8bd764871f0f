"""3+3: three units at a dose, three more after one harm; two harms at a dose rule it out, with those above it.

After no harm of three, or one of six, the next dose is given. What is looked for is the highest dose that is
tolerated: the one below a dose that was ruled out, or the highest of all, after which the trial ends. With `deescalate`
a dose below one that was ruled out is given until six units of it are known. So read, the exact chances are those that
Wheeler et al. (2016) print; three more units of the highest dose of all, after no harm of three, would give others.
"""

from __future__ import annotations

from typing import NamedTuple

from safebandit.core.arms import RISKS, State, at, quantity, write
from safebandit.core.dispatch import both, inlined
from safebandit.core.naming import read_value
from safebandit.core.policies.dose.ladder import (
    PRESENT,
    RATE,
    check_one_risk,
    present_dose,
    take_step,
    why_step,
    write_counts,
)
from safebandit.core.policies.interface import DONE, HOLD, Setup, decide
from safebandit.core.policies.words import Decision
from safebandit.errors import PolicyError

# So many harms rule a dose out.
RULED_OUT = 2
FEW, MANY = 3, 6


class ThreePlusThree(NamedTuple):
    """The 3+3 design, for cohorts of three."""

    deescalate: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every dose."""
        return (PRESENT, RATE, "harms")

    @property
    def by_present_dose(self) -> bool:
        """That a step depends on what is known of the present dose alone, and on which doses are out."""
        return True

    def prepare(self, setup: Setup) -> ThreePlusThree:
        """The policy with its parameter checked."""
        check_one_risk(setup)
        return ThreePlusThree(bool(read_value("deescalate", self.deescalate, bool, PolicyError)))

    def why(self, decision: Decision, arm: int) -> str:
        """Why this dose, or why not."""
        present = present_dose(decision)
        harms, rate = decision.own["harms"][present], decision.own[RATE][present]
        units = f" of {round(harms / rate)} units" if rate > 0 else ""
        return why_step(decision, arm, f"{harms:g} {'harm' if harms == 1 else 'harms'}{units} there")

    def forbids(self, decision: Decision, arm: int) -> str:
        """Why a dose is not permissible."""
        harms = decision.own["harms"]
        for k in range(arm + 1):
            if harms[k] >= RULED_OUT:
                which = "it" if k == arm else f'"{decision.arms[k]}", below it,'
                return f"{which} had {harms[k]:g} harms"
        return "it, or a dose below it, was dropped"


@both
def next_dose(present: int, doses: int, size: int, plays: int, harms: int, highest: int, deescalate: bool) -> int:
    """The dose after the present one, or DONE.

    Of `size` doses the lowest `doses`, at least one, are not ruled out; of the present dose so many `plays` and `harms`
    are known, and of the highest that is not ruled out so many plays as `highest` says.
    """
    if present < doses:
        if plays < FEW or (plays < MANY and harms > 0):
            return present
        if present + 1 < doses:
            return present + 1
    return doses - 1 if deescalate and doses < size and highest < MANY else DONE


@both
def is_tolerated(plays: int, harms: int) -> bool:
    """Whether a dose was tolerated: no harm of three or more units, or at most one of six or more."""
    return plays >= FEW and harms * MANY <= plays


@inlined
def doses_not_ruled_out(state: State) -> int:
    """How many doses are not ruled out, and not above one that is."""
    for k in range(state.size):
        if quantity(state, k, 1).ones >= RULED_OUT or at(state.arms, k).dropped:
            return k
    return state.size


@decide.register(ThreePlusThree)
def _decide(policy: ThreePlusThree, state: State, t: int) -> tuple[int, bool]:
    doses, present = doses_not_ruled_out(state), state.course.last
    write_counts(state, doses)
    if state.watched:
        for k in range(state.size):
            write(state, k, RISKS + state.risks + 2, quantity(state, k, 1).ones)
    if doses == 0:
        return HOLD, True
    if present < 0:
        return take_step(state, 0), False
    risk = quantity(state, present, 1)
    plays, harms, highest = risk.plays, risk.ones, quantity(state, doses - 1, 1).plays
    wanted = next_dose(present, doses, state.size, plays, harms, highest, policy.deescalate)
    return (take_step(state, wanted) if wanted >= 0 else wanted), False
