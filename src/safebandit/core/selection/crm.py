"""The dose of the model of a CRM design."""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.arms import Records, State
from safebandit.core.indices.interface import described
from safebandit.core.policies.dose.crm import Crm, dose_by_model, doses_not_dropped
from safebandit.core.policies.texts import policy_from_text
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.core.stopping.words import quoted, units
from safebandit.errors import PolicyError


@described(
    "the dose whose risk by the model of the policy crm is nearest to its target",
    "CRM (O'Quigley, Pepe and Fisher 1990), as the R package dfcrm",
)
class CrmDose(NamedTuple):
    """Select the dose whose risk by the model of the design's policy, a CRM, is nearest to the target.

    As in dfcrm it may be a dose that no unit was given: the one above the highest that was.
    """

    @property
    def needs(self) -> tuple[str, ...]:
        """Doses in their order."""
        return ("order",)

    def completed(self, design: Any) -> CrmDose:
        if not isinstance(policy_from_text(design.policy), Crm):
            raise PolicyError(f'crm-dose needs the policy crm, got "{design.policy}"; take isotonic')
        return self

    def says(self, design: Any) -> str:  # noqa: ARG002
        return (
            "At the end that arm is selected whose risk by the model is nearest to the target, given all outcomes; of "
            "two that are as near, the lower one. It may be an arm that no unit was given."
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        if arm == NONE_SELECTED:
            return "the lowest dose was dropped"
        known = units(int(seen[arm][1]["plays"]), "known unit")
        return f"by the model the risk of {quoted(design.arms[arm])} is nearest to the target ({known} of its own)"


@select.register(CrmDose)
def select_by_model(rule: CrmDose, state: State) -> int:
    """The model lies in the numbers that the policy keeps (see its `begin`)."""
    return dose_by_model(state, doses_not_dropped(state))
