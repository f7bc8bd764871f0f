"""What the interface takes, as Pydantic models: the OpenAPI document is made of them and of `answers`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from safebandit.service.alerts.rules import LONGEST_SECONDS, QUIET_SECONDS
from safebandit.service.keys import NAME_LENGTH
from safebandit.trials import texts
from safebandit.trials.batches import MOST_REQUESTS
from safebandit.trials.record.waiting import PLACE
from safebandit.trials.second_person import HOURS, MOST_HOURS

NAME = f"^{texts.NAME}$"
PROJECT = f"^{texts.PROJECT}$"
Role = Literal["admin", "operator", "viewer", "auditor"]
Request = Literal["amend", "correct", "unseal", "void", "give_up"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
# A number for one risk; with several, a list in order or some by name.
Risk = Share | list[Share | None] | dict[str, Share | None]
ShortText = Annotated[str, Field(min_length=1, max_length=200)]
Reason = Annotated[str, Field(min_length=1, max_length=200, examples=["a typing error at the desk"])]
UnitId = Annotated[str, Field(min_length=1, max_length=200, examples=["patient 17"])]
TrialName = Annotated[str, Field(pattern=NAME, examples=["knee-pain"])]
TrialInPath = Annotated[
    str, Path(pattern=NAME, examples=["knee-pain"], description="The trial's name, with its project before it.")
]
UnitInQuery = Annotated[str, Query(min_length=1, max_length=200, examples=["patient 17"], description="The unit.")]
After = Annotated[int, Query(ge=0, lt=2**63, description="Begin behind this number.")]
PlaceInQuery = Annotated[
    str | None,
    Query(pattern=PLACE, max_length=200, description="Begin behind this place, as an answer has it in `next`."),
]
TrialInQuery = Annotated[str | None, Query(pattern=NAME, examples=["knee-pain"], description="Only of this trial.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]


_TARGET = "The address that a webhook is posted to, or that e-mail is sent to."
_IDS = "A pattern that the id of a new unit must match; none if it is empty."
_CONTROL = "The arm that units can be routed to."
_FLOOR = "The least chance of the control, while it is permissible."


class Body(BaseModel):
    """Something that is sent: unknown fields are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewTrial(Body):
    """A trial to be created."""

    name: TrialName
    arms: Annotated[
        list[ShortText] | None, Field(min_length=1, max_length=1000, examples=[["placebo", "low", "high"]])
    ] = None
    alpha: Annotated[Share | list[Share] | None, Field(examples=[0.2])] = None
    design: Annotated[
        dict[str, Any] | str | None,
        Field(max_length=1000, examples=["boin:target=.25,units=30"], description="It says all but name and seed."),
    ] = None
    risks: Annotated[list[ShortText] | None, Field(min_length=1, examples=[["toxicity"]])] = None
    policy: Annotated[ShortText | None, Field(examples=["tsbu"])] = None
    seed: Annotated[
        int | None,
        Field(ge=0, lt=2**63, description="Who knows it can tell which arms come: leave it out."),
    ] = None
    pending_cap: Annotated[int | None, Field(ge=1, le=10**6)] = None
    delay: Annotated[int, Field(ge=0, le=10**6, description="Units that arrive before a risk is known.")] = 0
    lost: Annotated[str, Field(pattern="^(harm|ignore)$")] = "harm"
    title: Annotated[str, Field(max_length=200, examples=["Pain of the knee, second phase"])] = ""
    ids: Annotated[str, Field(max_length=200, examples=["P-[0-9]{4}"], description=_IDS)] = ""
    units: Annotated[int | None, Field(ge=1, le=10**9, examples=[400], description="Units that are planned.")] = None
    context: Annotated[
        list[ShortText] | None,
        Field(max_length=100, examples=[["age:18..90", "smoker"]], description="Numbers that a unit asks with."),
    ] = None
    features: Annotated[
        list[list[Finite]] | dict[str, list[Finite]] | None,
        Field(max_length=1000, description="A row of numbers for each arm, in order or by name."),
    ] = None
    control: Annotated[ShortText | None, Field(examples=["placebo"], description=_CONTROL)] = None
    control_floor: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False, description=_FLOOR)] = 0.0
    strata: Annotated[
        dict[str, list[ShortText]] | None,
        Field(
            max_length=100,
            examples=[{"site": ["a", "b"]}],
            description="Factors and their levels: each stratum is decided by its own units.",
        ),
    ] = None
    second_person: Annotated[
        list[Request], Field(max_length=5, examples=[["amend", "correct"]], description="What nobody may do alone.")
    ] = []


