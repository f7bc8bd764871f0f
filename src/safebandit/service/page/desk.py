"""The worklist's page: what waits for whoever looks, over all trials, and the way to tell it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from safebandit.service.access import Teller
from safebandit.service.keys import Key
from safebandit.service.page.fields import FIRST, Form, text
from safebandit.service.page.rendering import PageRoute, go, render
from safebandit.service.page.screens import live
from safebandit.service.worklist import worklist
from safebandit.trials.record.waiting import Place, Wanted, written_in

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MOST_ROWS = 100
# Trials that are named above the list, with how many of their units are in it.
MOST_TRIALS = 20


@router.get("/worklist")
def worklist_page(request: Request, key: Teller, trial: str = "", after: str = "") -> Response:
    """Pending units of all trials or of one, the longest first."""
    return _screen(request, key, Wanted(trial), after)


@router.post("/worklist", dependencies=FIRST)
def find_in_worklist(request: Request, key: Teller, form: Form) -> Response:
    """Those whose ids have a text in them: it stands in no address."""
    wanted = _wanted(form)
    if not wanted.text:
        return go(f"/worklist?{urlencode({'trial': wanted.trial})}" if wanted.trial else "/worklist")
    return _screen(request, key, wanted, text(form, "after"))


@router.post("/worklist/live", dependencies=FIRST)
def worklist_live(request: Request, key: Teller, form: Form) -> Response:
    """What has changed in what a worklist's page shows; 204 if nothing has."""
    after, known = text(form, "place"), text(form, "after")
    if _mark(request, key) == known:
        return Response(status_code=204)
    return live(request, "worklist_live.html", _context(request, key, _wanted(form), after), known)


def _wanted(form: FormData) -> Wanted:
    return Wanted(text(form, "trial"), text(form, "unit").strip())


def _screen(request: Request, key: Key, wanted: Wanted, after: str) -> Response:
    context = _context(request, key, wanted, after)
    trials = sorted({*context["found"].counts, *filter(None, [wanted.trial])})
    return render(request, "worklist.html", trials=trials, **context)


def _context(request: Request, key: Key, wanted: Wanted, after: str) -> dict[str, Any]:
    # Read first: what is written meanwhile is still to be shown.
    mark = _mark(request, key)
    place = Place.read(after) if after else None
    found = worklist(request.app.state.ledger, key, wanted, after=place, most=MOST_ROWS)
    return {"key": key, "wanted": wanted, "found": found, "after": after, "mark": mark, "most_trials": MOST_TRIALS}


def _mark(request: Request, key: Key) -> str:
    """Stands for all that was written in the trials that somebody may tell of."""
    return "-".join(map(str, written_in(request.app.state.ledger, key.where("tell"))))
