"""Every operating characteristic by its name: what it is, of what there is one, and its number in every trial."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.studies.designs.estimates import CONFIDENCE
from safebandit.studies.designs.truth import Truth

if TYPE_CHECKING:
    from safebandit.trials.design import Design
    from safebandit.trials.simulated import Runs

SHARE, MEAN, COUNT, ROOT = "share", "mean", "count", "root mean square"
MOST_UNITS = "most units"


class Cell(NamedTuple):
    """The trials of one design on one scenario."""

    design: Design
    truth: Truth
    runs: Runs


Values: TypeAlias = Callable[[Cell, int], Numbers]
Parts: TypeAlias = Callable[[Cell], tuple[str, ...]]


def _whole(_: Cell) -> tuple[str, ...]:
    return ("",)


def _arms(cell: Cell) -> tuple[str, ...]:
    return tuple(cell.design.arms)


def _risks(cell: Cell) -> tuple[str, ...]:
    return tuple(cell.design.risks)


def _risks_by_arm(cell: Cell) -> tuple[str, ...]:
    """One per arm; of several risks one per risk and arm."""
    risks, arms = _risks(cell), _arms(cell)
    return arms if len(risks) == 1 else tuple(f"{risk}: {arm}" for risk in risks for arm in arms)


def _of_selected(cell: Cell) -> tuple[str, ...]:
    return ("",) if len(_risks(cell)) == 1 else _risks(cell)


def _causes(cell: Cell) -> tuple[str, ...]:
    return tuple(cell.design.causes)


def _if_rewarded(parts: Parts) -> Parts:
    return lambda cell: parts(cell) if cell.truth.rewarded else ()


def _if_superiority(cell: Cell) -> tuple[str, ...]:
    return ("",) if _superiority(cell).any() else ()


def _if_superior(cell: Cell) -> tuple[str, ...]:
    return _if_superiority(cell) if cell.truth.superior.any() else ()


def _superiority(cell: Cell) -> Numbers:
    """Which causes declare an arm superior."""
    return np.array([cause.startswith("superiority") for cause in cell.design.causes])


def _declared(cell: Cell) -> Numbers:
    return np.asarray(_superiority(cell)[cell.runs.cause] & (cell.runs.selected >= 0))


def _at_selected(cell: Cell, per_arm: Numbers, otherwise: float) -> Numbers:
    """A number of the selected arm (the same in every trial, or a row per trial); `otherwise` where none is."""
    chosen = cell.runs.selected
    rows = np.broadcast_to(per_arm, (len(chosen), per_arm.shape[-1]))
    return np.where(chosen >= 0, rows[np.arange(len(chosen)), chosen], otherwise)


def _best_selected(cell: Cell, _: int) -> Numbers:
    best = cell.truth.best
    return _at_selected(cell, best.astype(float), 0.0 if best.any() else 1.0)


def _best_excluded(cell: Cell, _: int) -> Numbers:
    excluded = np.asarray(cell.runs.excluded, bool)
    return np.asarray((excluded & cell.truth.best).any(axis=1), float)


def _harms(cell: Cell) -> Numbers:
    return np.asarray(cell.runs.harms.sum(axis=1))


class Heard(NamedTuple):
    """What was heard of one quantity by the end: plays and totals by trial and arm, and the true means."""

    plays: Numbers
    totals: Numbers
    truth: Numbers


def _heard_reward(cell: Cell, part: int) -> tuple[Heard, int]:
    return Heard(cell.runs.reward_plays, cell.runs.reward_totals, cell.truth.instance.mu), part


def _heard_risk(cell: Cell, part: int) -> tuple[Heard, int]:
    risk, arm = divmod(part, len(cell.design.arms))
    return Heard(cell.runs.risk_plays[:, risk], cell.runs.risk_totals[:, risk], _nu(cell)[risk]), arm


def _nu(cell: Cell) -> Numbers:
    return cell.truth.instance.risk_means


def _error(heard: Heard) -> Numbers:
    """Estimate minus truth, by trial and arm; NaN where nothing was heard."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(heard.plays > 0, heard.totals / heard.plays, np.nan) - heard.truth


def _covered(heard: Heard) -> Numbers:
    """Whether the middle 95 % of the posterior Beta(1 + total, 1 + plays - total) hold the truth; NaN if unheard."""
    from scipy.special import betainc

    below = betainc(1.0 + heard.totals, 1.0 + heard.plays - heard.totals, heard.truth)
    tail = 0.5 - CONFIDENCE / 2
    return np.where(heard.plays > 0, (below >= tail) & (below <= 1.0 - tail), np.nan)


Heards: TypeAlias = Callable[[Cell, int], tuple[Heard, int]]


def _of_arm(measure: Callable[[Heard], Numbers], heard: Heards) -> Values:
    def values(cell: Cell, part: int) -> Numbers:
        found, arm = heard(cell, part)
        return measure(Heard(found.plays[:, arm], found.totals[:, arm], found.truth[arm]))

    return values


def _selected_arm(measure: Callable[[Heard], Numbers], heard: Heards) -> Values:
    def values(cell: Cell, part: int) -> Numbers:
        found, _ = heard(cell, part * len(cell.design.arms))
        picked = [_at_selected(cell, np.asarray(each, float), 0.0) for each in found]
        return measure(Heard(*picked))

    return values


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
    parts: Parts = _whole
    better: int = 0


def _column(field: str) -> Values:
    return lambda cell, k: np.asarray(getattr(cell.runs, field)[:, k], float)


