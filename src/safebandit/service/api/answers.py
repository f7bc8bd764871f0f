"""What the interface gives, as Pydantic models: the OpenAPI document is made of them and of `schemas`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """Something that is given."""

    model_config = ConfigDict(from_attributes=True)


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


class TrialLine(Answer):
    """A trial in a list."""

    name: str
    title: str
    status: str
    units: int
    pending: int
    holding: Annotated[
        bool,
        Field(
            description="No arm is permissible, in the trial or in a stratum of it; of the last unit that asked, where "
            "that depends on its context."
        ),
    ]
    waiting: Annotated[bool, Field(description="All arms that may be given wait for outcomes, there or in a stratum.")]
    strata: Annotated[list[str], Field(description="All strata of the trial; none where it has none.")]
    holding_in: Annotated[list[str], Field(description="The strata in which no arm is permissible.")]
    waiting_in: Annotated[list[str], Field(description="The strata in which all arms wait for outcomes.")]


class ArmAnswer(Answer):
    """What is known of an arm; risks are listed in the trial's order.

    Intervals are credible ones, as `intervals` of the trial says.
    """

    arm: str
    active: bool
    plays: int
    pending: int
    mean_reward: float | None
    reward_interval: tuple[float, float] | None
    mean_risk: list[float | None]
    risk_interval: list[tuple[float, float] | None]
    risk_index: list[float | None]
    permissible: Annotated[
        bool | None, Field(description="Nothing where that depends on the context of the unit that asks.")
    ]
    propensity: Annotated[float | None, Field(description="Not told while one arm is sure to come next.")]
    why: str


class ExpectationAnswer(Answer):
    """What theory expects after `horizon` units if the means were as they look now.

    Nothing where it counts on more plays than there are units.
    """

    horizon: int
    regret: float | None
    unsafe_plays: float | None
    least_regret: float | None
    least_unsafe_plays: float | None


class CohortAnswer(Answer):
    """The present cohort: its arm, and how many of its units have been given it."""

    arm: str
    given: int
    of: int


class RuleAnswer(Answer):
    """A stopping rule: how near it is, and where it is reached; words for infinity, nothing where it says nothing."""

    name: str
    word: Annotated[str, Field(examples=["stops the trial"])]
    measure_word: Annotated[str, Field(examples=["chance that every arm is too risky"])]
    measure: float | str | None
    level: float | str | None
    near: Annotated[float | None, Field(description="How near the measure is to the level, from 0 to 1.")]
    arm: Annotated[str | None, Field(description="The nearest arm, of a rule about single arms.")]
    says: str


class ProgressAnswer(Answer):
    """How far a trial by a design is; measures are as they would be if now were a look."""

    cohort: CohortAnswer | None
    units: int
    most_units: int
    settled: int
    next_look: Annotated[int | None, Field(description="After how many settled units the data are looked at next.")]
    dropped: list[str]
    rules: list[RuleAnswer]


class StoppedAnswer(Answer):
    """By which rule a trial has stopped, and why; what is selected, and since which event."""

    rule: str
    why: str
    event: int
    selected: str | None
    why_selected: str
    selected_at: int


class StratumArmAnswer(Answer):
    """An arm in one stratum."""

    arm: str
    plays: int
    mean_reward: float | None
    mean_risk: list[float | None]
    permissible: bool | None
    why: str


class StratumAnswer(Answer):
    """One stratum: its units, why it gives no arm now, if it does not, and its arms."""

    stratum: str
    units: int
    holding: str | None
    arms: list[StratumArmAnswer]


class GuardAnswer(Answer):
    """Since which event something is so, by which rule, if not by a person, and why."""

    event: int
    rule: str | None
    why: str


class OverviewAnswer(Answer):
    """A trial at a glance; `holding` says why no arm is given at present, and `red` that none is permissible."""

    name: str
    title: str
    status: str
    holding: Annotated[str | None, Field(description="Why no arm is permissible, if so.")]
    waiting: Annotated[str | None, Field(description="That all arms that may be given wait for outcomes, if so.")]
    version: int
    policy: str
    alpha: list[float]
    risks: list[str]
    pending_cap: int
    lost: str
    ids: str
    context: Annotated[list[str], Field(description="Numbers that a unit asks with, and their ranges.")]
    features: Annotated[dict[str, list[float]] | None, Field(description="Numbers of every arm, if it has some.")]
    by_context: Annotated[
        bool,
        Field(
            description="What is decided depends on the unit's context: holding and waiting are of the last that asked."
        ),
    ]
    control: str | None
    control_floor: Annotated[float, Field(description="The least chance of the control, while it is permissible.")]
    routed: Annotated[GuardAnswer | None, Field(description="Since when every unit is given the control, if so.")]
    paused_by: Annotated[GuardAnswer | None, Field(description="Which rule paused the trial, if one did.")]
    factors: Annotated[dict[str, list[str]], Field(description="The factors of the strata, and their levels.")]
    strata: Annotated[list[StratumAnswer], Field(description="What is known in each stratum, if there are some.")]
    units: int
    voided: int
    pending: int
    events: int
    time: str
    hash: str
    propensities: str
    arms: list[ArmAnswer]
    expected: list[ExpectationAnswer]
    intervals: Annotated[str, Field(description="What the arms' intervals are.")]
    design: Annotated[dict[str, Any] | None, Field(description="The design in force, if the trial has one.")]
    progress: ProgressAnswer | None
    stopped: StoppedAnswer | None
    selected: Annotated[str | None, Field(description="What a trial that has stopped selects, by what is known now.")]


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


class KeyAnswer(Answer):
    """A key without its secret."""

    id: str
    name: str
    role: Annotated[str, Field(description="Its roles in words.", examples=["operator", "installation, admin"])]
    roles: Annotated[dict[str, str], Field(description='By project; "*" is the installation.')]
    person: Annotated[str | None, Field(description="Whose it is; nothing of a service's.")]
    creator: Annotated[str, Field(description="Who made it.")]
    created: str
    used: Annotated[str | None, Field(description="When it was last used, to a minute or so.")]
    expires: str | None
    revoked: str | None
    old_until: Annotated[str | None, Field(description="Until when the secret before its last rotation works.")]


class ProposalAnswer(Answer):
    """What waits for a second person."""

    proposal: Annotated[int, Field(description="Its number: that of its event.")]
    request: Annotated[str, Field(examples=["amend"])]
    gives: Annotated[dict[str, Any], Field(description="What would be written, exactly.")]
    person: Annotated[str, Field(description="Who proposed it, and so cannot approve it.")]
    expires: str


class CallerAnswer(Answer):
    """Who asks: a key, or a person who signed in."""

    id: str
    name: str
    person: Annotated[str | None, Field(description="The person; nothing where a service asks.")]
    roles: Annotated[dict[str, str], Field(description='By project; "*" is the installation.')]
    expires: str | None


class ProjectAnswer(Answer):
    """A project; `default` was never made."""

    name: str
    title: str
    created: str | None


class PersonAnswer(Answer):
    """A person, with the roles that the caller may see."""

    id: str
    name: str
    email: str | None
    subject: Annotated[str | None, Field(description="What the identity provider calls them, since they signed in.")]
    created: str
    removed: str | None
    roles: dict[str, str]


class NewKeyAnswer(KeyAnswer):
    """A new key: the only time that its text is shown."""

    key: str


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
