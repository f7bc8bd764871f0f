"""A trial in a list, and at a glance."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from safebandit.service.api.answers.base import Answer


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
