"""The log, its units and those that are waited for, and whether it holds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from safebandit.service.api.answers.base import Answer


class EventAnswer(Answer):
    """One event of the log."""

    trial: str
    number: int
    time: str
    actor: str
    kind: str
    body: dict[str, Any]
    previous: str
    hash: Annotated[str, Field(description="Of the whole body, the concealed parts too.")]
    concealed: Annotated[list[str], Field(description="Parts of the body that are told when the trial is closed.")]


class LogAnswer(Answer):
    """Events in order; `next` is the `after` that goes on, or nothing at the end."""

    events: list[EventAnswer]
    next: int | None


class PendingUnit(Answer):
    """A unit whose outcome is waited for."""

    unit: str
    arm: str
    round: int
    event: int


class PendingAnswer(Answer):
    """Units in the order of their rounds; `next` is the `after` that goes on, or nothing at the end."""

    units: list[PendingUnit]
    next: int | None


class WaitingUnitAnswer(Answer):
    """A unit of some trial whose outcome is waited for; `asked` is when, `missing` the reward and the risks that are
    not known.
    """

    trial: str
    unit: str
    arm: str
    round: int
    event: int
    asked: str
    missing: list[str]


class WorklistAnswer(Answer):
    """Units in the order in which they were asked for, and how many there are in all; `next` is the `after` that goes
    on, or nothing at the end.
    """

    units: list[WaitingUnitAnswer]
    total: int
    next: str | None


class UnitAnswer(Answer):
    """A unit: what is known of it, and the event in which its arm was decided."""

    unit: str
    arm: str
    round: int
    context: Annotated[dict[str, float], Field(description="What it asked with, if the trial declares a context.")]
    stratum: Annotated[dict[str, str], Field(description="Its stratum, if the trial has strata.")]
    pending: bool
    given_up: bool
    void: Annotated[bool, Field(description="It never got its arm, and counts as nothing.")]
    reward: float | None
    risk: dict[str, float | None]
    alpha: Annotated[list[float], Field(description="As it was when the arm was decided.")]
    decision: EventAnswer


class VerificationAnswer(Answer):
    """Whether the record is what it says; the first event that fails, and what is wrong."""

    trial: str
    holds: bool
    events: int
    decisions: int
    unrepeated: Annotated[int, Field(description="Decisions that only version 0.1.0 can make again.")]
    hash: str
    failed: int | None
    problem: str | None
    misdated: Annotated[int, Field(description="Events whose time the clock did not give: it said an earlier one.")]
    after: Annotated[int | None, Field(description="Events that came after the one whose hash was expected.")]


class VerifyingAnswer(Answer):
    """A verification that goes on; asked for again with its `job`, it answers when it is done."""

    job: Annotated[str, Field(examples=["0123456789abcdef"])]
    read: Annotated[int, Field(description="Events read so far.")]
    events: int
