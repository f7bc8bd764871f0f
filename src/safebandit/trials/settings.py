"""What a trial was created with, or amended to: arms, limits, policy and rules; checked where it enters."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from safebandit.core.naming import read_number
from safebandit.core.policies import arms_in, name_arms, plan, policy_from_text, policy_to_text, recommended
from safebandit.errors import TrialError, suggest
from safebandit.problems.limits import AnyAlpha, list_risk_names, plain_alpha, read_limits, read_risk_names, write_alpha
from safebandit.trials.allocator import Allocator
from safebandit.trials.texts import check_text

MOST_ARMS = 1000
MOST_UNITS = 10**9
# What a unit that is given up counts as where its risk is not known.
LOST = ("harm", "ignore")


@dataclass(frozen=True)
class Settings:
    """A trial's configuration.

    `pending_cap` is how many units of an arm may wait for their risk before any is known; `lost` what a unit that is
    given up counts as: "harm" (the default: a missing risk never counts as safe) or "ignore".

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

    @classmethod
    def read(
        cls,
        arms: Sequence[str] | int,
        alpha: AnyAlpha,
        *,
        risks: Sequence[str] | None = None,
        policy: Any = None,
        seed: int | None = None,
        pending_cap: int = 1,
        lost: str = "harm",
        title: str = "",
        units: int | None = None,
    ) -> Settings:
        """Settings as people give them, with every value checked and every default filled in.

        `units` are how many are planned. A policy that asks for them is told, and is kept with all that follows from
        them, so that other defaults in a later version do not change a trial that is running.

        >>> Settings.read(2, alpha=0.2, units=400).policy
        'safe-ids:odds=0.15,confidence=0.95,units=400'
        """
        named = None if risks is None else len(list_risk_names(risks, TrialError))
        limits = read_limits(alpha, named, TrialError)
        # A seed that nobody chose still has to be known, for the trial to be recomputed.
        number = secrets.randbits(63) if seed is None else int(read_number("seed", seed, int, TrialError))
        names, planned = _read_arms(arms), _read_units(units)
        made = cls(
            arms=names,
            limits=limits,
            risks=tuple(check_text("a risk's name", name) for name in read_risk_names(risks, len(limits), TrialError)),
            policy=_read_policy(recommended(planned, len(limits)) if policy is None else policy, names, planned),
            seed=number,
            pending_cap=int(read_number("pending_cap", pending_cap, int, TrialError)),
            lost=lost,
            title=check_text("title", title, empty=True),
        )
        return made.checked()

    def checked(self) -> Settings:
        """These settings, if every value is in its range and the policy can decide between the arms."""
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
        self.allocator()
        return self

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
            risks=self.risks, seed=self.seed, places=places, pending_cap=self.pending_cap,
        )  # fmt: skip

    def amended(
        self,
        *,
        alpha: AnyAlpha | None = None,
        policy: str | None = None,
        add: Sequence[str] = (),
        withdraw: Sequence[str] = (),
        pending_cap: int | None = None,
    ) -> Settings:
        """These settings with some changed; what is known of an arm that is added again counts again."""
        if isinstance(add, str) or isinstance(withdraw, str):
            raise TrialError(f"add and withdraw are lists of arms, got {add if isinstance(add, str) else withdraw!r}")
        for arm in withdraw:
            if arm not in self.active:
                raise TrialError(
                    f"only an arm that is given can be withdrawn, got {arm!r}; {suggest(arm, self.active)}"
                )
        for arm in add:
            if arm in self.active:
                raise TrialError(f"the trial already has the arm {arm!r}; give a new arm another name")
        new = [check_text("an arm's name", arm) for arm in add if arm not in self.withdrawn]
        _check_different([*self.arms, *new])
        gone = [arm for arm in (*self.withdrawn, *withdraw) if arm not in add]
        amended = replace(
            self,
            arms=(*self.arms, *new),
            withdrawn=tuple(gone),
            limits=self.limits if alpha is None else read_limits(alpha, len(self.risks), TrialError),
            policy=self.policy if policy is None else _read_policy(policy, self.arms),
            pending_cap=self.pending_cap
            if pending_cap is None
            else int(read_number("pending_cap", pending_cap, int, TrialError)),
        )
        if amended == self:
            raise TrialError("an amendment changes alpha, policy, arms or pending_cap; nothing would change")
        return amended.checked()

    def to_dict(self) -> dict[str, Any]:
        """As the log has it."""
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "limits"}
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
        return {**listed, "alpha": write_alpha(plain_alpha(self.limits))}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Settings:
        """As `to_dict` wrote it."""
        values: dict[str, Any]
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}
        limits = read_limits(values.pop("alpha"), len(values["risks"]), TrialError)
        return cls(limits=limits, **values)


def _read_policy(policy: Any, arms: Sequence[str], units: int | None = None) -> str:
    """The text of a policy for so many planned units, with its arms by name: a number would mean another arm when one
    is withdrawn.
    """
    given = policy_from_text(check_text("policy", policy)) if isinstance(policy, str) else policy
    named = name_arms(plan(given, units), arms)
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
    names = [check_text("an arm's name", arm) for arm in arms]
    _check_different(names)
    return tuple(names)


def _check_different(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise TrialError(f"names of arms must differ, got {', '.join(names)}")
