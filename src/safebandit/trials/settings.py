"""What a trial was created with, or amended to: arms, limits, policy and rules; checked where it enters."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from safebandit.core.conduct import plain_conduct
from safebandit.core.naming import read_number
from safebandit.core.policies import arms_in, name_arms, plan, policy_from_text, policy_to_text, recommended
from safebandit.errors import TrialError, suggest
from safebandit.names import find_name, read_name
from safebandit.problems.limits import AnyAlpha, list_risk_names, plain_alpha, read_limits, read_risk_names, write_alpha
from safebandit.trials.allocator import Allocator
from safebandit.trials.patterns import read_pattern
from safebandit.trials.texts import check_text

MOST_ARMS = 1000
MOST_UNITS = 10**9
# What a unit that is given up counts as where its risk is not known.
LOST = ("harm", "ignore")


@dataclass(frozen=True)
class Settings:
    """A trial's configuration.

    `pending_cap` is how many units of an arm may wait for their risk before any is known; `lost` what a unit that is
    given up counts as: "harm" (the default: a missing risk never counts as safe) or "ignore"; `ids` a pattern that the
    id of a new unit must match, if there is one.

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
    ) -> Settings:
        """Settings as people give them, with every value checked and every default filled in.

        `delay` is how many more units are expected to arrive before a unit's risk is known; without a `pending_cap` it
        gives one that fits it. `units` are how many are planned. A policy that asks for them is told, and is kept with
        all that follows from them, so that other defaults in a later version do not change a trial that is running.

        >>> Settings.read(2, alpha=0.2, units=400).policy
        'safe-ids:odds=0.1,confidence=0.95,units=400'
        """
        named = None if risks is None else len(list_risk_names(risks, TrialError))
        limits = _read_alpha(alpha, named)
        # A seed that nobody chose still has to be known, for the trial to be recomputed.
        number = secrets.randbits(63) if seed is None else int(read_number("seed", seed, int, TrialError))
        names, planned = _read_arms(arms), _read_units(units)
        made = cls(
            arms=names,
            limits=limits,
            risks=_read_risks(risks, len(limits)),
            policy=_read_policy(recommended(planned, len(limits)) if policy is None else policy, names, planned),
            seed=number,
            pending_cap=_read_cap(pending_cap, delay, len(names)),
            lost=lost,
            title=check_text("title", title, empty=True),
            ids=_read_ids(ids),
        )
        return made.checked()

    def checked(self) -> Settings:
        """These settings, if every value is in its range and the policy can decide between the arms."""
        self._check_kinds()
        if not 0 <= self.seed < 2**63:
            raise TrialError(f"seed must lie in [0, 2^63), got {self.seed}")
        if not 1 <= self.pending_cap <= 10**6:
            raise TrialError(f"pending_cap must lie between 1 and 1,000,000, got {self.pending_cap}")
        if self.lost not in LOST:
            raise TrialError(f"lost must be one of {', '.join(LOST)}, got {self.lost!r}")
        if not self.active:
            raise TrialError("a trial needs at least one arm that is not withdrawn; add one, or close the trial")
        if len(self.arms) > MOST_ARMS:
            raise TrialError(f"a trial has at most {MOST_ARMS} arms, got {len(self.arms)}")
        self._check_named_arms()
        if self.ids:
            read_pattern(self.ids)
        self.allocator()
        return self

    def _check_kinds(self) -> None:
        """Settings come from a log, too, which anyone may have written."""
        for name in ("seed", "pending_cap"):
            if type(getattr(self, name)) is not int:
                raise TrialError(f"{name} must be a whole number, got {getattr(self, name)!r}")
        for arm in self.arms:
            check_text("an arm's name", arm)
        for risk in self.risks:
            check_text("a risk's name", risk)
        check_text("title", self.title, empty=True)
        _check_different(self.arms)

    def _check_named_arms(self) -> None:
        """A policy names arms by their names: a number would mean another arm when one is withdrawn."""
        for parameter, arm in arms_in(policy_from_text(self.policy)).items():
            if arm not in self.active:
                raise TrialError(
                    f"{parameter} of a policy must be the name of an arm that may be given ({', '.join(self.active)}), "
                    f"got {arm!r}; write it as {parameter}=NAME"
                )

    @property
    def active(self) -> tuple[str, ...]:
        """The arms that may be given."""
        return tuple(arm for arm in self.arms if arm not in self.withdrawn)

    def allocator(self) -> Allocator:
        """The arms that may be given, of which nothing is known yet."""
        places = [self.arms.index(arm) for arm in self.active]
        return Allocator(
            self.active, self.limits, policy_from_text(self.policy),
            risks=self.risks, seed=self.seed, places=places, conduct=plain_conduct(self.pending_cap),
        )  # fmt: skip

    def amended(
        self,
        *,
        alpha: AnyAlpha | None = None,
        policy: str | None = None,
        add: Sequence[str] = (),
        withdraw: Sequence[str] = (),
        pending_cap: int | None = None,
        ids: str | None = None,
    ) -> Settings:
        """These settings with some changed; what is known of an arm that is added again counts again."""
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
        _check_different([*self.arms, *new])
        gone = [arm for arm in (*self.withdrawn, *withdraw) if arm not in add]
        amended = replace(
            self,
            arms=(*self.arms, *new),
            withdrawn=tuple(gone),
            limits=self.limits if alpha is None else _read_alpha(alpha, len(self.risks)),
            policy=self.policy if policy is None else _read_policy(policy, self.arms),
            pending_cap=self.pending_cap
            if pending_cap is None
            else int(read_number("pending_cap", pending_cap, int, TrialError)),
            ids=self.ids if ids is None else _read_ids(ids),
        )
        if amended == self:
            raise TrialError("an amendment changes alpha, policy, arms, pending_cap or ids; nothing would change")
        return amended.checked()

    def _known_arm(self, arm: Any) -> str:
        """One of the trial's arms, however it was typed, or the name of a new one."""
        found = find_name(arm, self.arms) if isinstance(arm, str) else None
        return read_name("an arm's name", arm, TrialError) if found is None else found

    def to_dict(self) -> dict[str, Any]:
        """As the log has it."""
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "limits"}
        if not self.ids:
            # As trials were written before there was a pattern.
            del plain["ids"]
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
        return {**listed, "alpha": write_alpha(plain_alpha(self.limits))}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Settings:
        """As `to_dict` wrote it."""
        values: dict[str, Any]
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}
        limits = read_limits(values.pop("alpha"), len(values["risks"]), TrialError)
        return cls(limits=limits, **values)


