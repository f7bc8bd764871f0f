"""The interface for programs, version 1: projects, the people in them, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from safebandit.service.access import Founder, KeyAdmin, Lister
from safebandit.service.administration import check_may_give, person_for_admin, person_seen_by
from safebandit.service.api import answers, schemas
from safebandit.service.api.bodies import StrictRoute
from safebandit.service.roles import EVERYWHERE
from safebandit.trials.record.projects import all_projects, make_project

router = APIRouter(prefix="/v1", responses=answers.PROBLEMS, tags=["people"], route_class=StrictRoute)
PersonId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", examples=["0123456789abcdef"])]


@router.get("/me")
def who_asks(key: Lister) -> answers.CallerAnswer:
    """Who the service takes the caller for, and what they may do where."""
    return answers.CallerAnswer.model_validate(key)


@router.get("/projects")
def list_projects(request: Request, key: Lister) -> list[answers.ProjectAnswer]:
    """The projects in which the caller has a role; an admin of the installation sees all."""
    known = all_projects(request.app.state.ledger)
    seen = [each for each in known if EVERYWHERE in key.roles or each.name in key.roles]
    return [answers.ProjectAnswer.model_validate(each) for each in seen]


@router.post("/projects", status_code=201)
def create_project(body: schemas.NewProject, request: Request, founder: Founder) -> answers.ProjectAnswer:
    """A new project; its trials are called PROJECT:NAME."""
    made = make_project(request.app.state.ledger, body.name, title=body.title, actor=founder.actor)
    return answers.ProjectAnswer.model_validate(made)


@router.get("/people")
def list_people(request: Request, admin: KeyAdmin) -> list[answers.PersonAnswer]:
    """People with a role in a project that the caller is an admin of; an admin of the installation sees all."""
    seen = (person_seen_by(admin, each) for each in request.app.state.people.all())
    return [answers.PersonAnswer.model_validate(each) for each in seen if each is not None]


@router.post(
    "/people",
    status_code=201,
    responses={200: {"model": answers.PersonAnswer, "description": "Somebody of this address was there already."}},
)
def invite_person(
    body: schemas.NewPerson, request: Request, response: Response, admin: KeyAdmin
) -> answers.PersonAnswer:
    """Invite a person, who may then sign in by the identity provider; with the address of one who is there, give them
    the roles.
    """
    check_may_give(admin, body.roles)
    made, new = request.app.state.people.invite(body.name, email=body.email, given=body.roles, actor=admin.actor)
    response.status_code = 201 if new else 200
    return answers.PersonAnswer.model_validate(person_seen_by(admin, made) or made._replace(roles={}))


@router.post("/people/{id}/roles", status_code=200)
def give_roles(id: PersonId, body: schemas.GivenRoles, request: Request, admin: KeyAdmin) -> answers.PersonAnswer:
    """Give a person roles by project; null takes the one that they have there."""
    check_may_give(admin, body.roles)
    person_for_admin(request, admin, id)
    found = request.app.state.people.give(id, body.roles, actor=admin.actor)
    return answers.PersonAnswer.model_validate(person_seen_by(admin, found) or found._replace(roles={}))


@router.delete("/people/{id}")
def remove_person(id: PersonId, request: Request, founder: Founder) -> answers.PersonAnswer:
    """Take all roles, keys and sessions from a person, for good."""
    return answers.PersonAnswer.model_validate(request.app.state.people.remove(id, actor=founder.actor))