def _number(field: str) -> Values:
    return lambda cell, _: np.asarray(getattr(cell.runs, field), float)


def _estimation(what: str, heard: Heards, arms: Parts, selected: Parts) -> list[Characteristic]:
    """Bias, root mean square error and coverage of one quantity's means: of every arm, and of the selected one."""
    beta = "middle 95 % of its posterior Beta(1 + total, 1 + heard - total)"
    made = []
    for word, kind, measure, about in (
        ("bias", MEAN, _error, f"mean {what} heard by the end minus the true mean"),
        ("rmse", ROOT, _error, f"root mean square of the mean {what} heard by the end minus the true mean"),
        ("coverage", SHARE, _covered, f"share of trials in which the {beta} hold the true mean {what}"),
    ):
        every = f"{about}, over the trials in which something was heard of the arm"
        chosen = f"{about}, of the arm that is selected, over the trials that select one"
        made.append(Characteristic(f"{what} {word}", every, kind, _of_arm(measure, heard), arms))
        made.append(Characteristic(f"selected {what} {word}", chosen, kind, _selected_arm(measure, heard), selected))
    return made


def _same_as(cell: Cell, field: Any) -> Numbers:
    return np.asarray(field, float)


_RIGHT = "the best safe arm is selected; where no arm is safe (and wanted), none is"
_LISTED = [
    Characteristic("selected", "share of trials that select the arm", SHARE,
                   lambda cell, k: _same_as(cell, cell.runs.selected == k), _arms),
    Characteristic("none selected", "share of trials that select no arm", SHARE,
                   lambda cell, _: _same_as(cell, cell.runs.selected < 0)),
    Characteristic("best selected", f"share of trials in which {_RIGHT}", SHARE, _best_selected, better=1),
    Characteristic("unsafe selected", "share of trials that select an unsafe arm", SHARE,
                   lambda cell, _: _at_selected(cell, cell.truth.unsafe.astype(float), 0.0), better=-1),
    Characteristic("best excluded", "share of trials in which a best arm was at some time not permissible or dropped",
                   SHARE, _best_excluded, better=-1),
    Characteristic("units", "mean number of units that get the arm", MEAN, _column("plays"), _arms),
    Characteristic("rewards", "mean sum of the arm's rewards, heard or not", MEAN, _column("rewards"),
                   _if_rewarded(_arms)),
    Characteristic("harms", "mean sum of the arm's risk outcomes, of all risks, heard or not", MEAN,
                   lambda cell, k: _harms(cell)[:, k], _arms),
    Characteristic("harms by risk", "mean sum of the outcomes of a risk, of all arms, heard or not", MEAN,
                   lambda cell, j: np.asarray(cell.runs.harms[:, j].sum(axis=1)), _risks),
    Characteristic("excluded", "share of trials in which the arm was at some time not permissible or dropped", SHARE,
                   _column("excluded"), _arms),
    Characteristic("dropped", "share of trials in which the arm was dropped by a rule", SHARE, _column("dropped"),
                   _arms),
    Characteristic("unsafe units", "units that get an arm whose mean risk is above alpha", COUNT,
                   lambda cell, _: np.asarray(cell.runs.plays @ cell.truth.unsafe, float), better=-1),
    Characteristic("all rewards", "sum of all rewards of a trial", COUNT,
                   lambda cell, _: np.asarray(cell.runs.rewards.sum(axis=1)), _if_rewarded(_whole), better=1),
    Characteristic("all harms", "sum of all risk outcomes of a trial", COUNT,
                   lambda cell, _: _harms(cell).sum(axis=1), better=-1),
    Characteristic("size", "units that get an arm", COUNT, _number("size")),
    Characteristic("duration", "days from the first unit to the end of the trial", COUNT, _number("duration"),
                   better=-1),
    Characteristic("regret", "what the trial's units lose against the best safe arm: for each, the reward that its arm "
                   "falls short of or how far its risk lies above alpha, whichever is more", COUNT,
                   lambda cell, _: np.asarray(cell.runs.plays @ cell.truth.costs), better=-1),
    Characteristic("stopped early", f'share of trials that end by any cause but "{MOST_UNITS}"', SHARE,
                   lambda cell, _: _same_as(cell, cell.runs.cause != cell.design.causes.index(MOST_UNITS))),
    Characteristic("stopped", "share of trials that end by the cause", SHARE,
                   lambda cell, i: _same_as(cell, cell.runs.cause == i), _causes),
    Characteristic("type I error", "share of trials that declare an arm superior which is not", SHARE,
                   lambda cell, _: _declared(cell) * (1.0 - _at_selected(cell, cell.truth.superior * 1.0, 0.0)),
                   _if_superiority, better=-1),
    Characteristic("power", "share of trials that declare an arm superior which is", SHARE,
                   lambda cell, _: _declared(cell) * _at_selected(cell, cell.truth.superior * 1.0, 0.0),
                   _if_superior, better=1),
    Characteristic("ideal design", "where the selected arm's mean reward lies between the smallest (0) and the largest "
                   "(1), over the trials that select an arm (the ideal design percentage)", MEAN,
                   lambda cell, _: _at_selected(cell, cell.truth.ideal, math.nan), _if_rewarded(_whole), better=1),
    *_estimation("reward", _heard_reward, _if_rewarded(_arms), _if_rewarded(_whole)),
    *_estimation("risk", _heard_risk, _risks_by_arm, _of_selected),
]  # fmt: skip
CHARACTERISTICS = {each.name: each for each in _LISTED}
