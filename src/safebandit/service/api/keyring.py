"""The interface for programs, version 1: keys, for admins."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request

from safebandit.errors import TrialError
from safebandit.service.access import KeyAdmin
from safebandit.service.administration import check_may_give, key_for_admin, may_administer, person_for_admin
from safebandit.service.api import answers, schemas
from safebandit.service.api.bodies import StrictRoute
from safebandit.trials.texts import DEFAULT

router = APIRouter(prefix="/v1", responses=answers.PROBLEMS, tags=["keys"], route_class=StrictRoute)
KeyId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", examples=["0123456789abcdef"])]


@router.get("/keys")
def list_keys(request: Request, admin: KeyAdmin) -> list[answers.KeyAnswer]:
    """Every key of the projects that the caller is an admin of, revoked ones too, oldest first; never a secret."""
    known = request.app.state.keys.all()
    return [answers.KeyAnswer.model_validate(key) for key in known if may_administer(admin, key)]


@router.post("/keys", status_code=201)
def create_key(body: schemas.NewKey, request: Request, admin: KeyAdmin) -> answers.NewKeyAnswer:
    """A new key. Its text is shown this once."""
    roles = _roles(body)
    check_may_give(admin, roles)
    if body.person is not None:
        person = person_for_admin(request, admin, body.person)
        # Without roles of its own it has all of the person's.
        check_may_give(admin, roles or person.roles)
    key, text = request.app.state.keys.create(
        body.name, roles, person=body.person, days=body.days, actor=admin.actor
    )  # fmt: skip
    return answers.NewKeyAnswer(**answers.KeyAnswer.model_validate(key).model_dump(), key=text)


def _roles(body: schemas.NewKey) -> dict[str, str]:
    if body.role is not None and body.roles is not None:
        raise TrialError("a key has a role, in the project default, or roles by project, got both; say one of them")
    if body.role is not None:
        return {DEFAULT: body.role}
    if body.roles is None and body.person is None:
        raise TrialError("a service's key has a role, in the project default, or roles by project; say one of them")
    return dict(body.roles or {})


@router.post("/keys/{id}/rotation", status_code=201)
def rotate_key(id: KeyId, body: schemas.Rotation, request: Request, admin: KeyAdmin) -> answers.NewKeyAnswer:
    """Another secret for a key, shown this once; the one before works for some hours yet."""
    key_for_admin(request, admin, id)
    key, text = request.app.state.keys.rotate(id, overlap_hours=body.overlap_hours, actor=admin.actor)
    return answers.NewKeyAnswer(**answers.KeyAnswer.model_validate(key).model_dump(), key=text)


@router.delete("/keys/{id}")
def revoke_key(id: KeyId, request: Request, admin: KeyAdmin) -> answers.KeyAnswer:
    """Make a key worthless, in all processes within a second; again changes nothing."""
    key_for_admin(request, admin, id)
    return answers.KeyAnswer.model_validate(request.app.state.keys.revoke(id, actor=admin.actor))
