"""Why the conduct of a trial, not its policy, gave an arm or none, and what speaks against giving an arm; in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from safebandit.core.conduct import CLIMB, DROPPED, FREE, PENDING, STEP, Conduct
from safebandit.core.policies import WAIT

BARS = {
    FREE: "may be given",
    PENDING: "waits for outcomes of units already given it",
    STEP: "is not reached yet: it is too many levels up, or too little is known of the arm below",
    DROPPED: "was dropped, and is given no more",
    CLIMB: "is above an arm that is not safe enough to climb on",
}


def conduct_words(conduct: Conduct, course: Mapping[str, int], k: int, arms: Sequence[str]) -> str:
    """Why this arm, or why none, where the policy was not asked."""
    missing = course["given"] - course["settled"]
    if k == WAIT and conduct.waits and missing > 0:
        cohort = f"the cohort on {arms[course['last']]}" if conduct.cohort > 1 else "the trial"
        return f"{cohort} waits for {units_of(missing, 'outcome')} before the next unit is given an arm"
    if k == WAIT:
        return "the trial begins with units of every arm, and all of them wait for outcomes"
    if 0 < course["cohort"] < conduct.cohort and k == course["last"]:
        return f"unit {course['cohort'] + 1} of {conduct.cohort} of the cohort on {arms[k]}"
    if course["given"] == 0 and k == conduct.first:
        return "the arm that the design begins with"
    return f"one of the first {conduct.burn_in} units: they get the arms that were given least often, in turn"


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
