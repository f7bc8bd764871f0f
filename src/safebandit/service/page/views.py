"""What the pages show, read from the record: trials in a list, a trial at a glance, its pending units and its log."""

from __future__ import annotations

import json
import math
import threading
import time
import weakref
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.service.page.charts import AllocationOverTime
from safebandit.trials.contexts import Range, ranges_of
from safebandit.trials.events import Event
from safebandit.trials.holds import Holds
from safebandit.trials.record.database import events, trials, units
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.overview import Overview, overview
from safebandit.trials.record.projects import in_projects
from safebandit.trials.record.store import as_written, trial_row
from safebandit.trials.record.waiting import missing
from safebandit.trials.settings import Settings
from safebandit.trials.units import Unit

# A picture of the allocation has at most so many blocks, none of fewer rounds than the second number: those who may
# not see the arms of single units see sums only.
MOST_BLOCKS = 60
LEAST_BLOCK = 10
# While a trial is written to, its glance is computed at most so often for the pages that watch it.
GLANCE_SECONDS = 1.0


class Head(NamedTuple):
    """A trial as everyone with a key may see it; `holding` says why no arm is permissible, `waiting` that those which
    are wait for outcomes; `routed`, that every unit is given the control.
    """

    name: str
    status: str
    number: int
    time: str
    units: int
    pending: int
    version: int
    settings: Settings
    holding: str | None
    waiting: str | None
    routed: bool = False
    proposals: Mapping[str, Any] | None = None
    unsealed: Collection[str] = ()

    @property
    def red(self) -> bool:
        """Whether no arm is permissible, for any unit."""
        return self.holding is not None and not self.by_context

    @property
    def by_context(self) -> bool:
        """Whether what is decided depends on the unit's context: what holds one unit says nothing of another."""
        return self.settings.goes_by_context

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The numbers that a unit asks with."""
        return ranges_of(self.settings.context)

    @property
    def features(self) -> dict[str, tuple[float, ...]]:
        """The features of each arm, where arms have some."""
        return dict(zip(self.settings.arms, self.settings.features, strict=False))


class Waiting(NamedTuple):
    """A unit whose outcome is not known, or not all of it."""

    unit: str
    arm: str
    round: int
    asked: str
    missing: str
    event: int


class Glance(NamedTuple):
    """A trial's overview and who was given what over time."""

    overview: Overview
    allocation: AllocationOverTime


def heads(ledger: Ledger, projects: Collection[str]) -> list[Head]:
    """Every trial of these projects, in the order of their names."""
    wanted = _HEADS.where(in_projects(trials.c.name, projects)).order_by(trials.c.name)
    with ledger.reading() as connection:
        rows = connection.execute(wanted).all()
        return [_head(connection, row) for row in rows]


def head(ledger: Ledger, name: str) -> Head:
    """One trial."""
    with ledger.reading() as connection:
        row = connection.execute(_HEADS.where(trials.c.name == name)).one_or_none()
        return _head(connection, trial_row(connection, name) if row is None else row)


def unchanged(ledger: Ledger, name: str, number: str) -> bool:
    """Whether the last event of a trial still has this number."""
    with ledger.reading() as connection:
        return str(connection.scalar(sa.select(trials.c.number).where(trials.c.name == name))) == number


_HEADS = sa.select(trials.c.name, trials.c.number, trials.c.time, trials.c.status, trials.c.state)


def _head(connection: sa.Connection, row: Any) -> Head:
    with as_written(f'the state of trial "{row.name}"'):
        return _read_head(connection, row, json.loads(row.state))


def _read_head(connection: sa.Connection, row: Any, state: dict[str, Any]) -> Head:
    holds, why = Holds.of_row(state), None
    if holds.at is not None and row.status == "open":
        last = sa.select(events.c.body).where(events.c.trial == row.name, events.c.number == holds.at)
        why = json.loads(connection.execute(last).scalar_one())["why"]
    holding, waiting = (None, why) if holds.waits_at else (why, None)
    counts = state["units"], state["waiting"], state["version"]
    settings, routed = Settings.from_dict(state["settings"]), bool(state.get("routed"))
    seen = Head(row.name, row.status, row.number, row.time, *counts, settings, holding, waiting, routed)
    return seen._replace(proposals=state.get("proposals", {}), unsealed=state.get("unsealed", ()))


