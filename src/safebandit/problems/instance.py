"""An instance: a supposed truth about every arm, the tolerated risk, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Counts, Features, Numbers
from safebandit.core.laws import draw
from safebandit.core.safe_set_texts import read_safe_set, with_numbers
from safebandit.core.safe_sets import ROUNDING, check_of_risks
from safebandit.core.streams import trial_streams
from safebandit.errors import InstanceError, suggest
from safebandit.names import read_name
from safebandit.problems import make
from safebandit.problems.limits import (
    ONE_RISK,
    Alpha,
    AnyAlpha,
    plain_alpha,
    read_limits,
    read_risk_names,
    show_alpha,
    write_alpha,
)

Vector: TypeAlias = Sequence[float] | Numbers
# One number per arm, or such a row for every risk.
Rows: TypeAlias = Vector | Sequence[Vector]


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem: the law of every arm's reward and risk, and the tolerated mean risk alpha.

    >>> instance = Instance.bernoulli(mu=[0.3, 0.5, 0.7], nu=[0.1, 0.2, 0.6], alpha=0.25)
    >>> instance.best_arm, instance.unsafe_arms.tolist()
    (1, [2])

    With several risks `nu` has a row and `alpha` a number for each; an arm is safe if it is so in every risk.

    >>> nu = [[0.1, 0.2, 0.3], [0.1, 0.4, 0.1]]
    >>> instance = Instance.bernoulli([0.3, 0.5, 0.7], nu, alpha=[0.35, 0.2], risks=["toxicity", "nausea"])
    >>> instance.best_arm, instance.unsafe_arms.tolist()
    (2, [1])
    """

    law: Any
    mu: Numbers
    nu: Numbers
    alpha: Alpha
    arms: tuple[str, ...]
    name: str
    recipe: Mapping[str, Any]
    allow_infeasible: bool = False
    risks: tuple[str, ...] = ONE_RISK
    # Of past outcomes: the file, how many rows, and what became of those without a risk.
    origin: str = ""
    # Where it is given, half-spaces in which an arm's mean risks must lie, instead of each below its alpha.
    safe_set: str = ""

    def __post_init__(self) -> None:
        read_limits(self.alpha, len(self.risk_means))
        read_risk_names(self.risks, len(self.risk_means))
        if len(self.arms) != len(self.mu):
            raise InstanceError(f"there are {len(self.mu)} arms but {len(self.arms)} names; give one name per arm")
        if len(set(self.arms)) != len(self.arms):
            raise InstanceError(f"names of arms must differ, got {', '.join(self.arms)}")
        if self.safe_set:
            check_of_risks(read_safe_set(self.safe_set, len(self.limits)))
        self._check_feasible()

    def _check_feasible(self) -> None:
        if not self.allow_infeasible and self.best_arm is None:
            raise InstanceError(self._why_infeasible())

    def _why_infeasible(self) -> str:
        remedy = "raise alpha, add a safe arm, or allow it (allow_infeasible)"
        if self.safe_set:
            nearest = int(np.argmin(self.safety_gaps))
            return (
                f"no arm has mean risks in the safe set {self.safe_set} (nearest: {self.safety_gaps[nearest]:.4g} off, "
                f'arm "{self.arms[nearest]}"); loosen it, {remedy.partition(", ")[2]}'
            )
        safest = int(np.argmin(self._excess.max(axis=0)))
        j = int(np.argmax(self._excess[:, safest]))
        mean, limit = self.risk_means[j, safest], self.limits[j]
        if len(self.limits) == 1:
            return f'no arm has mean risk <= {limit:g} (smallest: {mean:g}, arm "{self.arms[safest]}"); {remedy}'
        return (
            f"no arm has every mean risk within its alpha ({show_alpha(self.limits)}; nearest: "
            f'arm "{self.arms[safest]}", whose risk "{self.risks[j]}" of {mean:g} is above {limit:g}); {remedy}'
        )

    @staticmethod
    def bernoulli(
        mu: Vector,
        nu: Rows,
        alpha: AnyAlpha,
        *,
        correlation: float | Rows = 0.0,
        arms: Sequence[str] | None = None,
        name: str = "bernoulli",
        allow_infeasible: bool = False,
        risks: Sequence[str] | None = None,
    ) -> Instance:
        """Bits of means mu and nu, independent or with a given correlation between an arm's reward and risk.

        The correlation is one number, one per arm, or one per risk and arm; given the reward, risks are independent.
        """
        recipe = {"kind": "bernoulli", "mu": mu, "nu": nu, "correlation": correlation}
        return Instance.from_recipe(recipe, alpha, arms=arms, name=name, allow_infeasible=allow_infeasible, risks=risks)

    @staticmethod
    def beta(
        mu: Vector,
        nu: Rows,
        alpha: AnyAlpha,
        *,
        deviation: float | Vector = 0.05,
        arms: Sequence[str] | None = None,
        name: str = "beta",
        allow_infeasible: bool = False,
        risks: Sequence[str] | None = None,
    ) -> Instance:
        """Independent Beta laws of means mu and nu and the given standard deviation (one, or one per arm)."""
        recipe = {"kind": "beta", "mu": mu, "nu": nu, "deviation": deviation}
        return Instance.from_recipe(recipe, alpha, arms=arms, name=name, allow_infeasible=allow_infeasible, risks=risks)

    @staticmethod
    def finite(
        outcomes: Sequence[Sequence[Sequence[float]]],
        alpha: AnyAlpha,
        *,
        arms: Sequence[str] | None = None,
        name: str = "finite",
        allow_infeasible: bool = False,
        risks: Sequence[str] | None = None,
    ) -> Instance:
        """Finite laws: a list of (reward, risk, probability) per arm, with a place for each of several risks."""
        recipe = {"kind": "finite", "outcomes": outcomes}
        return Instance.from_recipe(recipe, alpha, arms=arms, name=name, allow_infeasible=allow_infeasible, risks=risks)

    @staticmethod
    def linear(
        features: Sequence[Vector] | Numbers,
        reward: Vector,
        risk: Rows,
        alpha: AnyAlpha,
        *,
        contexts: Any = None,
        link: str = "linear",
        arms: Sequence[str] | None = None,
        name: str = "linear",
        allow_infeasible: bool = False,
        risks: Sequence[str] | None = None,
    ) -> Instance:
        """Bits whose means are linear in features z of the arms: mu = z'reward, nu = z'risk; linear policies know z.

        With `contexts` every unit has numbers x of its own, and means are linear in z (x) (1, x), the products of each
        feature with 1 and with each number of x: as many coefficients. They are drawn by a law for each number, such as
        ["uniform", "uniform:0.2..0.8", "bits:0.3", "beta:2,5"], or resampled from a table of numbers in [0, 1], or from
        the columns of a CSV file, each scaled by its range. With link="logistic" means are the logistic function of it.

        >>> Instance.linear([[1, 0], [1, 1]], reward=[0.5, 0.2], risk=[0.1, 0.3], alpha=0.3).mu.tolist()
        [0.5, 0.7]
        """
        recipe = {"kind": "linear", "features": features, "reward": reward, "risk": risk, "link": link}
        recipe |= {} if contexts is None else {"contexts": contexts}
        return Instance.from_recipe(recipe, alpha, arms=arms, name=name, allow_infeasible=allow_infeasible, risks=risks)

    @staticmethod
    def from_data(
        data: Any,
        alpha: AnyAlpha,
        *,
        missing_risk: str = "refuse",
        name: str | None = None,
        allow_infeasible: bool = False,
        risks: Sequence[str] | None = None,
        columns: Mapping[str, str] | str | None = None,
    ) -> Instance:
        """Resample past outcomes: a text (CSV) or Parquet file, or a table, with columns arm, reward, risk.

        `columns` says which columns go by another name, {"arm": "dose"} or "arm=dose"; `risks` names the columns of
        the risks: by default `risk`, else all whose name begins with "risk". `missing_risk`: "refuse" (the default),
        "drop" the row, or count it as "worst", a risk of 1; `origin` says what became of it.
        """
        from safebandit.problems.data import read_outcomes

        past = read_outcomes(data, missing_risk, risks, columns)
        title = name or (Path(data).stem if isinstance(data, str | Path) else "data")
        made = Instance.finite(
            past.outcomes, alpha, arms=past.arms, name=title, allow_infeasible=allow_infeasible, risks=past.risks
        )
        return replace(made, origin=past.origin)

    @staticmethod
    def from_recipe(
        recipe: Mapping[str, Any],
        alpha: AnyAlpha,
        *,
        arms: Sequence[str] | None = None,
        name: str = "instance",
        allow_infeasible: bool = False,
        risks: Sequence[str] | None = None,
    ) -> Instance:
        """An instance from its kind and that kind's parameters, as `to_dict` writes them."""
        parameters = {key: value for key, value in recipe.items() if key != "kind"}
        kind = recipe.get("kind", "bernoulli")
        if kind not in make.KINDS:
            raise InstanceError(f'unknown kind of instance "{kind}"; {suggest(str(kind), make.KINDS)}')
        try:
            law, mu, nu, plain = make.KINDS[kind](**parameters)
        except TypeError as problem:
            raise InstanceError(f"an instance of kind {kind}: {problem}") from None
        listed = range(len(mu)) if arms is None else arms
        names = tuple(read_name("an arm's name", str(arm), InstanceError) for arm in listed)
        limits = plain_alpha(read_limits(alpha, len(nu)))
        of_risks = read_risk_names(risks, len(nu))
        means = nu[0] if len(nu) == 1 else nu
        made = (law, mu, means, limits, names, name, {"kind": kind, **plain}, allow_infeasible, of_risks)
        if "contexts" in plain:
            from safebandit.problems.contextual import InContexts

            return InContexts(*made)
        return Instance(*made)

    def with_alpha(self, alpha: AnyAlpha) -> Instance:
        """An instance of these arms at another tolerated risk: one number for every risk, or one each."""
        return replace(self, alpha=plain_alpha(read_limits(alpha, len(self.limits))))

    def with_safe_set(self, safe_set: str) -> Instance:
        """An instance of these arms in which an arm is safe if its mean risks lie in this set of half-spaces.

        A play then costs the distance of its mean risks to the set, if that is more than what it forgoes in reward, as
        the paper's remark on a vector of risks has it.

        >>> two = Instance.bernoulli([0.5, 0.7], [[0.2, 0.3], [0.1, 0.4]], 0.4)
        >>> two.with_safe_set("risk1 + risk2 <= 0.5").unsafe_arms.tolist()
        [1]
        """
        return replace(self, safe_set=with_numbers(safe_set, self.risks))

    def to_dict(self) -> dict[str, Any]:
        """All of the instance, as JSON can hold it; `from_dict` reads it back."""
        return {
            "name": self.name,
            **self.recipe,
            "arms": list(self.arms),
            **({} if self.risks == ONE_RISK else {"risks": list(self.risks)}),
            "alpha": write_alpha(self.alpha),
            **({"allow_infeasible": True} if self.allow_infeasible else {}),
            **({"safe_set": self.safe_set} if self.safe_set else {}),
            **({"origin": self.origin} if self.origin else {}),
        }

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Instance:
        """The instance that `to_dict` wrote."""
        rest = dict(document)
        if "alpha" not in rest:
            raise InstanceError("an instance needs alpha, the tolerated mean risk; add alpha=0.2, for example")
        origin, safe_set = str(rest.pop("origin", "")), str(rest.pop("safe_set", ""))
        allowed = rest.pop("allow_infeasible", False)
        options = {key: rest.pop(key) for key in ("arms", "name", "risks") if key in rest}
        # Whether an arm is safe is asked when the safe set is there.
        made = Instance.from_recipe(rest, rest.pop("alpha"), allow_infeasible=bool(safe_set) or allowed, **options)
        made = replace(made, origin=origin)
        return replace(made.with_safe_set(safe_set), allow_infeasible=allowed) if safe_set else made

    @cached_property
    def limits(self) -> tuple[float, ...]:
        """The tolerated mean of every risk."""
        return self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)

    @property
    def in_contexts(self) -> bool:
        """Whether every unit has a context, on which the means depend."""
        return False

    @cached_property
    def features(self) -> Features | None:
        """What linear policies know of arms and units; None where nothing is known."""
        if "features" not in self.recipe:
            return None
        width = self.law.coefficients.shape[2] - 1 if self.in_contexts else 0
        return Features(np.array(self.recipe["features"], float), width)

    @cached_property
    def risk_means(self) -> Numbers:
        """The mean risks with a row per risk, even for one risk."""
        return np.atleast_2d(self.nu)

    @cached_property
    def _excess(self) -> Numbers:
        """How far each mean risk (rows: risks) lies above its limit, below 0 where it does not."""
        excess: Numbers = self.risk_means - np.array(self.limits)[:, None]
        return excess

    @cached_property
    def unsafe_by_risk(self) -> NDArray[np.bool_]:
        """Whether each arm (columns) has a mean risk above its limit, risk by risk (rows)."""
        unsafe: NDArray[np.bool_] = self.risk_means > np.array(self.limits)[:, None]
        return unsafe

    @cached_property
    def unsafe(self) -> NDArray[np.bool_]:
        """Whether each arm has a mean risk above its limit, or where there is a safe set, mean risks outside of it."""
        if not self.safe_set:
            return np.asarray(self.unsafe_by_risk.any(axis=0))
        return self._outside > ROUNDING

    @cached_property
    def _outside(self) -> Numbers:
        """How far each arm's mean risks lie outside of the safe set; below 0 inside."""
        safe_set = read_safe_set(self.safe_set, len(self.limits))
        return np.array([-safe_set.distance([0.0, *means]) for means in self.risk_means.T])

    @cached_property
    def best_arm(self) -> int | None:
        """The arm of the largest mean reward among the safe ones; None if there is none."""
        safe = ~self.unsafe
        return int(np.argmax(np.where(safe, self.mu, -1.0))) if safe.any() else None

    @cached_property
    def best_arms(self) -> Counts:
        """Every arm that is as good as the best: the safe ones of the largest mean reward."""
        if self.best_arm is None:
            return np.zeros(0, np.int64)
        safe = ~self.unsafe
        return np.flatnonzero(safe & (self.mu == self.mu[self.best_arm])).astype(np.int64)

    def mark(self, k: int) -> str:
        """What an arm is, for people: "best" if no other safe arm is as good, "unsafe", or nothing."""
        if self.best_arms.tolist() == [k]:
            return "best"
        return "unsafe" if k in self.unsafe_arms else ""

    @cached_property
    def best_mean(self) -> float:
        """mu*, the best arm's mean reward; 0 where no arm is safe."""
        return 0.0 if self.best_arm is None else float(self.mu[self.best_arm])

    @cached_property
    def unsafe_arms(self) -> Counts:
        """The arms that are not safe."""
        return np.flatnonzero(self.unsafe).astype(np.int64)

    @cached_property
    def efficiency_gaps(self) -> Numbers:
        """Delta: how far each mean reward lies below the best safe arm's, at least 0."""
        return np.maximum(0.0, self.best_mean - self.mu)

    @cached_property
    def safety_gaps(self) -> Numbers:
        """Gamma: how far each mean risk lies above alpha, at least 0; of several risks, the one that does so most.

        With a safe set it is the distance of the mean risks to that.
        """
        return np.maximum(0.0, self._outside if self.safe_set else self._excess.max(axis=0))

    @cached_property
    def costs(self) -> Numbers:
        """What one play of each arm costs: the larger of its two gaps (equation regret_def)."""
        return np.maximum(self.efficiency_gaps, self.safety_gaps)

    def draw(self, arm: int, count: int, *, seed: int = 0) -> Numbers:
        """`count` outcomes of one arm, as rows (reward, risk, ...): what a simulated trial with this seed would see."""
        if not 0 <= arm < len(self.mu) or count < 0:
            raise InstanceError(
                f"arm must lie in 0 to {len(self.mu) - 1} and count be at least 0, got {arm} and {count}"
            )
        stream = trial_streams(seed, 0, len(self.mu)).arms[arm]
        return np.array([draw(self.law, arm, stream) for _ in range(count)]).reshape(count, 1 + len(self.limits))