class Question(Body):
    """Which unit is asked about."""

    unit: UnitId


class Asking(Question):
    """Which unit asks for an arm, with what context where the trial declares one."""

    context: Annotated[
        dict[str, Finite] | list[Finite] | None,
        Field(
            max_length=100,
            examples=[{"age": 44, "smoker": 0}],
            description="By name, or all in order; a unit that has its arm need not say it again.",
        ),
    ] = None
    eligible: Annotated[
        list[ShortText] | None,
        Field(
            min_length=1,
            max_length=1000,
            examples=[["placebo", "low"]],
            description="The arms that this unit may be given; without it all of the trial's.",
        ),
    ] = None
    stratum: Annotated[
        dict[str, ShortText] | None,
        Field(
            max_length=100,
            examples=[{"site": "a"}],
            description="The level of each factor, where the trial has strata.",
        ),
    ] = None


class Supposed(Body):
    """What a unit that might ask would ask with."""

    context: Annotated[
        dict[str, Finite] | list[Finite] | None, Field(max_length=100, examples=[{"age": 44, "smoker": 0}])
    ] = None
    eligible: Annotated[list[ShortText] | None, Field(min_length=1, max_length=1000)] = None
    stratum: Annotated[dict[str, ShortText] | None, Field(max_length=100, examples=[{"site": "a"}])] = None


class Outcome(Body):
    """What happened to a unit, all of it or a part."""

    unit: UnitId
    reward: Annotated[Share | None, Field(examples=[1])] = None
    risk: Annotated[Risk | None, Field(examples=[0, {"toxicity": 0}])] = None


class Correction(Outcome):
    """Another outcome in the place of one that was told."""

    reason: Reason


class GivenUp(Body):
    """A unit whose outcome is no longer waited for."""

    unit: UnitId
    reason: Reason


class Voided(Body):
    """A unit that never got its arm."""

    unit: UnitId
    reason: Reason


class Batch(Body):
    """Many requests of one kind; with `whole` all are written or none, without it each that can be."""

    whole: bool = True
    requests: Any


Many = Field(min_length=1, max_length=MOST_REQUESTS)


class Askings(Batch):
    """Units that ask for arms, in order."""

    requests: Annotated[list[Asking], Many]


class Outcomes(Batch):
    """What happened to units."""

    requests: Annotated[list[Outcome], Many]


class Corrections(Batch):
    """Other outcomes in the place of some that were told."""

    requests: Annotated[list[Correction], Many]


class ManyGivenUp(Batch):
    """Units whose outcomes are no longer waited for."""

    requests: Annotated[list[GivenUp], Many]


class ManyVoided(Batch):
    """Units that never got their arms."""

    requests: Annotated[list[Voided], Many]


class Amendment(Body):
    """New settings from now on."""

    reason: Reason
    alpha: Annotated[Share | list[Share] | None, Field(examples=[0.15])] = None
    policy: Annotated[ShortText | None, Field(examples=["docb"])] = None
    add: Annotated[list[ShortText], Field(max_length=1000, examples=[["very high"]])] = []
    withdraw: Annotated[list[ShortText], Field(max_length=1000)] = []
    pending_cap: Annotated[int | None, Field(ge=1, le=10**6)] = None
    ids: Annotated[str | None, Field(max_length=200, description=_IDS)] = None
    control: Annotated[ShortText | None, Field(description=_CONTROL)] = None
    control_floor: Annotated[float | None, Field(ge=0, lt=1, allow_inf_nan=False, description=_FLOOR)] = None
    design: Annotated[
        dict[str, Any] | None,
        Field(max_length=100, examples=[{"units": 48}], description="Fields of the design that change, by name."),
    ] = None
    second_person: Annotated[list[Request] | None, Field(max_length=5)] = None


