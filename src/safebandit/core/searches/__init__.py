"""Faster ways to find the arm that a policy's definition gives, for long simulations; never needed to understand it.

`thompson` sets a `bar`, decides by `rivals` where two arms lead, and settles by draws (`tested`); `lines` and
`least_cost` draw lines, by what each index answers (`bounds`). All but `mixtures` follow `gates`.
"""

from __future__ import annotations

from typing import Any

from safebandit.core.indices.imed import IMED
from safebandit.core.indices.interface import steady
from safebandit.core.indices.joint_sampling import JointDirichlet, JointThompson
from safebandit.core.indices.kl import KLLower, KLUpper, KLUpperRisk
from safebandit.core.indices.sampling import Thompson
from safebandit.core.policies.doubly_optimistic import DoublyOptimistic
from safebandit.core.policies.mixture import PolicyMixture
from safebandit.core.searches.interface import NOTES, ByDefinition, Notes
from safebandit.core.searches.least_cost import ByLeastCost
from safebandit.core.searches.lines import ByLines
from safebandit.core.searches.mixtures import ByCurves
from safebandit.core.searches.thompson import ByBar

__all__ = ["notes_of", "search_for"]

# By the very class: an index that is derived from one of these may be drawn in another way.
_OF_REWARD_INDEX: dict[type, Any] = {
    IMED: ByLeastCost(),
    JointDirichlet: ByBar(),
    JointThompson: ByBar(),
    Thompson: ByBar(),
}


def search_for(policy: Any) -> Any:
    """The search for a prepared policy; `ByDefinition` where there is none."""
    if type(policy) is PolicyMixture and type(policy.reward) is KLUpper and type(policy.risk) in (KLLower, KLUpperRisk):
        return ByCurves()
    if type(policy) is not DoublyOptimistic or not steady(policy.safety):
        return ByDefinition()
    if type(policy.reward) is Thompson and policy.reward != Thompson():
        return ByDefinition()
    return _OF_REWARD_INDEX.get(type(policy.reward), ByLines() if steady(policy.reward) else ByDefinition())


def notes_of(search: Any) -> Notes:
    """The types of what a search notes of each arm, and of the trial."""
    return NOTES[type(search)]
