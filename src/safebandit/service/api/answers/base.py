"""What every answer is, and answers to what cannot be done."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """Something that is given."""

    model_config = ConfigDict(from_attributes=True)


class ProblemAnswer(Answer):
    """What cannot be done: the rule, the value, the remedy."""

    error: Annotated[str, Field(examples=["TrialError"])]
    message: Annotated[str, Field(examples=["reward: Input should be less than or equal to 1, got '2'"])]


_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemAnswer, "description": what, **({"headers": _RETRY_AFTER} if status in (429, 503) else {})}
    for status, what in {
        400: "The request cannot be read.",
        401: "No key that works.",
        403: "The key's role does not allow it.",
        404: "No such trial, unit, event or key.",
        409: "It contradicts the record.",
        413: "The body is too large.",
        422: "It breaks a rule.",
        429: "Too many requests.",
        500: "The service failed; its log says why.",
        503: "The database cannot be used now.",
    }.items()
}
