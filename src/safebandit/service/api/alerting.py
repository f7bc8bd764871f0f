"""The interface for programs, version 1: alerts, for admins."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from safebandit.service.access import AlertKeeper
from safebandit.service.alerts.outbox import Message
from safebandit.service.api import answers, schemas
from safebandit.service.api.bodies import StrictRoute
from safebandit.service.api.schemas import Limit

router = APIRouter(prefix="/v1/alerts", responses=answers.PROBLEMS, tags=["alerts"], route_class=StrictRoute)
AlertInPath = Annotated[str, Path(pattern="^[0-9a-f]{16}$", examples=["0123456789abcdef"])]
OfAlert = Annotated[str | None, Query(pattern="^[0-9a-f]{16}$", description="Only what this alert has to send.")]


@router.get("")
def list_alerts(request: Request, _: AlertKeeper) -> list[answers.AlertAnswer]:
    """Every alert, removed ones too, oldest first; never a secret."""
    return [answers.AlertAnswer.model_validate(alert) for alert in request.app.state.alerts.all()]


@router.post("", status_code=201)
def create_alert(body: schemas.NewAlert, request: Request, keeper: AlertKeeper) -> answers.NewAlertAnswer:
    """A new alert. The secret that its webhook is signed with is shown this once."""
    state = request.app.state
    alert, secret = state.alerts.create(**body.model_dump(), actor=keeper.actor)
    state.courier.wake()
    shown = answers.AlertAnswer.model_validate(alert)
    return answers.NewAlertAnswer(**shown.model_dump(), secret=secret)


@router.get("/messages")
def list_messages(
    request: Request, _: AlertKeeper, alert: OfAlert = None, limit: Limit = 100
) -> list[answers.MessageAnswer]:  # fmt: skip
    """What was sent, waits to be sent or was given up, newest first."""
    return [_shown(each) for each in request.app.state.outbox.log(alert=alert, limit=limit)]


@router.delete("/{id}")
def remove_alert(id: AlertInPath, request: Request, keeper: AlertKeeper) -> answers.AlertAnswer:
    """Send nothing more for an alert; again changes nothing."""
    return answers.AlertAnswer.model_validate(request.app.state.alerts.remove(id, actor=keeper.actor))


@router.post("/{id}/test", status_code=202)
def send_test(id: AlertInPath, request: Request, _: AlertKeeper) -> answers.MessageAnswer:
    """Have an alert send a test; the list of messages says what became of it."""
    state = request.app.state
    message = state.outbox.test(state.alerts.get(id))
    state.courier.wake()
    return _shown(message)


def _shown(message: Message) -> answers.MessageAnswer:
    said = str(json.loads(message.body)["data"]["message"])
    return answers.MessageAnswer(**{**message._asdict(), "message": said})
