"""Alerts and what they sent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from safebandit.service.api.answers.base import Answer


class AlertAnswer(Answer):
    """An alert: what it is about, and whom it tells; of a webhook's address the host alone."""

    id: str
    project: str
    trial: str | None
    kinds: list[str]
    channel: str
    address: str
    role: str
    patience: float | None
    quiet: float
    created: str
    removed: str | None


class NewAlertAnswer(AlertAnswer):
    """A new alert: the only time that the secret is shown which its webhook is signed with."""

    secret: str | None


class MessageAnswer(Answer):
    """A message of an alert: what it says, and whether it was sent; times in seconds since 1970."""

    id: str
    alert: str
    trial: str | None
    kind: str
    message: str
    made: float
    due: float
    attempts: int
    state: Annotated[str, Field(examples=["waiting", "sent", "given up"])]
    said: Annotated[str | None, Field(description="What became of the last attempt.")]
    done: float | None
