"""The pages for people: the list of trials, a trial and its log here, and those that have files of their own."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from safebandit.errors import NotFoundError
from safebandit.service.access import Auditor, Lister, Reader
from safebandit.service.api.schemas import After, TrialInPath
from safebandit.service.keys import Key
from safebandit.service.page import (
    alerting,
    creating,
    desk,
    files,
    forms,
    keys,
    members,
    rehearsals,
    screens,
    signing,
    views,
)
from safebandit.service.page.forms import given_words
from safebandit.service.page.rendering import FOLDER, PageRoute, go, render
from safebandit.service.page.screens import Sent
from safebandit.service.page.signing import own_page
from safebandit.trials.concealment import show_event, without_numbers
from safebandit.trials.descriptions import describe
from safebandit.trials.events import Event, canonical
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.second_person import is_told

STATIC = FOLDER / "static"
Before = Annotated[int | None, Query(ge=1, lt=2**63)]
router = APIRouter(route_class=PageRoute, include_in_schema=False)
# What those who may ask but not read the log are shown again of what they did.
_DESK = ("asked", "held", "waiting", "told")


@router.get("/")
def trials(request: Request, key: Lister) -> Response:
    """Every trial."""
    return screens.trials_screen(request, key)


@router.get("/live")
def trials_live(request: Request, key: Lister, after: str = "") -> Response:
    """What has changed in the list; 204 if nothing has."""
    return screens.trials_live(request, key, after)


@router.get("/trials/{trial}")
def trial(
    trial: TrialInPath, request: Request, key: Lister, done: str = "", event: After = 0, of: After = 0
) -> Response:
    """A trial; `done` names the form that led here, or is to be filled with the unit that event `of` tells of."""
    sent = _sent(request, key, trial, done, event, of)
    return screens.trial_screen(request, key, trial, sent=sent)


@router.get("/trials/{trial}/live")
def trial_live(trial: TrialInPath, request: Request, key: Lister, after: str = "") -> Response:
    """What has changed of a trial; 204 if nothing has."""
    return screens.trial_live(request, key, trial, after)


@router.get("/trials/{trial}/arms")
def arms(trial: TrialInPath, request: Request, key: Reader) -> Response:
    """Every arm of a trial."""
    return screens.arms_screen(request, key, trial)


@router.get("/trials/{trial}/analysis")
async def analysis(trial: TrialInPath, request: Request, key: Reader) -> Response:
    """What may be said of the arms, at any look."""
    async with request.app.state.long_work:
        return await asyncio.to_thread(screens.analysis_screen, request, key, trial)


@router.get("/trials/{trial}/units")
def units(trial: TrialInPath, request: Request, key: Auditor, before: Before = None) -> Response:
    """Units and what is known of each, the last first."""
    return screens.units_screen(request, key, trial, before=before)


@router.get("/trials/{trial}/log")
def log(trial: TrialInPath, request: Request, key: Auditor, before: Before = None) -> Response:
    """The log, the newest event first."""
    return screens.log_screen(request, key, trial, before)


@router.get("/trials/{trial}/log/{number}")
def event(trial: TrialInPath, number: Annotated[int, Path(ge=1, lt=2**63)], request: Request, key: Auditor) -> Response:
    """One event, whole."""
    ledger = request.app.state.ledger
    head = views.head(ledger, trial)
    found = ledger.event(trial, number)
    # The status was read before: once closed or unsealed, a trial stays so.
    content = show_event(found, closed=is_told(head.status, head.unsealed))["body"]
    words = describe(found, head.settings.risks)
    body = json.dumps(content, indent=2, ensure_ascii=False)
    shown = {"event": found, "content": content, "description": words, "body": body}
    shown["voided"] = views.voided_at(ledger, trial, content["unit"]) if found.kind == "asked" else None
    return render(request, "event.html", key=key, head=head, **shown)


# The routes themselves: a router that is included is asked route by route whether each is meant, at every request.
for part in (files, rehearsals, creating, forms, signing, keys, members, desk, alerting):
    router.routes.extend(part.router.routes)


@router.get("/trials/{trial}/{form}")
def form(trial: TrialInPath, form: str, key: Lister) -> Response:
    """The address of a form, entered by hand: the page that it is on."""
    return go(own_page(f"/trials/{trial}"))


def _sent(request: Request, key: Key, trial: str, done: str, number: int, of: int) -> Sent:
    """What to say beside the form that led here, read from the record: an address alone must not say it was done.

    Addresses are kept by browsers and logged by proxies: they name events, never units.
    """
    ledger = request.app.state.ledger
    if number:
        event = _readable(ledger, key, trial, number)
        return Sent() if event is None else Sent(done, _written(ledger, key, trial, event))
    if of:
        event = _readable(ledger, key, trial, of)
        return Sent() if event is None else Sent(done, values={"unit": event.content.get("unit", "")})
    return Sent(done, "Nothing was written: this was in the record already.") if done else Sent()


def _readable(ledger: Ledger, key: Key, trial: str, number: int) -> Event | None:
    """An event that this key may read: any with the log, and otherwise what it wrote itself at the desk."""
    try:
        event = ledger.event(trial, number)
    except NotFoundError:
        return None
    own = key.may("ask") and event.kind in _DESK and event.actor == key.actor
    return event if own or key.may("log") else None


def _written(ledger: Ledger, key: Key, trial: str, event: Event) -> str:
    content = event.content
    if event.kind == "asked":
        return given_words(content["unit"], content["arm"])
    if not key.may("read") and "why" in content:
        event = event._replace(body=canonical({**content, "why": without_numbers(content["why"])}))
    return f"Written as event {event.number}: {describe(event, views.head(ledger, trial).settings.risks)}"
