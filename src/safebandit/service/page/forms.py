"""The forms on the page of a trial: read what was typed, have it written, and lead back to the page that shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Request, Response
from starlette.datastructures import FormData

from safebandit.errors import NotFoundError, RecordError, SafebanditError, TrialError
from safebandit.service.access import Asker, Auditor, Manager, Teller
from safebandit.service.api.proposals import person_of, warm_up_for
from safebandit.service.api.schemas import TrialInPath
from safebandit.service.keys import Key
from safebandit.service.page import screens, views
from safebandit.service.page.fields import FIRST, Form, lines, number, numbers, text, whole
from safebandit.service.page.rendering import PageRoute, go, render
from safebandit.service.page.screens import Sent
from safebandit.service.refusals import RefusedError, status_of
from safebandit.service.without_results import allocation_for, refusal_for
from safebandit.trials.answers import Allocation
from safebandit.trials.drafts import needs_another
from safebandit.trials.engine import warm_up
from safebandit.trials.record.transaction import Transaction
from safebandit.trials.texts import read_unit_id

router = APIRouter(route_class=PageRoute, include_in_schema=False, dependencies=FIRST)
Work = Callable[[Transaction], Any]
# So long a page waits for a verification; then it says how far it is.
VERIFY_SECONDS = 20.0


@router.post("/trials/{trial}/ask")
def ask(trial: TrialInPath, request: Request, key: Asker, form: Form) -> Response:
    """Ask for a unit's arm; of a unit that is new, first whether it is meant: a misspelt one would be given an arm."""
    # A blank that was typed by chance must not make another unit of the same one.
    unit = text(form, "unit").strip()
    if unit and text(form, "new") != unit and _is_new(request, trial, unit):
        message = f"Unit {unit} is new: it was never asked for in this trial. Its arm is given once and for all."
        return screens.trial_screen(request, key, trial, sent=Sent("ask", message, values=form, confirm=unit))

    def read() -> Work:
        told: dict[str, Any] = {"context": _context(request, trial, form)}
        told["eligible"] = [str(arm) for arm in form.getlist("eligible")] or None
        told["stratum"] = _stratum(request, trial, form)
        return lambda writing: writing.trial(trial).ask(unit, **told, actor=key.actor)

    return _do(request, key, trial, "ask", form, read)


@router.post("/trials/{trial}/tell")
def tell(trial: TrialInPath, request: Request, key: Teller, form: Form) -> Response:
    """Tell what happened to a unit."""

    def read() -> Work:
        unit, outcome = text(form, "unit"), _outcome(request, trial, form)
        return lambda writing: writing.trial(trial).tell(unit, **outcome, actor=key.actor)

    return _do(request, key, trial, "tell", form, read)


@router.post("/trials/{trial}/correct")
def correct(trial: TrialInPath, request: Request, key: Manager, form: Form) -> Response:
    """Put another outcome in the place of one that was told."""
    return _change(request, key, trial, "correct", form)


@router.post("/trials/{trial}/give-up")
def give_up(trial: TrialInPath, request: Request, key: Manager, form: Form) -> Response:
    """No longer wait for a unit's outcome."""
    return _change(request, key, trial, "give_up", form)


@router.post("/trials/{trial}/void")
def void(trial: TrialInPath, request: Request, key: Manager, form: Form) -> Response:
    """Count a unit that never got its arm as nothing."""
    return _change(request, key, trial, "void", form)


def _change(request: Request, key: Key, trial: str, change: str, form: FormData) -> Response:
    """Have the engine do this about a unit, for the reason that was typed; or propose it, where two must want it."""

    def read() -> Work:
        said: dict[str, Any] = {"id": text(form, "unit"), "reason": text(form, "reason")}
        if change == "correct":
            said |= _outcome(request, trial, form)
        ledger = request.app.state.ledger
        if needs_another(ledger.state(trial), change):
            return _proposed(key, trial, change, **said)
        ahead = None if change == "give_up" else ledger.read_ahead(trial)
        return lambda writing: getattr(writing.trial(trial, ahead), change)(**said, actor=key.actor)

    return _do(request, key, trial, change.replace("_", "-"), form, read)


