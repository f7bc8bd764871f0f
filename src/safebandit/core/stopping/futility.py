"""Futility: stop where no arm's reward is large enough, and drop an arm whose reward is not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from safebandit.core.arms import REWARD, Numbers, State, quantity
from safebandit.core.chances import chance_below
from safebandit.core.dispatch import piece
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
    rule_name,
    units,
    whom,
)
from safebandit.errors import PolicyError

R = TypeVar("R", bound=Any)
POSITIVE = ("prior_a", "prior_b")
EVIDENCE = "likelihood of the rewards mixed over all means below the least reward, over that at it"


@described(
    "reached where P(reward < least_reward) >= confidence for every arm that is left, each with N >= least",
    positive=POSITIVE,
    not_negative=("least_reward", "least"),
    between=("confidence",),
)
class Futility(NamedTuple):
    """Stop where every arm that is left has a reward below `least_reward` with a chance of at least `confidence`.

    An arm counts once `least` of its rewards are known. A `least_reward` of 0 stands for the design's.
    """

    least_reward: float = 0.0
    confidence: float = 0.95
    least: int = 3
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "chance that every arm's reward is too small"

    @property
    def level(self) -> float:
        return self.confidence

    def completed(self, design: Any) -> Futility:
        return with_least_reward(self, design)

    def says(self, design: Any) -> str:
        return (
            f"The trial stops once every arm has a chance of at least {number(self.confidence)} that its reward is "
            f"below {_least(self, design)}, after at least {units(self.least, 'known unit')} of it "
            f"({prior(self.prior_a, self.prior_b)})."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:  # noqa: ARG002
        return (
            f"every arm's reward is below {number(self.least_reward)} with a chance of at least {chance(found[0])} "
            f"({number(self.level)} stops)"
        )


@described(
    "an arm is dropped where P(reward < least_reward) >= confidence, once N >= least",
    positive=POSITIVE,
    not_negative=("least_reward", "least"),
    between=("confidence",),
)
class ArmFutility(NamedTuple):
    """Drop an arm, or the one named, whose reward is below `least_reward` with a chance of at least `confidence`.

    It counts once `least` of its rewards are known. A `least_reward` of 0 stands for the design's.
    """

    least_reward: float = 0.0
    confidence: float = 0.95
    least: int = 3
    arm: Any = EVERY_ARM
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    @property
    def drops(self) -> bool:
        return True

    @property
    def measure_word(self) -> str:
        return "chance that the arm's reward is too small"

    @property
    def level(self) -> float:
        return self.confidence

    def completed(self, design: Any) -> ArmFutility:
        return with_least_reward(self, design)._replace(arm=arm_of(self, design))

    def says(self, design: Any) -> str:
        return (
            f"{whom(self, design)} is dropped once it has a chance of at least {number(self.confidence)} that its "
            f"reward is below {_least(self, design)}, after at least {units(self.least, 'known unit')} of it "
            f"({prior(self.prior_a, self.prior_b)})."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        clause = f"the reward of {{arm}} is below {number(self.least_reward)} with a chance of {{value}}"
        return each_reached(found, self.level, arms, f"{clause} ({number(self.level)} drops an arm)", chance)


@described(
    "reached where E >= 1/delta for every arm that is left; E as in HarmE, of 1 - reward against 1 - least_reward",
    "Robbins 1970, mixture of likelihood ratios; a = prior_a, b = prior_b",
    positive=POSITIVE,
    not_negative=("least_reward",),
    between=("delta",),
)
class FutilityE(NamedTuple):
    """Stop where the evidence that its reward is below `least_reward` is 1/`delta` for every arm left; at any looks.

    An arm whose reward is large enough ever has that much evidence against it with a chance of at most `delta`. A
    `least_reward` of 0 stands for the design's.
    """

    least_reward: float = 0.0
    delta: float = 0.05
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "evidence that every arm's reward is too small"

    @property
    def level(self) -> float:
        return 1.0 / self.delta

    def completed(self, design: Any) -> FutilityE:
        return with_least_reward(self, design)

    def says(self, design: Any) -> str:
        return (
            f"The trial stops once the evidence that its reward is below {_least(self, design)} is at least "
            f"{number(self.level)} for every arm ({EVIDENCE}; {prior(self.prior_a, self.prior_b)}). {_promise(self)}"
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:  # noqa: ARG002
        return (
            f"the evidence that an arm's reward is below {number(self.least_reward)} is at least {number(found[0])} "
            f"for every arm ({number(self.level)} stops)"
        )


@described(
    "an arm is dropped where E >= 1/delta, with E as in FutilityE",
    "Robbins 1970, mixture of likelihood ratios; a = prior_a, b = prior_b",
    positive=POSITIVE,
    not_negative=("least_reward",),
    between=("delta",),
)
class ArmFutilityE(NamedTuple):
    """Drop an arm, or the one named, once the evidence that its reward is too small is 1/`delta`; at any looks.

    An arm whose reward is `least_reward` or more is ever dropped with a chance of at most `delta`. A `least_reward` of
    0 stands for the design's.
    """

    least_reward: float = 0.0
    delta: float = 0.05
    arm: Any = EVERY_ARM
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    @property
    def drops(self) -> bool:
        return True

    @property
    def measure_word(self) -> str:
        return "evidence that the arm's reward is too small"

    @property
    def level(self) -> float:
        return 1.0 / self.delta

    def completed(self, design: Any) -> ArmFutilityE:
        return with_least_reward(self, design)._replace(arm=arm_of(self, design))

    def says(self, design: Any) -> str:
        return (
            f"{whom(self, design)} is dropped once the evidence that its reward is below {_least(self, design)} is at "
            f"least {number(self.level)} ({EVIDENCE}; {prior(self.prior_a, self.prior_b)}). {_promise(self)}"
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        clause = f"the evidence that the reward of {{arm}} is below {number(self.least_reward)} is {{value}}"
        return each_reached(found, self.level, arms, f"{clause} ({number(self.level)} drops an arm)", number)


def with_least_reward(rule: R, design: Any) -> R:
    """The rule with the design's least reward where it has none itself."""
    least = rule.least_reward or getattr(design, "least_reward", None)
    if not least or least > 1:
        raise PolicyError(
            f"least_reward of {rule_name(rule)} must lie above 0 and be at most 1, got {least or 0}; "
            "say it in the rule or in the design"
        )
    return rule._replace(least_reward=float(least))


