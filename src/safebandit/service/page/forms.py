"""What the forms of the pages do: read what was typed, have it written, and lead back to the page that shows it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Request, Response
from starlette.datastructures import FormData

from safebandit.errors import NotFoundError, RecordError, SafebanditError, StoppedError, TrialError
from safebandit.problems.limits import plain_alpha
from safebandit.service.access import Asker, Auditor, KeyKeeper, Manager, Teller, in_project
from safebandit.service.api.proposals import person_of, warm_up_for
from safebandit.service.api.schemas import TrialInPath
from safebandit.service.keeping import check_gives, kept_key
from safebandit.service.keys import Key
from safebandit.service.page import screens, views
from safebandit.service.page.rendering import PageRoute, go, read_form, render
from safebandit.service.page.screens import Sent
from safebandit.service.refusals import RefusedError, status_of
from safebandit.service.roles import read_roles
from safebandit.trials.answers import Allocation
from safebandit.trials.concealment import without_numbers
from safebandit.trials.design import Design
from safebandit.trials.drafts import ENDED
from safebandit.trials.engine import warm_up
from safebandit.trials.record.transaction import Transaction
from safebandit.trials.settings import Settings
from safebandit.trials.texts import DEFAULT, check_name, project_of, read_unit_id

# Where a form comes from is asked first, before who sent it.
router = APIRouter(route_class=PageRoute, include_in_schema=False, dependencies=[Depends(read_form)])
Work = Callable[[Transaction], Any]
Form = Annotated[FormData, Depends(read_form)]
# So long a page waits for a verification; then it says how far it is.
VERIFY_SECONDS = 20.0


@router.post("/trials")
def create_trial(request: Request, key: Manager, form: Form) -> Response:
    """Create a trial, by its settings one by one or by a design."""
    by = "create-by-design" if "design" in form else "create"
    try:
        name = check_name(text(form, "name").strip())
        key = in_project(key, project_of(name), "manage")
        settings = _designed(form) if "design" in form else _settings(form)
        warm_up(settings)
        _write(request, name, lambda writing: writing.create(name, settings, actor=key.actor))
    except SafebanditError as problem:
        sent = Sent(by, str(problem), True, form)
        return screens.trials_screen(request, key, sent=sent, status=status_of(problem))
    return go(f"/trials/{name}")


def _designed(form: FormData) -> Settings:
    return Settings.by_design(Design.from_toml(text(form, "design")), seed=whole(form, "seed", "seed"))


def _settings(form: FormData) -> Settings:
    return Settings.read(
        lines(form, "arms"),
        numbers(form, "alpha"),
        risks=lines(form, "risks") or None,
        policy=text(form, "policy").strip() or None,
        seed=whole(form, "seed", "seed"),
        pending_cap=whole(form, "pending_cap", "pending units per arm"),
        delay=whole(form, "delay", "delay") or 0,
        lost=text(form, "lost") or "harm",
        title=text(form, "title").strip(),
        ids=text(form, "ids").strip(),
        units=whole(form, "units", "planned units"),
        context=lines(form, "context") or None,
        features=[[_number(part.strip(), "a feature") for part in line.split(",")] for line in lines(form, "features")]
        or None,
        control=text(form, "control").strip() or None,
        control_floor=number(form, "control_floor", "the floor of the control") or 0.0,
        strata=_strata(lines(form, "strata")),
        second_person=[part.strip() for part in text(form, "second_person").split(",") if part.strip()],
    )


def _strata(typed: list[str]) -> dict[str, list[str]] | None:
    """Factors and their levels, as site: a, b in a line for each."""
    parts = [line.partition(":") for line in typed]
    if not all(colon for _, colon, _ in parts) or len({name.strip() for name, _, _ in parts}) < len(parts):
        raise TrialError(f"strata are written as site: a, b, a line for each factor, got {typed[0][:40]!r}")
    return {name.strip(): [level.strip() for level in levels.split(",")] for name, _, levels in parts} or None


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

    def read() -> Work:
        unit, reason, outcome = text(form, "unit"), text(form, "reason"), _outcome(request, trial, form)
        if _needs_another(request, trial, "correct"):
            return _proposed(key, trial, "correct", id=unit, reason=reason, **outcome)
        ahead = request.app.state.ledger.read_ahead(trial)
        return lambda writing: writing.trial(trial, ahead).correct(unit, **outcome, reason=reason, actor=key.actor)

    return _do(request, key, trial, "correct", form, read)


@router.post("/trials/{trial}/give-up")
def give_up(trial: TrialInPath, request: Request, key: Manager, form: Form) -> Response:
    """No longer wait for a unit's outcome."""

    def read() -> Work:
        unit, reason = text(form, "unit"), text(form, "reason")
        if _needs_another(request, trial, "give_up"):
            return _proposed(key, trial, "give_up", id=unit, reason=reason)
        return lambda writing: writing.trial(trial).give_up(unit, reason=reason, actor=key.actor)

    return _do(request, key, trial, "give-up", form, read)


