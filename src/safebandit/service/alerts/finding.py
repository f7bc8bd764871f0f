"""What alerts have to tell: read off the logs of the trials, from where each alert has read so far.

The place is written in the transaction that adds what was found, so that nothing is lost or found twice however a
process ends. Where nothing was found it is written seldom: to read some events again costs nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.errors import RecordError
from safebandit.service.alerts import outbox
from safebandit.service.alerts.rules import Alert, about
from safebandit.service.alerts.words import Happened
from safebandit.trials.events import kind_of, read_json
from safebandit.trials.holds import Holds
from safebandit.trials.record.database import alert_positions, database_errors, events, trials, units
from safebandit.trials.record.standing import standing
from safebandit.trials.strata import name_of

# The kinds of event that alerts are about, as logs have them.
OF_EVENTS = {"held": "hold", "stopped": "stop", "amended": "amendment", "paused": "guard", "routed": "guard"}
# So far a place may lag behind what was read.
MOST_BEHIND = 1000


class Place(NamedTuple):
    """How far an alert has read the log of a trial, and of which waits it has told; `kept` is what the database has."""

    number: int = 0
    unit_told: int = 0
    wait_told: int = 0
    kept: tuple[int, int, int] | None = None

    @property
    def numbers(self) -> tuple[int, int, int]:
        """What the database keeps of it."""
        return self.number, self.unit_told, self.wait_told


class OvertakenError(RecordError):
    """Another process has written a place meanwhile: it does this work now."""


class Finder:
    """Reads on in the logs; one process does so at a time."""

    def __init__(self, engine: sa.Engine, *, late: bool) -> None:
        self._engine = engine
        self._late = late
        self._places: dict[tuple[str, str], Place] = {}
        self._known: set[str] = set()

    def forget(self) -> None:
        """Read the places from the database again."""
        self._places, self._known = {}, set()

    def look(self, alerts: Sequence[Alert], *, waits: bool = True) -> int:
        """Read on, and have told what was found, also of what waits; how many things that was."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            self._learn(connection, alerts)
            found, places = self._read(connection, alerts, waits=waits)
        behind = {key: place for key, place in places.items() if place.number - (place.kept or (0,))[0] > MOST_BEHIND}
        told = {(alert.id, str(happened.trial)) for alert, happened in found}
        moved = {key: places[key] for key in {*behind, *told}}
        if moved:
            with database_errors(), self._engine.begin() as connection:
                for key, place in moved.items():
                    _keep(connection, key, place)
                for alert, happened in found:
                    outbox.add(connection, alert, happened, late=self._late)
        self._places |= places | {key: place._replace(kept=place.numbers) for key, place in moved.items()}
        return len(found)

    def _learn(self, connection: sa.Connection, alerts: Sequence[Alert]) -> None:
        new = [alert.id for alert in alerts if alert.id not in self._known]
        if new:
            rows = connection.execute(sa.select(alert_positions).where(alert_positions.c.alert.in_(new)))
            for row in rows:
                kept = row.number, row.unit_told, row.wait_told
                self._places[row.alert, row.trial] = Place(*kept, kept)
            self._known.update(new)

    def _read(
        self, connection: sa.Connection, alerts: Sequence[Alert], *, waits: bool
    ) -> tuple[list[tuple[Alert, Happened]], dict[tuple[str, str], Place]]:
        found: list[tuple[Alert, Happened]] = []
        places: dict[tuple[str, str], Place] = {}
        for trial, number in connection.execute(sa.select(trials.c.name, trials.c.number)):
            mine = [alert for alert in alerts if alert.covers(trial)]
            behind = [alert for alert in mine if self._place(alert, trial).number < number]
            if behind:
                after = min(self._place(alert, trial).number for alert in behind)
                happened = list(_events(connection, trial, after, number))
                for alert in behind:
                    place = self._place(alert, trial)
                    found += [(alert, each) for each in _together(alert, place, happened)]
                    places[alert.id, trial] = place._replace(number=number)
        for alert in alerts:
            if alert.patience is not None and waits:
                self._read_waits(connection, alert, alert.patience, found, places)
        return found, places

    def _place(self, alert: Alert, trial: str) -> Place:
        return self._places.get((alert.id, trial), Place())

    def _read_waits(
        self,
        connection: sa.Connection,
        alert: Alert,
        patience: float,
        found: list[tuple[Alert, Happened]],
        places: dict[tuple[str, str], Place],
    ) -> None:
        until = _text_time(time.time() - patience)
        waits: dict[str, list[tuple[int, int, str, str]]] = {}
        for trial, number, since, stratum in _standing(connection, alert, until):
            place = places.get((alert.id, trial), self._place(alert, trial))
            if number > place.wait_told:
                where = f"in the stratum {stratum} " if stratum else ""
                said = f"{where}all arms that may be given wait for outcomes"
                waits.setdefault(trial, []).append((number, number, since, said))
                places[alert.id, trial] = place._replace(wait_told=number)
        for trial, count, first, last, since in _late_units(connection, alert, until):
            place = places.get((alert.id, trial), self._place(alert, trial))
            said = "the outcome of a unit has not been told" if count == 1 else f"{count} units' outcomes were not told"
            waits.setdefault(trial, []).append((first, last, since, said))
            places[alert.id, trial] = place._replace(unit_told=last)
        for trial, parts in waits.items():
            firsts, lasts, times, said_of = zip(*parts, strict=True)
            content = {"said": f"for more than {patience:g} s {' and '.join(said_of)}", "seconds": patience}
            happened = Happened("waiting", trial, min(firsts), max(lasts), 1, min(times), content)
            found.append((alert, happened))


