"""The page of projects and people: who is in which project, for those who keep them."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request, Response

from safebandit.errors import RecordError, SafebanditError
from safebandit.service.access import Founder, KeyAdmin
from safebandit.service.administration import check_may_give, person_for_admin, person_seen_by
from safebandit.service.keys import Key
from safebandit.service.page.fields import Form, text
from safebandit.service.page.rendering import PageRoute, go, render
from safebandit.service.page.screens import Sent
from safebandit.service.refusals import status_of
from safebandit.service.roles import EVERYWHERE, ROLES, parse_roles
from safebandit.trials.record.projects import all_projects, make_project

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/people")
def people_page(request: Request, key: KeyAdmin) -> Response:
    """Projects and people that the caller keeps."""
    return _screen(request, key)


@router.post("/projects")
def create_project(request: Request, key: Founder, form: Form) -> Response:
    """Make a project."""
    name, title = text(form, "name").strip(), text(form, "title").strip()
    return _do(
        request, key, Sent("project", values=form),
        lambda: make_project(request.app.state.ledger, name, title=title, actor=key.actor),
    )  # fmt: skip


@router.post("/people")
def invite(request: Request, key: KeyAdmin, form: Form) -> Response:
    """Invite a person."""

    def work() -> None:
        roles = parse_roles([each for each in text(form, "roles").split(",") if each.strip()])
        check_may_give(key, roles)
        email = text(form, "email").strip() or None
        request.app.state.people.invite(text(form, "name").strip(), email=email, given=roles, actor=key.actor)

    return _do(request, key, Sent("person", values=form), work)


@router.post("/people/{id}/role")
def give_role(id: str, request: Request, key: KeyAdmin, form: Form) -> Response:
    """Give a person a role in a project, or take it."""

    def work() -> None:
        project = text(form, "project").strip()
        where = EVERYWHERE if project == "installation" else project
        given = {where: text(form, "role") or None}
        check_may_give(key, given)
        person_for_admin(request, key, id)
        request.app.state.people.give(id, given, actor=key.actor)

    return _do(request, key, Sent("role", values=form), work)


@router.post("/people/{id}/remove")
def remove(id: str, request: Request, key: Founder, form: Form) -> Response:
    """Take everything from a person that they could come in with."""
    return _do(request, key, Sent("role"), lambda: request.app.state.people.remove(id, actor=key.actor))


def _do(request: Request, key: Key, sent: Sent, work: Callable[[], object]) -> Response:
    """Do what a form says; what is refused is said beside it."""
    try:
        work()
    except RecordError:
        raise
    except SafebanditError as problem:
        return _screen(request, key, sent._replace(message=str(problem), refused=True), status_of(problem))
    return go("/people")


def _screen(request: Request, key: Key, sent: Sent | None = None, status: int = 200) -> Response:
    everywhere = EVERYWHERE in key.roles
    projects = [each for each in all_projects(request.app.state.ledger) if everywhere or key.may("keys", each.name)]
    shown = [person_seen_by(key, each) for each in request.app.state.people.all()]
    people = [each for each in shown if each is not None]
    return render(
        request, "people.html", status, key=key, projects=projects, people=people, roles=ROLES, sent=sent or Sent(),
        everywhere=everywhere,
    )  # fmt: skip
