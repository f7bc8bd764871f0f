"""The interface for programs, version 1: what is read of trials, by threads of their own."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from safebandit.service.access import Auditor, Lister, Reader
from safebandit.service.api import listing, schemas
from safebandit.service.api.schemas import After, Limit, TrialInPath
from safebandit.trials.record.overview import overview
from safebandit.trials.record.verification import verify

router = APIRouter(prefix="/v1", responses=schemas.PROBLEMS, tags=["reading"])
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}


@router.get("/trials")
def list_trials(request: Request, _: Lister) -> list[schemas.TrialLine]:
    """Every trial: its name, its status and how many units it has."""
    return listing.all_trials(request.app.state.ledger)


@router.get("/trials/{trial}")
def show_trial(trial: TrialInPath, request: Request, _: Reader) -> schemas.OverviewAnswer:
    """A trial at a glance: what is known of each arm, who is permissible and why; no single unit."""
    return schemas.OverviewAnswer.model_validate(overview(request.app.state.ledger, trial))


@router.get("/trials/{trial}/events")
def list_events(
    trial: TrialInPath, request: Request, _: Auditor, after: After = 0, limit: Limit = 100
) -> schemas.LogAnswer:
    """The log, page by page."""
    found = list(request.app.state.ledger.events(trial, after=after, limit=limit + 1))
    shown = [schemas.EventAnswer(**event.to_dict()) for event in found[:limit]]
    return schemas.LogAnswer(events=shown, next=shown[-1].number if len(found) > limit else None)


@router.get("/trials/{trial}/events/{number}")
def show_event(
    trial: TrialInPath, number: Annotated[int, Path(ge=1, lt=2**63)], request: Request, _: Auditor
) -> schemas.EventAnswer:
    """One event of the log."""
    return schemas.EventAnswer(**request.app.state.ledger.event(trial, number).to_dict())


@router.get("/trials/{trial}/units")
def list_pending(
    trial: TrialInPath, request: Request, _: Auditor, after: After = 0, limit: Limit = 100
) -> schemas.PendingAnswer:
    """Units whose outcome is waited for, page by page."""
    found = listing.pending_units(request.app.state.ledger, trial, after=after, limit=limit + 1)
    shown = found[:limit]
    return schemas.PendingAnswer(units=shown, next=shown[-1].round if len(found) > limit else None)


@router.get("/trials/{trial}/unit")
def show_unit(trial: TrialInPath, unit: schemas.UnitInQuery, request: Request, _: Auditor) -> schemas.UnitAnswer:
    """A unit, and the decision that gave it its arm, with all that it rested on."""
    ledger = request.app.state.ledger
    found = ledger.unit(trial, unit)
    decision = schemas.EventAnswer(**ledger.event(trial, found.asked_at).to_dict())
    reward, *risks = found.outcome
    return schemas.UnitAnswer(
        unit=found.id,
        arm=found.arm,
        round=found.round,
        pending=found.pending,
        given_up=found.lost_at is not None and found.voided_at is None,
        void=found.voided_at is not None,
        reward=reward,
        risk=dict(zip(ledger.state(trial).settings.risks, risks, strict=True)),
        alpha=listing.alpha_at(ledger, trial, found.asked_at),
        decision=decision,
    )


@router.get("/trials/{trial}/verification")
async def verify_trial(
    trial: TrialInPath,
    request: Request,
    _: Auditor,
    expected: Annotated[str | None, Query(max_length=64, description="The last event's hash, noted before.")] = None,
) -> schemas.VerificationAnswer:
    """Recompute the whole trial; the answer takes as long as that does."""
    async with request.app.state.long_work:
        found = await asyncio.to_thread(verify, request.app.state.ledger, trial, expected=expected)
    return schemas.VerificationAnswer.model_validate(found)


@router.get(
    "/trials/{trial}/export",
    response_class=Response,
    responses={
        200: {
            "content": {media.partition(";")[0]: {} for media in _MEDIA.values()},
            "description": "The file.",
        }
    },
)
async def export_trial(
    trial: TrialInPath, request: Request, _: Auditor, kind: Literal["csv", "parquet", "json"] = "csv"
) -> Response:
    """Every unit and every event, as a file."""
    from safebandit.trials.record.export import export

    async with request.app.state.long_work:
        content = await asyncio.to_thread(export, request.app.state.ledger, trial, kind)
    named = {"Content-Disposition": f'attachment; filename="{trial}.{kind}"'}
    return Response(content, media_type=_MEDIA[kind], headers=named)
