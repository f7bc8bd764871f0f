"""Behind: drop an arm whose reward is below another's; by posterior chances, or by evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from safebandit.core.arms import REWARD, Numbers, State, at, quantity
from safebandit.core.bernoulli import chance_larger
from safebandit.core.chances import leading
from safebandit.core.indices.interface import described
from safebandit.core.stopping.interface import measure
from safebandit.core.stopping.superiority import EVIDENCE, evidence_larger
from safebandit.core.stopping.words import chance, each_reached, number, prior, units


@described(
    "an arm is dropped where P(its reward > that of the arm of the largest mean) <= 1 - confidence, once N >= least",
    not_negative=("least",),
    between=("confidence",),
)
class Behind(NamedTuple):
    """Drop an arm whose reward is below that of the arm of the largest mean with a chance of at least `confidence`.

    Both have at least `least` known rewards. Priors are flat.
    """

    confidence: float = 0.99
    least: int = 3

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    @property
    def drops(self) -> bool:
        return True

    @property
    def measure_word(self) -> str:
        return "chance that the arm's reward is below the leading arm's"

    @property
    def level(self) -> float:
        return self.confidence

    def says(self, design: Any) -> str:  # noqa: ARG002
        return (
            f"An arm is dropped once its reward is below that of the arm of the largest mean reward with a chance of "
            f"at least {number(self.confidence)}, after at least {units(self.least, 'known unit')} of each "
            f"({prior(1, 1)})."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        clause = "the reward of {arm} is below that of the arm of the largest mean with a chance of {value}"
        return each_reached(found, self.level, arms, f"{clause} ({number(self.level)} drops an arm)", chance)


@described(
    "an arm is dropped where E / comparisons >= 1/delta for another arm against it, with E as in SuperiorityE and one "
    "comparison with each other arm",
    "universal inference (Wasserman, Ramdas, Balakrishnan 2020)",
    between=("delta",),
)
class BehindE(NamedTuple):
    """Drop an arm once the evidence that the reward of another that is left is above its own is enough; at any looks.

    The best arm is ever dropped with a chance of at most `delta`: what is measured is the evidence over the number of
    other arms.
    """

    delta: float = 0.05

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    @property
    def drops(self) -> bool:
        return True

    @property
    def measure_word(self) -> str:
        return "evidence that the arm's reward is below another's"

    @property
    def level(self) -> float:
        return 1.0 / self.delta

    def says(self, design: Any) -> str:
        return (
            f"An arm is dropped once the evidence that the reward of another arm that is left is above its own, "
            f"divided by {len(design.arms) - 1} comparisons, is at least {number(self.level)} ({EVIDENCE}). However "
            f"often the data are looked at, the best arm is dropped so with a chance of at most {number(self.delta)}."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        clause = "the evidence that the reward of {arm} is below another's is {value}"
        return each_reached(found, self.level, arms, f"{clause} ({number(self.level)} drops an arm)", number)


@measure.register(Behind)
def measure_behind(rule: Behind, state: State, found: Numbers) -> None:
    best = leading(state)
    if best < 0 or quantity(state, best, REWARD).plays < rule.least:
        return
    top = quantity(state, best, REWARD)
    for k in range(state.size):
        reward = quantity(state, k, REWARD)
        if k != best and not at(state.arms, k).dropped and reward.plays >= rule.least:
            found[k] = chance_larger(
                top.ones + 1.0, top.plays - top.ones + 1.0, reward.ones + 1.0, reward.plays - reward.ones + 1.0
            )[0]


@measure.register(BehindE)
def measure_behind_evidence(rule: BehindE, state: State, found: Numbers) -> None:
    for k in range(state.size):
        if at(state.arms, k).dropped or state.size == 1:
            continue
        most = 0.0
        for c in range(state.size):
            if c != k and not at(state.arms, c).dropped:
                most = max(most, evidence_larger(quantity(state, c, REWARD), quantity(state, k, REWARD)))
        found[k] = most / (state.size - 1)
