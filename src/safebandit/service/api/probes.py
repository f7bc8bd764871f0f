"""For whoever watches over the service: does it live, can it work, how is it doing."""

from __future__ import annotations

from typing import Literal

import sqlalchemy as sa
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from safebandit.service.access import Reader
from safebandit.service.api import listing
from safebandit.service.api.schemas import PROBLEMS
from safebandit.trials.record.database import trials

router = APIRouter()


class Health(BaseModel):
    """All is well."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", tags=["health"])
async def health() -> Health:
    """Whether the process lives. No key is needed."""
    return Health()


@router.get("/readyz", tags=["health"], responses={503: PROBLEMS[503]})
def readiness(request: Request) -> Health:
    """Whether the database answers. No key is needed."""
    with request.app.state.ledger.reading() as connection:
        connection.execute(sa.select(sa.func.count()).select_from(trials)).scalar_one()
    return Health()


@router.get(
    "/metrics",
    tags=["health"],
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text format."},
        **{status: PROBLEMS[status] for status in (401, 403, 429, 503)},
    },
)
def metrics(request: Request, _: Reader) -> Response:
    """Numbers for Prometheus, of all workers together."""
    state = request.app.state
    return Response(
        state.metrics.text(listing.all_trials(state.ledger)), media_type="text/plain; version=0.0.4; charset=utf-8"
    )