def _events(connection: sa.Connection, trial: str, after: int, until: int) -> Iterator[Happened]:
    wanted = sa.select(events.c.number, events.c.time, events.c.kind, events.c.body).where(
        events.c.trial == trial, events.c.number > after, events.c.number <= until, events.c.kind.in_(list(OF_EVENTS))
    )
    for row in connection.execute(wanted.order_by(events.c.number)):
        content = _read(row.body)
        kind = OF_EVENTS.get(kind_of(row.kind, content))
        if kind is not None and _is_news(kind, content):
            if kind == "hold" and isinstance(content.get("stratum"), dict):
                content["strata"] = [name_of(content["stratum"])]
            yield Happened(kind, trial, row.number, row.number, 1, row.time, content)


def _is_news(kind: str, content: Mapping[str, Any]) -> bool:
    """What a person ordered is none to people; and that some arms hold one unit says nothing of the trial."""
    return "rule" in content if kind == "guard" else kind != "hold" or "eligible" not in content


def _read(body: str) -> dict[str, Any]:
    """What an event says; nothing where it cannot be read, which is for a verification to tell."""
    try:
        return dict(read_json(body))
    except (TypeError, ValueError, RecursionError):
        return {}


def _together(alert: Alert, place: Place, happened: Sequence[Happened]) -> Iterator[Happened]:
    """What an alert tells of these: things of a kind together, with what the last of them says."""
    for kind in alert.kinds:
        mine = [each for each in happened if each.kind == kind and each.first > place.number]
        if mine:
            strata = {stratum: None for each in mine for stratum in each.content.get("strata", ())}
            content = {**mine[-1].content, "strata": list(strata)} if strata else mine[-1].content
            yield mine[-1]._replace(first=mine[0].first, times=len(mine), content=content)


def _standing(connection: sa.Connection, alert: Alert, until: str) -> Iterator[tuple[str, int, str, str]]:
    """Trials that are open and have given no arm since an event before this time, because all wait for outcomes, as a
    whole or in a stratum; the first such event first.
    """
    marks = ('"waits_at":', '"standing":')
    marked = sa.or_(*(trials.c.state.contains(each, autoescape=True) for each in marks))
    wanted = sa.select(trials.c.name, trials.c.state).where(
        trials.c.status == "open", marked, about(alert, trials.c.name)
    )  # fmt: skip
    for name, state in connection.execute(wanted).all():
        waits = [each for each in standing(connection, name, Holds.of_row(json.loads(state))) if not each.held]
        for each in sorted(waits, key=lambda each: each.event):
            at = sa.select(events.c.time).where(events.c.trial == name, events.c.number == each.event)
            since = connection.scalar(at)
            if since is not None and since < until:
                yield name, each.event, since, each.stratum


def _late_units(connection: sa.Connection, alert: Alert, until: str) -> list[Any]:
    """Of each trial that is not closed the units that are waited for since before this time, of which the alert has not
    told: how many, the first and the last event in which one asked, and the time of the first.
    """
    at = sa.and_(events.c.trial == units.c.trial, events.c.number == units.c.asked_at)
    mine = sa.and_(alert_positions.c.alert == alert.id, alert_positions.c.trial == units.c.trial)
    told = sa.func.coalesce(alert_positions.c.unit_told, 0)
    asked = (sa.func.min(units.c.asked_at), sa.func.max(units.c.asked_at), sa.func.min(events.c.time))
    wanted = (
        sa.select(units.c.trial, sa.func.count(), *asked)
        .select_from(
            units.join(events, at).join(trials, trials.c.name == units.c.trial).outerjoin(alert_positions, mine)
        )
        .where(
            units.c.pending == sa.true(), events.c.time < until, trials.c.status != "closed", units.c.asked_at > told
        )
        .where(about(alert, units.c.trial))
        .group_by(units.c.trial)
    )
    return [tuple(row) for row in connection.execute(wanted)]


def _keep(connection: sa.Connection, key: tuple[str, str], place: Place) -> None:
    """Write a place, unless another process has written it since it was read."""
    alert, trial = key
    values = {"number": place.number, "unit_told": place.unit_told, "wait_told": place.wait_told}
    if place.kept is None:
        try:
            with connection.begin_nested():
                connection.execute(alert_positions.insert(), {"alert": alert, "trial": trial, **values})
        except sa.exc.IntegrityError:
            raise OvertakenError("another process reads for this alert") from None
        return
    kept = zip((alert_positions.c[name] for name in values), place.kept, strict=True)
    mine = (
        alert_positions.c.alert == alert,
        alert_positions.c.trial == trial,
        *(column == was for column, was in kept),
    )
    if not connection.execute(alert_positions.update().where(*mine).values(**values)).rowcount:
        raise OvertakenError("another process reads for this alert")


def _text_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
