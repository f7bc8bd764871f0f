"""The forms that create a trial: by its settings one by one, or by a design."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from safebandit.errors import SafebanditError, TrialError
from safebandit.service.access import Manager, in_project
from safebandit.service.page import screens
from safebandit.service.page.fields import FIRST, Form, lines, number, numbers, read_number, text, whole
from safebandit.service.page.forms import write
from safebandit.service.page.rendering import PageRoute, go
from safebandit.service.page.screens import Sent
from safebandit.service.refusals import status_of
from safebandit.trials.design import Design
from safebandit.trials.engine import warm_up
from safebandit.trials.settings import Settings
from safebandit.trials.texts import check_name, project_of

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.post("/trials", dependencies=FIRST)
def create_trial(request: Request, key: Manager, form: Form) -> Response:
    """Create a trial, by its settings one by one or by a design."""
    by = "create-by-design" if "design" in form else "create"
    try:
        name = check_name(text(form, "name").strip())
        key = in_project(key, project_of(name), "manage")
        settings = _designed(form) if "design" in form else _settings(form)
        warm_up(settings)
        write(request, name, lambda writing: writing.create(name, settings, actor=key.actor))
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
        features=[
            [read_number(part.strip(), "a feature") for part in line.split(",")] for line in lines(form, "features")
        ]
        or None,
        control=text(form, "control").strip() or None,
        control_floor=number(form, "control_floor", "the floor of the control") or 0.0,
        strata=_strata(lines(form, "strata")),
        second_person=[part.strip() for part in text(form, "second_person").split(",") if part.strip()],
    )


def _features(typed: list[str]) -> list[list[float]]:
    """Numbers with commas between them, in a line for each arm."""
    return [[read_number(part.strip(), "a feature") for part in line.split(",")] for line in typed]


def _strata(typed: list[str]) -> dict[str, list[str]] | None:
    """Factors and their levels, as site: a, b in a line for each."""
    parts = [line.partition(":") for line in typed]
    if not all(colon for _, colon, _ in parts) or len({name.strip() for name, _, _ in parts}) < len(parts):
        raise TrialError(f"strata are written as site: a, b, a line for each factor, got {typed[0][:40]!r}")
    return {name.strip(): [level.strip() for level in levels.split(",")] for name, _, levels in parts} or None
