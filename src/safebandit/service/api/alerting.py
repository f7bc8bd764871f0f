"""The interface for programs, version 1: alerts, for admins of their projects."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from safebandit.errors import NotFoundError
from safebandit.service.access import AlertKeeper, in_project, in_trial
from safebandit.service.alerts.outbox import Message
from safebandit.service.alerts.rules import Alert
from safebandit.service.api import answers, schemas
from safebandit.service.api.bodies import StrictRoute
from safebandit.service.api.schemas import Limit
from safebandit.service.keys import Key
from safebandit.trials.texts import DEFAULT

router = APIRouter(prefix="/v1", responses=answers.PROBLEMS, tags=["alerts"], route_class=StrictRoute)
AlertInPath = Annotated[str, Path(pattern="^[0-9a-f]{16}$", examples=["0123456789abcdef"])]
OfAlert = Annotated[str | None, Query(pattern="^[0-9a-f]{16}$", description="Only what this alert has to send.")]


@router.get("/alerts")
def list_alerts(request: Request, keeper: AlertKeeper) -> list[answers.AlertAnswer]:
    """Every alert of the projects that the caller is an admin of, removed ones too; never a secret."""
    return [answers.AlertAnswer.model_validate(alert) for alert in _kept(request, keeper).values()]


@router.post("/alerts", status_code=201)
def create_alert(body: schemas.NewAlert, request: Request, keeper: AlertKeeper) -> answers.NewAlertAnswer:
    """A new alert. The secret that its webhook is signed with is shown this once."""
    if body.trial is not None:
        keeper = in_trial(keeper, body.trial, "alerts")
    if body.project is not None or body.trial is None:
        keeper = in_project(keeper, body.project or DEFAULT, "alerts")
    state = request.app.state
    alert, secret = state.alerts.create(**body.model_dump(), actor=keeper.actor)
    state.courier.wake()
    shown = answers.AlertAnswer.model_validate(alert)
    return answers.NewAlertAnswer(**shown.model_dump(), secret=secret)


@router.get("/alert-messages")
def list_messages(
    request: Request, keeper: AlertKeeper, alert: OfAlert = None, limit: Limit = 100
) -> list[answers.MessageAnswer]:  # fmt: skip
    """What was sent, waits to be sent or was given up, newest first."""
    wanted = list(_kept(request, keeper)) if alert is None else [_one(request, keeper, alert).id]
    return [_shown(each) for each in request.app.state.outbox.log(wanted, limit=limit)]


@router.delete("/alerts/{id}")
def remove_alert(id: AlertInPath, request: Request, keeper: AlertKeeper) -> answers.AlertAnswer:
    """Send nothing more for an alert; again changes nothing."""
    _one(request, keeper, id)
    return answers.AlertAnswer.model_validate(request.app.state.alerts.remove(id, actor=keeper.actor))


@router.post("/alerts/{id}/test", status_code=202)
def send_test(id: AlertInPath, request: Request, keeper: AlertKeeper) -> answers.MessageAnswer:
    """Have an alert send a test; the list of messages says what became of it."""
    state = request.app.state
    message = state.outbox.test(_one(request, keeper, id))
    state.courier.wake()
    return _shown(message)


def _kept(request: Request, keeper: Key) -> dict[str, Alert]:
    mine = keeper.where("alerts")
    return {alert.id: alert for alert in request.app.state.alerts.all() if alert.project in mine}


def _one(request: Request, keeper: Key, id: str) -> Alert:
    """An alert that this keeper may see; for others it is as if it were not there."""
    found = _kept(request, keeper).get(id)
    if found is None:
        raise NotFoundError(f"there is no alert {id!r}; list them to see their ids")
    return found


def _shown(message: Message) -> answers.MessageAnswer:
    said = str(json.loads(message.body)["data"]["message"])
    return answers.MessageAnswer(**{**message._asdict(), "message": said})
