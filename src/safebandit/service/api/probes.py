"""For whoever watches over the service: does it live, can it work, how is it doing."""

from __future__ import annotations

import asyncio
import functools
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from safebandit.errors import RecordError
from safebandit.service.access import Reader
from safebandit.service.api import listing
from safebandit.service.api.answers import PROBLEMS
from safebandit.service.threads import in_own_thread
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.readiness import check_ready

router = APIRouter()
# Whoever watches asks every few seconds, and gives up after about as many.
READY_SECONDS = 3.0


class Readiness:
    """Asks the database in a thread of its own, so that it is heard however busy the others are; those who ask while an
    answer is waited for share it.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._asked: asyncio.Future[None] | None = None

    async def check(self) -> None:
        """Refuse if the database cannot be used now, or does not say so in time."""
        if self._asked is None or self._asked.done():
            self._asked = in_own_thread(functools.partial(check_ready, self._ledger))
        try:
            await asyncio.wait_for(asyncio.shield(self._asked), READY_SECONDS)
        except TimeoutError:
            raise RecordError(f"the database has not answered for {READY_SECONDS:g} s; look after it") from None


class Health(BaseModel):
    """All is well."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", tags=["health"])
async def health() -> Health:
    """Whether the process lives. No key is needed."""
    return Health()


@router.get("/readyz", tags=["health"], responses={503: PROBLEMS[503]})
async def readiness(request: Request) -> Health:
    """Whether the database answers within seconds, and has room. No key is needed."""
    await request.app.state.readiness.check()
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
def metrics(request: Request, key: Reader) -> Response:
    """Numbers for Prometheus, of all workers together, and of the trials whose sums the key may read."""
    state = request.app.state
    trials = listing.all_trials(state.ledger, state.standings, key.where("read"))
    text = state.metrics.text(trials, unsent=state.outbox.waiting())
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
