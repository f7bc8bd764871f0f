"""The dose of the posterior of a design that finds doses by Thompson sampling."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Records, State, quantity
from safebandit.core.indices.interface import described
from safebandit.core.policies.dose.thompson import TARGET, DoseTs, doses_not_toxic, learn_risks
from safebandit.core.policies.texts import policy_from_text
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.core.stopping.words import quoted, units
from safebandit.errors import PolicyError


@described(
    "argmin |E[risk | data] - target| by the model of the policy dose-ts, among doses that were given and are not too "
    "toxic",
    "Thompson sampling for dose finding (Aziz, Kaufmann and Riviere 2021); only doses that were given: ours",
)
class TsDose(NamedTuple):
    """Select the dose whose posterior mean of the risk, by the model of the design's policy, is nearest to the target.

    Doses that no unit was given, that are too toxic or that were dropped are out.
    """

    @property
    def needs(self) -> tuple[str, ...]:
        """Doses in their order."""
        return ("order",)

    def completed(self, design: Any) -> TsDose:
        if not isinstance(policy_from_text(design.policy), DoseTs):
            raise PolicyError(f'ts-dose needs the policy dose-ts, got "{design.policy}"; take isotonic')
        return self

    def says(self, design: Any) -> str:  # noqa: ARG002
        return (
            "At the end that arm is selected whose posterior mean of the risk is nearest to the target, among those "
            "that were given and are not too toxic; of two that are as near, the lower one."
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        if arm == NONE_SELECTED:
            return "no dose that was given is left: they are too toxic, or were dropped"
        known = units(int(seen[arm][1]["plays"]), "known unit")
        return f"the posterior mean of the risk of {quoted(design.arms[arm])} is nearest to the target ({known})"


@select.register(TsDose)
def select_by_posterior(rule: TsDose, state: State) -> int:
    """The model lies in the numbers that the policy keeps (see its `begin`); nothing is drawn."""
    chances, means = np.empty(state.size), np.empty(state.size)
    learn_risks(state, chances, means, np.empty(0))
    nearest, least = NONE_SELECTED, math.inf
    for k in range(doses_not_toxic(state, chances)):
        distance = abs(means[k] - state.numbers.own[TARGET])
        if quantity(state, k, 1).plays > 0 and distance < least:
            nearest, least = k, distance
    return nearest
