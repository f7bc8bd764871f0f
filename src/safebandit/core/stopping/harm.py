"""Harm: stop where every arm is too risky, and drop an arm that is; by posterior chances, or by evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from safebandit.core.arms import Numbers, State, quantity
from safebandit.core.chances import chance_safe, known_risks
from safebandit.core.dispatch import inlined, piece
from safebandit.core.e_values import log_wealth_above
from safebandit.core.indices.interface import described
from safebandit.core.stopping.against import least_against, write_against
from safebandit.core.stopping.interface import measure
from safebandit.core.stopping.words import (
    EVERY_ARM,
    arm_of,
    chance,
    each_reached,
    number,
    prior,
    too_risky,
    units,
    whom,
)

EVIDENCE = "likelihood of the outcomes mixed over all risks above the limit, over that at the limit; mean over risks"
UPWARDS = "; what speaks against an arm speaks against those above it"
POSITIVE = ("prior_a", "prior_b")


@described(
    "reached where P(a risk > its alpha) >= confidence for every arm that is left, each with N >= least",
    "of one arm alone the stopping rule of BOIN (Liu and Yuan 2015)",
    positive=POSITIVE,
    not_negative=("least",),
    between=("confidence",),
)
class Harm(NamedTuple):
    """Stop where every arm that is left is too risky with a chance of at least `confidence`.

    An arm counts once `least` of its risks are known. Where exclusion goes upwards, so does the chance: the lowest
    arm then speaks for all.
    """

    confidence: float = 0.95
    least: int = 3
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def by_harms(self) -> bool:
        return True

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "chance that every arm is too risky"

    @property
    def level(self) -> float:
        return self.confidence

    def says(self, design: Any) -> str:
        return (
            f"The trial stops once every arm has a chance of at least {number(self.confidence)} that "
            f"{too_risky(design)}, after at least {units(self.least, 'known unit')} of it "
            f"({prior(self.prior_a, self.prior_b)}{_upwards(design)})."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:  # noqa: ARG002
        return f"every arm is too risky with a chance of at least {chance(found[0])} ({number(self.confidence)} stops)"


@described(
    "an arm is dropped where P(a risk > its alpha) >= confidence, once N >= least",
    "the exclusion of BOIN (Liu and Yuan 2015) and of most dose-finding designs",
    positive=POSITIVE,
    not_negative=("least",),
    between=("confidence",),
)
class ArmHarm(NamedTuple):
    """Drop an arm, or the one named, that is too risky with a chance of at least `confidence`, after `least` units."""

    confidence: float = 0.95
    least: int = 3
    arm: Any = EVERY_ARM
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def by_harms(self) -> bool:
        return True

    @property
    def drops(self) -> bool:
        return True

    @property
    def measure_word(self) -> str:
        return "chance that the arm is too risky"

    @property
    def level(self) -> float:
        return self.confidence

    def completed(self, design: Any) -> ArmHarm:
        return self._replace(arm=arm_of(self, design))

    def says(self, design: Any) -> str:
        return (
            f"{whom(self, design)} is dropped once it has a chance of at least {number(self.confidence)} that "
            f"{too_risky(design)}, after at least {units(self.least, 'known unit')} of it "
            f"({prior(self.prior_a, self.prior_b)}{_upwards(design)})."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        return each_reached(
            found,
            self.level,
            arms,
            f"{{arm}} is too risky with a chance of {{value}} ({number(self.level)} drops an arm)",
            chance,
        )


@described(
    "reached where E >= 1/delta for every arm that is left; E = P(Beta(S+a, N-S+b) > alpha) / P(Beta(a, b) > alpha) "
    "B(S+a, N-S+b) / (B(a, b) alpha^S (1-alpha)^(N-S)), mean over risks",
    "Robbins 1970, mixture of likelihood ratios; a = prior_a, b = prior_b",
    positive=POSITIVE,
    between=("delta",),
)
class HarmE(NamedTuple):
    """Stop where the evidence that it is too risky is 1/`delta` for every arm that is left; at any looks.

    An arm that is safe ever has that much evidence of its own against it with a chance of at most `delta`.
    """

    delta: float = 0.05
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def by_harms(self) -> bool:
        return True

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "evidence that every arm is too risky"

    @property
    def level(self) -> float:
        return 1.0 / self.delta

    def says(self, design: Any) -> str:
        return (
            f"The trial stops once the evidence that {too_risky(design)} is at least {number(self.level)} for every "
            f"arm ({EVIDENCE}; {prior(self.prior_a, self.prior_b)}{_upwards(design)}). {_promise(self)}"
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:  # noqa: ARG002
        shown = f"at least {number(found[0])} for every arm ({number(self.level)} stops)"
        return f"the evidence that an arm is too risky is {shown}"


@described(
    "an arm is dropped where E >= 1/delta, with E as in HarmE",
    "Robbins 1970, mixture of likelihood ratios; a = prior_a, b = prior_b",
    positive=POSITIVE,
    between=("delta",),
)
class ArmHarmE(NamedTuple):
    """Drop an arm, or the one named, once the evidence that it is too risky is 1/`delta`; at any looks.

    An arm that is safe is ever dropped for its own outcomes with a chance of at most `delta`.
    """

    delta: float = 0.05
    arm: Any = EVERY_ARM
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def by_harms(self) -> bool:
        return True

    @property
    def drops(self) -> bool:
        return True

    @property
    def measure_word(self) -> str:
        return "evidence that the arm is too risky"

    @property
    def level(self) -> float:
        return 1.0 / self.delta

    def completed(self, design: Any) -> ArmHarmE:
        return self._replace(arm=arm_of(self, design))

    def says(self, design: Any) -> str:
        return (
            f"{whom(self, design)} is dropped once the evidence that {too_risky(design)} is at least "
            f"{number(self.level)} ({EVIDENCE}; {prior(self.prior_a, self.prior_b)}{_upwards(design)}). "
            f"{_promise(self)}"
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        return each_reached(
            found,
            self.level,
            arms,
            f"the evidence that {{arm}} is too risky is {{value}} ({number(self.level)} drops an arm)",
            number,
        )


def _promise(rule: Any) -> str:
    return (
        f"However often the data are looked at, the outcomes of an arm that is safe are ever so much evidence against "
        f"it with a chance of at most {number(rule.delta)}."
    )


def _upwards(design: Any) -> str:
    return UPWARDS if design.upwards else ""


@piece
def chance_too_risky(rule: Harm | ArmHarm, state: State, k: int) -> float:
    if known_risks(state, k) < rule.least:
        return 0.0
    return 1.0 - chance_safe(state, k, rule.prior_a, rule.prior_b)


@inlined
def risk_evidence(state: State, k: int, a: float, b: float) -> float:
    """The mean over the risks of arm k of e-processes against "it is at most its limit": one, too, if all are."""
    total = 0.0
    for j in range(1, 1 + state.risks):
        risk = quantity(state, k, j)
        total += math.exp(log_wealth_above(risk.ones, risk.plays, risk.limit, a, b))
    return total / state.risks


@piece
def evidence_too_risky(rule: HarmE | ArmHarmE, state: State, k: int) -> float:
    return risk_evidence(state, k, rule.prior_a, rule.prior_b)


@measure.register(Harm)
def measure_harm(rule: Harm, state: State, found: Numbers) -> None:
    found[0] = least_against(chance_too_risky, rule, state, 1.0, state.course.upwards != 0)


@measure.register(HarmE)
def measure_harm_evidence(rule: HarmE, state: State, found: Numbers) -> None:
    found[0] = least_against(evidence_too_risky, rule, state, math.inf, state.course.upwards != 0)


@measure.register(ArmHarm)
def measure_arm_harm(rule: ArmHarm, state: State, found: Numbers) -> None:
    write_against(chance_too_risky, rule, state, rule.arm, state.course.upwards != 0, found)


@measure.register(ArmHarmE)
def measure_arm_harm_evidence(rule: ArmHarmE, state: State, found: Numbers) -> None:
    write_against(evidence_too_risky, rule, state, rule.arm, state.course.upwards != 0, found)
