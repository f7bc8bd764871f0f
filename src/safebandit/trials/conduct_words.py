"""Why the conduct of a trial, not its policy, gave an arm or none, and what speaks against giving an arm; in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from safebandit.core.conduct import CLIMB, DROPPED, FREE, MASKED, PENDING, STEP, Conduct
from safebandit.core.policies import WAIT

BARS = {
    FREE: "may be given",
    PENDING: "waits for outcomes of units already given it",
    STEP: "is not reached yet: it is too many levels up, or too little is known of the arm below",
    DROPPED: "was dropped, and is given no more",
    CLIMB: "is above an arm that is not safe enough to climb on",
    MASKED: "is not eligible for this unit",
}


def conduct_words(
    conduct: Conduct, course: Mapping[str, int], k: int, arms: Sequence[str], bars: Sequence[int]
) -> str:  # fmt: skip
    """Why this arm, or why none, where the policy was not asked; `bars` are what speaks against giving each arm."""
    if k == WAIT:
        return _why_wait(conduct, course, arms, bars)
    if 0 < course["cohort"] < conduct.cohort and k == course["last"]:
        return f"unit {course['cohort'] + 1} of {conduct.cohort} of the cohort on {arms[k]}"
    if course["given"] == 0 and k == conduct.first:
        return "the arm that the design begins with"
    return f"one of the first {conduct.burn_in} units: they get the arms that were given least often, in turn"


def _why_wait(conduct: Conduct, course: Mapping[str, int], arms: Sequence[str], bars: Sequence[int]) -> str:
    missing = course["given"] - course["settled"]
    if 0 < course["cohort"] < conduct.cohort and bars[course["last"]] == MASKED:
        return f"the cohort on {arms[course['last']]} is not full, and that arm is not eligible for this unit"
    if course["given"] == 0 and conduct.first >= 0:
        return f"the design begins with {arms[conduct.first]}, and that arm is not eligible for this unit"
    if conduct.waits and missing > 0:
        cohort = f"the cohort on {arms[course['last']]}" if conduct.cohort > 1 else "the trial"
        return f"{cohort} waits for {units_of(missing, 'outcome')} before the next unit is given an arm"
    them = "those that are eligible" if MASKED in bars else "all of them"
    return f"the trial begins with units of every arm, and {them} wait for outcomes"


def waiting_words(arms: Sequence[str], bars: Sequence[int], permissible: Iterable[bool]) -> str:
    """Why no arm is given although some are permissible."""
    permissible = list(permissible)
    barred = {bar for bar, may in zip(bars, permissible, strict=True) if may}
    if barred <= {PENDING}:
        return "every arm that may be given waits for outcomes of units already given it"
    words = "; ".join(f"{arm} {BARS[bar]}" for arm, bar, may in zip(arms, bars, permissible, strict=True) if may)
    return f"no arm that is permissible can be given now: {words}"


def units_of(count: int, what: str) -> str:
    """So many of something.

    >>> units_of(1, "outcome"), units_of(2, "outcome")
    ('1 outcome', '2 outcomes')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"
