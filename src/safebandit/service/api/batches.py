"""The interface for programs: many requests of one kind at once, in one transaction, each with its own answer."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from safebandit.errors import BatchError, TrialError
from safebandit.service.access import Asker, Manager, Teller
from safebandit.service.api import answers, schemas
from safebandit.service.api.answers import AnswerInBatch, BatchAnswer
from safebandit.service.api.bodies import StrictRoute
from safebandit.service.api.schemas import TrialInPath
from safebandit.service.api.writing import read_ahead, write
from safebandit.service.guards import BATCH
from safebandit.service.keys import Key
from safebandit.service.refusals import sendable, status_of
from safebandit.service.without_results import allocation_for, refusal_for
from safebandit.trials.answers import Allocation
from safebandit.trials.batches import Answered, carry_out
from safebandit.trials.record.transaction import Transaction

_REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"model": BatchAnswer, "description": "All were to be written, and some are refused: nothing is."}
}
router = APIRouter(
    prefix="/v1/trials/{trial}",
    responses={**answers.PROBLEMS, **_REFUSED},
    tags=["trials"],
    route_class=StrictRoute,
)


@router.post(f"/units{BATCH}")
async def ask_many(
    trial: TrialInPath, body: schemas.Askings, request: Request, response: Response, key: Asker
) -> BatchAnswer:
    """Ask for the arms of many units, in order, as a cohort asks."""
    return await _answer("ask", trial, body, request, response, key)


@router.post(f"/outcomes{BATCH}")
async def tell_many(
    trial: TrialInPath, body: schemas.Outcomes, request: Request, response: Response, key: Teller
) -> BatchAnswer:
    """Tell what happened to many units, in order."""
    return await _answer("tell", trial, body, request, response, key)


@router.post(f"/corrections{BATCH}")
async def correct_many(
    trial: TrialInPath, body: schemas.Corrections, request: Request, response: Response, key: Manager
) -> BatchAnswer:
    """Put other outcomes in the place of many that were told."""
    return await _answer("correct", trial, body, request, response, key)


@router.post(f"/given-up{BATCH}")
async def give_up_many(
    trial: TrialInPath, body: schemas.ManyGivenUp, request: Request, response: Response, key: Manager
) -> BatchAnswer:
    """No longer wait for the outcomes of many units."""
    return await _answer("give_up", trial, body, request, response, key)


@router.post(f"/voided{BATCH}")
async def void_many(
    trial: TrialInPath, body: schemas.ManyVoided, request: Request, response: Response, key: Manager
) -> BatchAnswer:
    """Count many units that never got their arms as nothing."""
    return await _answer("void", trial, body, request, response, key)


async def _answer(
    kind: str, trial: str, body: schemas.Batch, request: Request, response: Response, key: Key
) -> BatchAnswer:
    # Not `model_dump`, which copies what is inside as well, and takes many times as long.
    requests = [{"id" if name == "unit" else name: value for name, value in one} for one in body.requests]
    ahead = await read_ahead(request, trial) if kind in ("correct", "void") else None

    def work(transaction: Transaction) -> list[Answered]:
        return carry_out(transaction.trial(trial, ahead), kind, requests, whole=body.whole, actor=key.actor)

    try:
        found: list[Answered] = await write(request, trial, work, [one["id"] for one in requests])
    except BatchError as refusal:
        response.status_code = 409
        refused = [_one(number, problem, key) for number, problem in refusal.refused.items()]
        # What the first one says to this key, which may not read all that it says to others.
        first = f"; number {refused[0].number}: {refused[0].message}" if refused else ""
        return BatchAnswer(written=False, error="BatchError", message=f"{refusal.plain}{first}", answers=refused)
    for answer in found:
        if isinstance(answer, Allocation) and answer.new:
            request.app.state.metrics.decided(trial, answer.kind)
    return BatchAnswer(written=True, answers=[_one(n, each, key) for n, each in enumerate(found, 1)])


# Asked so often that they have a short way.
QUICK = [route for route in router.routes if isinstance(route, APIRoute) and route.endpoint in (ask_many, tell_many)]


def _one(number: int, answer: Answered, key: Key) -> AnswerInBatch:
    if isinstance(answer, TrialError):
        kind, said = type(answer).__name__, refusal_for(key, answer)
        return AnswerInBatch(number=number, status=status_of(answer), error=kind, message=sendable(said))
    if isinstance(answer, Allocation):
        given = answers.AllocationAnswer.model_validate(allocation_for(key, answer))
        return AnswerInBatch(number=number, status=201 if answer.new and answer.arm is not None else 200, given=given)
    receipt = answers.ReceiptAnswer(event=answer.event, new=answer.new)
    return AnswerInBatch(number=number, status=201 if answer.new else 200, receipt=receipt)
