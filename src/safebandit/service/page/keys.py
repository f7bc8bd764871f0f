"""The page of keys: those that the caller keeps, without their secrets, and forms to make, rotate and revoke them."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from safebandit.errors import SafebanditError
from safebandit.service.access import KeyAdmin
from safebandit.service.administration import check_may_give, key_for_admin, may_administer
from safebandit.service.keys import Key
from safebandit.service.page.fields import FIRST, Form, number, text
from safebandit.service.page.rendering import PageRoute, go, render
from safebandit.service.page.screens import Sent
from safebandit.service.refusals import status_of
from safebandit.service.roles import ROLES, read_roles
from safebandit.trials.texts import DEFAULT

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/keys")
def keys_page(request: Request, key: KeyAdmin) -> Response:
    """The keys, without their secrets."""
    return _screen(request, key)


@router.post("/keys", dependencies=FIRST)
def create_key(request: Request, key: KeyAdmin, form: Form) -> Response:
    """Make a key, and show it this once."""
    try:
        days = number(form, "days", "days until it expires")
        project = text(form, "project").strip() or DEFAULT
        roles = {project: text(form, "role")}
        check_may_give(key, read_roles(roles))
        name = text(form, "name").strip()
        made, shown = request.app.state.keys.create(name, roles, days=days, actor=key.actor)
    except SafebanditError as problem:
        sent = Sent("key", str(problem), True, form)
        return _screen(request, key, sent=sent, status=status_of(problem))
    sent = Sent("key", f'The key "{made.name}" ({made.role}) was made.')
    return _screen(request, key, sent=sent, shown=shown)


@router.post("/keys/{id}/rotate", dependencies=FIRST)
def rotate_key(id: str, request: Request, key: KeyAdmin, form: Form) -> Response:
    """Give a key another secret, and show it this once."""
    key_for_admin(request, key, id)
    try:
        hours = number(form, "hours", "hours that the old secret works yet") or 0.0
        made, shown = request.app.state.keys.rotate(id, overlap_hours=hours, actor=key.actor)
    except SafebanditError as problem:
        return _screen(request, key, sent=Sent("key", str(problem), True), status=status_of(problem))
    sent = Sent("key", f'The key "{made.name}" has another secret; the one before works until {made.old_until}.')
    return _screen(request, key, sent=sent, shown=shown)


@router.post("/keys/{id}/revoke", dependencies=FIRST)
def revoke_key(id: str, request: Request, key: KeyAdmin, form: Form) -> Response:
    """Make a key worthless."""
    key_for_admin(request, key, id)
    request.app.state.keys.revoke(id, actor=key.actor)
    return go("/keys")


def _screen(
    request: Request, key: Key, *, sent: Sent | None = None, shown: str | None = None, status: int = 200
) -> Response:
    """The keys; `shown` is the text of one that was made now."""
    known = [each for each in request.app.state.keys.all() if may_administer(key, each)]
    return render(request, "keys.html", status, key=key, keys=known, roles=ROLES, sent=sent or Sent(), shown=shown)