def _promise(rule: Any) -> str:
    return (
        f"However often the data are looked at, an arm of that reward ever has so much evidence against it with a "
        f"chance of at most {number(rule.delta)}."
    )


def _least(rule: Any, design: Any) -> str:
    return number(with_least_reward(rule, design).least_reward)


@piece
def chance_too_small(rule: Futility | ArmFutility, state: State, k: int) -> float:
    reward = quantity(state, k, REWARD)
    if reward.plays < rule.least:
        return 0.0
    return chance_below(reward, rule.least_reward, rule.prior_a, rule.prior_b)


@piece
def evidence_too_small(rule: FutilityE | ArmFutilityE, state: State, k: int) -> float:
    reward = quantity(state, k, REWARD)
    missed = reward.plays - reward.ones
    return math.exp(log_wealth_above(missed, reward.plays, 1.0 - rule.least_reward, rule.prior_b, rule.prior_a))


@measure.register(Futility)
def measure_futility(rule: Futility, state: State, found: Numbers) -> None:
    found[0] = least_against(chance_too_small, rule, state, 1.0, False)


@measure.register(FutilityE)
def measure_futility_evidence(rule: FutilityE, state: State, found: Numbers) -> None:
    found[0] = least_against(evidence_too_small, rule, state, math.inf, False)


@measure.register(ArmFutility)
def measure_arm_futility(rule: ArmFutility, state: State, found: Numbers) -> None:
    write_against(chance_too_small, rule, state, rule.arm, False, found)


@measure.register(ArmFutilityE)
def measure_arm_futility_evidence(rule: ArmFutilityE, state: State, found: Numbers) -> None:
    write_against(evidence_too_small, rule, state, rule.arm, False, found)
