"""The highest tolerated dose of a 3+3 design."""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.arms import Records, State, quantity
from safebandit.core.indices.interface import described
from safebandit.core.policies.dose.three_plus_three import doses_not_ruled_out, is_tolerated
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.core.selection.words import check_one_risk
from safebandit.core.stopping.words import quoted


@described(
    "the highest dose with no harm of three units or at most one of six, below every dose with two harms",
    "3+3; the MTD of Wheeler et al. 2016",
)
class ThreePlusThreeDose(NamedTuple):
    """Select the highest tolerated dose: no harm of three units, or at most one of six, and no two harms below it."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Doses in their order."""
        return ("order",)

    def completed(self, design: Any) -> ThreePlusThreeDose:
        check_one_risk(self, design)
        return self

    def says(self, design: Any) -> str:  # noqa: ARG002
        return (
            "At the end the highest arm is selected that had no harm in three units or more, or at most one in six, "
            "and is below every arm with two harms. If there is no such arm, none is selected."
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        if arm == NONE_SELECTED:
            return "no dose was tolerated"
        risk = seen[arm][1]
        return f"{quoted(design.arms[arm])} is the highest tolerated dose ({risk['ones']} of {risk['plays']} harmed)"


@select.register(ThreePlusThreeDose)
def select_three_plus_three(rule: ThreePlusThreeDose, state: State) -> int:
    chosen = NONE_SELECTED
    for k in range(doses_not_ruled_out(state)):
        risk = quantity(state, k, 1)
        if is_tolerated(risk.plays, risk.ones):
            chosen = k
    return chosen
