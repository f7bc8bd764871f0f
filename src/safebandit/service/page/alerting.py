"""The page of alerts: who is told of what, what was sent, and forms to make, test and remove them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from safebandit.errors import RecordError, SafebanditError
from safebandit.service.access import AlertAdmin, in_trial
from safebandit.service.alerts.administration import alert_for_admin, alerts_for_admin, make_alert, order_test, words_of
from safebandit.service.alerts.outbox import Message
from safebandit.service.alerts.rules import CHANNELS, KINDS, QUIET_SECONDS
from safebandit.service.keys import Key
from safebandit.service.page import views
from safebandit.service.page.fields import FIRST, Form, number, text
from safebandit.service.page.rendering import PageRoute, go, render
from safebandit.service.page.screens import Sent
from safebandit.service.refusals import status_of
from safebandit.service.roles import ROLES
from safebandit.trials.events import as_text
from safebandit.trials.texts import check_name

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MOST_MESSAGES = 50


@router.get("/alerts")
def alerts_page(request: Request, key: AlertAdmin, trial: str = "", before: str = "") -> Response:
    """Alerts of the projects that the caller is an admin of, or those about one trial; `before` is the message behind
    which what was sent is shown.
    """
    return _screen(request, key, trial, Sent(), before=before)


@router.post("/alerts", dependencies=FIRST)
def create_alert(request: Request, key: AlertAdmin, form: Form) -> Response:
    """Make an alert, and show the secret of its webhook this once."""
    trial = text(form, "about").strip()
    try:
        alert, secret = make_alert(
            request, key, text(form, "channel"), text(form, "target").strip(),
            trial=check_name(trial) if trial else None, project=None if trial else text(form, "project") or None,
            **_options(form),
        )  # fmt: skip
    except RecordError:
        raise
    except SafebanditError as problem:
        return _screen(request, key, text(form, "trial"), Sent("alert", str(problem), True, form), status_of(problem))
    sent = Sent("alert", f"{alert.address} is told of {', '.join(alert.kinds)}.")
    return _screen(request, key, text(form, "trial"), sent, secret=secret)


def _options(form: FormData) -> dict[str, Any]:
    quiet = number(form, "quiet", "seconds between two messages of a kind")
    return {
        "kinds": [str(kind) for kind in form.getlist("kinds")] or None,
        "role": text(form, "role") or "operator",
        "patience": number(form, "patience", "patience"),
        "quiet": QUIET_SECONDS if quiet is None else quiet,
    }


@router.post("/alerts/{id}/test", dependencies=FIRST)
def send_test(id: str, request: Request, key: AlertAdmin, form: Form) -> Response:
    """Have an alert send a test, and show the log: it says what becomes of it."""
    order_test(request, key, id)
    return _back(form, "#messages")


@router.post("/alerts/{id}/remove", dependencies=FIRST)
def remove_alert(id: str, request: Request, key: AlertAdmin, form: Form) -> Response:
    """Send nothing more for an alert."""
    request.app.state.alerts.remove(alert_for_admin(request, key, id).id, actor=key.actor)
    return _back(form)


def _back(form: FormData, part: str = "") -> Response:
    trial = text(form, "trial")
    query = f"?{urlencode({'trial': trial})}" if trial else ""
    return go(f"/alerts{query}{part}")


def _screen(
    request: Request,
    key: Key,
    trial: str,
    sent: Sent,
    status: int = 200,
    *,
    secret: str | None = None,
    before: str = "",
) -> Response:
    """What the caller keeps, or the part of it that is about a trial; `secret` is that of one that was made now."""
    if trial:
        in_trial(key, check_name(trial), "alerts")
        views.head(request.app.state.ledger, trial)
    known = {each.id: each for each in alerts_for_admin(request, key).values() if not trial or each.covers(trial)}
    log = request.app.state.outbox.log(
        list(known), trial=trial or None, before=before or None, limit=MOST_MESSAGES + 1
    )  # fmt: skip
    older = log[MOST_MESSAGES - 1].id if len(log) > MOST_MESSAGES else ""
    return render(
        request, "alerts.html", status, key=key, trial=trial, alerts=list(known.values()), known=known,
        messages=[(each, words_of(each), _when(each)) for each in log[:MOST_MESSAGES]], sent=sent, secret=secret,
        roles=ROLES, kinds=KINDS, before=before, older=older, channels=CHANNELS, usual_quiet=QUIET_SECONDS,
        projects=sorted(key.where("alerts")),
    )  # fmt: skip


def _when(message: Message) -> str:
    """When it was sent or given up, or made if neither, as the record writes times."""
    seconds = message.made if message.done is None else message.done
    return as_text(datetime.fromtimestamp(seconds, UTC))
