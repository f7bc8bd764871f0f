"""How far estimates are off at the end of a trial: bias, root mean square error and coverage, of arms and risks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.studies.designs.cells import (
    MEAN,
    ROOT,
    SHARE,
    Cell,
    Characteristic,
    Parts,
    Values,
    arms_of,
    at_selected,
    if_rewarded,
    of_selected,
    risks_by_arm,
    whole,
)
from safebandit.studies.designs.estimates import CONFIDENCE


class Heard(NamedTuple):
    """What was heard of one quantity by the end: plays and totals by trial and arm, and the true means."""

    plays: Any
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
        picked = [at_selected(cell, np.asarray(each, float), 0.0) for each in found]
        return measure(Heard(*picked))

    return values


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


ESTIMATION = [
    *_estimation("reward", _heard_reward, if_rewarded(arms_of), if_rewarded(whole)),
    *_estimation("risk", _heard_risk, risks_by_arm, of_selected),
]
