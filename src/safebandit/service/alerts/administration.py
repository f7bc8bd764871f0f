"""Which alerts an admin may see and change: those of their projects, on the page and over HTTP alike."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request

from safebandit.errors import NotFoundError
from safebandit.service.access import in_project, in_trial
from safebandit.service.alerts.outbox import Message
from safebandit.service.alerts.rules import Alert
from safebandit.service.keys import Key
from safebandit.trials.texts import DEFAULT


def alerts_for_admin(request: Request, admin: Key) -> dict[str, Alert]:
    """Every alert of the projects that are this admin's, removed ones too, by id."""
    mine = admin.where("alerts")
    return {alert.id: alert for alert in request.app.state.alerts.all() if alert.project in mine}


def alert_for_admin(request: Request, admin: Key, id: str) -> Alert:
    """An alert that this admin may see; for others it is as if it were not there."""
    found = alerts_for_admin(request, admin).get(id)
    if found is None:
        raise NotFoundError(f"there is no alert {id[:40]!r}; list them to see their ids")
    return found


def make_alert(
    request: Request, admin: Key, channel: str, target: str, *, trial: str | None, project: str | None, **options: Any
) -> tuple[Alert, str | None]:
    """A new alert about a trial or a project of this admin, and the secret of its webhook."""
    if trial is not None:
        admin = in_trial(admin, trial, "alerts")
    if project is not None or trial is None:
        admin = in_project(admin, project or DEFAULT, "alerts")
    state = request.app.state
    alert, secret = state.alerts.create(channel, target, trial=trial, project=project, **options, actor=admin.actor)
    state.courier.wake()
    return alert, secret


def order_test(request: Request, admin: Key, id: str) -> Message:
    """Have an alert send a test."""
    state = request.app.state
    message: Message = state.outbox.test(alert_for_admin(request, admin, id))
    state.courier.wake()
    return message


def words_of(message: Message) -> str:
    """What a message says."""
    return str(json.loads(message.body)["data"]["message"])