class Unsealing(Body):
    """What is to be read before the end."""

    what: Annotated[
        Literal["stream", "sums"], Field(description="Seed and random stream, or sums that are shown late.")
    ]
    reason: Reason


class Proposal(Body):
    """One thing that needs a second person, and for how many hours they may approve it."""

    amend: Amendment | None = None
    correct: Correction | None = None
    unseal: Unsealing | None = None
    void: Voided | None = None
    give_up: GivenUp | None = None
    hours: Annotated[float, Field(gt=0, le=MOST_HOURS, allow_inf_nan=False, examples=[48])] = HOURS


class StatusChange(Body):
    """Why a trial is paused, resumed, closed, routed to its control, or no longer so."""

    reason: Reason


class NewAlert(Body):
    """An alert to be created."""

    channel: Literal["webhook", "email"]
    target: Annotated[
        str, Field(min_length=1, max_length=2000, examples=["https://hooks.example/safebandit"], description=_TARGET)
    ]
    trial: Annotated[
        str | None, Field(pattern=NAME, examples=["knee"], description="The trial; without one, all of a project.")
    ] = None
    project: Annotated[
        str | None, Field(pattern=PROJECT, examples=["default"], description="The project; without one, the trial's.")
    ] = None
    kinds: Annotated[
        list[Literal["hold", "waiting", "stop", "guard", "verification", "amendment"]] | None,
        Field(min_length=1, max_length=6, description="What it is about; everything, if not given."),
    ] = None
    role: Annotated[
        Role,
        Field(description="The channel is told what a key of this role may know."),
    ] = "operator"
    patience: Annotated[
        float | None,
        Field(ge=0, le=LONGEST_SECONDS, allow_inf_nan=False, description="Seconds that are too long to wait."),
    ] = None
    quiet: Annotated[
        float,
        Field(ge=0, le=LONGEST_SECONDS, allow_inf_nan=False, description="Seconds between two messages of a kind."),
    ] = QUIET_SECONDS


class NewProject(Body):
    """A project to be made."""

    name: Annotated[str, Field(pattern=PROJECT, examples=["oncology"])]
    title: Annotated[str, Field(max_length=200, examples=["Trials of the oncology desk"])] = ""


RolesByProject = Annotated[dict[str, Role], Field(max_length=1000, examples=[{"oncology": "operator"}])]


class NewPerson(Body):
    """A person to be invited."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_LENGTH, examples=["Ada Lovelace"])]
    email: Annotated[
        str | None,
        Field(max_length=200, examples=["ada@example.org"], description="As the identity provider has verified it."),
    ] = None
    roles: RolesByProject = {}


class GivenRoles(Body):
    """Roles of a person by project; null takes one."""

    roles: Annotated[dict[str, Role | None], Field(max_length=1000, examples=[{"oncology": "viewer", "knee": None}])]


class Rotation(Body):
    """How long the secret before works yet."""

    overlap_hours: Annotated[float, Field(ge=0, le=8784, allow_inf_nan=False, examples=[24])] = 0.0


class NewKey(Body):
    """A key to be created."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_LENGTH, examples=["desk 2"])]
    role: Annotated[Role | None, Field(description="In the project default; or say roles.")] = None
    roles: Annotated[
        dict[str, Role] | None,
        Field(max_length=1000, examples=[{"oncology": "viewer"}], description='By project; "*" is the installation.'),
    ] = None
    person: Annotated[
        str | None,
        Field(pattern="^[0-9a-f]{16}$", description="Whose it is; without roles it has theirs. Nothing: a service's."),
    ] = None
    days: Annotated[float | None, Field(gt=0, le=36500, allow_inf_nan=False, examples=[30])] = None
