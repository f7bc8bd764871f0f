"""The interface for programs, version 1: what changes a trial. All of it goes through one writer."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from safebandit.errors import StoppedError
from safebandit.service.access import Asker, Manager, Teller, in_project
from safebandit.service.api import answers, schemas
from safebandit.service.api.answers import AllocationAnswer, ReceiptAnswer
from safebandit.service.api.bodies import StrictRoute
from safebandit.service.api.schemas import TrialInPath
from safebandit.service.homes.works import One, Work
from safebandit.service.keys import Key
from safebandit.service.without_results import allocation_for, refusal_for
from safebandit.trials.answers import Allocation, Receipt
from safebandit.trials.engine import Engine, warm_up
from safebandit.trials.record.store import Ahead
from safebandit.trials.record.transaction import Transaction
from safebandit.trials.settings import Settings, read_settings
from safebandit.trials.texts import check_name, project_of

router = APIRouter(prefix="/v1", responses=answers.PROBLEMS, tags=["trials"], route_class=StrictRoute)
_SAME_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": ReceiptAnswer, "description": "The same again: nothing changes."}
}


async def write(
    request: Request, trial: str, work: Callable[[Transaction], Any], units: Sequence[str | int] = ()
) -> Any:
    """Have something written, about these units, and wait until it is on disk."""
    return await request.app.state.delivery.write(trial, work, units)


async def write_at_home(request: Request, work: Work, units: Sequence[str | int]) -> Any:
    """As `write`, by the worker in which the trial is at home, where there are several."""
    return await request.app.state.write_at_home(work, units)


async def _receipt(
    request: Request, response: Response, trial: str, work: Callable[[Transaction], Receipt]
) -> ReceiptAnswer:  # fmt: skip
    return _said(response, await write(request, trial, work))


def _said(response: Response, done: Receipt) -> ReceiptAnswer:
    response.status_code = 201 if done.new else 200
    return ReceiptAnswer(event=done.event, new=done.new)


def _to(
    trial: str, request: Callable[..., Any], *arguments: Any, ahead: Ahead | None = None, **named: Any
) -> Callable[[Transaction], Any]:
    """A request to a trial's engine, for the transaction that it will be made in."""
    return lambda transaction: request(transaction.trial(trial, ahead), *arguments, **named)


async def read_ahead(request: Request, trial: str) -> Ahead:
    """The units of a trial, for what counts them anew; read beside the thread that writes, for which others wait."""
    return await asyncio.to_thread(request.app.state.ledger.read_ahead, trial)


@router.post("/trials", status_code=201, responses=_SAME_AGAIN)
async def create_trial(body: schemas.NewTrial, request: Request, response: Response, key: Manager) -> ReceiptAnswer:
    """Create a trial; the same again changes nothing, another one of the same name is refused with 409."""
    values = body.model_dump()
    name = check_name(values.pop("name"))
    key = in_project(key, project_of(name), "manage")

    def prepare() -> Settings:
        settings = read_settings(**values)
        warm_up(settings)
        return settings

    # Compiling takes seconds, and not in the thread that writes: others would wait.
    settings = await asyncio.to_thread(prepare)
    chosen = body.seed is not None
    work = functools.partial(Transaction.create, name=name, settings=settings, actor=key.actor, any_seed=not chosen)
    return await _receipt(request, response, name, work)


@router.post(
    "/trials/{trial}/units",
    status_code=201,
    responses={200: {"model": AllocationAnswer, "description": "It has an arm already, or there is none to give."}},
)
async def ask(
    trial: TrialInPath, body: schemas.Asking, request: Request, response: Response, key: Asker
) -> AllocationAnswer:
    """Ask for a unit's arm: 201 if it is given one now, 200 if it has one already or there is none to give."""
    try:
        asking = {
            "id": body.unit, "context": body.context, "eligible": body.eligible, "stratum": body.stratum,
            "actor": key.actor,
        }  # fmt: skip
        given: Allocation = await write_at_home(request, One(trial, "ask", asking), [body.unit])
    except StoppedError as refusal:
        raise StoppedError(refusal_for(key, refusal)) from None
    if given.new:
        request.app.state.metrics.decided(trial, given.kind)
    response.status_code = 201 if given.new and given.arm is not None else 200
    return AllocationAnswer.model_validate(allocation_for(key, given))


@router.post("/trials/{trial}/outcomes", status_code=201, responses=_SAME_AGAIN)
async def tell(
    trial: TrialInPath, body: schemas.Outcome, request: Request, response: Response, key: Teller
) -> ReceiptAnswer:
    """Tell what happened to a unit: 201 the first time, 200 for the same again, 409 for another value."""
    told = {"id": body.unit, "reward": body.reward, "risk": body.risk, "actor": key.actor}
    return _said(response, await write_at_home(request, One(trial, "tell", told), [body.unit]))


