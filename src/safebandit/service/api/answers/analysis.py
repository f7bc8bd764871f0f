"""What may be said of a trial's arms at any look."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from safebandit.service.api.answers.base import Answer

Ends = Annotated[tuple[float, float], Field(examples=[[0.12, 0.31]])]


class PathAnswer(Answer):
    """A confidence sequence look by look, after so many known outcomes."""

    known: list[int]
    mean: list[float | None]
    low: list[float]
    high: list[float]


class EstimateAnswer(Answer):
    """An endpoint of an arm: its mean and its confidence sequence; `worst` is that whatever is not known."""

    arm: str
    endpoint: str
    units: int
    known: int
    missing: int
    given_up: int
    mean: float | None
    interval: Ends
    worst: Ends
    limit: float | None
    e_above: Annotated[float | None, Field(description="E-value against: it is at most the limit.")]
    e_below: Annotated[float | None, Field(description="E-value against: it is at least the limit.")]
    path: Annotated[PathAnswer | None, Field(description="Told to who may read the log.")]


class ComparisonAnswer(Answer):
    """An endpoint of an arm less that of the control."""

    arm: str
    control: str
    endpoint: str
    difference: float | None
    interval: Ends
    e_above: float
    e_below: float
    path: Annotated[PathAnswer | None, Field(description="Told to who may read the log.")]


class ClaimAnswer(Answer):
    """What may be claimed, the e-value against the contrary, and whether it stands among all claims (e-BH)."""

    claim: str
    arm: str
    endpoint: str
    above: bool
    than: float | str
    e: float
    stands: bool


class AnalysisAnswer(Answer):
    """What is known of a trial's arms, valid at any look; `sequence` is the kind of every interval."""

    trial: str
    units: int
    confidence: float
    sequence: str
    control: str | None
    estimates: list[EstimateAnswer]
    comparisons: list[ComparisonAnswer]
    claims: list[ClaimAnswer]
    sentences: list[str]
    assumptions: list[str]
