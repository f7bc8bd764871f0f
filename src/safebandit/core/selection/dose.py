"""What the dose-finding designs with a rule of their own select: 3+3, and the dose of CRM's model."""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.arms import State, quantity
from safebandit.core.policies.dose.crm import Crm, dose_by_model, doses_not_dropped
from safebandit.core.policies.dose.three_plus_three import doses_not_ruled_out, is_tolerated
from safebandit.core.policies.interface import Setup
from safebandit.core.policies.texts import policy_from_text
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.errors import PolicyError


class ThreePlusThreeDose(NamedTuple):
    """The highest tolerated dose: below every dose with two harms, itself with none of three or at most one of six."""

    def says(self, design: Any) -> str:  # noqa: ARG002
        """The rule in words."""
        return (
            "Selected is the highest dose below every dose with two harms that itself had no harm in three units, or "
            "at most one in six; none where the lowest dose had two harms."
        )


class CrmDose(NamedTuple):
    """The dose whose risk by the model of the design's policy, which is a CRM, is nearest to the target."""

    model: Any = None

    def completed(self, design: Any) -> CrmDose:
        """The rule with the model of the design's policy."""
        policy = policy_from_text(design.policy) if isinstance(design.policy, str) else design.policy
        if not isinstance(policy, Crm):
            raise PolicyError(f'crm-dose needs the policy "crm", got "{design.policy}"; select by isotonic')
        return CrmDose(policy.prepare(Setup(design.arms, design.limits, "hold", None, design.units)))

    def says(self, design: Any) -> str:  # noqa: ARG002
        """The rule in words."""
        return "Selected is the dose whose risk by the model, at the end, is nearest to the target."


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
    return dose_by_model(rule.model, state, doses_not_dropped(state))
