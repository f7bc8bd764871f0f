"""What is known of the trials of one policy: all of them, or running moments and sketches of quantiles.

Both are asked by field: those of `Trials`, "unsafe_by_risk" (plays at the horizon of arms unsafe in each risk), and the
totals over all arms, "total_reward" and "total_risk" (of each risk). A summary has two more for each metric, in pairs
with every policy (columns) at the horizon: the "difference", and whether it was "below" (1, or 1/2 where equal).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.core.kernels import Trials
from safebandit.simulation.moments import Moments
from safebandit.simulation.sketches import Sketch

METRICS = ("regret", "unsafe_plays")
QUANTILES = {"median": 0.5, "q05": 0.05, "q95": 0.95, "q99": 0.99}
PAIRED = ("difference", "below")
# The fields whose quantiles are shown, and whether they are whole numbers.
SKETCHED = {"regret": False, "unsafe_plays": True, "unsafe_by_risk": True, "total_reward": False, "total_risk": False}
# Sums over the arms, by the field that has them arm by arm; files of version 0.1.0 have no summary of these.
TOTALS = {"total_reward": "reward", "total_risk": "risk"}


class Paired(NamedTuple):
    """A paired difference: its mean, its standard error, and the share of trials below, ties counted half."""

    difference: float
    se: float
    below: float


class Whole(NamedTuple):
    """Every trial, asked as a summary is asked."""

    fields: Mapping[str, NDArray[Any]]

    def mean(self, name: str) -> Numbers:
        """The mean of a field over the trials."""
        return np.asarray(self.fields[name].mean(axis=0), float)

    def quantiles(self, name: str, levels: Numbers) -> Numbers:
        """Quantiles (rows: levels) of a field over the trials."""
        return np.quantile(np.asarray(self.fields[name], float), levels, axis=0)

    def describe(self, name: str, column: int = -1) -> dict[str, float]:
        """Mean, standard error, median, quantiles and the worst."""
        return describe(self.fields[name][:, column])


@dataclass
class Summary:
    """Moments of every field and sketches of some, of the trials that were added."""

    moments: dict[str, Moments] = field(default_factory=dict)
    sketches: dict[str, Sketch] = field(default_factory=dict)

    @property
    def trials(self) -> int:
        """How many trials were added."""
        return self.moments["regret"].trials if self.moments else 0

    def add(self, fields: Mapping[str, NDArray[Any]]) -> None:
        """Add trials (rows of every field), in their order."""
        for name, values in fields.items():
            numbers = np.ascontiguousarray(values, dtype=float)
            columns = numbers.shape[1]
            self.moments.setdefault(name, Moments(columns)).add(numbers)
            if name in SKETCHED:
                self.sketches.setdefault(name, Sketch(columns, whole=SKETCHED[name])).add(numbers)

    def copy(self) -> Summary:
        """A summary to which trials can be added without changing this one."""
        return copy.deepcopy(self)

    def mean(self, name: str) -> Numbers:
        """The mean of a field over the trials."""
        return self.moments[name].mean()

    def quantiles(self, name: str, levels: Numbers) -> Numbers:
        """Quantiles (rows: levels) of a field over the trials, to the accuracy of its sketch."""
        return self.sketches[name].quantiles(levels)

    def describe(self, name: str, column: int = -1) -> dict[str, float]:
        """Mean, standard error, median, quantiles and the worst; NaN for what was not kept."""
        if name in TOTALS and name not in self.moments:
            by_arm = self.mean(TOTALS[name]).reshape(-1, len(self.mean("plays")))
            return {"mean": float(by_arm[column].sum()), **dict.fromkeys(["se", *QUANTILES, "max"], math.nan)}
        quantiles = self.sketches[name].quantiles(np.array([*QUANTILES.values(), 1.0]))[:, column].tolist()
        return {
            "mean": float(self.mean(name)[column]),
            "se": self.moments[name].standard_error(column),
            **dict(zip([*QUANTILES, "max"], quantiles, strict=True)),
        }

    def paired(self, metric: str, other: int) -> Paired:
        """The paired difference to the policy at this place among all."""
        difference, below = self.moments[f"{metric} difference"], self.moments[f"{metric} below"]
        mean = float(difference.mean()[other])
        return Paired(mean, difference.standard_error(other), float(below.mean()[other]))

    def same(self, other: Summary) -> bool:
        """Whether both hold the same numbers, bit for bit, of the totals those that both have."""
        mine, yours = self._numbers(), other._numbers()
        if any(name not in TOTALS for name, _ in mine.keys() ^ yours.keys()):
            return False
        return all(np.array_equal(mine[name], yours[name]) for name in mine.keys() & yours.keys())

    def _numbers(self) -> dict[tuple[str, str], NDArray[Any]]:
        numbers: dict[tuple[str, str], NDArray[Any]] = {}
        for name, moments in self.moments.items():
            numbers[name, "sums"] = moments.sums
        for name, sketch in self.sketches.items():
            numbers[name, "bins"], numbers[name, "counts"] = sketch.counted()
            numbers[name, "least"], numbers[name, "most"] = sketch.least, sketch.most
        return numbers


def fields_of(trials: Trials, unsafe: NDArray[np.bool_] | None) -> dict[str, NDArray[Any]]:
    """Trials by field, each with one row per trial; `unsafe` has a row of arms per risk, None in contexts.

    Which risk made a play unsafe is not known in contexts, and left out.
    """
    fields: dict[str, NDArray[Any]] = {
        name: values.reshape(len(values), -1) for name, values in trials._asdict().items()
    }
    by_risk = trials.risk.reshape(len(trials.risk), -1, trials.plays.shape[1])
    return {
        **fields,
        **({} if unsafe is None else {"unsafe_by_risk": trials.plays @ unsafe.T.astype(np.int64)}),
        "total_reward": trials.reward.sum(axis=1, keepdims=True),
        "total_risk": by_risk.sum(axis=2),
    }


def field_widths(
    checkpoints: int, arms: int, risks: int, policies: int, *, in_contexts: bool = False
) -> dict[str, int]:
    """How many columns each field of a summary has."""
    by_risk = {} if in_contexts else {"unsafe_by_risk": risks}
    single = {"none_permissible": 1, "held": 1, **by_risk, "total_reward": 1, "total_risk": risks}
    shared = {"regret": checkpoints, "unsafe_plays": checkpoints, "plays": arms, "reward": arms, "risk": risks * arms}
    return {**shared, **single, **{f"{metric} {pair}": policies for metric in METRICS for pair in PAIRED}}


def pair_fields(by_policy: Mapping[str, Trials], policy: str) -> dict[str, Numbers]:
    """The fields of a policy in pairs with every policy, itself too."""
    fields = {}
    for metric in METRICS:
        mine = np.asarray(getattr(by_policy[policy], metric), float)[:, -1:]
        theirs = np.column_stack([getattr(trials, metric)[:, -1] for trials in by_policy.values()]).astype(float)
        fields[f"{metric} difference"] = mine - theirs
        fields[f"{metric} below"] = (mine < theirs) + 0.5 * (mine == theirs)
    return fields


def describe(values: NDArray[Any]) -> dict[str, float]:
    """Mean, standard error, median, quantiles and the worst of many trials."""
    return {
        "mean": float(np.mean(values)),
        "se": standard_error(values),
        **{name: float(np.quantile(values, level)) for name, level in QUANTILES.items()},
        "max": float(np.max(values)),
    }


def standard_error(values: NDArray[Any]) -> float:
    """The standard error of a mean."""
    # One trial says nothing about the spread; 0 would claim that it does.
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
