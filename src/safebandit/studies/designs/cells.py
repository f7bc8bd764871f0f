"""What a characteristic is: of what there is one, and its number in every trial of a design on a scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.studies.designs.truth import Truth

if TYPE_CHECKING:
    from safebandit.studies.designs.corrected import CorrectedRuns
    from safebandit.trials.design import Design
    from safebandit.trials.simulated import Runs

SHARE, MEAN, COUNT, ROOT = "share", "mean", "count", "root mean square"


class Cell(NamedTuple):
    """The trials of one design on one scenario; the first of them may have corrected means."""

    design: Design
    truth: Truth
    runs: Runs
    corrected: CorrectedRuns | None = None


Values: TypeAlias = Callable[[Cell, int], Numbers]
Parts: TypeAlias = Callable[[Cell], tuple[str, ...]]


def whole(_: Cell) -> tuple[str, ...]:
    return ("",)


def arms_of(cell: Cell) -> tuple[str, ...]:
    return tuple(cell.design.arms)


def risks_of(cell: Cell) -> tuple[str, ...]:
    return tuple(cell.design.risks)


def risks_by_arm(cell: Cell) -> tuple[str, ...]:
    """One per arm; of several risks one per risk and arm."""
    risks, arms = risks_of(cell), arms_of(cell)
    return arms if len(risks) == 1 else tuple(f"{risk}: {arm}" for risk in risks for arm in arms)


def of_selected(cell: Cell) -> tuple[str, ...]:
    return ("",) if len(risks_of(cell)) == 1 else risks_of(cell)


def causes_of(cell: Cell) -> tuple[str, ...]:
    return tuple(cell.design.causes)


def if_rewarded(parts: Parts) -> Parts:
    return lambda cell: parts(cell) if cell.truth.rewarded else ()


def if_corrected(parts: Parts) -> Parts:
    return lambda cell: parts(cell) if cell.corrected is not None else ()


def if_compared(parts: Parts) -> Parts:
    return lambda cell: parts(cell) if cell.truth.compared else ()


@dataclass(frozen=True)
class Characteristic:
    """One operating characteristic.

    `parts` says of what there is one (arms, rules, or "" for the trial as a whole); `values` gives the number of part
    i in every trial, NaN where a trial has none. `kind` says how trials are summed up: a SHARE, a MEAN, the ROOT mean
    square, or a COUNT, which has quantiles, too. `better` is 1 where more is better, -1 where less is, 0 elsewhere.
    """

    name: str
    about: str
    kind: str
    values: Values
    parts: Parts = whole
    better: int = 0


def at_selected(cell: Cell, per_arm: Numbers, otherwise: float) -> Numbers:
    """A number of the selected arm (the same in every trial, or a row per trial); `otherwise` where none is."""
    chosen = cell.runs.selected
    rows = np.broadcast_to(per_arm, (len(chosen), per_arm.shape[-1]))
    return np.where(chosen >= 0, rows[np.arange(len(chosen)), chosen], otherwise)
