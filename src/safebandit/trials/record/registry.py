"""The database's own log: which trials were created, keys made and revoked, alerts made and removed, by whom and when.

Its events are chained as those of a trial are. The first, `begun`, names what was there when the log began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from safebandit.errors import DamagedError, SafebanditError
from safebandit.trials.events import NOTHING, Event, canonical, hash_of, link_problem, seal, stamp, stamp_problem
from safebandit.trials.record.database import alerts, events, keys, registry, trials
from safebandit.trials.replay import Verification
from safebandit.trials.texts import check_text

# In the place of a trial's name: in what is hashed, and for people.
DATABASE, WHOLE = "", "the database"
# PostgreSQL's lock for whoever adds an event.
_LOCK = 5071975


def register(connection: sa.Connection, kind: str, body: Mapping[str, Any], *, actor: str) -> None:
    """Add an event; last in a transaction, for its lock is one that all who write here wait for."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    last = connection.execute(sa.select(registry).order_by(registry.c.number.desc()).limit(1)).one_or_none()
    if last is None:
        raise DamagedError("the database's own log is empty, though it began with the database; verify the database")
    time, stamped = stamp(body, after=last.time)
    event = seal(DATABASE, last.number + 1, time, check_text("actor", actor), kind, stamped, last.hash)
    connection.execute(registry.insert(), {key: value for key, value in event._asdict().items() if key != "trial"})


def read_registry(connection: sa.Connection) -> list[Event]:
    """The whole log of the database; it has a line for each trial and key, so it is short."""
    return [Event(DATABASE, *row) for row in connection.execute(sa.select(registry).order_by(registry.c.number))]


