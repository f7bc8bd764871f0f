"""The interface for programs, version 1."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from safebandit.record.ledger import Receipt, Writing
from safebandit.record.settings import Settings
from safebandit.service import schemas
from safebandit.service.access import Asker, Manager, Teller

_SAID: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ProblemAnswer, "description": what}
    for status, what in {
        401: "No key that works.",
        403: "The key's role does not allow it.",
        404: "No such trial.",
        409: "It contradicts the record.",
        422: "It breaks a rule.",
        429: "Too many requests.",
        503: "The database cannot be written now.",
    }.items()
}
router = APIRouter(prefix="/v1", responses=_SAID)


async def write(request: Request, trial: str, work: Callable[[Writing], Any]) -> Any:
    """Have something written, and wait until it is on disk."""
    return await asyncio.wrap_future(request.app.state.scribe.write(trial, work))


@router.post("/trials", status_code=201)
async def create_trial(body: schemas.NewTrial, request: Request, key: Manager) -> schemas.ReceiptAnswer:
    """Create a trial."""
    values = body.model_dump()
    name = values.pop("name")
    settings = await asyncio.to_thread(lambda: Settings.read(values.pop("arms"), values.pop("alpha"), **values))
    done = await write(request, name, lambda writing: writing.create(name, settings, actor=key.name))
    return schemas.ReceiptAnswer(**done._asdict())


@router.post("/trials/{trial}/units", status_code=201, responses={200: {"model": schemas.AllocationAnswer}})
async def ask(
    trial: str, body: schemas.Question, request: Request, response: Response, key: Asker
) -> schemas.AllocationAnswer:
    """Ask for a unit's arm: 201 if it is given one now, 200 if it has one already or the trial holds."""
    given = await write(request, trial, lambda writing: writing.ask(trial, body.unit, actor=key.name))
    response.status_code = 201 if given.new and not given.held else 200
    fields = {name: getattr(given, name) for name in schemas.AllocationAnswer.model_fields}
    return schemas.AllocationAnswer(**fields)


@router.post("/trials/{trial}/outcomes", status_code=201, responses={200: {"model": schemas.ReceiptAnswer}})
async def tell(
    trial: str, body: schemas.Outcome, request: Request, response: Response, key: Teller
) -> schemas.ReceiptAnswer:
    """Tell what happened to a unit: 201 the first time, 200 for the same again, 409 for another value."""

    def work(writing: Writing) -> Receipt:
        return writing.tell(trial, body.unit, reward=body.reward, risk=body.risk, actor=key.name)

    done = await write(request, trial, work)
    response.status_code = 201 if done.new else 200
    return schemas.ReceiptAnswer(**done._asdict())
