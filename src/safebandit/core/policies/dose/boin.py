"""BOIN, the Bayesian optimal interval design (Liu and Yuan 2015): escalate, stay or de-escalate by the rate of harms.

With y harms of n units at the present dose: escalate where y <= n lambda_e, de-escalate where y >= n lambda_d, else
stay; the boundaries are those of `ladder.optimal_boundaries` with 0.6 and 1.4 times the target. A dose for which
P(risk > target) > cutoff after three or more units is out, with those above it; the trial ends if the lowest is. This
is how the R package BOIN 2.7.2 decides, `enough` included.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.arms import Numbers, State, quantity
from safebandit.core.naming import read_value
from safebandit.core.policies.dose.ladder import (
    KNOWN,
    present_dose,
    read_boundaries,
    read_enough,
    read_share,
    read_target,
    take_step,
    why_step,
    why_toxic,
    write_doses,
)
from safebandit.core.policies.interface import DONE, HOLD, Setup, decide
from safebandit.core.policies.words import Decision
from safebandit.errors import PolicyError

# Above this 1.4 times the target is no longer a risk.
LARGEST_TARGET = 1 / 1.4


class Boin(NamedTuple):
    """One step up, none or one down, as the rate of harms at the present dose lies in an interval around the target.

    The target is alpha unless given. The design is done where `enough` units of the present dose are known and no step
    is taken: it stays, or the dose to which it would go is out or does not exist. `stay_at_one_of_three` stays after
    one harm of three whatever the boundaries, as the published tables for a target of 0.25 do.
    """

    target: float | None = None
    enough: int | None = None
    cutoff: float = 0.95
    stay_at_one_of_three: bool = False
    escalate_at: float | None = None
    deescalate_at: float | None = None

    @property
    def by_present_dose(self) -> bool:
        """That the next step follows from the present dose's counts, and from which doses are out."""
        return True

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every dose."""
        return KNOWN

    def prepare(self, setup: Setup) -> Boin:
        """The policy with its parameters checked, and its boundaries."""
        target = read_target("target", self.target, setup, LARGEST_TARGET)
        low, high = read_boundaries(target, self.escalate_at, self.deescalate_at)
        return Boin(
            target,
            read_enough(self.enough),
            read_share("cutoff", self.cutoff),
            bool(read_value("stay_at_one_of_three", self.stay_at_one_of_three, bool, PolicyError)),
            low,
            high,
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this dose, or why not."""
        return why_step(decision, arm, rate_words(self, decision))

    def forbids(self, decision: Decision, arm: int) -> str:
        """Why a dose is not permissible."""
        return why_toxic(decision, arm, float(self.target or 0.0), self.cutoff)


def rate_words(policy: Any, decision: Decision) -> str:
    """Where the rate of harms at the present dose lies."""
    rates: Numbers = decision.own["rate"]
    return (
        f"its rate of harms is {rates[present_dose(decision)]:.4g}, "
        f"escalate at {policy.escalate_at:.4g} or less, de-escalate at {policy.deescalate_at:.4g} or more"
    )


@decide.register(Boin)
def _decide(policy: Any, state: State, t: int) -> tuple[int, bool]:
    doses, present = write_doses(state, policy.target, policy.cutoff), state.course.last
    if doses == 0:
        return HOLD, True
    if present < 0:
        return take_step(state, 0), False
    if present >= doses:
        return take_step(state, doses - 1), False
    risk = quantity(state, present, 1)
    plays, ones = risk.plays, risk.ones
    wanted = present
    if plays > 0 and not (policy.stay_at_one_of_three and plays == 3 and ones == 1):
        if ones <= plays * policy.escalate_at and present + 1 < doses:
            wanted = present + 1
        elif ones >= plays * policy.deescalate_at and present > 0:
            wanted = present - 1
    if wanted == present and plays >= policy.enough:
        return DONE, False
    return take_step(state, wanted), False
