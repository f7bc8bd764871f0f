"""Who may do what: keys with roles, kept as hashes, and the browsers that signed in with one."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.errors import NotFoundError, TrialError
from safebandit.trials.events import now
from safebandit.trials.record.database import database_errors, keys, sessions
from safebandit.trials.record.ledger import Ledger, local_actor
from safebandit.trials.record.registry import register
from safebandit.trials.texts import check_text

# What each role may do. "list" shows names and status of trials, "read" what is known of the arms, "log" every unit's
# allocation, the log and its verification, "manage" everything that changes a trial but asking and telling,
# "alerts" who is told of what.
PERMISSIONS = {
    "admin": frozenset({"list", "read", "ask", "tell", "log", "manage", "keys", "alerts"}),
    "operator": frozenset({"list", "ask", "tell"}),
    "viewer": frozenset({"list", "read"}),
    "auditor": frozenset({"list", "read", "log"}),
}
ROLES = tuple(PERMISSIONS)
SESSION_HOURS = 12
NAME_LENGTH = 100
# For so long a key that was found is not looked up again; a key revoked by another process works that much longer.
REMEMBERED_SECONDS = 1.0
FAMILIAR_SECONDS = 3600.0
MOST_REMEMBERED = 1000
_WRITTEN = re.compile(r"sb_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


class Key(NamedTuple):
    """A key without its secret."""

    id: str
    name: str
    role: str
    created: str
    expires: str | None
    revoked: str | None

    def may(self, action: str) -> bool:
        """Whether the key's role allows this."""
        return action in PERMISSIONS[self.role]

    def valid(self, at: str) -> bool:
        """Whether it works at this time."""
        return self.revoked is None and (self.expires is None or at < self.expires)

    @property
    def actor(self) -> str:
        """The name that the log gives, with the key: people may share a name, but not a key."""
        return f"{self.name} (key {self.id})"

    @property
    def works(self) -> bool:
        """Whether it works now."""
        return self.valid(now())


class Keys:
    """The keys of one database."""

    def __init__(self, ledger: Ledger) -> None:
        self._engine = ledger.engine
        self._remembered: dict[str, tuple[float, Key, str]] = {}
        # When each key or session last worked here.
        self._worked: dict[str, float] = {}
        self._lock = threading.Lock()

    def create(self, name: str, role: str, *, days: float | None = None, actor: str | None = None) -> tuple[Key, str]:
        """A new key, and its text: the only time that it can be seen."""
        check_text("a key's name", name)
        if len(name) > NAME_LENGTH:
            raise TrialError(f"a key's name must have at most {NAME_LENGTH} characters, got {len(name)}")
        if role not in PERMISSIONS:
            raise TrialError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
        if days is not None and not 0 < days <= 36500:
            raise TrialError(f"days until a key expires must lie in (0, 36500], got {days!r}")
        secret = secrets.token_urlsafe(32)
        expires = None if days is None else _after(timedelta(days=days))
        key = Key(secrets.token_hex(8), name, role, now(), expires, None)
        with database_errors(), self._engine.begin() as connection:
            made = {**key._asdict(), "hash": _hash(secret)}
            connection.execute(keys.insert(), made)
            register(connection, "key made", made, actor=actor or local_actor())
        return key, f"sb_{key.id}_{secret}"

    def all(self) -> list[Key]:
        """Every key, revoked ones too, oldest first."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            return [_key(row) for row in connection.execute(sa.select(keys).order_by(keys.c.created, keys.c.id))]

    def revoke(self, id: str, *, actor: str | None = None) -> Key:
        """Make a key worthless, and with it the browsers that signed in with it."""
        with database_errors(), self._engine.begin() as connection:
            row = connection.execute(sa.select(keys).where(keys.c.id == id)).one_or_none()
            if row is None:
                raise NotFoundError(f"there is no key {str(id)[:40]!r}; list them to see their ids")
            if row.revoked is None:
                connection.execute(keys.update().where(keys.c.id == id).values(revoked=now()))
            connection.execute(sessions.delete().where(sessions.c.key == id))
            revoked = _key(connection.execute(sa.select(keys).where(keys.c.id == id)).one())
            if row.revoked is None:
                register(
                    connection, "key revoked", {"id": id, "revoked": revoked.revoked}, actor=actor or local_actor()
                )
        with self._lock:
            self._remembered.clear()
        return revoked

    def find(self, text: str, *, recalled: bool = False) -> Key | None:
        """Find the key with this text, if it works now; `recalled` looks only among keys seen a moment ago."""
        match = _WRITTEN.fullmatch(text)
        if match is None:
            return None
        found = self._look_up("key " + match[1], sa.select(keys).where(keys.c.id == match[1]), recalled)
        # Compared even where there is no such key, in constant time: an answer's delay tells nothing.
        same = hmac.compare_digest(_hash(match[2]), found[1] if found else _hash(""))
        return self._note("key " + match[1], found[0]) if found and same and found[0].works else None

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
        """A token for a browser that showed this key."""
        token = secrets.token_urlsafe(32)
        with database_errors(), self._engine.begin() as connection:
            connection.execute(sessions.delete().where(sessions.c.expires < now()))
            expires = _after(timedelta(hours=SESSION_HOURS))
            connection.execute(sessions.insert(), {"hash": _hash(token), "key": key.id, "expires": expires})
        return token

    def sign_out(self, token: str) -> None:
        """Make a browser's token worthless."""
        with database_errors(), self._engine.begin() as connection:
            connection.execute(sessions.delete().where(sessions.c.hash == _hash(token)))
        with self._lock:
            self._remembered.clear()

    def find_session(self, token: str, *, recalled: bool = False) -> Key | None:
        """The key that a browser signed in with, if both work now."""
        wanted = sa.select(keys, sessions.c.expires.label("until")).join(sessions, sessions.c.key == keys.c.id)
        wanted = wanted.where(sessions.c.hash == _hash(token))
        found = self._look_up("session " + _hash(token), wanted, recalled)
        works = found is not None and found[0].works and now() < found[1]
        return self._note("session " + _hash(token), found[0]) if found and works else None

    def _look_up(self, what: str, wanted: Any, recalled: bool) -> tuple[Key, str] | None:
        """Look up a key with its hash, or a session with its end, and remember it for a moment."""
        with self._lock:
            seen, key, rest = self._remembered.get(what, (-1.0, None, ""))
        if key is not None and time.monotonic() - seen < REMEMBERED_SECONDS:
            return key, rest
        if recalled:
            return None
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            row = connection.execute(wanted).one_or_none()
        if row is None:
            return None
        found = _key(row), getattr(row, "until", row.hash)
        with self._lock:
            if len(self._remembered) > MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[what] = (time.monotonic(), *found)
        return found


def _key(row: Any) -> Key:
    return Key(*(getattr(row, name) for name in Key._fields))


def _hash(secret: str) -> str:
    # A secret of 256 random bits needs no slow hash: there is nothing to guess.
    return hashlib.sha256(secret.encode()).hexdigest()


def _after(wait: timedelta) -> str:
    return (datetime.now(UTC) + wait).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