@router.post("/trials/{trial}/void")
def void(trial: TrialInPath, request: Request, key: Manager, form: Form) -> Response:
    """Count a unit that never got its arm as nothing."""

    def read() -> Work:
        unit, reason = text(form, "unit"), text(form, "reason")
        if _needs_another(request, trial, "void"):
            return _proposed(key, trial, "void", id=unit, reason=reason)
        ahead = request.app.state.ledger.read_ahead(trial)
        return lambda writing: writing.trial(trial, ahead).void(unit, reason=reason, actor=key.actor)

    return _do(request, key, trial, "void", form, read)


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
        settings = _standing(request, trial)[0]
        warm_up(settings.amended(**changes))
        if "amend" in settings.second_person:
            said = {"person": person_of(key), "reason": reason, **changes}
            return lambda writing: writing.trial(trial).propose("amend", actor=key.actor, **said)
        ahead = request.app.state.ledger.read_ahead(trial)
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
        said: dict[str, Any]
        said = {"what": text(form, "what"), "reason": text(form, "reason"), "person": person_of(key)}
        return lambda writing: writing.trial(trial).propose("unseal", actor=key.actor, **said)

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


def _needs_another(request: Request, trial: str, change: str) -> bool:
    """Whether a trial has ended and lets nobody do this alone any more."""
    settings, status = _standing(request, trial)
    return status in ENDED and change in settings.second_person


def _proposed(key: Key, trial: str, change: str, **said: Any) -> Work:
    person = person_of(key)
    return lambda writing: writing.trial(trial).propose(change, person=person, actor=key.actor, **said)


def _standing(request: Request, trial: str) -> tuple[Settings, str]:
    """A trial's settings and its status."""
    state = request.app.state.ledger.state(trial)
    return state.settings, state.status


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


@router.post("/keys")
def create_key(request: Request, key: KeyKeeper, form: Form) -> Response:
    """Make a key, and show it this once."""
    try:
        days = number(form, "days", "days until it expires")
        project = text(form, "project").strip() or DEFAULT
        roles = {project: text(form, "role")}
        check_gives(key, read_roles(roles))
        name = text(form, "name").strip()
        made, shown = request.app.state.keys.create(name, roles, days=days, actor=key.actor)
    except SafebanditError as problem:
        sent = Sent("key", str(problem), True, form)
        return screens.keys_screen(request, key, sent=sent, status=status_of(problem))
    sent = Sent("key", f'The key "{made.name}" ({made.role}) was made.')
    return screens.keys_screen(request, key, sent=sent, shown=shown)


@router.post("/keys/{id}/rotate")
def rotate_key(id: str, request: Request, key: KeyKeeper, form: Form) -> Response:
    """Give a key another secret, and show it this once."""
    kept_key(request, key, id)
    try:
        hours = number(form, "hours", "hours that the old secret works yet") or 0.0
        made, shown = request.app.state.keys.rotate(id, overlap_hours=hours, actor=key.actor)
    except SafebanditError as problem:
        return screens.keys_screen(request, key, sent=Sent("key", str(problem), True), status=status_of(problem))
    sent = Sent("key", f'The key "{made.name}" has another secret; the one before works until {made.old_until}.')
    return screens.keys_screen(request, key, sent=sent, shown=shown)


@router.post("/keys/{id}/revoke")
def revoke_key(id: str, request: Request, key: KeyKeeper, form: Form) -> Response:
    """Make a key worthless."""
    kept_key(request, key, id)
    request.app.state.keys.revoke(id, actor=key.actor)
    return go("/keys")


def _do(request: Request, key: Key, trial: str, form: str, typed: FormData, read: Callable[[], Work]) -> Response:
    """Read the form and have it written; the page then shows what became of it, beside the form."""
    try:
        done = _write(request, trial, read())
    except (NotFoundError, RecordError):
        raise
    except SafebanditError as problem:
        shown = problem.plain if isinstance(problem, StoppedError) and not key.may("read") else str(problem)
        sent = Sent(form, shown, True, typed)
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
    why = done.why if key.may("read") else without_numbers(done.why)
    return Sent("ask", f"Unit {done.unit} gets no arm: {why}.", True, {**typed, "unit": done.unit})


def _write(request: Request, trial: str, work: Work) -> Any:
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


# By hand: Pydantic models of these forms would be longer, as every mistake needs a message in our words anyway.
def text(form: FormData, field: str) -> str:
    """What a field says."""
    value = form.get(field, "")
    return value if isinstance(value, str) else ""


def lines(form: FormData, field: str) -> list[str]:
    """What a field says line by line, without empty lines."""
    return [line.strip() for line in re.split(r"\r?\n", text(form, field)) if line.strip()]


def number(form: FormData, field: str, what: str) -> float | None:
    """The number in a field; None if it is empty."""
    typed = text(form, field).strip()
    return _number(typed, what) if typed else None


def numbers(form: FormData, field: str) -> Any:
    """One number, or several with commas between them; None if there is none."""
    typed = text(form, field)
    return plain_alpha(tuple(_number(part.strip(), field) for part in typed.split(","))) if typed.strip() else None


def whole(form: FormData, field: str, what: str) -> int | None:
    """The whole number in a field; None if it is empty."""
    typed = text(form, field).strip()
    if typed and not re.fullmatch(r"[0-9]{1,30}", typed):
        raise TrialError(f"{what} must be a whole number, got {typed[:40]!r}")
    return int(typed) if typed else None


def _number(typed: str, what: str) -> float:
    try:
        return float(typed)
    except ValueError:
        raise TrialError(f"{what} must be a number such as 0.2, got {typed[:40]!r}") from None
