"""People who may sign in, invited by their address, and what each may do in which project."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.errors import ConflictError, NotFoundError, TrialError
from safebandit.service.keys import Keys, put_roles, revoke_keys
from safebandit.service.roles import EVERYWHERE, PERMISSIONS, Roles, read_roles
from safebandit.trials.events import now
from safebandit.trials.record.database import database_errors, keys, people, roles, sessions
from safebandit.trials.record.ledger import Ledger, local_actor
from safebandit.trials.record.projects import check_there
from safebandit.trials.record.registry import register
from safebandit.trials.texts import check_text

# One address, no blanks, no comma; whether it is anybody's, the identity provider says.
_ADDRESS = re.compile(r"[^@\s,;<>\"]{1,64}@[^@\s,;<>\"]{1,135}")


class Person(NamedTuple):
    """A person; `subject` is what the identity provider calls them, since they first signed in there."""

    id: str
    name: str
    email: str | None
    subject: str | None
    created: str
    removed: str | None
    roles: Roles


class People:
    """The people of one database."""

    def __init__(self, ledger: Ledger, keys: Keys) -> None:
        self._engine = ledger.engine
        self._keys = keys

    def invite(
        self, name: str, *, email: str | None = None, given: Roles, actor: str | None = None
    ) -> tuple[Person, bool]:  # fmt: skip
        """A new person with these roles; to one of this address who is there they are added. Whether they are new."""
        check_text("a person's name", name)
        address, wanted, who = read_email(email), read_roles(given), actor or local_actor()
        with database_errors(), self._engine.begin() as connection:
            _check_projects(connection, wanted)
            there = None if address is None else _one(connection, people.c.email == address)
            found = _give(connection, there or _make(connection, name, address, who), wanted, actor=who)
        self._keys.forget()
        return found, there is None

    def all(self) -> list[Person]:
        """Everybody, oldest first, those who were removed too."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            return _read(connection.execute(_PEOPLE.order_by(people.c.created, people.c.id)))

    def one(self, id: str) -> Person:
        """The person of this id, unless they were removed."""
        with database_errors(), self._engine.connect().execution_options(reading=True) as connection:
            return _there(connection, id)

    def give(self, id: str, given: Mapping[str, str | None], *, actor: str | None = None) -> Person:
        """Give a person roles, by project; None takes the one that they have there."""
        read_roles({project: role for project, role in given.items() if role is not None})
        with database_errors(), self._engine.begin() as connection:
            person = _there(connection, id)
            _check_projects(connection, {project: role for project, role in given.items() if role is not None})
            found = _give(connection, person, given, actor=actor or local_actor())
        self._keys.forget()
        return found

    def remove(self, id: str, *, actor: str | None = None) -> Person:
        """Take all roles from a person, and all that they could come in with: keys, sessions, the address."""
        who = actor or local_actor()
        with database_errors(), self._engine.begin() as connection:
            person = _there(connection, id)
            at = now()
            connection.execute(sessions.delete().where(sessions.c.person == id))
            put_roles(connection, id, {})
            gone = {"removed": at, "email": None, "subject": None}
            connection.execute(people.update().where(people.c.id == id).values(gone))
            register(connection, "person removed", {"id": id, "removed": at}, actor=who)
            revoke_keys(
                connection, connection.scalars(sa.select(keys.c.id).where(keys.c.person == id)).all(), actor=who
            )
        self._keys.forget()
        return person._replace(removed=at, email=None, subject=None, roles={})

    def admit(
        self, subject: str, *, name: str, email: str | None, given: Roles, places: Collection[str], actor: str
    ) -> Person | None:
        """The person whom an identity provider vouches for: by what it calls them, or by a verified address, once. From
        then on they are known by the subject alone: an address may be given to somebody else.

        In these `places` they may do what is `given` now, and nothing else; with a role there a new person comes in.
        """
        address = read_email(email)
        with database_errors(), self._engine.begin() as connection:
            known = _one(connection, people.c.subject == subject)
            if known is None:
                known = None if address is None else _one(connection, people.c.email == address)
                if known is not None and known.subject is not None:
                    # The address was somebody else's: who has it now is another person, and not invited by it.
                    return None
                if known is None and not given:
                    return None
                known = known or _make(connection, name, address, actor)
                connection.execute(people.update().where(people.c.id == known.id).values(subject=subject))
                register(connection, "person bound", {"id": known.id, "subject": subject}, actor=actor)
            held = {project: given.get(project) for project in places if project in given or project in known.roles}
            _check_projects(connection, given)
            found = _give(connection, known._replace(subject=subject), held, actor=actor)
        self._keys.forget()
        return found


_PEOPLE = sa.select(people, roles.c.project, roles.c.role).outerjoin(roles, roles.c.holder == people.c.id)


def read_email(email: str | None) -> str | None:
    """An address as it is kept: providers and people write capital letters as they like.

    >>> read_email(" Ada@Example.org ")
    'ada@example.org'
    """
    if email is None:
        return None
    text = email.strip().lower()
    if not _ADDRESS.fullmatch(text):
        raise TrialError(f"an e-mail address is like ada@example.org, got {email[:80]!r}")
    return check_text("an e-mail address", text)


def _read(rows: Any) -> list[Person]:
    found: dict[str, Person] = {}
    for row in rows:
        person = found.setdefault(
            row.id, Person(row.id, row.name, row.email, row.subject, row.created, row.removed, {})
        )
        if row.project is not None:
            found[row.id] = person._replace(roles={**person.roles, row.project: row.role})
    return list(found.values())


def _one(connection: sa.Connection, condition: Any) -> Person | None:
    found = _read(connection.execute(_PEOPLE.where(condition, people.c.removed.is_(None))))
    return found[0] if found else None


def _there(connection: sa.Connection, id: str) -> Person:
    found = _one(connection, people.c.id == id)
    if found is None:
        raise unknown_person(id)
    return found


def unknown_person(id: str) -> NotFoundError:
    """The error for a person who is not there, or not for who asks."""
    return NotFoundError(f"there is no person {str(id)[:40]!r}; list them to see their ids")


def _check_projects(connection: sa.Connection, wanted: Mapping[str, str]) -> None:
    for project in wanted:
        if project != EVERYWHERE:
            check_there(connection, project)


def _make(connection: sa.Connection, name: str, address: str | None, actor: str) -> Person:
    check_text("a person's name", name)
    made = Person(secrets.token_hex(8), name, address, None, now(), None, {})
    fields = {each: getattr(made, each) for each in ("id", "name", "email", "created")}
    connection.execute(people.insert(), fields)
    register(connection, "person made", fields, actor=actor)
    return made


def _give(connection: sa.Connection, person: Person, given: Mapping[str, str | None], *, actor: str) -> Person:
    changed = {**person.roles, **given}
    now_held = {project: role for project, role in changed.items() if role is not None and role in PERMISSIONS}
    if now_held == dict(person.roles):
        return person
    if person.removed is not None:
        raise ConflictError(f"person {person.id} was removed; invite them again")
    put_roles(connection, person.id, now_held)
    register(connection, "roles given", {"holder": person.id, "roles": now_held}, actor=actor)
    return person._replace(roles=now_held)