@router.post("/trials/{trial}/amend")
def amend(trial: TrialInPath, request: Request, key: Manager, form: Form) -> Response:
    """Change settings from now on; a field that was left empty stays as it is."""

    def read() -> Work:
        reason = text(form, "reason")
        changes: dict[str, Any] = {
            "alpha": numbers(form, "alpha"),
            "policy": text(form, "policy").strip() or None,
            "add": lines(form, "add"),
            "withdraw": [str(arm) for arm in form.getlist("withdraw")],
            "pending_cap": whole(form, "pending_cap", "pending units per arm"),
            "ids": _ids(form),
            "control": text(form, "control").strip() or None,
            "control_floor": number(form, "control_floor", "the floor of the control"),
        }
        # Compiling takes seconds, and not in the thread that writes: others would wait.
        ledger = request.app.state.ledger
        state = ledger.state(trial)
        warm_up(state.settings.amended(**changes))
        if needs_another(state, "amend"):
            return _proposed(key, trial, "amend", reason=reason, **changes)
        ahead = ledger.read_ahead(trial)
        return lambda writing: writing.trial(trial, ahead).amend(reason=reason, actor=key.actor, **changes)

    return _do(request, key, trial, "amend", form, read)


def _ids(form: FormData) -> str | None:
    """Another pattern of ids; none where that was ticked, and None where it stays."""
    typed = text(form, "ids").strip()
    if "any_ids" not in form:
        return typed or None
    if typed:
        raise TrialError(f"either any id is taken or a pattern is given, got both ({typed[:40]!r}); clear one of them")
    return ""


@router.post("/trials/{trial}/unseal")
def unseal(trial: TrialInPath, request: Request, key: Manager, form: Form) -> Response:
    """Propose to show what is concealed until the end."""

    def read() -> Work:
        return _proposed(key, trial, "unseal", what=text(form, "what"), reason=text(form, "reason"))

    return _do(request, key, trial, "unseal", form, read)


@router.post("/trials/{trial}/proposals/{number}")
def settle(
    trial: TrialInPath, number: Annotated[int, Path(ge=1, lt=2**63)], request: Request, key: Manager, form: Form
) -> Response:
    """Approve a proposal, or decline it."""

    def read() -> Work:
        person, reason = person_of(key), text(form, "reason")
        if text(form, "answer") != "approve":
            said = {"reason": reason, "person": person, "actor": key.actor}
            return lambda writing: writing.trial(trial).refuse(number, **said)
        ledger = request.app.state.ledger
        warm_up_for(ledger, trial, number)
        ahead = ledger.read_ahead(trial)
        return lambda writing: writing.trial(trial, ahead).approve(number, person=person, actor=key.actor)

    return _do(request, key, trial, "proposals", form, read)


def _proposed(key: Key, trial: str, change: str, **said: Any) -> Work:
    """A change that is proposed, for a second person to approve."""
    person = person_of(key)
    return lambda writing: writing.trial(trial).propose(change, person=person, actor=key.actor, **said)


@router.post("/trials/{trial}/units")
def find_unit(trial: TrialInPath, request: Request, key: Auditor, form: Form) -> Response:
    """Look for a unit, by an id that stands in no address."""
    return screens.units_screen(request, key, trial, unit=text(form, "unit").strip())


@router.post("/trials/{trial}/{change}")
def set_status(trial: TrialInPath, change: str, request: Request, key: Manager, form: Form) -> Response:
    """Pause, resume or close a trial, route its units to the control or no longer."""
    if change not in ("pause", "resume", "route", "unroute", "close"):
        raise RefusedError(404, "there is no such form")

    def read() -> Work:
        reason = text(form, "reason")
        return lambda writing: writing.trial(trial).set_status(change, reason=reason, actor=key.actor)

    return _do(request, key, trial, change, form, read)