@router.post("/trials/{trial}/corrections", status_code=201)
async def correct(
    trial: TrialInPath, body: schemas.Correction, request: Request, response: Response, key: Manager
) -> ReceiptAnswer:
    """Put another outcome in the place of one that was told; decisions made before stand."""
    told = {"reward": body.reward, "risk": body.risk, "reason": body.reason}
    work = _to(trial, Engine.correct, body.unit, **told, actor=key.actor, ahead=await read_ahead(request, trial))
    return await _receipt(request, response, trial, work)


@router.post("/trials/{trial}/given-up", status_code=201, responses=_SAME_AGAIN)
async def give_up(
    trial: TrialInPath, body: schemas.GivenUp, request: Request, response: Response, key: Manager
) -> ReceiptAnswer:
    """No longer wait for a unit's outcome."""
    work = _to(trial, Engine.give_up, body.unit, reason=body.reason, actor=key.actor)
    return await _receipt(request, response, trial, work)


@router.post("/trials/{trial}/voided", status_code=201, responses=_SAME_AGAIN)
async def void(
    trial: TrialInPath, body: schemas.Voided, request: Request, response: Response, key: Manager
) -> ReceiptAnswer:
    """Count a unit that never got its arm as nothing; its id cannot be used again."""
    ahead = await read_ahead(request, trial)
    work = _to(trial, Engine.void, body.unit, reason=body.reason, actor=key.actor, ahead=ahead)
    return await _receipt(request, response, trial, work)


@router.post("/trials/{trial}/amendments", status_code=201)
async def amend(
    trial: TrialInPath, body: schemas.Amendment, request: Request, response: Response, key: Manager
) -> ReceiptAnswer:
    """Change alpha, policy, arms, the cap of pending units, the pattern of ids or the design from now on."""
    changes = body.model_dump(exclude={"reason"})
    ledger = request.app.state.ledger
    await asyncio.to_thread(lambda: warm_up(ledger.state(trial).settings.amended(**changes)))
    ahead = await read_ahead(request, trial)
    work = _to(trial, Engine.amend, reason=body.reason, actor=key.actor, **changes, ahead=ahead)
    return await _receipt(request, response, trial, work)


async def _set_status(
    change: str, trial: str, body: schemas.StatusChange, request: Request, response: Response, key: Key
) -> ReceiptAnswer:
    work = _to(trial, Engine.set_status, change, reason=body.reason, actor=key.actor)
    return await _receipt(request, response, trial, work)


@router.post("/trials/{trial}/pause", status_code=201, responses=_SAME_AGAIN)
async def pause(
    trial: TrialInPath, body: schemas.StatusChange, request: Request, response: Response, key: Manager
) -> ReceiptAnswer:
    """Give no arms until the trial is resumed; outcomes are still taken."""
    return await _set_status("pause", trial, body, request, response, key)


@router.post("/trials/{trial}/resume", status_code=201, responses=_SAME_AGAIN)
async def resume(
    trial: TrialInPath, body: schemas.StatusChange, request: Request, response: Response, key: Manager
) -> ReceiptAnswer:
    """Give arms again."""
    return await _set_status("resume", trial, body, request, response, key)


@router.post("/trials/{trial}/route", status_code=201, responses=_SAME_AGAIN)
async def route(
    trial: TrialInPath, body: schemas.StatusChange, request: Request, response: Response, key: Manager
) -> ReceiptAnswer:
    """Give every unit the control, as long as its gate is open; outcomes still count."""
    return await _set_status("route", trial, body, request, response, key)


@router.post("/trials/{trial}/unroute", status_code=201, responses=_SAME_AGAIN)
async def unroute(
    trial: TrialInPath, body: schemas.StatusChange, request: Request, response: Response, key: Manager
) -> ReceiptAnswer:
    """Decide by the policy again."""
    return await _set_status("unroute", trial, body, request, response, key)


@router.post("/trials/{trial}/close", status_code=201, responses=_SAME_AGAIN)
async def close(
    trial: TrialInPath, body: schemas.StatusChange, request: Request, response: Response, key: Manager
) -> ReceiptAnswer:
    """Give no more arms, ever; outcomes are still taken."""
    return await _set_status("close", trial, body, request, response, key)


# Asked so often that they have a short way.
QUICK = [route for route in router.routes if isinstance(route, APIRoute) and route.endpoint in (ask, tell)]
