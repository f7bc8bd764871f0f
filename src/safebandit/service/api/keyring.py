"""The interface for programs, version 1: keys, for admins."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request

from safebandit.service.access import KeyKeeper
from safebandit.service.api import answers, schemas
from safebandit.service.api.bodies import StrictRoute

router = APIRouter(prefix="/v1", responses=answers.PROBLEMS, tags=["keys"], route_class=StrictRoute)


@router.get("/keys")
def list_keys(request: Request, _: KeyKeeper) -> list[answers.KeyAnswer]:
    """Every key, revoked ones too, oldest first; never a secret."""
    return [answers.KeyAnswer.model_validate(key) for key in request.app.state.keys.all()]


@router.post("/keys", status_code=201)
def create_key(body: schemas.NewKey, request: Request, keeper: KeyKeeper) -> answers.NewKeyAnswer:
    """A new key. Its text is shown this once."""
    key, text = request.app.state.keys.create(body.name, body.role, days=body.days, actor=keeper.actor)
    return answers.NewKeyAnswer(**key._asdict(), key=text)


@router.delete("/keys/{id}")
def revoke_key(
    id: Annotated[str, Path(pattern="^[0-9a-f]{16}$", examples=["0123456789abcdef"])],
    request: Request,
    keeper: KeyKeeper,
) -> answers.KeyAnswer:
    """Make a key worthless, in all processes within a second; again changes nothing."""
    return answers.KeyAnswer.model_validate(request.app.state.keys.revoke(id, actor=keeper.actor))
