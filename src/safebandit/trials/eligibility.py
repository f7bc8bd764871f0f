"""Which arms a unit may be given, where whoever asks says so: the mask of one request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from safebandit.errors import TrialError, suggest
from safebandit.names import find_name
from safebandit.problems.limits import is_listed

# The arms that a unit may be given, in the trial's order; None: all of them.
Mask = tuple[str, ...] | None


def read_eligible(what: str, eligible: Any, arms: Sequence[str], withdrawn: Sequence[str] = ()) -> Mask:
    """The arms that a unit may be given, in the trial's order; `what` is whose they are.

    >>> read_eligible("unit 'p1'", ["high", "placebo"], ["placebo", "low", "high"])
    ('placebo', 'high')
    """
    if eligible is None:
        return None
    if isinstance(eligible, str) or not is_listed(eligible):
        raise TrialError(f"{what}: eligible must be a list of arms, got {eligible!r}")
    named = []
    for arm in eligible:
        found = find_name(arm, arms) if isinstance(arm, str) else None
        if found is None:
            raise TrialError(f'{what}: the trial has no arm "{arm}" that could be eligible; {suggest(str(arm), arms)}')
        named.append(found)
    if len(set(named)) < len(named):
        raise TrialError(f"{what}: an arm is named twice among the eligible ones, got {', '.join(named)}")
    if all(arm in withdrawn for arm in named):
        gone = f"got {', '.join(named)}, and no unit is given that any more" if named else "got none"
        raise TrialError(
            f"{what}: eligible must name at least one arm of the trial, {gone}; name others, or none at all"
        )
    return tuple(arm for arm in arms if arm in named)
