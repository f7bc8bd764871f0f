"""Who asks: keys of people and services, kept as hashes, and the browsers that signed in."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.errors import NotFoundError, TrialError
from safebandit.service.roles import EVERYWHERE, Roles, may, of_a_persons_key, read_roles, show_roles
from safebandit.trials.events import now
from safebandit.trials.record.database import database_errors, keys, people, roles, sessions
from safebandit.trials.record.ledger import Ledger, local_actor
from safebandit.trials.record.projects import check_there
from safebandit.trials.record.registry import register
from safebandit.trials.texts import DEFAULT, check_text

NAME_LENGTH = 100
# For so long a key that was found is not looked up again; a key revoked by another process works that much longer.
REMEMBERED_SECONDS = 1.0
FAMILIAR_SECONDS = 3600.0
MOST_REMEMBERED = 1000
# That a key was used is written at most so often.
NOTED_SECONDS = 60.0
_WRITTEN = re.compile(r"sb_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


class SessionLimits(NamedTuple):
    """How long a browser stays signed in: at most so many hours, and so many minutes without being used."""

    hours: float = 12.0
    idle_minutes: float = 60.0


class Key(NamedTuple):
    """Who asks: a key without its secret, or a person who signed in, whose id it then has.

    `roles` are by project; `project` is that of the trial that is asked about, if one is.
    """

    id: str
    name: str
    roles: Roles
    created: str
    expires: str | None = None
    revoked: str | None = None
    person: str | None = None
    creator: str = ""
    used: str | None = None
    old_until: str | None = None
    project: str | None = None

    def may(self, action: str, project: str | None = None) -> bool:
        """Whether its roles allow this in the project that is asked about; without one, in any."""
        return may(self.roles, action, project or self.project)

    def where(self, action: str) -> frozenset[str]:
        """The projects in which it may do this."""
        return frozenset(project for project in self.roles if project != EVERYWHERE and self.may(action, project))

    @property
    def keeps(self) -> bool:
        """Whether it may keep the keys and the people of any project."""
        return may(self.roles, "keys", None)

    @property
    def role(self) -> str:
        """Its role in the project that is asked about; without one, all of them."""
        return show_roles(self.roles) if self.project is None else self.roles.get(self.project, "none")

    def valid(self, at: str) -> bool:
        """Whether it works at this time."""
        return self.revoked is None and (self.expires is None or at < self.expires)

    @property
    def actor(self) -> str:
        """The name that the log gives, with the key or the person: people may share a name, but not these."""
        return f"{self.name} ({'person' if self.id == self.person else 'key'} {self.id})"

    @property
    def works(self) -> bool:
        """Whether it works now."""
        return self.valid(now())


class _Found(NamedTuple):
    """A key as it was looked up, and by what it is told: its hashes, or the end of a session."""

    key: Key
    hash: str = ""
    old_hash: str | None = None
    until: str = ""
    idle_until: str = ""


class Keys:
    """The keys and the signed-in browsers of one database."""

    def __init__(self, ledger: Ledger, limits: SessionLimits | None = None) -> None:
        self.limits = limits or SessionLimits()
        self._engine = ledger.engine
        self._remembered: dict[str, tuple[float, _Found]] = {}
        # When each key or session last worked here, and when that was last written.
        self._worked: dict[str, float] = {}
        self._noted: dict[str, float] = {}
        self._lock = threading.Lock()

    def create(
        self,
        name: str,
        given: str | Roles,
        *,
        person: str | None = None,
        days: float | None = None,
        actor: str | None = None,
    ) -> tuple[Key, str]:
        """A new key, and its text: the only time that it can be seen.

        `given` are its roles by project, or one in the default project. A person's key without roles has theirs.
        """
        check_text("a key's name", name)
        if len(name) > NAME_LENGTH:
            raise TrialError(f"a key's name must have at most {NAME_LENGTH} characters, got {len(name)}")
        wanted = read_roles({DEFAULT: given} if isinstance(given, str) else given)
        if not wanted and person is None:
            raise TrialError("a service's key needs a role, got none; give one, such as viewer or knee=viewer")
        if days is not None and not 0 < days <= 36500:
            raise TrialError(f"days until a key expires must lie in (0, 36500], got {days!r}")
        who = actor or local_actor()
        secret = secrets.token_urlsafe(32)
        expires = None if days is None else _after(timedelta(days=days))
        key = Key(secrets.token_hex(8), name, wanted, now(), expires, None, person, who)
        with database_errors(), self._engine.begin() as connection:
            _check_places(connection, wanted, person)
            made = {name: getattr(key, name) for name in ("id", "name", "created", "expires", "person")}
            made["hash"] = _hash(secret)
            connection.execute(keys.insert(), {**made, "creator": who})
            put_roles(connection, key.id, wanted)
            register(connection, "key made", {**made, "roles": dict(wanted)}, actor=who)
        return key, f"sb_{key.id}_{secret}"

    def all(self) -> list[Key]:
        """Every key, revoked ones too, oldest first."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            return list_keys(connection)

    def rotate(self, id: str, *, overlap_hours: float = 0.0, actor: str | None = None) -> tuple[Key, str]:
        """Another secret for a key; the one before works for some hours yet."""
        if not 0 <= overlap_hours <= 24 * 366:
            raise TrialError(f"overlap hours must lie between 0 and {24 * 366}, got {overlap_hours!r}")
        secret = secrets.token_urlsafe(32)
        with database_errors(), self._engine.begin() as connection:
            before = _key_row(connection, id)
            if not one_key(connection, id).works:
                raise TrialError(f"key {id} is revoked or expired, and cannot be rotated; make another one")
            rotated = {"hash": _hash(secret), "until": _after(timedelta(hours=overlap_hours))}
            values = {"hash": rotated["hash"], "old_hash": before.hash, "old_until": rotated["until"]}
            connection.execute(keys.update().where(keys.c.id == id).values(values))
            register(connection, "key rotated", {"id": id, **rotated}, actor=actor or local_actor())
            key = one_key(connection, id)
        self.forget()
        return key, f"sb_{id}_{secret}"

    def revoke(self, id: str, *, actor: str | None = None) -> Key:
        """Make a key worthless, and with it the browsers that signed in with it."""
        with database_errors(), self._engine.begin() as connection:
            _key_row(connection, id)
            revoke_keys(connection, [id], actor=actor or local_actor())
            revoked = one_key(connection, id)
        self.forget()
        return revoked

    def one(self, id: str) -> Key:
        """The key of this id."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            return one_key(connection, id)

    def forget(self) -> None:
        """Look every key up anew: something has changed."""
        with self._lock:
            self._remembered.clear()

    def find(self, text: str, *, recalled: bool = False) -> Key | None:
        """Find the key with this text, if it works now; `recalled` looks only among keys seen a moment ago."""
        match = _WRITTEN.fullmatch(text)
        if match is None:
            return None
        found = self._look_up("key " + match[1], lambda: _KEYS.where(keys.c.id == match[1]), recalled)
        # Compared even where there is no such key, in constant time: an answer's delay tells nothing.
        shown = _hash(match[2])
        same = hmac.compare_digest(shown, found.hash if found else _NONE)
        old = found is not None and found.old_hash is not None and now() < str(found.key.old_until)
        same |= hmac.compare_digest(shown, str(found.old_hash) if found and old else _NONE)
        return self._note("key " + match[1], found.key) if found and same and found.key.works else None

    def familiar(self, text: str | None, token: str | None) -> bool:
        """Whether a key of this id, or this session, has worked here in the last hour: it is no guess."""
        match = _WRITTEN.fullmatch(text or "")
        what = f"key {match[1]}" if match else f"session {_hash(token or '')}"
        return time.monotonic() - self._worked.get(what, -math.inf) < FAMILIAR_SECONDS

    def _note(self, what: str, key: Key) -> Key:
        if len(self._worked) > MOST_REMEMBERED:
            self._worked.clear()
        self._worked[what] = time.monotonic()
        return key

    def sign_in(self, key: Key) -> str:
        """A token for a browser that showed this key, or whose person an identity provider vouches for."""
        token = secrets.token_urlsafe(32)
        of = {"person": key.person} if key.id == key.person else {"key": key.id}
        with database_errors(), self._engine.begin() as connection:
            connection.execute(sessions.delete().where(sessions.c.expires < now()))
            expires = _after(timedelta(hours=self.limits.hours))
            connection.execute(sessions.insert(), {"hash": _hash(token), **of, "expires": expires, "seen": now()})
            register(connection, "signed in", of, actor=key.actor)
        return token

    def sign_out(self, token: str) -> None:
        """Make a browser's token worthless."""
        with database_errors(), self._engine.begin() as connection:
            connection.execute(sessions.delete().where(sessions.c.hash == _hash(token)))
        self.forget()

    def find_session(self, token: str, *, recalled: bool = False) -> Key | None:
        """The key or the person that a browser signed in with, if all of it works now."""
        shown = _hash(token)
        found = self._look_up("session " + shown, lambda: _SESSIONS.where(sessions.c.hash == shown), recalled)
        works = found is not None and found.key.works and now() < min(found.until, found.idle_until)
        return self._note("session " + _hash(token), found.key) if found and works else None

    def note_use(self, key: Key, token: str | None) -> None:
        """Write down that a key, or the browser with this token, was used, at most once a minute."""
        what, at = f"{key.id} {token}", time.monotonic()
        if at - self._noted.get(what, -math.inf) < NOTED_SECONDS:
            return
        if len(self._noted) > MOST_REMEMBERED:
            self._noted.clear()
        self._noted[what] = at
        # Several processes note the same key: one of them writes.
        stale = _after(timedelta(seconds=1 - NOTED_SECONDS))
        with database_errors(), self._engine.begin() as connection:
            if key.id != key.person:
                fresh = sa.or_(keys.c.used.is_(None), keys.c.used < stale)
                connection.execute(keys.update().where(keys.c.id == key.id, fresh).values(used=now()))
            if token is not None:
                mine = sessions.c.hash == _hash(token), sessions.c.seen < stale
                connection.execute(sessions.update().where(*mine).values(seen=now()))

    def _look_up(self, what: str, wanted: Callable[[], Any], recalled: bool) -> _Found | None:
        """Look up a key with its hash, or a session with its end, and remember it for a moment."""
        with self._lock:
            seen, known = self._remembered.get(what, (-1.0, None))
        if known is not None and time.monotonic() - seen < REMEMBERED_SECONDS:
            return known
        if recalled:
            return None
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            rows = connection.execute(wanted()).all()
        if not rows:
            return None
        found = self._read(rows)
        with self._lock:
            if len(self._remembered) > MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[what] = (time.monotonic(), found)
        return found

    def _read(self, rows: Sequence[Any]) -> _Found:
        row = rows[0]
        if not hasattr(row, "until"):
            return _Found(_read_key(rows), row.hash, row.old_hash)
        idle_until = _after(timedelta(minutes=self.limits.idle_minutes), of=row.seen)
        key = _read_key(rows) if row.signed is None else _read_person(rows)
        return _Found(key, until=row.until, idle_until=idle_until)


