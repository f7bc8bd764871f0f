"""Every operating characteristic by its name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.studies.designs.cells import (
    COUNT,
    MEAN,
    SHARE,
    Cell,
    Characteristic,
    Values,
    arms_of,
    at_selected,
    causes_of,
    if_compared,
    if_rewarded,
    risks_of,
    whole,
)
from safebandit.studies.designs.estimation import ESTIMATION
from safebandit.trials.design import CAUSES

MOST_UNITS = CAUSES[0]


def _if_superiority(cell: Cell) -> tuple[str, ...]:
    return ("",) if _superiority(cell).any() else ()


def _if_superior(cell: Cell) -> tuple[str, ...]:
    return _if_superiority(cell) if cell.truth.superior.any() else ()


def _if_routed(cell: Cell) -> tuple[str, ...]:
    return ("",) if "route" in cell.design.then else ()


def _superiority(cell: Cell) -> NDArray[np.bool_]:
    """Which causes declare an arm superior."""
    return np.array([cause.startswith("superiority") for cause in cell.design.causes])


def _declared(cell: Cell) -> NDArray[np.bool_]:
    return np.asarray(_superiority(cell)[cell.runs.cause])


def _rightly(cell: Cell) -> NDArray[np.bool_]:
    """Whether the selected arm is superior; where none is selected, whether any arm is."""
    superior = cell.truth.superior
    return at_selected(cell, superior.astype(float), float(superior.any())) > 0.0


def _best_selected(cell: Cell, _: int) -> Numbers:
    best = cell.truth.best
    return at_selected(cell, best.astype(float), 0.0 if best.any() else 1.0)


def _best_excluded(cell: Cell, _: int) -> Numbers:
    excluded = np.asarray(cell.runs.excluded, bool)
    return np.asarray((excluded & cell.truth.best).any(axis=1), float)


def _harms(cell: Cell) -> Numbers:
    return np.asarray(cell.runs.harms.sum(axis=1))


def _column(field: str) -> Values:
    return lambda cell, k: np.asarray(getattr(cell.runs, field)[:, k], float)


def _number(field: str) -> Values:
    return lambda cell, _: np.asarray(getattr(cell.runs, field), float)


def _numbers(field: Any) -> Numbers:
    return np.asarray(field, float)


_RIGHT = "the best safe arm is selected; where no arm is safe (and wanted), none is"
_LISTED = [
    Characteristic("selected", "share of trials that select the arm", SHARE,
                   lambda cell, k: _numbers(cell.runs.selected == k), arms_of),
    Characteristic("none selected", "share of trials that select no arm", SHARE,
                   lambda cell, _: _numbers(cell.runs.selected < 0)),
    Characteristic("best selected", f"share of trials in which {_RIGHT}", SHARE, _best_selected, better=1),
    Characteristic("unsafe selected", "share of trials that select an arm that is unsafe, to all or in some stratum",
                   SHARE, lambda cell, _: at_selected(cell, cell.truth.unsafe.astype(float), 0.0), better=-1),
    Characteristic("best excluded", "share of trials in which a best arm was at some time not permissible or dropped",
                   SHARE, _best_excluded, better=-1),
    Characteristic("units", "mean number of units that get the arm", MEAN, _column("plays"), arms_of),
    Characteristic("rewards", "mean sum of the arm's rewards, heard or not", MEAN, _column("rewards"),
                   if_rewarded(arms_of)),
    Characteristic("harms", "mean sum of the arm's risk outcomes, of all risks, heard or not", MEAN,
                   lambda cell, k: _harms(cell)[:, k], arms_of),
    Characteristic("harms by risk", "mean sum of the outcomes of a risk, of all arms, heard or not", MEAN,
                   lambda cell, j: np.asarray(cell.runs.harms[:, j].sum(axis=1)), risks_of),
    Characteristic("excluded", "share of trials in which the arm was at some time not permissible or dropped", SHARE,
                   _column("excluded"), arms_of),
    Characteristic("dropped", "share of trials in which the arm was dropped by a rule", SHARE, _column("dropped"),
                   arms_of),
    Characteristic("unsafe units", "units that get an arm whose mean risk is above alpha, in the unit's own stratum",
                   COUNT, lambda cell, _: cell.truth.over_strata(cell.runs.plays_in, lambda truth: truth.unsafe),
                   better=-1),
    Characteristic("all rewards", "sum of all rewards of a trial", COUNT,
                   lambda cell, _: np.asarray(cell.runs.rewards.sum(axis=1)), if_rewarded(whole), better=1),
    Characteristic("all harms", "sum of all risk outcomes of a trial", COUNT,
                   lambda cell, _: _harms(cell).sum(axis=1), better=-1),
    Characteristic("size", "units that get an arm", COUNT, _number("size")),
    Characteristic("duration", "days from the opening, from which the first unit is waited for, to the end",
                   COUNT, _number("duration"), better=-1),
    Characteristic("regret", "what the trial's units lose against the best safe arm: for each, the reward that its arm "
                   "falls short of or how far its risk lies above alpha, whichever is more, in its own stratum", COUNT,
                   lambda cell, _: cell.truth.over_strata(cell.runs.plays_in, lambda truth: truth.costs), better=-1),
    Characteristic("stopped early", f'share of trials that end by any cause but "{MOST_UNITS}"', SHARE,
                   lambda cell, _: _numbers(cell.runs.cause != cell.design.causes.index(MOST_UNITS))),
    Characteristic("stopped", "share of trials that end by the cause", SHARE,
                   lambda cell, i: _numbers(cell.runs.cause == i), causes_of),
    Characteristic("routed", "share of trials in which a rule gave every further unit the control", SHARE,
                   _number("routed"), _if_routed),
    Characteristic("type I error", "share of trials that declare an arm superior which is not", SHARE,
                   lambda cell, _: _numbers(_declared(cell) & ~_rightly(cell)), _if_superiority, better=-1),
    Characteristic("power", "share of trials that declare an arm superior which is", SHARE,
                   lambda cell, _: _numbers(_declared(cell) & _rightly(cell)), _if_superior, better=1),
    Characteristic("ideal design", "where the selected arm's mean lies between the worst arm's (0) and the best arm's "
                   "(1), over the trials that select an arm (the ideal design percentage)", MEAN,
                   lambda cell, _: at_selected(cell, cell.truth.ideal, math.nan), if_compared(whole), better=1),
    *ESTIMATION,
]  # fmt: skip
CHARACTERISTICS = {each.name: each for each in _LISTED}
