"""Where a trial gives no arm at present, all of it or some of its strata: read from its row and its log, and decided
anew where something was told since.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import sqlalchemy as sa

from safebandit.core.policies import HOLD, WAIT
from safebandit.trials.events import NO_ARM, canonical, kind_of
from safebandit.trials.holds import Holds, last_of_strata
from safebandit.trials.record.database import events
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.strata import levels_of, name_of


class Standing(NamedTuple):
    """No arm is given since this event, in a stratum or in all of a trial (nothing); `held`: because none is
    permissible, otherwise because all that may be given wait for outcomes.
    """

    stratum: str
    event: int
    held: bool


def standing(connection: sa.Connection, trial: str, holds: Holds) -> list[Standing]:
    """What stands in a trial with these holds, as its row has them, whatever its status.

    It ends there with the next outcome, whatever that changes: a unit that asks then is decided anew.
    """
    found = [] if holds.at is None else [Standing("", holds.at, held=holds.waits_at is None)]
    strata = last_of_strata(holds.standing)
    if strata:
        wanted = sa.select(events.c.number).where(events.c.trial == trial, events.c.kind == "held")
        held = set(connection.scalars(wanted.where(events.c.number.in_(list(strata.values())))))
        found += [Standing(stratum, number, number in held) for stratum, number in sorted(strata.items())]
    return found


class _Known(NamedTuple):
    """What was found of a trial up to an event: where the last unit that asked was given no arm, and what stands."""

    number: int
    refused: dict[str, Standing]
    found: list[Standing]


class Standings:
    """What stands in the trials of a record, as it is true now.

    Where the last unit that asked was given no arm, and something was told since, a unit that might ask now is
    decided for, with random numbers of its own, and nothing is written. A decision that goes by a unit's context is not
    made without a unit: there, what its row says is all that is known. What was found is kept while nothing is written.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def now(self, connection: sa.Connection, trial: str, number: int, holds: Holds) -> list[Standing]:
        """What stands in an open trial whose last event has this number, and whose row has these holds."""
        with self._lock:
            known = self._known.get(trial, _Known(0, {}, []))
        if known.number == number:
            return known.found
        written = standing(connection, trial, holds)
        refused = _refused(connection, trial, known, number)
        doubtful = [each for each in refused.values() if each.stratum not in {one.stratum for one in written}]
        found = sorted([*written, *(self._decided(trial, doubtful) if doubtful else ())])
        with self._lock:
            self._known[trial] = _Known(number, refused, found)
        return found

    def _decided(self, trial: str, doubtful: Iterable[Standing]) -> Iterator[Standing]:
        """Of those that ended with an outcome, those that would stand again if a unit asked."""
        state = self._ledger.state(trial)
        for each in doubtful:
            decider = state.decider(each.stratum)
            if decider.context_size or bool(each.stratum) != bool(state.settings.factors):
                continue
            answer = decider.consider(state.clock(each.stratum), aside=state.decisions + 1).k
            if answer in (HOLD, WAIT):
                yield each._replace(held=answer == HOLD)


def _refused(connection: sa.Connection, trial: str, known: _Known, until: int) -> dict[str, Standing]:
    """Where the last unit that asked for any arm was given none; what was known before is read no more."""
    new = (events.c.trial == trial, events.c.number > known.number, events.c.number <= until)
    found = dict(known.refused)
    rows = connection.execute(
        sa.select(events.c.number, events.c.kind, events.c.body)
        .where(*new, events.c.kind.in_(list(NO_ARM)))
        .order_by(events.c.number)
    )
    for number, kind, body in rows:
        content = json.loads(body)
        if "eligible" not in content:
            stratum = name_of(content.get("stratum", {}))
            found[stratum] = Standing(stratum, number, kind_of(kind, content) == "held")
    given = sa.select(events.c.number).where(*new, events.c.kind == "asked").limit(1)
    for stratum, each in list(found.items()):
        later = given.where(events.c.number > each.event)
        if stratum:
            later = later.where(events.c.body.contains(f'"stratum":{canonical(levels_of(stratum))}', autoescape=True))
        if connection.scalar(later) is not None:
            del found[stratum]
    return found
