"""The interface for programs, version 1: alerts, for admins of their projects."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from safebandit.service.access import AlertAdmin
from safebandit.service.alerts.administration import alert_for_admin, alerts_for_admin, make_alert, order_test, words_of
from safebandit.service.alerts.outbox import MESSAGE_ID, Message
from safebandit.service.api import answers, schemas
from safebandit.service.api.bodies import StrictRoute
from safebandit.service.api.schemas import Limit

router = APIRouter(prefix="/v1", responses=answers.PROBLEMS, tags=["alerts"], route_class=StrictRoute)
AlertInPath = Annotated[str, Path(pattern="^[0-9a-f]{16}$", examples=["0123456789abcdef"])]
OfAlert = Annotated[str | None, Query(pattern="^[0-9a-f]{16}$", description="Only what this alert has to send.")]
BeforeMessage = Annotated[
    str | None, Query(pattern=MESSAGE_ID, description="Only messages that are listed behind the one of this id.")
]


@router.get("/alerts")
def list_alerts(request: Request, admin: AlertAdmin) -> list[answers.AlertAnswer]:
    """Every alert of the projects that the caller is an admin of, removed ones too; never a secret."""
    return [answers.AlertAnswer.model_validate(alert) for alert in alerts_for_admin(request, admin).values()]


@router.post("/alerts", status_code=201)
def create_alert(body: schemas.NewAlert, request: Request, admin: AlertAdmin) -> answers.NewAlertAnswer:
    """A new alert. The secret that its webhook is signed with is shown this once."""
    alert, secret = make_alert(request, admin, **body.model_dump())
    shown = answers.AlertAnswer.model_validate(alert)
    return answers.NewAlertAnswer(**shown.model_dump(), secret=secret)


@router.get("/alert-messages")
def list_messages(
    request: Request, admin: AlertAdmin, alert: OfAlert = None, before: BeforeMessage = None, limit: Limit = 100
) -> list[answers.MessageAnswer]:  # fmt: skip
    """What was sent, waits to be sent or was given up, newest first; with `before` those that are older."""
    wanted = list(alerts_for_admin(request, admin)) if alert is None else [alert_for_admin(request, admin, alert).id]
    return [_shown(each) for each in request.app.state.outbox.log(wanted, before=before, limit=limit)]


@router.delete("/alerts/{id}")
def remove_alert(id: AlertInPath, request: Request, admin: AlertAdmin) -> answers.AlertAnswer:
    """Send nothing more for an alert; again changes nothing."""
    alert_for_admin(request, admin, id)
    return answers.AlertAnswer.model_validate(request.app.state.alerts.remove(id, actor=admin.actor))


@router.post("/alerts/{id}/test", status_code=202)
def send_test(id: AlertInPath, request: Request, admin: AlertAdmin) -> answers.MessageAnswer:
    """Have an alert send a test; the list of messages says what became of it."""
    return _shown(order_test(request, admin, id))


def _shown(message: Message) -> answers.MessageAnswer:
    return answers.MessageAnswer(**{**message._asdict(), "message": words_of(message)})
