"""Who keeps which alerts: admins those of their projects, on the page and over HTTP alike."""

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


def kept_alerts(request: Request, keeper: Key) -> dict[str, Alert]:
    """Every alert of the projects that this keeper is an admin of, removed ones too, by id."""
    mine = keeper.where("alerts")
    return {alert.id: alert for alert in request.app.state.alerts.all() if alert.project in mine}


def kept_alert(request: Request, keeper: Key, id: str) -> Alert:
    """An alert that this keeper may see; for others it is as if it were not there."""
    found = kept_alerts(request, keeper).get(id)
    if found is None:
        raise NotFoundError(f"there is no alert {id[:40]!r}; list them to see their ids")
    return found


def make_alert(
    request: Request, keeper: Key, channel: str, target: str, *, trial: str | None, project: str | None, **options: Any
) -> tuple[Alert, str | None]:
    """A new alert about a trial or a project of this keeper, and the secret of its webhook."""
    if trial is not None:
        keeper = in_trial(keeper, trial, "alerts")
    if project is not None or trial is None:
        keeper = in_project(keeper, project or DEFAULT, "alerts")
    state = request.app.state
    alert, secret = state.alerts.create(channel, target, trial=trial, project=project, **options, actor=keeper.actor)
    state.courier.wake()
    return alert, secret


def order_test(request: Request, keeper: Key, id: str) -> Message:
    """Have an alert send a test."""
    state = request.app.state
    message: Message = state.outbox.test(kept_alert(request, keeper, id))
    state.courier.wake()
    return message


def words_of(message: Message) -> str:
    """What a message says."""
    return str(json.loads(message.body)["data"]["message"])