def _read_alpha(alpha: AnyAlpha, risks: int | None) -> tuple[float, ...]:
    # Added to 0.0, a -0.0 loses its sign.
    return tuple(limit + 0.0 for limit in read_limits(alpha, risks, TrialError))


def fitting_cap(delay: int, arms: int) -> int:
    """The smallest cap with which nobody need wait where so many more units arrive before a unit's risk is known.

    That many units and the one itself are pending at a time, on all arms together; while nothing is known of the arms,
    each may have an equal part of them.

    >>> fitting_cap(0, 3), fitting_cap(20, 3)
    (1, 7)
    """
    return -(-(delay + 1) // arms)


def _read_cap(pending_cap: Any, delay: Any, arms: int) -> int:
    expected = int(read_number("delay", delay, int, TrialError))
    if not 0 <= expected <= 10**6:
        raise TrialError(f"delay must lie between 0 and 1,000,000 units, got {delay}")
    if pending_cap is None:
        # That there is an arm at all is checked with the rest.
        return fitting_cap(expected, max(arms, 1))
    if expected > 0:
        raise TrialError("a delay gives the pending_cap that fits it; give either")
    return int(read_number("pending_cap", pending_cap, int, TrialError))


def _read_ids(ids: Any) -> str:
    if not isinstance(ids, str):
        raise TrialError(f"ids must be a pattern such as P-[0-9]{{4}}, got {ids!r}")
    return ids


def _read_risks(risks: Any, count: int) -> tuple[str, ...]:
    named = [read_name("a risk's name", name, TrialError) for name in read_risk_names(risks, count, TrialError)]
    return list_risk_names(named, TrialError)


def _read_policy(policy: Any, arms: Sequence[str], units: int | None = None) -> str:
    """The text of a policy for so many planned units, with its arms by name: a number would mean another arm when one
    is withdrawn.
    """
    given = policy_from_text(check_text("policy", policy)) if isinstance(policy, str) else policy
    named = name_arms(plan(given, units), arms)
    for key, arm in arms_in(named).items():
        named = named._replace(**{key: find_name(arm, arms) or arm})
    return policy if isinstance(policy, str) and named == given else check_text("policy", policy_to_text(named))


def _read_units(units: Any) -> int | None:
    planned = None if units is None else int(read_number("units", units, int, TrialError))
    if planned is not None and not 1 <= planned <= MOST_UNITS:
        raise TrialError(f"units must lie between 1 and {MOST_UNITS:,} (how many are planned), got {planned}")
    return planned


def _read_arms(arms: Any) -> tuple[str, ...]:
    if isinstance(arms, str) or not isinstance(arms, int | Sequence) or isinstance(arms, bool):
        raise TrialError(f"arms must be a list of names or a number of arms, got {arms!r}")
    if isinstance(arms, int):
        if not 1 <= arms <= MOST_ARMS:
            raise TrialError(f"a trial has 1 to {MOST_ARMS} arms, got {arms}")
        return tuple(str(k) for k in range(arms))
    names = [read_name("an arm's name", arm, TrialError) for arm in arms]
    _check_different(names)
    return tuple(names)


def _check_different(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise TrialError(f"names of arms must differ, got {', '.join(names)}")
