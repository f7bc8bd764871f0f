"""The interface for programs: many requests of one kind at once, in one transaction, each with its own answer."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from safebandit.errors import BatchError, TrialError
from safebandit.service.access import Asker, Manager, Teller
from safebandit.service.api import answers, schemas
from safebandit.service.api.answers import BatchAnswer
from safebandit.service.api.bodies import StrictRoute
from safebandit.service.api.schemas import TrialInPath
from safebandit.service.api.writing import read_ahead, write, write_at_home
from safebandit.service.guards import BATCH
from safebandit.service.homes.works import Many
from safebandit.service.keys import Key
from safebandit.service.refusals import sendable, status_of
from safebandit.service.without_results import allocation_for, refusal_for
from safebandit.trials.answers import Allocation
from safebandit.trials.batches import Answered

_REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"model": BatchAnswer, "description": "All were to be written, and some are refused: nothing is."}
}
router = APIRouter(
    prefix="/v1/trials/{trial}",
    responses={**answers.PROBLEMS, **_REFUSED},
    tags=["trials"],
    route_class=StrictRoute,
)


@router.post(f"/units{BATCH}", response_model=BatchAnswer)
async def ask_many(trial: TrialInPath, body: schemas.Askings, request: Request, key: Asker) -> Response:
    """Ask for the arms of many units, in order, as a cohort asks."""
    return await _answer("ask", trial, body, request, key)


@router.post(f"/outcomes{BATCH}", response_model=BatchAnswer)
async def tell_many(trial: TrialInPath, body: schemas.Outcomes, request: Request, key: Teller) -> Response:
    """Tell what happened to many units, in order."""
    return await _answer("tell", trial, body, request, key)


@router.post(f"/corrections{BATCH}", response_model=BatchAnswer)
async def correct_many(trial: TrialInPath, body: schemas.Corrections, request: Request, key: Manager) -> Response:
    """Put other outcomes in the place of many that were told."""
    return await _answer("correct", trial, body, request, key)


@router.post(f"/given-up{BATCH}", response_model=BatchAnswer)
async def give_up_many(trial: TrialInPath, body: schemas.ManyGivenUp, request: Request, key: Manager) -> Response:
    """No longer wait for the outcomes of many units."""
    return await _answer("give_up", trial, body, request, key)


@router.post(f"/voided{BATCH}", response_model=BatchAnswer)
async def void_many(trial: TrialInPath, body: schemas.ManyVoided, request: Request, key: Manager) -> Response:
    """Count many units that never got their arms as nothing."""
    return await _answer("void", trial, body, request, key)


async def _answer(kind: str, trial: str, body: schemas.Batch, request: Request, key: Key) -> Response:
    # Not `model_dump`, which copies what is inside as well, and takes many times as long.
    requests: list[dict[str, Any]] = [vars(one) for one in body.requests]
    for one in requests:
        one["id"] = one.pop("unit")
    work = Many(trial, kind, requests, body.whole, key.actor)
    try:
        found: list[Answered] = await _write(request, work, [one["id"] for one in requests])
    except BatchError as refusal:
        refused = [_one(number, problem, key) for number, problem in refusal.refused.items()]
        # What the first one says to this key, which may not read all that it says to others.
        first = f"; number {refused[0]['number']}: {refused[0]['message']}" if refused else ""
        return _response(409, written=False, error="BatchError", message=f"{refusal.plain}{first}", answers=refused)
    kinds = Counter(each.kind for each in found if isinstance(each, Allocation) and each.new)
    for decided, count in kinds.items():
        request.app.state.metrics.decided(trial, decided, count)
    said = [_one(number, each, key) for number, each in enumerate(found, 1)]
    return _response(200, written=True, error=None, message=None, answers=said)


async def _write(request: Request, work: Many, units: list[str | int]) -> Any:
    if work.kind in ("ask", "tell"):
        return await write_at_home(request, work, units)
    ahead = await read_ahead(request, work.trial) if work.kind in ("correct", "void") else None
    return await write(request, work.trial, functools.partial(work.do, ahead=ahead), units)


# Asked so often that they have a short way.
QUICK = [route for route in router.routes if isinstance(route, APIRoute) and route.endpoint in (ask_many, tell_many)]


# What is answered is written without its models: to make them takes longer than all the rest of the way to a client.
def _response(status: int, **answer: Any) -> Response:
    """A `BatchAnswer`."""
    return Response(orjson.dumps(answer), status, media_type="application/json")


def _one(number: int, answer: Answered, key: Key) -> dict[str, Any]:
    """An `AnswerInBatch`."""
    said: dict[str, Any] = {
        "number": number, "status": 200, "given": None, "receipt": None, "error": None, "message": None,
    }  # fmt: skip
    if isinstance(answer, TrialError):
        message = sendable(refusal_for(key, answer))
        return said | {"status": status_of(answer), "error": type(answer).__name__, "message": message}
    if isinstance(answer, Allocation):
        given = allocation_for(key, answer)
        said["given"] = {name: getattr(given, name) for name in _GIVEN}
        said["status"] = 201 if answer.new and answer.arm is not None else 200
    else:
        said["receipt"] = {"event": answer.event, "new": answer.new}
        said["status"] = 201 if answer.new else 200
    return said


_GIVEN = tuple(answers.AllocationAnswer.model_fields)
