"""A rehearsal on the page: what a manager supposes of the arms, and what to expect of the trial then."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from safebandit.errors import RecordError, SafebanditError, SimulationError
from safebandit.service.access import Manager
from safebandit.service.api.schemas import TrialInPath
from safebandit.service.keys import Key
from safebandit.service.page import views
from safebandit.service.page.fields import FIRST, Form, number, text, whole
from safebandit.service.page.rendering import PageRoute, render
from safebandit.service.page.screens import Sent
from safebandit.service.refusals import status_of
from safebandit.service.rehearsing import MOST_RUNS, Supposed
from safebandit.trials.rehearsal import USUAL_UNITS, check_rehearsable
from safebandit.trials.rehearsal_words import heading, rows, sentences
from safebandit.trials.settings import Settings

router = APIRouter(route_class=PageRoute, include_in_schema=False)
# A page of more fields than this nobody fills by hand, and a form may not have many more.
MOST_MEANS = 1_000
USUAL_RUNS = 300
# So long a page waits; then it says how far it is.
REHEARSE_SECONDS = 20.0


@router.get("/trials/{trial}/rehearsal")
def supposing(trial: TrialInPath, request: Request, key: Manager) -> Response:
    """The form in which a manager says what to suppose."""
    return _screen(request, key, views.head(request.app.state.ledger, trial), Sent())


@router.post("/trials/{trial}/rehearsal", dependencies=FIRST)
async def rehearse(trial: TrialInPath, request: Request, key: Manager, form: Form) -> Response:
    """Run the trial against what is supposed, and show what to expect, or how far it is."""
    head = await asyncio.to_thread(views.head, request.app.state.ledger, trial)
    jobs = request.app.state.rehearsals
    try:
        job = jobs.job(trial, _supposed(head.settings, form), id=text(form, "job"))
        found = await jobs.wait(job, REHEARSE_SECONDS)
    except RecordError:
        raise
    except SafebanditError as problem:
        sent = Sent("rehearsal", str(problem), True, form)
        return _screen(request, key, head, sent, status=status_of(problem))
    typed = [(name, value) for name, value in form.items() if isinstance(value, str) and name != "job"]
    shown: dict[str, Any] = {"job": job, "typed": typed}
    if found is not None:
        table = await asyncio.to_thread(rows, found)
        shown = {"heading": heading(found), "rows": table, "sentences": sentences(found), "warning": found.warning()}
    return _screen(request, key, head, Sent("rehearsal", values=form), **shown)


def _screen(request: Request, key: Key, head: views.Head, sent: Sent, status: int = 200, **shown: Any) -> Response:
    """The form, unless this trial cannot be rehearsed, with what came of it."""
    refusal = None
    try:
        _check(head.settings)
    except SimulationError as problem:
        refusal = str(problem)
    usual = {"most_runs": MOST_RUNS, "usual_runs": USUAL_RUNS, "usual_units": USUAL_UNITS}
    return render(request, "rehearsal.html", status, key=key, head=head, sent=sent, refusal=refusal, **usual, **shown)


def _check(settings: Settings) -> None:
    check_rehearsable(settings)
    means = len(settings.active) * (1 + len(settings.risks))
    if means > MOST_MEANS:
        raise SimulationError(
            f"at most {MOST_MEANS:,} means are supposed on a page, and this trial has {means:,}; "
            "run safebandit trial rehearse"
        )


def _supposed(settings: Settings, form: FormData) -> Supposed:
    """What was typed; a trial without a reward supposes none."""
    _check(settings)
    rewards = [_mean(form, f"mu_{k}", f"reward of {arm}") for k, arm in enumerate(settings.active) if settings.rewarded]
    harms = [
        tuple(_mean(form, f"nu_{j}_{k}", f"{risk} of {arm}") for k, arm in enumerate(settings.active))
        for j, risk in enumerate(settings.risks)
    ]
    times = whole(form, "runs", "runs")
    return Supposed(
        settings,
        tuple(rewards) or (0.0,) * len(settings.active),
        tuple(harms),
        whole(form, "units", "units"),
        USUAL_RUNS if times is None else times,
        whole(form, "delay", "delay") or 0,
    ).checked()


def _mean(form: FormData, field: str, what: str) -> float:
    typed = number(form, field, what)
    if typed is None or not 0.0 <= typed <= 1.0:
        raise SimulationError(f"{what} must be supposed as a mean in [0, 1], got {text(form, field)[:40] or 'nothing'}")
    return typed
