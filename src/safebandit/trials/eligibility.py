"""Which arms a unit may be given, where whoever asks says so: the mask of one request, and holds that stand for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from safebandit.errors import TrialError, suggest
from safebandit.names import find_name
from safebandit.problems.limits import is_listed
from safebandit.trials.events import canonical

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


def standing_key(context: Sequence[float], eligible: Mask, stratum: str = "") -> str:
    """Under what a hold is remembered: the context and the stratum that it was decided for, and the arms, where not all
    of them.
    """
    if eligible is None and not stratum:
        return canonical(list(context))
    mask = None if eligible is None else list(eligible)
    return canonical({"context": list(context), "eligible": mask, "stratum": stratum})


def standing_at(standing: Mapping[str, int], context: Sequence[float], eligible: Mask, stratum: str) -> int | None:
    """The last event that gave no arm to a unit of this context and stratum for these arms, or for these and others:
    where none of some arms is given, none of a part of them is.
    """
    exact = standing.get(standing_key(context, eligible, stratum))
    if exact is not None or eligible is None:
        return exact
    whole = standing.get(standing_key(context, None, stratum))
    found = [] if whole is None else [whole]
    for key, number in standing.items():
        asked = json.loads(key)
        if isinstance(asked, dict) and (asked["context"], asked["stratum"]) == (list(context), stratum):
            found += [number] if asked["eligible"] and set(eligible) <= set(asked["eligible"]) else []
    return max(found, default=None)


def besides(standing: Mapping[str, int], stratum: str) -> dict[str, int]:
    """What is remembered of other strata than this one."""
    return {key: number for key, number in standing.items() if json.loads(key)["stratum"] != stratum}


def last_of_strata(standing: Mapping[str, int]) -> dict[str, int]:
    """Of each stratum that stands for all arms the last event that gave none: of the last unit that asked, where that
    goes by its context.
    """
    found: dict[str, int] = {}
    for key, number in standing.items():
        asked = json.loads(key)
        if isinstance(asked, dict) and asked["stratum"] and asked["eligible"] is None:
            found[asked["stratum"]] = max(number, found.get(asked["stratum"], 0))
    return found
