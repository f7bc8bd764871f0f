"""Superiority by evidence at any look: an arm's reward is above the control's, or above every other arm's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from safebandit.core.arms import REWARD, Numbers, Seen, State, at, quantity
from safebandit.core.dispatch import inlined
from safebandit.core.e_values import wealth_larger
from safebandit.core.indices.interface import described
from safebandit.core.policies.checking import arm_number
from safebandit.core.stopping.interface import measure
from safebandit.core.stopping.words import EVERY_ARM, each_reached, number

EVIDENCE = (
    "likelihood of both arms' rewards mixed over all pairs of means in that order, over its largest value otherwise"
)


@described(
    "reached where E / comparisons >= 1/delta for an arm k against the control, or against every other arm c; E = "
    "2 P(mu_k > mu_c | data) B(R_k+1, N_k-R_k+1) B(R_c+1, N_c-R_c+1) / max over m of m^R (1-m)^(N-R), R and N of both",
    "universal inference (Wasserman, Ramdas, Balakrishnan 2020)",
    between=("delta",),
)
class SuperiorityE(NamedTuple):
    """Stop where the evidence that an arm's reward is above the control's, or all others', is enough; at any looks.

    That any arm is ever called superior which is not has a chance of at most `delta`: what is measured is the evidence
    over the number of comparisons. Without a control in the rule or the design, each arm that is left is compared with
    each other one, in both directions.
    """

    delta: float = 0.05
    control: Any = EVERY_ARM

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    @property
    def drops(self) -> bool:
        return False

    @property
    def measure_word(self) -> str:
        return "evidence that the arm is superior"

    @property
    def level(self) -> float:
        return 1.0 / self.delta

    def completed(self, design: Any) -> SuperiorityE:
        return self._replace(control=self._control(design))

    def _control(self, design: Any) -> int:
        named = getattr(design, "control", None) if self.control in (EVERY_ARM, None) else self.control
        return EVERY_ARM if named is None else arm_number("control of superiority-e", named, design.arms)

    def says(self, design: Any) -> str:
        control, arms = self._control(design), len(design.arms)
        whom = "that of every other arm that is left" if control == EVERY_ARM else f'that of "{design.arms[control]}"'
        count = (arms - 1) * (arms if control == EVERY_ARM else 1)
        return (
            f"The trial stops once the evidence that an arm's reward is above {whom}, divided by {count} comparisons, "
            f"is at least {number(self.level)} ({EVIDENCE}). However often the data are looked at, an arm that is not "
            f"superior is called so with a chance of at most {number(self.delta)}."
        )

    def why(self, found: Numbers, arms: Sequence[str]) -> str:
        form = f"the evidence that {{arm}} is superior is {{value}} ({number(self.level)} stops)"
        return each_reached(found, self.level, arms, form, number)


@inlined
def evidence_larger(one: Seen, other: Seen) -> float:
    """An e-process against "the mean of `one` is at most that of `other`"."""
    return wealth_larger(one.ones, one.plays, other.ones, other.plays)


@measure.register(SuperiorityE)
def measure_superiority_evidence(rule: SuperiorityE, state: State, found: Numbers) -> None:
    comparisons = (state.size - 1) * (state.size if rule.control < 0 else 1)
    for k in range(state.size):
        if k == rule.control or at(state.arms, k).dropped:
            continue
        least, rivals = math.inf, 0
        for c in range(state.size):
            if c == rule.control or (rule.control < 0 and c != k and not at(state.arms, c).dropped):
                least = min(least, evidence_larger(quantity(state, k, REWARD), quantity(state, c, REWARD)))
                rivals += 1
        if rivals > 0:
            found[k] = least / comparisons
