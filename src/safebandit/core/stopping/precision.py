"""Precision: stop where enough is known of an arm's reward or risk."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from safebandit.core.arms import REWARD, Numbers, State, quantity
from safebandit.core.chances import interval_width, leading
from safebandit.core.indices.interface import described
from safebandit.core.stopping.interface import measure
from safebandit.core.stopping.words import EVERY_ARM, arm_of, each_reached, number, prior, units


class Outcome(IntEnum):
    """What an arm gives."""

    reward = 0
    risk = 1


@described(
    "reached where Q((1 + confidence) / 2) - Q((1 - confidence) / 2) <= width, with Q the quantiles of "
    "Beta(S+a, N-S+b), once N >= least",
    positive=("prior_a", "prior_b"),
    not_negative=("least",),
    between=("width", "confidence"),
)
class Precision(NamedTuple):
    """Stop where the interval of the leading arm's reward, or of its risk, is at most so wide.

    The leading arm has the largest mean reward of those left; another may be named. Of several risks all must be known
    as precisely. What is measured is 1 / width, which grows as more is known.
    """

    width: float
    of: Outcome = Outcome.reward
    confidence: float = 0.95
    least: int = 3
    arm: Any = EVERY_ARM
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return f"1 / width of the interval of the arm's {Outcome(self.of).name}"

    @property
    def level(self) -> float:
        return 1.0 / self.width

    def completed(self, design: Any) -> Precision:
        return self._replace(arm=arm_of(self, design))

    def says(self, design: Any) -> str:
        arm = arm_of(self, design)
        whose = "the arm of the largest mean reward" if arm == EVERY_ARM else f'arm "{design.arms[arm]}"'
        what = "reward" if self.of == Outcome.reward else " and of ".join(design.risks)
        return (
            f"The trial stops once the {number(self.confidence)} interval of the {what} of {whose} is at most "
            f"{number(self.width)} wide, after at least {units(self.least, 'known unit')} of it "
            f"({prior(self.prior_a, self.prior_b)})."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        what = f"the {number(self.confidence)} interval of the {Outcome(self.of).name} of {{arm}} is {{value}} wide"
        return each_reached(
            found, self.level, arms, f"{what} ({number(self.width)} stops)", lambda value: number(1.0 / value)
        )


@measure.register(Precision)
def measure_precision(rule: Precision, state: State, found: Numbers) -> None:
    k = rule.arm if rule.arm >= 0 else leading(state)
    if k < 0:
        return
    first = REWARD if rule.of == REWARD else 1
    last = REWARD if rule.of == REWARD else state.risks
    widest = 0.0
    for j in range(first, last + 1):
        seen = quantity(state, k, j)
        if seen.plays < rule.least:
            return
        a, b = seen.ones + rule.prior_a, seen.plays - seen.ones + rule.prior_b
        widest = max(widest, interval_width(a, b, rule.confidence))
    found[k] = 1.0 / widest
