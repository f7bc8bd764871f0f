"""Pending units over many trials, the longest first: who sees which, what is still missing of each, page by page."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.errors import TrialError
from safebandit.trials.record.database import events, trials, units
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.projects import in_projects
from safebandit.trials.record.store import as_written
from safebandit.trials.settings import Settings
from safebandit.trials.texts import NAME, read_unit_id

# A time of the record, a round and a trial's name.
PLACE = rf"[0-9]{{4}}(-[0-9]{{2}}){{2}}T[0-9]{{2}}(:[0-9]{{2}}){{2}}\.[0-9]{{6}}Z,[0-9]{{1,18}},{NAME}"
_PLACE = re.compile(PLACE, re.ASCII)


class Sight(NamedTuple):
    """Whose pending units are seen: all of some projects, and of others those that `asker` asked for."""

    projects: Collection[str]
    own: Collection[str] = ()
    asker: str = ""


class Wanted(NamedTuple):
    """Which of them: those of one trial, and those whose id has a text in it, if these are given."""

    trial: str = ""
    text: str = ""


class Place(NamedTuple):
    """A unit's place in the list."""

    asked: str
    round: int
    trial: str

    def __str__(self) -> str:
        return ",".join(map(str, self))

    @classmethod
    def read(cls, text: str) -> Place:
        """A place as it was told before.

        >>> Place.read("2026-11-18T04:02:03.123456Z,17,knee").round
        17
        """
        if not _PLACE.fullmatch(text):
            raise TrialError(f"a place in the list is such as the page before has it in its address, got {text[:80]!r}")
        asked, at, trial = text.split(",")
        return cls(asked, int(at), trial)


class WaitingUnit(NamedTuple):
    """A unit of some trial whose outcome is waited for; `missing` are the reward and the risks that are not known."""

    trial: str
    unit: str
    arm: str
    round: int
    event: int
    asked: str
    missing: tuple[str, ...]

    @property
    def place(self) -> Place:
        """Where it stands in the list."""
        return Place(self.asked, self.round, self.trial)


def waiting_units(
    ledger: Ledger, sight: Sight, wanted: Wanted, *, after: Place | None = None, most: int
) -> list[WaitingUnit]:  # fmt: skip
    """Pending units behind a place, in the order in which they were asked for."""
    order = (events.c.time, units.c.round, units.c.trial)
    columns = (units.c.trial, units.c.id, units.c.arm, units.c.round, units.c.asked_at, events.c.time, units.c.outcome)
    found = sa.select(*columns).select_from(_ASKED).where(*_conditions(sight, wanted)).order_by(*order).limit(most)
    if after is not None:
        found = found.where(sa.tuple_(*order) > sa.tuple_(*after))
    with ledger.reading() as connection:
        rows = connection.execute(found).all()
        settings = _settings(connection, {row.trial for row in rows})
    return [WaitingUnit(*row[:-1], missing(settings[row.trial], row.outcome)) for row in rows]


def waiting_counts(ledger: Ledger, sight: Sight, wanted: Wanted) -> dict[str, int]:
    """How many units of each trial are pending; trials without any are left out."""
    counted = (
        sa.select(units.c.trial, sa.func.count().label("units")).select_from(_ASKED).where(*_conditions(sight, wanted))
    )
    with ledger.reading() as connection:
        rows = connection.execute(counted.group_by(units.c.trial).order_by(units.c.trial))
        return {row.trial: row.units for row in rows}


def written_in(ledger: Ledger, projects: Collection[str]) -> tuple[int, int]:
    """How many trials some projects have, and how many events: neither changes while nothing is written there."""
    counted = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(trials.c.number), 0))
    with ledger.reading() as connection:
        found, written = connection.execute(counted.where(in_projects(trials.c.name, projects))).one()
    return int(found), int(written)


def missing(settings: Settings, outcome: str) -> tuple[str, ...]:
    """What is not known of an outcome: "reward", where there is one, and the names of risks."""
    names = ["reward" if settings.rewarded else "", *settings.risks]
    return tuple(name for name, value in zip(names, json.loads(outcome), strict=True) if value is None and name)


_ASKED = units.join(events, sa.and_(events.c.trial == units.c.trial, events.c.number == units.c.asked_at))


def _conditions(sight: Sight, wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    own = sa.and_(in_projects(units.c.trial, sight.own), events.c.actor == sight.asker)
    found = [units.c.pending == sa.true(), sa.or_(in_projects(units.c.trial, sight.projects), own)]
    if wanted.trial:
        found.append(units.c.trial == wanted.trial)
    if wanted.text:
        found.append(units.c.id.icontains(read_unit_id(wanted.text), autoescape=True))
    return found


def _settings(connection: sa.Connection, names: Collection[str]) -> dict[str, Settings]:
    rows = connection.execute(sa.select(trials.c.name, trials.c.state).where(trials.c.name.in_(sorted(names))))
    return {name: _read(name, state) for name, state in rows}


def _read(name: str, state: Any) -> Settings:
    with as_written(f'the state of trial "{name}"'):
        return Settings.from_dict(json.loads(state)["settings"])
