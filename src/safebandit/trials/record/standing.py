"""Where a trial gives no arm at present, all of it or some of its strata: read from its row and its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.trials.eligibility import last_of_strata
from safebandit.trials.record.database import events


class Standing(NamedTuple):
    """No arm is given since this event, in a stratum or in all of a trial (nothing); `held`: because none is
    permissible, otherwise because all that may be given wait for outcomes.
    """

    stratum: str
    event: int
    held: bool


def standing(connection: sa.Connection, trial: str, state: Mapping[str, Any]) -> list[Standing]:
    """What stands in a trial with this state, as its row has it, whatever its status."""
    held_at, waits_at = state["held_at"], state.get("waits_at")
    found = [Standing("", held_at, True)] if held_at is not None else []
    found += [Standing("", waits_at, False)] if waits_at is not None else []
    strata = last_of_strata(state.get("standing", {}))
    if strata:
        wanted = sa.select(events.c.number).where(events.c.trial == trial, events.c.kind == "held")
        held = set(connection.scalars(wanted.where(events.c.number.in_(list(strata.values())))))
        found += [Standing(stratum, number, number in held) for stratum, number in sorted(strata.items())]
    return found
