"""Precision: stop where enough is known of an arm's reward or risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from safebandit.core.arms import REWARD, Numbers, State, quantity
from safebandit.core.chances import interval_width, leading
from safebandit.core.indices.interface import described
from safebandit.core.stopping.interface import measure
from safebandit.core.stopping.words import EVERY_ARM, arm_of, each_reached, number, prior, units


@described(
    "reached where Q((1 + confidence) / 2) - Q((1 - confidence) / 2) <= width, with Q the quantiles of "
    "Beta(S+a, N-S+b), once N >= least",
    positive=("prior_a", "prior_b"),
    not_negative=("least",),
    between=("width", "confidence"),
)
class Precision(NamedTuple):
    """Stop where the interval of the leading arm's reward, or with `of_risk` of its risk, is at most so wide.

    The leading arm has the largest mean reward of those left; another may be named. Of several risks all must be known
    as precisely. What is measured is 1 / width, which grows as more is known.
    """

    width: float
    of_risk: bool = False
    confidence: float = 0.95
    least: int = 3
    arm: Any = EVERY_ARM
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def needs(self) -> tuple[str, ...]:
        return () if self.of_risk and self.arm != EVERY_ARM else ("reward",)

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return f"1 / width of the interval of the arm's {self._outcome}"

    @property
    def level(self) -> float:
        return 1.0 / self.width

    @property
    def _outcome(self) -> str:
        return "risk" if self.of_risk else "reward"

    def completed(self, design: Any) -> Precision:
        return self._replace(arm=arm_of(self, design))

    def says(self, design: Any) -> str:
        arm = arm_of(self, design)
        whose = "the arm of the largest mean reward" if arm == EVERY_ARM else f'arm "{design.arms[arm]}"'
        what = " and of ".join(design.risks) if self.of_risk else "reward"
        return (
            f"The trial stops once the {number(self.confidence)} interval of the {what} of {whose} is at most "
            f"{number(self.width)} wide, after at least {units(self.least, 'known unit')} of it "
            f"({prior(self.prior_a, self.prior_b)})."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        what = f"the {number(self.confidence)} interval of the {self._outcome} of {{arm}} is {{value}} wide"
        return each_reached(
            found, self.level, arms, f"{what} ({number(self.width)} stops)", lambda value: number(1.0 / value)
        )


@measure.register(Precision)
def measure_precision(rule: Precision, state: State, found: Numbers) -> None:
    k = rule.arm if rule.arm >= 0 else leading(state)
    if k < 0:
        return
    first, last = (1, state.risks) if rule.of_risk else (REWARD, REWARD)
    widest = 0.0
    for j in range(first, last + 1):
        seen = quantity(state, k, j)
        if seen.plays < rule.least:
            return
        a, b = seen.ones + rule.prior_a, seen.plays - seen.ones + rule.prior_b
        widest = max(widest, interval_width(a, b, rule.confidence))
    found[k] = 1.0 / widest
