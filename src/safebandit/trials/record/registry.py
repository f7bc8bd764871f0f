"""The database's own log: which projects, trials and alerts were made, which people and keys, what each may do, by whom
and when, and who signed in.

Its events are chained as those of a trial are. The first, `begun`, names what was there when the log began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from safebandit.errors import DamagedError, SafebanditError
from safebandit.trials.events import NOTHING, Event, canonical, hash_of, link_problem, seal, stamp, stamp_problem
from safebandit.trials.record.database import alerts, events, keys, people, projects, registry, roles, trials
from safebandit.trials.replay import Verification
from safebandit.trials.texts import DEFAULT, check_project, check_text

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
    """The database's log, read event by event: the trials with the hashes of their first events, projects, people, keys
    and the roles of both.
    """

    def __init__(self) -> None:
        self.number, self.hash, self.time = 0, NOTHING, ""
        self.misdated = 0
        self.trials: dict[str, str] = {}
        self.projects: dict[str, dict[str, Any]] = {}
        self.people: dict[str, dict[str, Any]] = {}
        self.keys: dict[str, dict[str, Any]] = {}
        self.alerts: dict[str, dict[str, Any]] = {}
        # Of a person or a key, what it may do in which project.
        self.roles: dict[tuple[str, str], str] = {}
        self._actor = ""

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
            content, self._actor = event.content, event.actor
            clock = content.pop("clock", None)
            self.misdated += clock is not None
            return stamp_problem(event.time, clock, after=self.time) or self._do(event.kind, content)
        except (SafebanditError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as mistake:
            return f"cannot be read: {mistake}"

    def _do(self, kind: str, content: dict[str, Any]) -> str | None:
        kinds: dict[str, Callable[..., str | None]] = {
            "begun": self._begin,
            "trial created": self._create_trial,
            "project made": self._make_project,
            "person made": self._make_person,
            "person bound": self._bind_person,
            "person removed": self._remove_person,
            "roles given": self._give_roles,
            "key made": self._make_key,
            "key rotated": self._rotate_key,
            "key revoked": self._revoke_key,
            "alert made": self._make_alert,
            "alert removed": self._remove_alert,
            "signed in": self._sign_in,
        }
        if kind not in kinds or (kind == "begun") != (self.number == 0):
            return f"is of the kind {kind!r}, which cannot be there"
        return kinds[kind](**content)

    def _begin(self, *, trials: dict[str, str], keys: list[dict[str, Any]], software: str) -> str | None:
        self.trials = dict(trials)
        for key in keys:
            self._keep_older_key(key, creator="")
        return None if software else "names no software"

    def _create_trial(self, *, trial: str, hash: str) -> str | None:
        if trial in self.trials:
            return f"creates the trial {trial!r}, which is there already"
        self.trials[trial] = hash
        return None

    def _make_project(self, *, name: str, title: str, created: str) -> str | None:
        if check_project(name) in self.projects or name == DEFAULT:
            return f"makes the project {name!r}, which is there already"
        self.projects[name] = {"name": name, "title": title, "created": created}
        return None

    def _make_person(self, *, id: str, name: str, email: str | None, created: str) -> str | None:
        if id in self.people:
            return f"makes the person {id!r}, who is there already"
        if email is not None and any(each["email"] == email for each in self.people.values()):
            return f"makes a second person of the address {email!r}"
        self.people[id] = {"id": id, "name": name, "email": email, "subject": None, "created": created, "removed": None}
        return None

    def _bind_person(self, *, id: str, subject: str) -> str | None:
        if id not in self.people or self.people[id]["subject"] is not None:
            return f"binds the person {id!r} to a subject, who is not there or has one"
        self.people[id]["subject"] = subject
        return None

    def _remove_person(self, *, id: str, removed: str) -> str | None:
        if id not in self.people or self.people[id]["removed"] is not None:
            return f"removes the person {id!r}, who is not there"
        self.people[id] |= {"removed": removed, "email": None, "subject": None}
        self._set_roles(id, {})
        return None

    def _give_roles(self, *, holder: str, roles: dict[str, str]) -> str | None:
        if holder not in self.people or self.people[holder]["removed"] is not None:
            return f"gives roles to {holder!r}, who is no person here"
        self._set_roles(holder, roles)
        return None

    def _set_roles(self, holder: str, roles: dict[str, str]) -> None:
        self.roles = {of: role for of, role in self.roles.items() if of[0] != holder}
        self.roles |= {(holder, project): role for project, role in roles.items()}

    def _make_key(self, **key: Any) -> str | None:
        if key.get("id") in self.keys:
            return f"makes the key {key['id']!r}, which is there already"
        if key.keys() == _OLDER_KEY:
            self._keep_older_key(key, creator=self._actor)
            return None
        if key.keys() != _NEW_KEY:
            return f"makes a key of {', '.join(sorted(key))}, which is not what a key has"
        roles = key.pop("roles")
        self.keys[key["id"]] = {**key, "creator": self._actor, "revoked": None, "old_hash": None, "old_until": None}
        self._set_roles(key["id"], roles)
        return None

    def _keep_older_key(self, key: dict[str, Any], *, creator: str) -> None:
        """A key from before there were projects: its role is one in the default project."""
        key = dict(key)
        role = key.pop("role")
        self.keys[key["id"]] = {**key, "person": None, "creator": creator, "old_hash": None, "old_until": None}
        self._set_roles(key["id"], {DEFAULT: role, **({"*": role} if role == "admin" else {})})

    def _rotate_key(self, *, id: str, hash: str, until: str) -> str | None:
        if id not in self.keys or self.keys[id]["revoked"] is not None:
            return f"rotates the key {id!r}, which does not work"
        self.keys[id] |= {"hash": hash, "old_hash": self.keys[id]["hash"], "old_until": until}
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

    def _sign_in(self, *, key: str | None = None, person: str | None = None) -> str | None:
        if (key is None) == (person is None) or (key or person) not in (self.keys if person is None else self.people):
            return f"says that {key or person!r} signed in, who is not there"
        return None


def registered_alert(alert: Mapping[Any, Any]) -> dict[str, Any]:
    """What the log says of an alert: all but its secret, and of an address, which may be one, the host; a hash of both
    shows whether they were changed.
    """
    address = alert["target"].split("/")[2] if alert["channel"] == "webhook" else alert["target"]
    kept = {column.name: alert[column.name] for column in alerts.c if column.name not in ("target", "secret")}
    return {**kept, "address": address, "hash": hash_of((alert["target"], alert["secret"]))}


REGISTERED_OF_ALERT = {*alerts.c.keys(), "address", "hash"} - {"target", "secret"}


# What the event of a key has, and what it had before there were projects.
_OLDER_KEY = {"id", "name", "role", "hash", "created", "expires", "revoked"}
_NEW_KEY = {"id", "name", "roles", "hash", "created", "expires", "person"}


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
        # Not which: it may name trials and people that whoever verifies this one is not to know of.
        return f"the database's own log does not hold, from event {found.failed} on; verify the database"
    first = sa.select(events.c.hash).where(events.c.trial == name, events.c.number == 1)
    if read.trials.get(name) == connection.scalar(first):
        return None
    return f'the database\'s own log does not have this creation of the trial "{name}"'


def _beside_problem(connection: sa.Connection, read: Registry) -> str | None:
    for what, table, given in (
        ("key", keys, read.keys),
        ("person", people, read.people),
        ("project", projects, read.projects),
        ("alert", alerts, read.alerts),
    ):
        shown = registered_alert if table is alerts else dict
        kept = {row[0]: shown(row._mapping) for row in connection.execute(sa.select(table))}
        for name in [*given, *kept]:
            made = given.get(name)
            if made is None or name not in kept or made != {field: kept[name][field] for field in made}:
                return (
                    f"{what} {name!r} is not what the database's own log gives: it was put there, taken away or changed"
                )
    held = {(row.holder, row.project): row.role for row in connection.execute(sa.select(roles))}
    for holder, project in [*read.roles, *held]:
        if read.roles.get((holder, project)) != held.get((holder, project)):
            return f"the role of {holder!r} in {project!r} is not what the database's own log gives"
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
