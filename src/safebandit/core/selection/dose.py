"""What the dose-finding designs with a rule of their own select: 3+3, and the dose of CRM's model."""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.arms import Records, State, quantity
from safebandit.core.policies.dose.crm import Crm, dose_by_model, doses_not_dropped
from safebandit.core.policies.dose.three_plus_three import doses_not_ruled_out, is_tolerated
from safebandit.core.policies.texts import policy_from_text
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.errors import PolicyError


class ThreePlusThreeDose(NamedTuple):
    """The highest tolerated dose: below every dose with two harms, itself with none of three or at most one of six."""

    def says(self, design: Any) -> str:  # noqa: ARG002
        """The rule as a sentence for a protocol."""
        return (
            "At the end the highest arm is selected that had no harm in three units or more, or at most one in six, "
            "and is below every arm with two harms; none where there is no such arm."
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        """Why this dose was selected, or none."""
        if arm == NONE_SELECTED:
            return "no dose was tolerated"
        risk = seen[arm][1]
        return f'"{design.arms[arm]}" is the highest tolerated dose ({risk["ones"]} of {risk["plays"]} units harmed)'


class CrmDose(NamedTuple):
    """The dose whose risk by the model of the design's policy, which is a CRM, is nearest to the target."""

    def completed(self, design: Any) -> CrmDose:
        """The rule itself, if the design's policy has the model."""
        if not isinstance(policy_from_text(design.policy), Crm):
            raise PolicyError(f'crm-dose needs the policy "crm", got "{design.policy}"; take isotonic')
        return self

    def says(self, design: Any) -> str:  # noqa: ARG002
        """The rule as a sentence for a protocol."""
        return (
            "At the end that arm is selected whose risk by the model is nearest to the target, given all outcomes; of "
            "two that are as near, the lower one. It may be one that no unit was given."
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        """Why this dose was selected, or none."""
        if arm == NONE_SELECTED:
            return "the lowest dose was dropped"
        plays = int(seen[arm][1]["plays"])
        return f'by the model, the risk of "{design.arms[arm]}" is nearest to the target ({plays} units known of it)'


@select.register(ThreePlusThreeDose)
def _select_tolerated(rule: ThreePlusThreeDose, state: State) -> int:
    chosen = NONE_SELECTED
    for k in range(doses_not_ruled_out(state)):
        risk = quantity(state, k, 1)
        if is_tolerated(risk.plays, risk.ones):
            chosen = k
    return chosen


@select.register(CrmDose)
def _select_by_model(rule: CrmDose, state: State) -> int:
    return dose_by_model(state, doses_not_dropped(state))
