"""mTPI and TPI (Ji et al. 2010 and 2007): the step whose interval of risks has the most posterior mass.

The posterior of the present dose's risk is Beta(prior + y, prior + n - y) after y harms of n units. Three intervals
stand for the steps: below the target (escalate), around it (stay), above it (de-escalate). mTPI divides the mass of
each by its length, and its middle interval is (target - epsilon1, target + epsilon2); TPI takes the mass as it is, and
its middle interval is (target - below s, target + above s), s the posterior's standard deviation. In both a dose for
which P(risk > target) > cutoff is out, with those above it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.core.arms import RISKS, Seen, State, quantity, write
from safebandit.core.bernoulli import beta_below
from safebandit.core.dispatch import inlined
from safebandit.core.policies.dose.ladder import (
    KNOWN,
    present_dose,
    read_positive,
    read_share,
    read_target,
    take_step,
    why_step,
    why_toxic,
    write_doses,
)
from safebandit.core.policies.interface import HOLD, Setup, decide
from safebandit.core.policies.words import Decision

MASSES = ("mass to escalate", "mass to stay", "mass to de-escalate")


class Mtpi(NamedTuple):
    """The step of the largest unit probability mass: that of its interval, divided by its length."""

    target: float | None = None
    epsilon1: float = 0.05
    epsilon2: float = 0.05
    cutoff: float = 0.95
    prior: float = 1.0

    @property
    def by_present_dose(self) -> bool:
        """That the next step follows from the present dose's counts, and from which doses are out."""
        return True

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every dose."""
        return (*KNOWN, *MASSES)

    def prepare(self, setup: Setup) -> Mtpi:
        """The policy with its parameters checked."""
        target = read_target("target", self.target, setup)
        return Mtpi(
            target,
            read_share("epsilon1", self.epsilon1, target),
            read_share("epsilon2", self.epsilon2, 1 - target),
            read_share("cutoff", self.cutoff),
            read_positive("prior", self.prior),
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this dose, or why not."""
        return why_step(decision, arm, _mass_words(decision, "unit probability mass"))

    def forbids(self, decision: Decision, arm: int) -> str:
        """Why a dose is not permissible."""
        return why_toxic(decision, arm, float(self.target or 0), self.cutoff)


class Tpi(NamedTuple):
    """The step of the largest posterior mass, the middle interval by standard deviations of the posterior."""

    target: float | None = None
    above: float = 1.0
    below: float = 1.5
    cutoff: float = 0.95
    prior: float = 0.005

    @property
    def by_present_dose(self) -> bool:
        """That the next step follows from the present dose's counts, and from which doses are out."""
        return True

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every dose."""
        return (*KNOWN, *MASSES)

    def prepare(self, setup: Setup) -> Tpi:
        """The policy with its parameters checked."""
        return Tpi(
            read_target("target", self.target, setup),
            read_positive("above", self.above),
            read_positive("below", self.below),
            read_share("cutoff", self.cutoff),
            read_positive("prior", self.prior),
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this dose, or why not."""
        return why_step(decision, arm, _mass_words(decision, "posterior mass"))

    def forbids(self, decision: Decision, arm: int) -> str:
        """Why a dose is not permissible."""
        return why_toxic(decision, arm, float(self.target or 0), self.cutoff)


def _mass_words(decision: Decision, what: str) -> str:
    present = present_dose(decision)
    up, stay, down = (decision.own[name][present] for name in MASSES)
    return f"{what} {up:.4g} to escalate, {stay:.4g} to stay, {down:.4g} to de-escalate"


@inlined
def unit_masses(policy: Any, risk: Seen) -> tuple[float, float, float]:
    """The unit probability masses of escalating, staying and de-escalating."""
    a, b = policy.prior + risk.ones, policy.prior + risk.plays - risk.ones
    low, high = policy.target - policy.epsilon1, policy.target + policy.epsilon2
    under, within = beta_below(a, b, low), beta_below(a, b, high)
    return under / low, (within - under) / (high - low), (1.0 - within) / (1.0 - high)


@inlined
def posterior_masses(policy: Any, risk: Seen) -> tuple[float, float, float]:
    """The posterior masses of escalating, staying and de-escalating."""
    a, b = policy.prior + risk.ones, policy.prior + risk.plays - risk.ones
    deviation = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1.0)))
    under = beta_below(a, b, policy.target - policy.below * deviation)
    within = beta_below(a, b, policy.target + policy.above * deviation)
    return under, within - under, 1.0 - within


@inlined
def _write_masses(state: State, k: int, masses: tuple[float, float, float]) -> None:
    own = RISKS + state.risks + len(KNOWN)
    for i in range(3):
        write(state, k, own + i, masses[i])


@inlined
def _next(state: State, doses: int, masses: tuple[float, float, float]) -> tuple[int, bool]:
    """The step of the largest mass; up to an open dose only. Equal masses are decided for the lower dose."""
    present, (up, stay, down) = state.course.last, masses
    wanted = present
    if quantity(state, present, 1).plays > 0:
        if down >= stay and down >= up:
            wanted = max(present - 1, 0)
        elif up > stay and present + 1 < doses:
            wanted = present + 1
    return take_step(state, wanted), False


@decide.register(Mtpi)
def _decide_mtpi(policy: Any, state: State, t: int) -> tuple[int, bool]:
    doses, present = write_doses(state, policy.target, policy.cutoff), state.course.last
    if state.watched:
        for k in range(state.size):
            _write_masses(state, k, unit_masses(policy, quantity(state, k, 1)))
    if doses == 0:
        return HOLD, True
    if present < 0 or present >= doses:
        return take_step(state, 0 if present < 0 else doses - 1), False
    return _next(state, doses, unit_masses(policy, quantity(state, present, 1)))


@decide.register(Tpi)
def _decide_tpi(policy: Any, state: State, t: int) -> tuple[int, bool]:
    doses, present = write_doses(state, policy.target, policy.cutoff), state.course.last
    if state.watched:
        for k in range(state.size):
            _write_masses(state, k, posterior_masses(policy, quantity(state, k, 1)))
    if doses == 0:
        return HOLD, True
    if present < 0 or present >= doses:
        return take_step(state, 0 if present < 0 else doses - 1), False
    return _next(state, doses, posterior_masses(policy, quantity(state, present, 1)))
