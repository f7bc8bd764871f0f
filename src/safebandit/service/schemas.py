"""What the interface takes and gives, as Pydantic models: the OpenAPI document is made of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
# A number for one risk; with several, a list in order or some by name.
Risk = Share | list[Share | None] | dict[str, Share | None]
ShortText = Annotated[str, Field(min_length=1, max_length=200)]
Reason = Annotated[str, Field(min_length=1, max_length=200, examples=["a typing error at the desk"])]
UnitId = Annotated[str, Field(min_length=1, max_length=200, examples=["patient 17"])]
TrialName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", examples=["knee-pain"])]


class Body(BaseModel):
    """Something that is sent: unknown fields are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewTrial(Body):
    """A trial to be created."""

    name: TrialName
    arms: Annotated[list[ShortText], Field(min_length=1, max_length=1000, examples=[["placebo", "low", "high"]])]
    alpha: Annotated[Share | list[Share], Field(examples=[0.2])]
    risks: Annotated[list[ShortText] | None, Field(min_length=1)] = None
    policy: Annotated[ShortText | None, Field(examples=["tsbu"])] = None
    seed: Annotated[int | None, Field(ge=0, lt=2**63)] = None
    pending_cap: Annotated[int, Field(ge=1, le=10**6)] = 1
    lost: Annotated[str, Field(pattern="^(harm|ignore)$")] = "harm"
    title: Annotated[str, Field(max_length=200)] = ""


class Question(Body):
    """Which unit asks for an arm."""

    unit: UnitId


class Outcome(Body):
    """What happened to a unit, all of it or a part."""

    unit: UnitId
    reward: Annotated[Share | None, Field(examples=[1])] = None
    risk: Annotated[Risk | None, Field(examples=[0])] = None


class Correction(Outcome):
    """Another outcome in the place of one that was told."""

    reason: Reason


class GivenUp(Body):
    """A unit whose outcome is no longer waited for."""

    unit: UnitId
    reason: Reason


class Amendment(Body):
    """New settings from now on."""

    reason: Reason
    alpha: Share | list[Share] | None = None
    policy: ShortText | None = None
    add: list[ShortText] = []
    withdraw: list[ShortText] = []
    pending_cap: Annotated[int | None, Field(ge=1, le=10**6)] = None


class StatusChange(Body):
    """Why a trial is paused, resumed or closed."""

    reason: Reason


class AllocationAnswer(BaseModel):
    """The arm of a unit, or that none is given, and why."""

    unit: str
    arm: str | None
    held: bool
    why: str
    round: int
    event: int


class ReceiptAnswer(BaseModel):
    """The last event of the trial, and whether this request added it."""

    event: int
    new: bool


class TrialLine(BaseModel):
    """A trial in a list."""

    name: str
    title: str
    status: str
    units: int
    pending: int
    holding: bool


class ProblemAnswer(BaseModel):
    """What cannot be done: the rule, the value, the remedy."""

    error: str
    message: str


class EventAnswer(BaseModel):
    """One event of the log."""

    trial: str
    number: int
    time: str
    actor: str
    kind: str
    body: dict[str, Any]
    previous: str
    hash: str
