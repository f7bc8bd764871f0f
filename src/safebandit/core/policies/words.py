"""A decision with all that it saw, and how a policy says in words why it gave an arm.

Words come from the policy itself, because only its family knows why an arm wins. A policy may have three methods:

    why(decision, arm)      why this arm was given (where it is `decision.k`), or why it was not though it might be
    forbids(decision, arm)  why this arm is not permissible, where that is not its risk index alone
    risk_word(arm)          what its risk index is called, such as "upper risk index"

`why` is asked of the arm that was given, and of the others that were free and either permissible or part of a mixture.
What is the same for every policy is said elsewhere: a hold, a wait, an arm that is not permissible. Nothing here is
compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.core.indices.interface import DESCRIPTIONS, Description

FIRST_PLAY = "every arm is played once before any index is asked"
NOT_NEEDED = "permissible; its reward index was not needed"


class Decision(NamedTuple):
    """A decision and what it saw: the arm by number (HOLD or WAIT: none), whether no arm was permissible; and of every
    arm if it is permissible, its reward index, its risk indices (columns), its probability where the policy mixes arms,
    and the policy's own numbers by name; NaN where there is none. Not `by_policy`: the trial's conduct decided, and the
    policy was not asked. `saw` are the bytes of all these numbers, arm by arm.
    """

    k: int
    none: bool
    permissible: NDArray[np.bool_]
    indices: Numbers
    bounds: Numbers
    probabilities: Numbers
    own: Mapping[str, Numbers]
    arms: tuple[str, ...]
    by_policy: bool = True
    saw: bytes = b""


def why(policy: Any, decision: Decision, arm: int) -> str:
    """Why the policy gave this arm, or why not, in its own words where it has some."""
    if hasattr(policy, "why"):
        return str(policy.why(decision, arm))
    return "the policy's own rule gives this arm" if arm == decision.k else "the policy's own rule gives another arm"


def forbids(policy: Any, decision: Decision, arm: int) -> str | None:
    """Why an arm is not permissible, in the policy's own words; None where it has none."""
    found = policy.forbids(decision, arm) if hasattr(policy, "forbids") else None
    return None if found is None else str(found)


def risk_word(policy: Any, arm: int) -> str:
    """What the policy calls the risk index of an arm."""
    return str(policy.risk_word(arm)) if hasattr(policy, "risk_word") else Description().risk_word


def risk_word_of(index: Any) -> str:
    """What a safety index is called: most are lower bounds."""
    return DESCRIPTIONS.get(type(index), Description()).risk_word


def why_largest(decision: Decision, arm: int) -> str:
    """The words of a policy that gives the largest reward index among the permissible arms, after first plays."""
    index, top = decision.indices[arm], decision.indices[decision.k] if decision.k >= 0 else np.nan
    if arm == decision.k:
        return FIRST_PLAY if np.isnan(index) else "largest reward index among the permissible arms"
    if np.isnan(index):
        return NOT_NEEDED
    if index == top:
        return "permissible; another arm's reward index is as large, and the tie was drawn"
    return "permissible; another arm's reward index is larger"
