"""A design: what a protocol fixes of a trial, as one immutable value that live and simulated trials take alike."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.core.arms import Counts
from safebandit.core.conduct import Conduct
from safebandit.core.policies import Setup, prepare
from safebandit.errors import DesignError, at_key, suggest
from safebandit.problems.limits import Alpha, plain_alpha, write_alpha
from safebandit.problems.scenario import Scenario
from safebandit.trials.control import with_control
from safebandit.trials.design_checks import check_design
from safebandit.trials.design_reading import read_fields
from safebandit.trials.design_words import describe
from safebandit.trials.rules import cause_names, group_rules, write_rule, write_stopping
from safebandit.trials.strata import Factors, stratum_names, written
from safebandit.trials.toml import located, read_toml, write_toml

if TYPE_CHECKING:
    from safebandit.trials.decision_table import DecisionTable

# Why a trial may end besides by a stopping rule: all units are settled, no arm is permissible and nothing is pending,
# or the policy's question is answered.
CAUSES = ("most units", "no arm", "policy")
# What a design file has besides its design.
FILE_KEYS = ("compare", "scenario", "simulate")


@dataclass(frozen=True, init=False, eq=False)
class Design:
    """What a protocol fixes: arms, alpha, policy, most units, cohorts, steps, looks, when to stop, what to select.

    Fields hold what follows from what was given: a design that is written down does not change with later defaults.

    >>> design = Design(["low", "mid", "high"], alpha=0.3, policy="safe-ids", units=36, ordered=True, cohort=3, steps=1)
    >>> design.first, design.waits, design.conduct().looks[:3].tolist()
    ('low', True, [3, 6, 9])

    `alpha` is one number, one per risk, or a table by the risks' names. A unit has a reward if it is `rewarded`; arms
    are in order of their dose if they are `ordered`. A cohort is so many units of one arm; with `waits` the next begins
    when all is known of those before. With `steps` no unit gets an arm more than so many levels above the highest that
    was given, nor before `known_below` risks are known of the arm below, nor any arm
    above one that is not safe with a chance of at least `climb`; with `upwards` an arm that is not permissible
    excludes those above. Before `burn_in` units each gets an arm that was given least often. The data are looked at
    after every cohort, or after every `looks` units, or after as many as `looks` lists. The `control` has at least the
    chance `control_floor` whenever the policy is asked and its gate is open. A rule of `stop` may say
    `then`: "pause" or "route", which gives every unit the control, until a person undoes it. In each of the
    `strata`, levels of factors such as {"site": ["a", "b"]}, the policy decides by its own units; looks and rules are
    about all of them together. Credible intervals are
    from a Beta `prior`; they decide nothing, and rules have priors of their own. Nobody does alone
    what `second_person` lists: "amend", "correct" (after the end), "unseal".
    """

    arms: tuple[str, ...]
    alpha: Alpha
    policy: str
    units: int
    title: str
    risks: tuple[str, ...]
    rewarded: bool
    ordered: bool
    control: str | None
    control_floor: float
    strata: Factors
    least_reward: float | None
    cohort: int
    waits: bool
    first: str | None
    steps: int
    known_below: int
    climb: float
    upwards: bool
    burn_in: int
    looks: int | tuple[int, ...] | None
    pending_cap: int
    lost: str
    stop: tuple[Any, ...]
    then: tuple[str, ...]
    select: Any
    ids: str
    prior: tuple[float, float]
    second_person: tuple[str, ...]

    def __init__(
        self,
        arms: Sequence[str] | int,
        alpha: float | Sequence[float] | Mapping[str, float],
        policy: Any = None,
        units: int | None = None,
        *,
        title: str = "",
        risks: Sequence[str] | None = None,
        rewarded: bool = True,
        ordered: bool | None = None,
        control: str | None = None,
        control_floor: float = 0.0,
        strata: Mapping[str, Sequence[str]] | None = None,
        least_reward: float | None = None,
        cohort: int = 1,
        waits: bool | None = None,
        first: str | None = None,
        steps: int = 0,
        known_below: int | None = None,
        climb: float | None = None,
        upwards: bool | None = None,
        burn_in: int = 0,
        looks: int | Sequence[int] | None = None,
        pending_cap: int | None = None,
        lost: str = "harm",
        stop: Any = (),
        then: Sequence[str] | None = None,
        select: Any = None,
        ids: str = "",
        prior: Sequence[float] = (1.0, 1.0),
        second_person: Sequence[str] = (),
    ) -> None:
        given = {key: value for key, value in locals().items() if key != "self"}
        given["then"] = (stop, then)
        for key, value in read_fields(given).items():
            object.__setattr__(self, key, value)
        for key, rules in check_design(self).items():
            object.__setattr__(self, key, rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Design) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def limits(self) -> tuple[float, ...]:
        """The tolerated mean of every risk."""
        return self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)

    @property
    def causes(self) -> tuple[str, ...]:
        """Every reason for which a trial of the design may end: three that all have, then its stopping rules."""
        return (*CAUSES, *cause_names(self.stop))

    def conduct(self) -> Conduct:
        """How units are given arms around the policy, as compiled code takes it."""
        first = -1 if self.first is None else self.arms.index(self.first)
        return Conduct(
            self.units, self.cohort, self.waits, first, self.burn_in, self.steps, self.known_below, self.upwards,
            self.look_times(), self.pending_cap, self.rewarded, self.lost == "harm", self.climb,
            -1 if self.control is None else self.arms.index(self.control),
        )  # fmt: skip

    def look_times(self) -> Counts:
        """After how many settled units the data are looked at; the last unit is looked at unless looks are listed."""
        if isinstance(self.looks, tuple):
            return np.array(self.looks, np.int64)
        every = self.cohort if self.looks is None else self.looks
        return np.append(np.arange(every, self.units, every), self.units)

    def prepared(self) -> Any:
        """The policy as compiled code takes it."""
        return prepare(self.floored_policy(), Setup(self.arms, self.limits, "hold", units=self.units))

    def floored_policy(self) -> Any:
        """The policy with the floor under the control."""
        return with_control(self.policy, self.control, self.control_floor)

    def fit(self, scenario: Scenario) -> Scenario:
        """A scenario with the design's arms, risks and alpha; refused where it has others, or lacks rewards."""
        if self.rewarded and not scenario.rewarded:
            raise DesignError(
                f'scenario "{scenario.name}" has no rewards, and units of the design have; give it mu, or say '
                "rewarded = false in the design"
            )
        return scenario.fitted(self.arms, self.alpha, self.risks, stratum_names(self.strata))

    def describe(self) -> str:
        """What the design says, a line for each thing."""
        said = describe(self)
        width = max(len(word) for word, _ in said)
        return "\n".join(f"{word:<{width}}  {sentence}" for word, sentence in said)

    def table(self) -> list[DecisionTable]:
        """What the design does after n units and x harms, as a protocol prints it."""
        from safebandit.trials.decision_table import decision_tables

        return decision_tables(self)

    def protocol(self) -> str:
        """The design in words, as Markdown: rules, tables, references."""
        from safebandit.trials.protocol import protocol

        return protocol(self)

    def to_dict(self) -> dict[str, Any]:
        """All of the design as JSON can hold it, without what is as by default; `from_dict` reads it back."""
        plain: dict[str, Any] = {
            each.name: list(value) if isinstance(value := getattr(self, each.name), tuple) else value
            for each in fields(self)
        }
        plain["alpha"] = write_alpha(plain_alpha(self.limits))
        del plain["then"]
        plain["stop"] = write_stopping(self)
        plain["strata"] = written(self.strata)
        plain["select"] = write_rule(self.select, self)
        return {key: value for key, value in plain.items() if key not in USUAL or value != USUAL[key]}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, beside: Sequence[str] = ()) -> Design:
        """The design that `to_dict` wrote, or that a file has, which may have other keys `beside` it."""
        if not isinstance(document, Mapping):
            raise DesignError(f"a design is a table of its keys, got {document!r}")
        known = [each.name for each in fields(cls) if each.name != "then"]
        for key in document:
            if key not in known:
                with at_key(key):
                    raise DesignError(f'a design has no key "{key}"; {suggest(key, [*known, *beside])}')
        for key in ("arms", "alpha", "units"):
            if key not in document:
                raise DesignError(f"a design needs {key}; add {key} = {_EXAMPLES[key]}, for example")
        return cls(**document)

    def to_toml(self) -> str:
        """The design as a file has it; `from_toml` reads it back."""
        stop = group_rules(write_stopping(self))
        return write_toml({**self.to_dict(), "stop": stop or None})

    @classmethod
    def from_toml(cls, text: str) -> Design:
        """The design of a text or file in TOML, whatever else the file has; mistakes are told with line and key."""
        document = read_toml(text)
        with located(text):
            own = {key: value for key, value in document.items() if key not in FILE_KEYS}
            return cls.from_dict(own, beside=FILE_KEYS)

    @property
    def digest(self) -> str:
        """A hash of all that the design says."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


# What `to_dict` leaves out. What follows from other fields is always written.
USUAL: dict[str, Any] = {
    "title": "", "risks": ["risk"], "rewarded": True, "ordered": False, "control": None,
    "control_floor": 0.0, "strata": {}, "least_reward": None,
    "cohort": 1, "first": None, "steps": 0, "burn_in": 0, "looks": None, "lost": "harm", "stop": [], "ids": "",
    "prior": [1.0, 1.0], "second_person": [],
}  # fmt: skip
_EXAMPLES = {"arms": '["low", "high"]', "alpha": "0.3", "units": "36"}
