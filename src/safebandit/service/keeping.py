"""Who may make and revoke which keys: an admin of the installation all, one of a project those of that project."""

from __future__ import annotations

from fastapi import Request

from safebandit.errors import NotFoundError
from safebandit.service.keys import Key
from safebandit.service.refusals import RefusedError
from safebandit.service.roles import EVERYWHERE, Roles


def check_gives(keeper: Key, roles: Roles) -> None:
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
