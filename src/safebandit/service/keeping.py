"""Who keeps which keys and people: an admin of the installation all, one of a project those of that project."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request

from safebandit.errors import NotFoundError
from safebandit.service.keys import Key
from safebandit.service.people import Person, unknown_person
from safebandit.service.refusals import RefusedError
from safebandit.service.roles import EVERYWHERE


def check_gives(keeper: Key, roles: Mapping[str, str | None]) -> None:
    """Refuse to give roles that are not this keeper's to give."""
    for project in roles:
        # The same words, whether there is such a project or not.
        if EVERYWHERE not in keeper.roles and not (project != EVERYWHERE and keeper.may("keys", project)):
            where = "the installation" if project == EVERYWHERE else f'the project "{project[:40]}"'
            raise RefusedError(403, f"roles in {where} are given by an admin of it; ask one")


def keepable(keeper: Key, key: Key) -> bool:
    """Whether a keeper may see, rotate and revoke a key: one of which all projects are theirs, and their own."""
    if EVERYWHERE in keeper.roles or keeper.id == key.id or (key.person is not None and key.person == keeper.person):
        return True
    return bool(key.roles) and all(where != EVERYWHERE and keeper.may("keys", where) for where in key.roles)


def kept_key(request: Request, keeper: Key, id: str) -> Key:
    """A key that this keeper may change; for others it is as if it were not there."""
    key: Key = request.app.state.keys.one(id)
    if not keepable(keeper, key):
        raise NotFoundError(f"there is no key {str(id)[:40]!r}; list them to see their ids")
    return key


def shown_person(keeper: Key, person: Person) -> Person | None:
    """A person as this keeper may see them, with their roles in the keeper's projects; None where there are none."""
    if EVERYWHERE in keeper.roles:
        return person
    roles = {where: role for where, role in person.roles.items() if where != EVERYWHERE and keeper.may("keys", where)}
    return person._replace(roles=roles, subject=None) if roles else None


def kept_person(request: Request, keeper: Key, id: str) -> Person:
    """A person to whom this keeper may give roles; for others it is as if they were not there."""
    person: Person = request.app.state.people.one(id)
    if shown_person(keeper, person) is None:
        raise unknown_person(id)
    return person
