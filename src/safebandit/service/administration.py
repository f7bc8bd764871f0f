"""Which keys and people an admin may see and change: all, or those of the projects that they administer."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request

from safebandit.errors import NotFoundError
from safebandit.service.keys import Key
from safebandit.service.people import Person, unknown_person
from safebandit.service.refusals import RefusedError
from safebandit.service.roles import EVERYWHERE


def check_may_give(admin: Key, roles: Mapping[str, str | None]) -> None:
    """Refuse to give roles that are not this admin's to give."""
    for project in roles:
        # The same words, whether there is such a project or not.
        if EVERYWHERE not in admin.roles and not (project != EVERYWHERE and admin.may("keys", project)):
            where = "the installation" if project == EVERYWHERE else f'the project "{project[:40]}"'
            raise RefusedError(403, f"roles in {where} are given by an admin of it; ask one")


def may_administer(admin: Key, key: Key) -> bool:
    """Whether an admin may see, rotate and revoke a key: one of which all projects are theirs, and their own."""
    if EVERYWHERE in admin.roles or admin.id == key.id or (key.person is not None and key.person == admin.person):
        return True
    return bool(key.roles) and all(where != EVERYWHERE and admin.may("keys", where) for where in key.roles)


def key_for_admin(request: Request, admin: Key, id: str) -> Key:
    """A key that this admin may change; for others it is as if it were not there."""
    key: Key = request.app.state.keys.one(id)
    if not may_administer(admin, key):
        raise NotFoundError(f"there is no key {str(id)[:40]!r}; list them to see their ids")
    return key


def person_seen_by(admin: Key, person: Person) -> Person | None:
    """A person as this admin may see them, with their roles in the admin's projects; None where there are none."""
    if EVERYWHERE in admin.roles:
        return person
    roles = {where: role for where, role in person.roles.items() if where != EVERYWHERE and admin.may("keys", where)}
    return person._replace(roles=roles, subject=None) if roles else None


def person_for_admin(request: Request, admin: Key, id: str) -> Person:
    """A person to whom this admin may give roles; for others it is as if they were not there."""
    person: Person = request.app.state.people.one(id)
    if person_seen_by(admin, person) is None:
        raise unknown_person(id)
    return person
