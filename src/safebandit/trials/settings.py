"""What a trial was created with, or amended to: arms, limits, policy and rules; checked where it enters."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from safebandit.core.arms import Features, Numbers
from safebandit.core.conduct import plain_conduct
from safebandit.core.naming import read_number
from safebandit.core.policies import policy_from_text, recommended
from safebandit.errors import TrialError, suggest
from safebandit.names import find_name, read_name
from safebandit.problems.limits import AnyAlpha, list_risk_names, plain_alpha, read_limits, write_alpha
from safebandit.trials.allocator import Allocator
from safebandit.trials.contexts import (
    AnyContext,
    Context,
    check_coefficients,
    check_magnitudes,
    check_no_features,
    check_without_context,
    features_for,
    read_context,
    read_declared,
    read_features,
    scaled,
)
from safebandit.trials.control import check_control, read_control, read_floor, with_control
from safebandit.trials.design import Design
from safebandit.trials.designed import (
    amended_design,
    check_settings,
    kept_design,
    read_changes,
    read_design,
    settings_of,
)
from safebandit.trials.eligibility import Mask, read_eligible
from safebandit.trials.patterns import read_pattern
from safebandit.trials.reading import (
    check_cap,
    check_count,
    check_different,
    check_lost,
    check_named_arms,
    read_alpha,
    read_arms,
    read_cap,
    read_ids,
    read_policy,
    read_risks,
    read_units,
)
from safebandit.trials.second_person import read_second_person
from safebandit.trials.strata import AnyStratum, Factors, read_factors, read_stratum, stratum_seed, written
from safebandit.trials.texts import check_text

# In the log only where there are some.
_SELDOM = ("ids", "design", "context", "features", "control", "control_floor", "strata", "second_person", "units")


@dataclass(frozen=True)
class Settings:
    """A trial's configuration.

    `pending_cap` is how many units of an arm may wait for their risk before any is known; `lost` what a unit that is
    given up counts as: "harm" (the default: a missing risk never counts as safe) or "ignore"; `ids` a pattern that the
    id of a new unit must match, if there is one; `second_person` what nobody may do alone. `context` are the numbers
    that a unit asks with, each with its range ("age:18..90"); `features` a row of numbers for each arm, withdrawn ones
    too. `control` is the arm that all units may be routed to, and has at least the chance `control_floor` while it is
    permissible; where there is a design, it says both. `strata` are factors with their levels, which units are told
    apart by. `units` are how many are planned, where that was said and there is no design.

    >>> Settings.read(["placebo", "drug"], alpha=0.2, policy="tsbu", seed=1).policy
    'tsbu'
    """

    arms: tuple[str, ...]
    limits: tuple[float, ...]
    risks: tuple[str, ...]
    policy: str
    seed: int
    pending_cap: int = 1
    lost: str = "harm"
    withdrawn: tuple[str, ...] = ()
    title: str = ""
    ids: str = ""
    design: Design | None = None
    context: tuple[str, ...] = ()
    features: tuple[tuple[float, ...], ...] = ()
    control: str | None = None
    control_floor: float = 0.0
    strata: Factors = ()
    second_person: tuple[str, ...] = ()
    units: int | None = None

    @classmethod
    def by_design(cls, design: Any, *, arms: Any = None, seed: int | None = None) -> Settings:
        """Settings as a design says them; a text or a document of a design may leave its arms to `arms`.

        >>> Settings.by_design(Design(["low", "high"], alpha=0.3, policy="docb", units=20), seed=1).policy
        'docb'
        """
        return cls(seed=_read_seed(seed), **settings_of(read_design(design, arms))).checked()

    @classmethod
    def read(
        cls,
        arms: Sequence[str] | int,
        alpha: AnyAlpha,
        *,
        risks: Sequence[str] | None = None,
        policy: Any = None,
        seed: int | None = None,
        pending_cap: int | None = None,
        delay: int = 0,
        lost: str = "harm",
        title: str = "",
        ids: str = "",
        units: int | None = None,
        context: Sequence[str] | None = None,
        features: Any = None,
        control: str | None = None,
        control_floor: float = 0.0,
        strata: Mapping[str, Sequence[str]] | None = None,
        second_person: Sequence[str] = (),
    ) -> Settings:
        """Settings as people give them, with every value checked and every default filled in.

        `delay` is how many more units are expected to arrive before a unit's risk is known; without a `pending_cap` it
        gives one that fits it. `units` are how many are planned. A policy that asks for them is told, and is kept with
        all that follows from them, so that other defaults in a later version do not change a trial that is running.

        >>> Settings.read(2, alpha=0.2, units=400).policy
        'safe-ids:odds=0.1,confidence=0.95,units=400'
        """
        named = None if risks is None else len(list_risk_names(risks, TrialError))
        limits = read_alpha(alpha, named)
        names, planned = read_arms(arms), read_units(units)
        named_control = read_control(control, names)
        if features is not None:
            check_magnitudes(read_features(features, names), names)
        made = cls(
            arms=names,
            limits=limits,
            risks=read_risks(risks, len(limits)),
            policy=read_policy(recommended(planned, len(limits)) if policy is None else policy, names, planned),
            seed=_read_seed(seed),
            pending_cap=read_cap(pending_cap, delay, len(names)),
            lost=lost,
            title=check_text("title", title, empty=True),
            ids=read_ids(ids),
            context=() if context is None else read_declared(context),
            features=() if features is None else read_features(features, names),
            control=named_control,
            control_floor=read_floor(control_floor, named_control),
            strata=read_factors(strata),
            second_person=read_second_person(second_person),
            units=planned,
        )
        return made.checked()

    def checked(self) -> Settings:
        """These settings, if every value is in its range and the policy can decide between the arms."""
        self._check_kinds()
        if not 0 <= self.seed < 2**63:
            raise TrialError(f"seed must lie in [0, 2^63), got {self.seed}")
        check_cap(self.pending_cap)
        check_lost(self.lost)
        if not self.active:
            raise TrialError("a trial needs at least one arm that is not withdrawn; add one, or close the trial")
        check_count(self.arms)
        check_named_arms(policy_from_text(self.policy), self.active)
        if self.ids:
            read_pattern(self.ids)
        if read_second_person(self.second_person) != self.second_person:
            raise TrialError(f"second_person must be in order, got {', '.join(self.second_person)}")
        if self.design is not None:
            check_settings(self, self.design)
            check_without_context(self.context, self.features)
        if read_factors(written(self.strata)) != self.strata or (self.strata and self.design is not None):
            raise TrialError(f"strata must be as a trial writes them, or its design, got {self.strata}")
        check_control(self.control, self.control_floor, () if self.design is not None else self.active)
        if self.goes_by_features:
            check_coefficients(self._features(), len(self.active))
        self.allocator()
        return self

    def _check_kinds(self) -> None:
        """Settings come from a log, too, which anyone may have written."""
        for name in ("seed", "pending_cap"):
            if type(getattr(self, name)) is not int:
                raise TrialError(f"{name} must be a whole number, got {getattr(self, name)!r}")
        if read_units(self.units) != self.units:
            raise TrialError(f"units must be a whole number, got {self.units!r}")
        for arm in self.arms:
            check_text("an arm's name", arm)
        for risk in self.risks:
            check_text("a risk's name", risk)
        check_text("title", self.title, empty=True)
        check_different(self.arms)
        if read_declared(self.context) != self.context:
            raise TrialError(f"context must be written as a trial writes it, got {', '.join(self.context)}")
        if self.features and read_features(self.features, self.arms) != self.features:
            raise TrialError(f"features must be numbers, a row for each arm, got {self.features}")

    @property
    def active(self) -> tuple[str, ...]:
        """The arms that may be given."""
        return tuple(arm for arm in self.arms if arm not in self.withdrawn)

    @property
    def rewarded(self) -> bool:
        """Whether a unit has a reward at all."""
        return self.design is None or self.design.rewarded

    @property
    def goes_by_features(self) -> bool:
        """Whether the policy goes by features of arms and units."""
        return bool(getattr(policy_from_text(self.policy), "by_features", False))

    @property
    def goes_by_context(self) -> bool:
        """Whether what is decided depends on the unit's context: other policies keep it, and do not look at it."""
        return bool(self.context) and self.goes_by_features

    def read_context(self, what: str, context: AnyContext | None) -> Context:
        """A unit's context as it is kept, in the order in which it is declared."""
        return read_context(what, context, self.context)

    def read_eligible(self, what: str, eligible: Any) -> Mask:
        """The arms that a unit may be given, in the trial's order; None where nothing was said of them."""
        return read_eligible(what, eligible, self.arms, self.withdrawn)

    def scaled(self, context: Sequence[float]) -> Numbers | None:
        """A context as the policy sees it; None where it sees none."""
        return scaled(context, self.context) if context else None

    def _features(self) -> Features | None:
        rows = [row for arm, row in zip(self.arms, self.features, strict=False) if arm not in self.withdrawn]
        return features_for(rows, len(self.active), len(self.context))

    @property
    def factors(self) -> Factors:
        """The factors of the strata, as the settings or their design say them."""
        return self.strata if self.design is None else self.design.strata

    def read_stratum(self, what: str, stratum: AnyStratum | None) -> str:
        """The name of a unit's stratum; nothing where there are no strata."""
        return read_stratum(what, stratum, self.factors)

    def allocator(self, stratum: str = "") -> Allocator:
        """The arms that may be given, of which nothing is known yet; in a design each arm keeps its place. That of a
        stratum has random numbers of its own.
        """
        seed = stratum_seed(self.seed, stratum)
        if self.design is not None:
            made = Allocator(
                self.arms, self.limits, self.floored_policy(), risks=self.risks, seed=seed,
                conduct=self.design.conduct(), units=self.design.units,
            )  # fmt: skip
            for arm in self.withdrawn:
                made.drop(self.arms.index(arm))
            return made
        places = [self.arms.index(arm) for arm in self.active]
        return Allocator(
            self.active, self.limits, self.floored_policy(), risks=self.risks, seed=seed, places=places,
            conduct=plain_conduct(self.pending_cap, -1 if self.control is None else self.active.index(self.control)),
            features=self._features(),
        )  # fmt: skip

    @property
    def control_arm(self) -> str | None:
        """The control, as the settings or their design say it."""
        return self.control if self.design is None else self.design.control

    @property
    def floor_of_control(self) -> float:
        """The least chance of the control, as the settings or their design say it."""
        return self.control_floor if self.design is None else self.design.control_floor

    def floored_policy(self) -> Any:
        """The policy with the floor under the control."""
        return with_control(self.policy, self.control_arm, self.floor_of_control)

    def amended(
        self,
        *,
        alpha: AnyAlpha | None = None,
        policy: str | None = None,
        add: Sequence[str] = (),
        withdraw: Sequence[str] = (),
        pending_cap: int | None = None,
        ids: str | None = None,
        control: str | None = None,
        control_floor: float | None = None,
        design: Any = None,
        second_person: Sequence[str] | None = None,
    ) -> Settings:
        """These settings with some changed; what is known of an arm that is added again counts again.

        `design` are fields of the trial's design that change, by their names.
        """
        if isinstance(add, str) or isinstance(withdraw, str):
            raise TrialError(f"add and withdraw are lists of arms, got {add if isinstance(add, str) else withdraw!r}")
        withdraw, add = ([self._known_arm(arm) for arm in listed] for listed in (withdraw, add))
        for arm in withdraw:
            if arm not in self.active:
                raise TrialError(
                    f"only an arm that is given can be withdrawn, got {arm!r}; {suggest(arm, self.active)}"
                )
        for arm in add:
            if arm in self.active:
                raise TrialError(f"the trial already has the arm {arm!r}; give a new arm another name")
        new = [arm for arm in add if arm not in self.withdrawn]
        check_no_features(self.features, new)
        check_different([*self.arms, *new])
        gone = [arm for arm in (*self.withdrawn, *withdraw) if arm not in add]
        if self.design is not None:
            listed = None if second_person is None else list(second_person)
            said = {"alpha": alpha, "policy": policy, "pending_cap": pending_cap, "ids": ids, "second_person": listed}
            said |= {"control": control, "control_floor": control_floor}
            changes = read_changes(design, {name: value for name, value in said.items() if value is not None})
            other = amended_design(self.design, changes, add=new)
            amended = replace(self, withdrawn=tuple(gone), **settings_of(other))
            if amended.to_dict() == self.to_dict():
                raise TrialError("an amendment changes the design or its arms; nothing would change")
            return amended.checked()
        if design is not None:
            raise TrialError("this trial has no design to amend; create one by a design")
        named_control = self.control if control is None else read_control(control, (*self.arms, *new))
        amended = replace(
            self,
            arms=(*self.arms, *new),
            withdrawn=tuple(gone),
            limits=self.limits if alpha is None else read_alpha(alpha, len(self.risks)),
            policy=self.policy if policy is None else read_policy(policy, self.arms, self.units),
            pending_cap=self.pending_cap
            if pending_cap is None
            else int(read_number("pending_cap", pending_cap, int, TrialError)),
            ids=self.ids if ids is None else read_ids(ids),
            control=named_control,
            control_floor=self.control_floor if control_floor is None else read_floor(control_floor, named_control),
            second_person=self.second_person if second_person is None else read_second_person(second_person),
        )
        if amended == self:
            raise TrialError(
                "an amendment changes alpha, policy, arms, pending_cap, ids or control; nothing would change"
            )
        return amended.checked()

    def _known_arm(self, arm: Any) -> str:
        """One of the trial's arms, however it was typed, or the name of a new one."""
        found = find_name(arm, self.arms) if isinstance(arm, str) else None
        return read_name("an arm's name", arm, TrialError) if found is None else found

    def to_dict(self) -> dict[str, Any]:
        """As the log has it."""
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "limits"}
        # As trials were written before there was a pattern, a design, a context or features.
        plain = {name: value for name, value in plain.items() if value or name not in _SELDOM}
        if self.design is not None:
            plain["design"] = self.design.to_dict()
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
        if self.strata:
            listed["strata"] = written(self.strata)
        if self.features:
            listed["features"] = [list(row) for row in self.features]
        return {**listed, "alpha": write_alpha(plain_alpha(self.limits))}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Settings:
        """As `to_dict` wrote it."""
        values: dict[str, Any]
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}
        if "design" in values:
            values["design"] = kept_design(values["design"])
        if "strata" in values:
            values["strata"] = read_factors(values["strata"])
        if "features" in values:
            values["features"] = tuple(tuple(row) for row in values["features"])
        limits = read_limits(values.pop("alpha"), len(values["risks"]), TrialError)
        return cls(limits=limits, **values)


def _read_seed(seed: int | None) -> int:
    # A seed that nobody chose still has to be known, for the trial to be recomputed.
    return secrets.randbits(63) if seed is None else int(read_number("seed", seed, int, TrialError))


def read_settings(arms: Any = None, *, design: Any = None, seed: int | None = None, **said: Any) -> Settings:
    """Settings as people give them: one by one, or by a design, which then says all but the seed."""
    if design is None:
        if arms is None:
            raise TrialError("a trial needs arms and alpha, or a design that says them")
        return Settings.read(arms, seed=seed, **said)
    check_without_context(*(said.pop(name, None) for name in ("context", "features")))
    given = [name for name, value in said.items() if value not in (None, "", 0, (), [], _USUAL_LOST.get(name))]
    if given:
        raise TrialError(f"a design says {', '.join(given)}; leave {given[0]} out, or write it into the design")
    return Settings.by_design(design, arms=arms, seed=seed)


_USUAL_LOST = {"lost": "harm"}
