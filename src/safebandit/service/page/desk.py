"""The worklist's page: what waits for whoever looks, over all trials, and the way to tell it."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from safebandit.service.access import Teller
from safebandit.service.keys import Key
from safebandit.service.page.fields import FIRST, Form, text
from safebandit.service.page.rendering import PageRoute, go, render
from safebandit.service.worklist import worklist
from safebandit.trials.record.waiting import Place, Wanted

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MOST_ROWS = 100


@router.get("/worklist")
def worklist_page(request: Request, key: Teller, trial: str = "", after: str = "") -> Response:
    """Pending units of all trials or of one, the longest first."""
    return _screen(request, key, Wanted(trial), after)


@router.post("/worklist", dependencies=FIRST)
def find_in_worklist(request: Request, key: Teller, form: Form) -> Response:
    """Those whose ids have a text in them: it stands in no address."""
    wanted = Wanted(text(form, "trial"), text(form, "unit").strip())
    if not wanted.text:
        return go(f"/worklist?{urlencode({'trial': wanted.trial})}" if wanted.trial else "/worklist")
    return _screen(request, key, wanted, text(form, "after"))


def _screen(request: Request, key: Key, wanted: Wanted, after: str) -> Response:
    place = Place.read(after) if after else None
    found = worklist(request.app.state.ledger, key, wanted, after=place, most=MOST_ROWS)
    trials = sorted({*found.counts, *filter(None, [wanted.trial])})
    return render(request, "worklist.html", key=key, wanted=wanted, found=found, trials=trials, after=after)