class Glances:
    """Glances of the trials of one record, shared by all who look."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Glance]] = {}
        self._lock = threading.Lock()

    def at(self, ledger: Ledger, seen: Head, *, fresh: bool = True) -> Glance:
        """A trial at a glance; one that is not `fresh` may be a moment old."""
        with self._lock:
            made, glance = self._kept.get(seen.name, (-math.inf, None))
        if glance is not None:
            young = not fresh and time.monotonic() - made < GLANCE_SECONDS
            if glance.overview.events == seen.number or young:
                return glance
        whole = overview(ledger, seen.name)
        glance = Glance(whole, allocation(ledger, seen.name, whole))
        with self._lock:
            if len(self._kept) > 100:
                self._kept.clear()
            self._kept[seen.name] = (time.monotonic(), glance)
        return glance


_kept: weakref.WeakKeyDictionary[Ledger, Glances] = weakref.WeakKeyDictionary()


def glance_at(ledger: Ledger, seen: Head, *, fresh: bool = True) -> Glance:
    """A trial at a glance, kept for all requests."""
    return _kept.setdefault(ledger, Glances()).at(ledger, seen, fresh=fresh)


def past_glance(ledger: Ledger, seen: Overview) -> Glance:
    """A trial at a glance as it was when its overview is of."""
    return Glance(seen, allocation(ledger, seen.name, seen))


def allocation(ledger: Ledger, name: str, seen: Overview) -> AllocationOverTime:
    """How many units each arm was given, block by block, counted by the database."""
    block = block_size(seen.rounds)
    blocks = math.ceil(seen.rounds / block)
    number = ((units.c.round - 1) // block).label("block")
    # As the overview has them: one that was voided after it still counted then.
    counts = sa.or_(units.c.voided_at.is_(None), units.c.voided_at > seen.events)
    counted = (
        sa.select(units.c.arm, number, sa.func.count())
        .where(units.c.trial == name, units.c.round <= seen.rounds, counts)
        .group_by(units.c.arm, number)
    )
    arms = {arm.arm: [0] * blocks for arm in seen.arms}
    with ledger.reading() as connection:
        for arm, i, count in connection.execute(counted):
            arms[arm][i] = count
    return AllocationOverTime(block, arms)


def block_size(count: int) -> int:
    """Rounds per block: 1, 2 or 5 times a power of ten, so that there are not too many blocks.

    >>> block_size(7), block_size(601), block_size(100_000)
    (10, 20, 2000)
    """
    least = max(LEAST_BLOCK, count / MOST_BLOCKS)
    power = 10 ** math.floor(math.log10(least))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= least)


def without_last_part(seen: AllocationOverTime, count: int) -> AllocationOverTime:
    """Whole blocks only: the last one, as long as it is not full, tells of single units."""
    return AllocationOverTime(seen.block, {arm: counts[: count // seen.block] for arm, counts in seen.arms.items()})


def waiting(ledger: Ledger, seen: Head, *, asker: str | None = None, most: int) -> list[Waiting]:
    """Units whose outcomes are waited for, the longest first; those that `asker` asked for, if one is given."""
    asked = sa.and_(events.c.trial == units.c.trial, events.c.number == units.c.asked_at)
    wanted = (
        sa.select(units.c.id, units.c.arm, units.c.round, units.c.outcome, units.c.asked_at, events.c.time)
        .join(events, asked)
        .where(units.c.trial == seen.name, units.c.pending == sa.true())
        .order_by(units.c.round)
        .limit(most)
    )
    if asker is not None:
        wanted = wanted.where(events.c.actor == asker)
    with ledger.reading() as connection:
        return [
            Waiting(row.id, row.arm, row.round, row.time, ", ".join(missing(seen.settings, row.outcome)), row.asked_at)
            for row in connection.execute(wanted)
        ]


def listed(ledger: Ledger, name: str, *, before: int | None = None, most: int) -> list[Unit]:
    """Units of a trial, the last first, those of rounds before a number if one is given."""
    wanted = sa.select(units).where(units.c.trial == name).order_by(units.c.round.desc()).limit(most)
    if before is not None:
        wanted = wanted.where(units.c.round < before)
    with ledger.reading() as connection:
        rows = connection.execute(wanted).all()
    return [
        Unit(
            row.id,
            row.arm,
            row.round,
            row.play,
            row.asked_at,
            json.loads(row.outcome),
            lost_at=row.lost_at,
            voided_at=row.voided_at,
            context=[] if row.context is None else json.loads(row.context),
        )
        for row in rows
    ]


def voided_at(ledger: Ledger, name: str, unit: str) -> int | None:
    """The event that voided a unit; None where there is no such."""
    with ledger.reading() as connection:
        return connection.scalar(sa.select(units.c.voided_at).where(units.c.trial == name, units.c.id == unit))


def log(ledger: Ledger, name: str, *, before: int | None = None, most: int) -> list[Event]:
    """Events of a trial, the newest first, those before a number if one is given."""
    wanted = sa.select(events).where(events.c.trial == name).order_by(events.c.number.desc()).limit(most)
    if before is not None:
        wanted = wanted.where(events.c.number < before)
    with ledger.reading() as connection:
        return [Event(*row) for row in connection.execute(wanted)]
