"""Holds: since which events no arm is given, to any unit or to those of some contexts, arms or strata.

What is decided for one context says nothing of another, where the policy goes by it: so a unit of another context is
decided anew, and that is written. For the same context nothing has changed: to decide again would be another draw, and
no new evidence. What holds for some arms says nothing of others, but holds for a part of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from safebandit.trials.eligibility import Mask
from safebandit.trials.events import canonical

# The last contexts, sets of arms and strata are remembered, not all, so that a long hold does not make the state long.
MOST_STANDING = 100


@dataclass
class Holds:
    """The event that gave no arm because none is permissible (`held_at`), or because all that are wait for outcomes
    (`waits_at`), until something happens that may change it: not a pause, nor asking again. `standing` has the last
    such events of some units alone, by what they asked with.
    """

    held_at: int | None = None
    waits_at: int | None = None
    standing: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of_row(cls, state: Mapping[str, Any]) -> Holds:
        """Those of a trial's state, as it is kept beside the log."""
        return cls(state["held_at"], state.get("waits_at"), state.get("standing", {}))

    def to_row(self) -> dict[str, Any]:
        """As `of_row` reads it."""
        seldom = {"waits_at": self.waits_at, "standing": self.standing}
        return {"held_at": self.held_at} | {name: value for name, value in seldom.items() if value}

    @property
    def at(self) -> int | None:
        """The event since which no unit is given an arm."""
        return self.held_at if self.waits_at is None else self.waits_at

    def at_for(self, context: Sequence[float], eligible: Mask, stratum: str) -> int | None:
        """The event since which a unit with this context, these eligible arms and of this stratum gets no arm; each of
        them counts only where the trial tells units apart by it.
        """
        if eligible is None and not context and not stratum:
            return self.at
        found = standing_at(self.standing, context, eligible, stratum)
        return self.at if found is None and not context and not stratum else found

    def note(self, number: int, *, waits: bool) -> None:
        """That no unit is given an arm since this event."""
        self.held_at, self.waits_at = (None, number) if waits else (number, None)

    def note_for(self, number: int, context: Sequence[float], eligible: Mask, stratum: str) -> None:
        """That no unit is given an arm since this event that asks as `at_for` says."""
        if context or eligible is not None or stratum:
            self.standing[standing_key(context, eligible, stratum)] = number
            if len(self.standing) > MOST_STANDING:
                del self.standing[min(self.standing, key=lambda key: self.standing[key])]

    def end(self) -> None:
        """A unit may be given an arm again, if it asks for all arms, in a trial without strata."""
        self.held_at = self.waits_at = None

    def end_for_some(self, stratum: str = "") -> None:
        """Others may be given an arm again; where a stratum is named, those of this one alone."""
        self.standing = besides(self.standing, stratum) if stratum else {}


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