class Registry:
    """The database's log, read event by event: the trials with the hashes of their first events, and the keys."""

    def __init__(self) -> None:
        self.number, self.hash, self.time = 0, NOTHING, ""
        self.misdated = 0
        self.trials: dict[str, str] = {}
        self.keys: dict[str, dict[str, Any]] = {}
        self.alerts: dict[str, dict[str, Any]] = {}

    def verify(self, log: Iterable[Event], *, expected: str | None = None) -> Verification:
        """Read all events up to the first that fails; `expected` is the hash of some event, as noted elsewhere."""
        wanted, found_at = None if expected is None else expected.strip().lower(), None
        for event in log:
            problem = self._read(event)
            if problem is not None:
                return self._summary()._replace(failed=event.number, problem=f"event {self.number + 1} {problem}")
            self.number, self.hash, self.time = event.number, event.hash, event.time
            found_at = event.number if event.hash == wanted else found_at
        if found_at is not None:
            return self._summary()._replace(after=self.number - found_at)
        problem = None if self.number > 0 else "the database's own log is empty"
        if problem is None and wanted is not None:
            problem = f"no event of the database's own log has the hash {wanted} that was expected"
        return self._summary()._replace(failed=None if problem is None else self.number, problem=problem)

    def _summary(self) -> Verification:
        return Verification(WHOLE, self.number, 0, 0, self.hash, None, None, self.misdated)

    def _read(self, event: Event) -> str | None:
        """Do what an event says; what is wrong with it, if anything."""
        try:
            problem = link_problem(event, trial=DATABASE, number=self.number + 1, previous=self.hash)
            if problem is None and canonical(event.content) != event.body:
                problem = "is not written as a database writes it"
            if problem is not None:
                return problem
            check_text("actor", event.actor)
            content = event.content
            clock = content.pop("clock", None)
            self.misdated += clock is not None
            return stamp_problem(event.time, clock, after=self.time) or self._do(event.kind, content)
        except (SafebanditError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as mistake:
            return f"cannot be read: {mistake}"

    def _do(self, kind: str, content: dict[str, Any]) -> str | None:
        kinds: dict[str, Callable[..., str | None]] = {
            "begun": self._begin,
            "trial created": self._create_trial,
            "key made": self._make_key,
            "key revoked": self._revoke_key,
            "alert made": self._make_alert,
            "alert removed": self._remove_alert,
        }
        if kind not in kinds or (kind == "begun") != (self.number == 0):
            return f"is of the kind {kind!r}, which cannot be there"
        return kinds[kind](**content)

    def _begin(self, *, trials: dict[str, str], keys: list[dict[str, Any]], software: str) -> str | None:
        self.trials = dict(trials)
        self.keys = {key["id"]: key for key in keys}
        return None if software else "names no software"

    def _create_trial(self, *, trial: str, hash: str) -> str | None:
        if trial in self.trials:
            return f"creates the trial {trial!r}, which is there already"
        self.trials[trial] = hash
        return None

    def _make_key(self, **key: Any) -> str | None:
        if key.keys() != set(keys.c.keys()):
            return f"makes a key of {', '.join(sorted(key))}, which is not what a key has"
        if key["id"] in self.keys:
            return f"makes the key {key['id']!r}, which is there already"
        self.keys[key["id"]] = key
        return None

    def _revoke_key(self, *, id: str, revoked: str) -> str | None:
        if id not in self.keys or self.keys[id]["revoked"] is not None:
            return f"revokes the key {id!r}, which does not work"
        self.keys[id] = {**self.keys[id], "revoked": revoked}
        return None

    def _make_alert(self, **alert: Any) -> str | None:
        if alert.keys() != REGISTERED_OF_ALERT:
            return f"makes an alert of {', '.join(sorted(alert))}, which is not what an alert has"
        if alert["id"] in self.alerts:
            return f"makes the alert {alert['id']!r}, which is there already"
        self.alerts[alert["id"]] = alert
        return None

    def _remove_alert(self, *, id: str, removed: str) -> str | None:
        if id not in self.alerts or self.alerts[id]["removed"] is not None:
            return f"removes the alert {id!r}, which is not there"
        self.alerts[id] = {**self.alerts[id], "removed": removed}
        return None


def registered_alert(alert: Mapping[Any, Any]) -> dict[str, Any]:
    """What the log says of an alert: all but its secret, and of an address, which may be one, the host; a hash of both
    shows whether they were changed.
    """
    address = alert["target"].split("/")[2] if alert["channel"] == "webhook" else alert["target"]
    kept = {column.name: alert[column.name] for column in alerts.c if column.name not in ("target", "secret")}
    return {**kept, "address": address, "hash": hash_of((alert["target"], alert["secret"]))}


REGISTERED_OF_ALERT = {*alerts.c.keys(), "address", "hash"} - {"target", "secret"}


def verify_registry(connection: sa.Connection, *, expected: str | None = None) -> Verification:
    """Whether the database's log holds, and whether its trials and keys are those that the log gives."""
    read = Registry()
    found = read.verify(read_registry(connection), expected=expected)
    problem = _beside_problem(connection, read) if found.holds else None
    return found if problem is None else found._replace(failed=found.events, problem=problem)


def trial_problem(connection: sa.Connection, name: str) -> str | None:
    """What the database's log says against a trial, if anything: that it was never created, or is another one."""
    read = Registry()
    found = read.verify(read_registry(connection))
    if not found.holds:
        return f"the database's own log does not hold: {found.problem}"
    first = sa.select(events.c.hash).where(events.c.trial == name, events.c.number == 1)
    if read.trials.get(name) == connection.scalar(first):
        return None
    return f'the database\'s own log does not have this creation of the trial "{name}"'


def _beside_problem(connection: sa.Connection, read: Registry) -> str | None:
    kept = {row.id: row._mapping for row in connection.execute(sa.select(keys))}
    for key in [*read.keys, *kept]:
        made = read.keys.get(key)
        if made is None or key not in kept or made != {field: kept[key][field] for field in made}:
            return f"key {key!r} is not what the database's own log gives: it was put there, taken away or changed"
    sent = {row.id: registered_alert(row._mapping) for row in connection.execute(sa.select(alerts))}
    for alert in [*read.alerts, *sent]:
        if read.alerts.get(alert) != sent.get(alert):
            return f"alert {alert!r} is not what the database's own log gives: it was put there, taken away or changed"
    first = sa.select(trials.c.name, events.c.hash).select_from(
        trials.outerjoin(events, sa.and_(events.c.trial == trials.c.name, events.c.number == 1))
    )
    there = {row.name: row.hash for row in connection.execute(first)}
    for name in [*read.trials, *there]:
        if read.trials.get(name) != there.get(name):
            return (
                f'trial "{name}" is not what the database\'s own log gives: it was put there, taken away or begun anew'
            )
    return None