@router.post("/trials/{trial}/log/verify")
async def verify_log(trial: TrialInPath, request: Request, key: Auditor, form: Form) -> Response:
    """Recompute a trial from its first event on, and say whether the record holds, or how far it is."""
    jobs = request.app.state.verifications
    head = await asyncio.to_thread(views.head, request.app.state.ledger, trial)
    expected = text(form, "expected").strip()
    job = jobs.job(trial, expected or None, id=text(form, "job"))
    found = await jobs.wait(job, VERIFY_SECONDS)
    return render(request, "verified.html", key=key, head=head, found=found, job=job, expected=expected)


def _do(request: Request, key: Key, trial: str, form: str, typed: FormData, read: Callable[[], Work]) -> Response:
    """Read the form and have it written; the page then shows what became of it, beside the form."""
    try:
        done = write(request, trial, read())
    except (NotFoundError, RecordError):
        raise
    except SafebanditError as problem:
        sent = Sent(form, refusal_for(key, problem), True, typed)
        return screens.trial_screen(request, key, trial, sent=sent, status=status_of(problem))
    if isinstance(done, Allocation) and done.new:
        request.app.state.metrics.decided(trial, done.kind)
    if isinstance(done, Allocation) and (done.arm is None or not done.new):
        # Nothing was written that an address could name: said at once, and asked again it is the same.
        return screens.trial_screen(request, key, trial, sent=_given(key, done, typed))
    query = {"done": form, "event": str(done.event)} if done.new else {"done": form}
    return go(f"/trials/{trial}?{urlencode(query)}#{form}")


def _is_new(request: Request, trial: str, unit: str) -> bool:
    """Whether asking would give this unit an arm that it does not have yet."""
    ledger = request.app.state.ledger
    head = views.head(ledger, trial)
    stands = (head.holding or head.waiting) and not head.by_context
    if head.status != "open" or stands:
        return False
    try:
        ledger.unit(trial, read_unit_id(unit))
    except NotFoundError:
        return True
    except TrialError:
        # An id that cannot be one is refused when it is asked for.
        return False
    return False


def given_words(unit: str, arm: str) -> str:
    """What a desk is told of a unit that has its arm."""
    return f"Unit {unit} gets: {arm}"


def _given(key: Key, done: Allocation, typed: FormData) -> Sent:
    if done.arm is not None:
        return Sent("ask", given_words(done.unit, done.arm))
    why = allocation_for(key, done).why
    return Sent("ask", f"Unit {done.unit} gets no arm: {why}.", True, {**typed, "unit": done.unit})


def write(request: Request, trial: str, work: Work) -> Any:
    """Wait until it is on disk; this is a thread of its own, the service goes on."""
    return request.app.state.scribe.write(trial, work).result()


def _outcome(request: Request, trial: str, form: FormData) -> dict[str, Any]:
    """What was typed of a unit's outcome; a field that was left empty says nothing."""
    risks = views.head(request.app.state.ledger, trial).settings.risks
    told = {name: number(form, f"risk_{j}", name) for j, name in enumerate(risks)}
    known = {name: value for name, value in told.items() if value is not None}
    return {"reward": number(form, "reward", "reward"), "risk": known or None}


def _context(request: Request, trial: str, form: FormData) -> dict[str, float] | None:
    """What was typed of a unit's context; nothing where all of it was left empty."""
    ranges = views.head(request.app.state.ledger, trial).ranges
    told = {each.name: number(form, f"context_{i}", each.name) for i, each in enumerate(ranges)}
    return {name: value for name, value in told.items() if value is not None} or None


def _stratum(request: Request, trial: str, form: FormData) -> dict[str, str] | None:
    """The stratum that was chosen; nothing where none of it was."""
    factors = views.head(request.app.state.ledger, trial).settings.factors
    told = {name: text(form, f"stratum_{i}") for i, (name, _) in enumerate(factors)}
    return {name: level for name, level in told.items() if level} or None
