"""Answers to what is written: an arm, a receipt, a batch of both, and what waits for a second person."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from safebandit.service.api.answers.base import Answer


class AllocationAnswer(Answer):
    """The arm of a unit, or that none is given, and why."""

    unit: Annotated[str, Field(examples=["patient 17"])]
    arm: Annotated[str | None, Field(examples=["low"])]
    held: Annotated[bool, Field(description="Whether there is none because no arm is permissible.")]
    waiting: Annotated[bool, Field(description="Whether there is none because all wait for outcomes.")]
    why: Annotated[str, Field(examples=["largest reward index among the permissible arms"])]
    round: int
    event: int
    new: Annotated[bool, Field(description="Whether this was decided now, not before.")]


class ReceiptAnswer(Answer):
    """The last event of the trial, and whether this request added it."""

    event: int
    new: bool


class AnswerInBatch(Answer):
    """The answer to one request of a batch: its number from 1, the status that it would have alone, and what is given,
    or why it is refused.
    """

    number: int
    status: Annotated[int, Field(examples=[201])]
    given: AllocationAnswer | None = None
    receipt: ReceiptAnswer | None = None
    error: str | None = None
    message: str | None = None


class BatchAnswer(Answer):
    """Whether a batch is written, and the answers to its requests in order; to those that are refused, where it is not
    because all were to be written.
    """

    written: bool
    error: str | None = None
    message: str | None = None
    answers: list[AnswerInBatch]


class ProposalAnswer(Answer):
    """What waits for a second person."""

    proposal: Annotated[int, Field(description="Its number: that of its event.")]
    request: Annotated[str, Field(examples=["amend"])]
    gives: Annotated[dict[str, Any], Field(description="What would be written, exactly.")]
    person: Annotated[str, Field(description="Who proposed it, and so cannot approve it.")]
    expires: str