_HELD = roles.c.holder, roles.c.project, roles.c.role
_KEYS = sa.select(keys, *_HELD).select_from(
    keys.outerjoin(roles, sa.or_(roles.c.holder == keys.c.id, roles.c.holder == keys.c.person))
)
_SIGNED = sa.func.coalesce(sessions.c.person, keys.c.person)
_SESSIONS = sa.select(
    keys, *_HELD, sessions.c.person.label("signed"), sessions.c.expires.label("until"), sessions.c.seen,
    people.c.name.label("person_name"), people.c.created.label("person_created"),
    people.c.removed.label("person_removed"),
).select_from(
    sessions.outerjoin(keys, keys.c.id == sessions.c.key)
    .outerjoin(people, people.c.id == _SIGNED)
    .outerjoin(roles, sa.or_(roles.c.holder == keys.c.id, roles.c.holder == _SIGNED))
)  # fmt: skip


def list_keys(connection: sa.Connection) -> list[Key]:
    """Every key, revoked ones too, oldest first."""
    rows: dict[str, list[Any]] = {}
    for row in connection.execute(_KEYS.order_by(keys.c.created, keys.c.id)):
        rows.setdefault(row.id, []).append(row)
    return [_read_key(each) for each in rows.values()]


def one_key(connection: sa.Connection, id: str) -> Key:
    """The key of this id."""
    rows = connection.execute(_KEYS.where(keys.c.id == id)).all()
    if not rows:
        raise _no_key(id)
    return _read_key(rows)


