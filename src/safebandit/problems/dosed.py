"""Arms with a dose: reward and risk of every arm rise with a dose between 0 and a highest one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.dosing import Doses
from safebandit.core.naming import call_by_name, read_number
from safebandit.errors import InstanceError
from safebandit.problems.curves import CURVES, Curve
from safebandit.problems.limits import check_unit, is_listed

# Curves are checked, and slopes and safe doses found, at so many doses.
POINTS = 10_001
# A slope between two of those doses may be this much more than what was found.
MORE = 1.001

Mean = Callable[[Any], Any]


@dataclass(frozen=True)
class DosedInstance:
    """A supposed truth of arms with doses: curves of mean reward and mean risk of every arm, alpha, the highest dose,
    and of every arm a first dose that is known to be safe.

    Outcomes are bits: 1 with the chance that the curve has at the dose. Curves are texts as scenarios have them, such
    as "linear:low=0,high=0.6", "logistic:low=0.05,high=0.9" or "emax:bottom=0,top=0.8,half=0.5", over doses from 0 to
    the highest one; none may fall.

    >>> two = DosedInstance.linear([0.5, 0.8], [0.3, 0.6], alpha=0.3)
    >>> two.safe_doses.tolist(), two.best
    ([1.0, 0.5], 0)
    """

    rewards: tuple[str, ...]
    risks: tuple[str, ...]
    alpha: float
    most: float = 1.0
    first: Any = 0.1
    arms: tuple[str, ...] = ()
    reward_at: tuple[Mean, ...] = field(init=False, repr=False, compare=False)
    risk_at: tuple[Mean, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rewards, risks = _listed("rewards", self.rewards), _listed("risks", self.risks)
        if len(rewards) != len(risks):
            raise InstanceError(f"there must be a risk for every reward ({len(rewards)}), got {len(risks)}")
        if len(rewards) < 2:
            raise InstanceError(f"there must be two arms or more to choose from, got {len(rewards)}")
        alpha, most = check_unit("alpha", self.alpha), float(read_number("most", self.most, float, InstanceError))
        if not 0.0 < alpha < 1.0:
            raise InstanceError(f"alpha must lie between 0 and 1, got {self.alpha}")
        if not most > 0.0:
            raise InstanceError(f"the highest dose must be above 0, got {most:g}")
        names = tuple(str(k) for k in range(len(rewards))) if not self.arms else tuple(map(str, self.arms))
        if len(names) != len(rewards) or len(set(names)) != len(names):
            raise InstanceError(f"there must be one name for each of {len(rewards)} arms, got {', '.join(names)}")
        made = {"rewards": rewards, "risks": risks, "alpha": alpha, "most": most, "arms": names}
        made |= {"first": _read_first(self.first, names, most)}
        made |= {"reward_at": _curves("reward", rewards, names, most), "risk_at": _curves("risk", risks, names, most)}
        for key, value in made.items():
            object.__setattr__(self, key, value)
        for k, dose in enumerate(self.first):
            risk = float(self.risk_at[k](dose))
            if not risk <= alpha:
                raise InstanceError(
                    f'the first dose of arm "{names[k]}" must be safe: at {dose:g} its risk is {risk:.4g}, above alpha '
                    f"({alpha:g}); lower the first dose or raise alpha"
                )

    @classmethod
    def linear(
        cls, reward_slopes: Sequence[float], risk_slopes: Sequence[float], alpha: float, *, most: float = 1.0,
        first: Any = 0.1, arms: Sequence[str] = (),
    ) -> DosedInstance:  # fmt: skip
        """Reward and risk proportional to the dose; at the highest dose neither may be above 1."""
        highest = float(read_number("most", most, float, InstanceError))
        lines = [_lines(key, given, highest) for key, given in (("reward", reward_slopes), ("risk", risk_slopes))]
        return cls(lines[0], lines[1], alpha, highest, first, tuple(arms))

    @property
    def proportional(self) -> bool:
        """Whether every reward and every risk is proportional to the dose."""
        ends = [curve(np.array([0.0, self.most / 3, self.most])) for curve in (*self.reward_at, *self.risk_at)]
        return all(low == 0.0 and abs(3 * third - high) < 1e-9 for low, third, high in ends)

    @cached_property
    def safe_doses(self) -> Numbers:
        """The highest dose of every arm whose risk is at most alpha."""
        return np.array([self._safe_dose(risk) for risk in self.risk_at])

    def _safe_dose(self, risk: Mean) -> float:
        if risk(self.most) <= self.alpha:
            return self.most
        low, high = 0.0, self.most
        while high - low > 1e-15 * self.most and low < (low + high) / 2 < high:
            middle = (low + high) / 2
            low, high = (middle, high) if risk(middle) <= self.alpha else (low, middle)
        # At least as safe as the number that is read off the curve.
        return round(low, 12) if risk(round(low, 12)) <= self.alpha else low

    @cached_property
    def values(self) -> Numbers:
        """The mean reward of every arm at its highest safe dose."""
        return np.array([float(mean(dose)) for mean, dose in zip(self.reward_at, self.safe_doses, strict=True)])

    @property
    def best(self) -> int:
        """The arm of the largest mean reward at a safe dose; the first of those that are equal."""
        return int(self.values.argmax())

    @cached_property
    def steepest(self) -> float:
        """How much the risk of any arm rises at most per unit of dose."""
        doses = np.linspace(0.0, self.most, POINTS)
        rises = [float(np.diff(risk(doses)).max()) for risk in self.risk_at]
        return max(MORE * max(rises) * (POINTS - 1) / self.most, 1e-9)

    def known(self) -> Doses:
        """What a system may know of it."""
        return Doses(len(self.arms), self.alpha, self.most, self.first, self.steepest)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "arms": list(self.arms), "rewards": list(self.rewards), "risks": list(self.risks), "alpha": self.alpha,
            "most": self.most, "first": list(self.first),
        }  # fmt: skip


def _listed(key: str, given: Any) -> tuple[str, ...]:
    if not is_listed(given) or not all(isinstance(each, str) for each in given):
        raise InstanceError(f"{key} must be curves by name, one per arm, got {given!r}")
    return tuple(given)


def _lines(key: str, slopes: Any, most: float) -> tuple[str, ...]:
    lines = []
    for slope in slopes:
        number = float(read_number(f"a slope of {key}", slope, float, InstanceError))
        if not 0.0 <= number * most <= 1.0:
            raise InstanceError(f"{key} at the highest dose must lie in [0, 1], got {number:g} x {most:g}")
        lines.append(f"linear:low=0,high={number * most!r}")
    return tuple(lines)


def _read_first(given: Any, names: tuple[str, ...], most: float) -> tuple[float, ...]:
    listed = list(given) if is_listed(given) else [given] * len(names)
    if len(listed) != len(names):
        raise InstanceError(f"there must be one first dose, or one per arm ({len(names)}), got {len(listed)}")
    doses = tuple(float(read_number("a first dose", each, float, InstanceError)) for each in listed)
    for dose in doses:
        if not 0.0 < dose <= most:
            raise InstanceError(f"a first dose must be above 0 and at most the highest dose ({most:g}), got {dose:g}")
    return doses


def _curves(key: str, texts: tuple[str, ...], names: tuple[str, ...], most: float) -> tuple[Mean, ...]:
    grid, made = np.linspace(0.0, most, POINTS), []
    for text, name in zip(texts, names, strict=True):
        curve: Curve = call_by_name(text, CURVES, "curve", InstanceError)
        mean = _over(curve, most)
        if (np.diff(mean(grid)) < -1e-12).any():
            raise InstanceError(f'the {key} of arm "{name}" must not fall with the dose, got {text}')
        made.append(mean)
    return tuple(made)


def _over(curve: Curve, most: float) -> Mean:
    return lambda dose: curve(dose, 0.0, most)
