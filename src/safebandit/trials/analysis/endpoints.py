"""Finding what an analysis says of one endpoint, by the words that people use for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from safebandit.errors import TrialError, suggest

REWARD, RISK = "reward", "risk"
Said = TypeVar("Said")


def said_of(found: Sequence[Said], endpoint: str, arm: str | None = None) -> Said:
    """What is said of an endpoint, of one arm where it is said of each; "risk" is the only risk, whatever its name."""
    told: Sequence[Any] = found
    if arm is not None:
        arms = list(dict.fromkeys(each.arm for each in told))
        if arm not in arms:
            raise TrialError(f"there is no arm {arm!r} here; {suggest(arm, arms)}")
        told = [each for each in told if each.arm == arm]
    risks = [each for each in told if each.endpoint != REWARD]
    matching = [each for each in told if each.endpoint == endpoint] or (
        risks if endpoint == RISK and len(risks) == 1 else []
    )
    if not matching:
        raise TrialError(f"nothing is said of {endpoint!r} here; {suggest(endpoint, [each.endpoint for each in told])}")
    return matching[0]