def _key_row(connection: sa.Connection, id: str) -> Any:
    row = connection.execute(sa.select(keys).where(keys.c.id == id)).one_or_none()
    if row is None:
        raise _no_key(id)
    return row


def _no_key(id: str) -> NotFoundError:
    return NotFoundError(f"there is no key {str(id)[:40]!r}; list them to see their ids")


def revoke_keys(connection: sa.Connection, ids: Iterable[str], *, actor: str) -> None:
    """Make keys worthless, those that still work, and end what browsers signed in with them."""
    for each in ids:
        connection.execute(sessions.delete().where(sessions.c.key == each))
        if _key_row(connection, each).revoked is None:
            at = now()
            connection.execute(keys.update().where(keys.c.id == each).values(revoked=at))
            register(connection, "key revoked", {"id": each, "revoked": at}, actor=actor)


def put_roles(connection: sa.Connection, holder: str, wanted: Roles) -> None:
    """Give a person or a key these roles, and no others."""
    connection.execute(roles.delete().where(roles.c.holder == holder))
    if wanted:
        connection.execute(
            roles.insert(), [{"holder": holder, "project": where, "role": role} for where, role in wanted.items()]
        )


def _check_places(connection: sa.Connection, wanted: Mapping[str, str], person: str | None) -> None:
    """Refuse roles in projects that are not there, and a person who is not."""
    for project in wanted:
        if project != EVERYWHERE:
            check_there(connection, project)
    if person is not None:
        found = sa.select(people.c.id).where(people.c.id == person, people.c.removed.is_(None))
        if connection.scalar(found) is None:
            raise NotFoundError(f"there is no person {str(person)[:40]!r}; list them to see their ids")


def _read_key(rows: Sequence[Any]) -> Key:
    row = rows[0]
    own = {each.project: each.role for each in rows if each.holder == row.id}
    if row.person is not None:
        own = of_a_persons_key(own, {each.project: each.role for each in rows if each.holder == row.person})
    fields = (row.created, row.expires, row.revoked, row.person, row.creator, row.used, row.old_until)
    return Key(row.id, row.name, own, *fields)


def _read_person(rows: Sequence[Any]) -> Key:
    row = rows[0]
    held = {each.project: each.role for each in rows if each.holder is not None}
    return Key(row.signed, row.person_name, held, row.person_created, None, row.person_removed, row.signed)


def _hash(secret: str) -> str:
    # A secret of 256 random bits needs no slow hash: there is nothing to guess.
    return hashlib.sha256(secret.encode()).hexdigest()


# What is compared where there is no key.
_NONE = _hash("")


def _after(wait: timedelta, of: str | None = None) -> str:
    begin = datetime.now(UTC) if of is None else datetime.fromisoformat(of)
    return (begin + wait).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
