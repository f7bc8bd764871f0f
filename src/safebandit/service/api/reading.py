"""The interface for programs, version 1: what is read of trials, by threads of their own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import IO, Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from safebandit.service.access import Auditor, Lister, Reader, Teller
from safebandit.service.api import answers, listing, schemas
from safebandit.service.api.schemas import After, Limit, TrialInPath
from safebandit.service.worklist import worklist
from safebandit.trials.concealment import show_event
from safebandit.trials.contexts import by_name
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.overview import overview
from safebandit.trials.record.waiting import Place, Wanted
from safebandit.trials.strata import levels_of
from safebandit.trials.texts import file_name

router = APIRouter(prefix="/v1", responses=answers.PROBLEMS, tags=["reading"])
# Bytes of a file that are in memory at once.
CHUNK = 256 * 1024
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}


@router.get("/trials")
def list_trials(request: Request, key: Lister) -> list[answers.TrialLine]:
    """Every trial that the key may see: its name, its status and how many units it has."""
    state = request.app.state
    return listing.all_trials(state.ledger, state.standings, key.where("list"))


@router.get("/trials/{trial}")
def show_trial(trial: TrialInPath, request: Request, key: Reader) -> answers.OverviewAnswer:
    """A trial at a glance: what is known of each arm, who is permissible and why; no single unit."""
    outlook = request.app.state.outlook
    return answers.OverviewAnswer.model_validate(outlook.overview(trial, delayed=outlook.delayed(key, trial)))


@router.get("/trials/{trial}/analysis")
async def analyse_trial(
    trial: TrialInPath,
    request: Request,
    key: Reader,
    confidence: Annotated[float, Query(gt=0, lt=1, description="How sure each confidence sequence is.")] = 0.95,
    control: Annotated[str | None, Query(max_length=200, description="The arm that others are compared with.")] = None,
) -> answers.AnalysisAnswer:
    """Means, confidence sequences and evidence for every arm, and against the control: they hold at any look."""
    outlook = request.app.state.outlook
    said = {"delayed": outlook.delayed(key, trial), "confidence": confidence, "control": control}
    async with request.app.state.long_work:
        found = await asyncio.to_thread(outlook.analysis, trial, **said)
    return answers.AnalysisAnswer.model_validate(found.to_dict(paths=key.may("log")))


@router.post("/trials/{trial}/explanation")
def explain_context(
    trial: TrialInPath, body: schemas.Supposed, request: Request, _: Auditor
) -> answers.OverviewAnswer:  # fmt: skip
    """A trial at a glance for a unit of this context: who would be permissible and why; nothing is decided."""
    return answers.OverviewAnswer.model_validate(overview(request.app.state.ledger, trial, **body.model_dump()))


@router.get("/trials/{trial}/events")
def list_events(
    trial: TrialInPath, request: Request, _: Auditor, after: After = 0, limit: Limit = 100
) -> answers.LogAnswer:
    """The log, page by page."""
    ledger = request.app.state.ledger
    closed = listing.all_is_told(ledger, trial)
    found = list(ledger.events(trial, after=after, limit=limit + 1))
    shown = [answers.EventAnswer(**show_event(event, closed=closed)) for event in found[:limit]]
    return answers.LogAnswer(events=shown, next=shown[-1].number if len(found) > limit else None)


@router.get("/trials/{trial}/events/{number}")
def one_event(
    trial: TrialInPath, number: Annotated[int, Path(ge=1, lt=2**63)], request: Request, _: Auditor
) -> answers.EventAnswer:
    """One event of the log."""
    ledger = request.app.state.ledger
    closed = listing.all_is_told(ledger, trial)
    return answers.EventAnswer(**show_event(ledger.event(trial, number), closed=closed))


@router.get("/trials/{trial}/units")
def list_pending(
    trial: TrialInPath, request: Request, _: Auditor, after: After = 0, limit: Limit = 100
) -> answers.PendingAnswer:
    """Units whose outcome is waited for, page by page."""
    found = listing.pending_units(request.app.state.ledger, trial, after=after, limit=limit + 1)
    shown = found[:limit]
    return answers.PendingAnswer(units=shown, next=shown[-1].round if len(found) > limit else None)


@router.get("/worklist")
def list_waiting(
    request: Request,
    key: Teller,
    trial: schemas.TrialInQuery = None,
    after: schemas.PlaceInQuery = None,
    limit: Limit = 100,
) -> answers.WorklistAnswer:
    """Pending units of all trials that the caller may tell of, the longest first, page by page."""
    place = None if after is None else Place.read(after)
    found = worklist(request.app.state.ledger, key, Wanted(trial or ""), after=place, most=limit)
    return answers.WorklistAnswer(
        units=[answers.WaitingUnitAnswer.model_validate(each) for each in found.units],
        total=found.total,
        next=None if found.next is None else str(found.next),
    )


@router.get("/trials/{trial}/unit", deprecated=True)
def show_unit(trial: TrialInPath, unit: schemas.UnitInQuery, request: Request, _: Auditor) -> answers.UnitAnswer:
    """A unit by an address that has its id, which proxies log: post it instead."""
    return _unit(request.app.state.ledger, trial, unit)


@router.post("/trials/{trial}/unit")
def find_unit(trial: TrialInPath, body: schemas.Question, request: Request, _: Auditor) -> answers.UnitAnswer:
    """A unit, and the decision that gave it its arm, with all that it rested on."""
    return _unit(request.app.state.ledger, trial, body.unit)


def _unit(ledger: Ledger, trial: str, unit: str) -> answers.UnitAnswer:
    found = ledger.unit(trial, unit)
    closed = listing.all_is_told(ledger, trial)
    settings = ledger.state(trial).settings
    decision = answers.EventAnswer(**show_event(ledger.event(trial, found.asked_at), closed=closed))
    reward, *risks = found.outcome
    return answers.UnitAnswer(
        unit=found.id,
        arm=found.arm,
        round=found.round,
        context=by_name(found.context, settings.context),
        stratum=levels_of(found.stratum),
        pending=found.pending,
        given_up=found.lost_at is not None and found.voided_at is None,
        void=found.voided_at is not None,
        reward=reward,
        risk=dict(zip(settings.risks, risks, strict=True)),
        alpha=listing.alpha_at(ledger, trial, found.asked_at),
        decision=decision,
    )


@router.get(
    "/trials/{trial}/verification",
    responses={202: {"model": answers.VerifyingAnswer, "description": "It goes on: ask again, with the job."}},
)
async def verify_trial(
    trial: TrialInPath,
    request: Request,
    response: Response,
    _: Auditor,
    expected: Annotated[str | None, Query(max_length=64, description="The hash of some event, noted before.")] = None,
    job: Annotated[str | None, Query(pattern="^[0-9a-f]{16}$", description="As an answer with 202 named it.")] = None,
    wait: Annotated[float, Query(ge=0, le=60, description="Seconds until 202 is answered.")] = 20.0,
) -> answers.VerificationAnswer | answers.VerifyingAnswer:
    """Recompute the whole trial; 202 while that goes on."""
    jobs = request.app.state.verifications
    mine = jobs.job(trial, expected, id=job)
    found = await jobs.wait(mine, wait)
    if found is not None:
        return answers.VerificationAnswer.model_validate(found)
    response.status_code = 202
    return answers.VerifyingAnswer(job=mine.id, read=mine.done, events=mine.of)


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
    from safebandit.trials.record.export import write_export

    # To a file first: nobody who reads it slowly keeps a transaction open, and what goes wrong is known before.
    file = tempfile.TemporaryFile()  # noqa: SIM115  it is closed when it is sent
    try:
        async with request.app.state.long_work:
            await asyncio.to_thread(write_export, request.app.state.ledger, trial, kind, file)
    except BaseException:
        file.close()
        raise
    size = file.tell()
    file.seek(0)
    named = {"Content-Disposition": f'attachment; filename="{file_name(trial)}.{kind}"', "Content-Length": str(size)}
    return StreamingResponse(_chunks(file), media_type=_MEDIA[kind], headers=named)


async def _chunks(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while chunk := await asyncio.to_thread(file.read, CHUNK):
            yield chunk
