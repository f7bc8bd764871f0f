"""How far estimates are off at the end of a trial: bias, root mean square error and coverage, of arms and risks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.sequences import mixture_holds
from safebandit.errors import StudyError
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
    if_corrected,
    if_rewarded,
    of_selected,
    risks_by_arm,
    whole,
)
from safebandit.studies.designs.corrected import CorrectedRuns
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


def _in_posterior(heard: Heard) -> Numbers:
    """Whether the middle 95 % of the posterior Beta(1 + total, 1 + plays - total) hold the truth; NaN if unheard."""
    from scipy.special import betainc

    below = betainc(1.0 + heard.totals, 1.0 + heard.plays - heard.totals, heard.truth)
    tail = 0.5 - CONFIDENCE / 2
    return np.where(heard.plays > 0, (below >= tail) & (below <= 1.0 - tail), np.nan)


def _in_exact(heard: Heard) -> Numbers:
    """Whether Clopper and Pearson's interval holds the truth: neither so many ones nor so few are too unlikely."""
    from scipy.special import betainc

    plays, ones = heard.plays, heard.totals
    missed, tail = plays - ones, 0.5 - CONFIDENCE / 2
    # Shapes of 0 have no beta law: that many ones or more, or that few or fewer, are certain.
    many = np.where(ones > 0, betainc(np.maximum(ones, 1e-9), missed + 1.0, heard.truth), 1.0)
    few = np.where(missed > 0, betainc(np.maximum(missed, 1e-9), ones + 1.0, 1.0 - heard.truth), 1.0)
    return np.where(plays > 0, (many >= tail) & (few >= tail), np.nan)


def _in_sequence(heard: Heard) -> Numbers:
    """Whether the flat mixture's confidence sequence holds the truth when the trial is over; NaN if unheard."""
    plays = np.asarray(heard.plays, float)
    truth = np.broadcast_to(np.asarray(heard.truth, float), plays.shape)
    totals = np.asarray(heard.totals, float)
    found = mixture_holds(np.ascontiguousarray(plays), np.ascontiguousarray(totals), truth.copy(), CONFIDENCE)
    return np.where(plays > 0, found, np.nan)


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


# Before the word coverage: who says whether an interval holds the truth, and which interval.
_INTERVALS: dict[str, tuple[Callable[[Heard], Numbers], str]] = {
    "": (_in_posterior, "the middle 95 % of the posterior Beta(1 + total, 1 + heard - total)"),
    "exact ": (_in_exact, "the exact 95 % interval of a fixed number of units (Clopper and Pearson)"),
    "sequence ": (_in_sequence, "the 95 % confidence sequence (flat mixture) at the end"),
}
_EVERY = "over the trials in which something was heard of the arm"
_CHOSEN = "of the arm that is selected, over the trials that select one"


def _estimation(what: str, heard: Heards, arms: Parts, selected: Parts) -> list[Characteristic]:
    """Bias, root mean square error and coverage of one quantity's means: of every arm, and of the selected one."""
    made = []
    for word, kind, measure, about in (
        ("bias", MEAN, _error, f"mean {what} heard by the end minus the true mean"),
        ("rmse", ROOT, _error, f"root mean square of the mean {what} heard by the end minus the true mean"),
        *(
            (f"{word}coverage", SHARE, measure, f"share of trials in which {interval} holds the true mean {what}")
            for word, (measure, interval) in _INTERVALS.items()
        ),
    ):
        made += [
            Characteristic(f"{what} {word}", f"{about}, {_EVERY}", kind, _of_arm(measure, heard), arms),
            Characteristic(
                f"selected {what} {word}", f"{about}, {_CHOSEN}", kind, _selected_arm(measure, heard), selected
            ),
        ]
    return made


class _Found(NamedTuple):
    """Corrected means of one quantity and arm with their ends, and the true means, by trial."""

    means: Numbers
    lows: Numbers
    highs: Numbers
    truth: Any


def _found_of_arm(cell: Cell, row: int, arm: int) -> _Found:
    means, lows, highs, *_ = _present(cell)
    return _Found(means[:, row, arm], lows[:, row, arm], highs[:, row, arm], _truth(cell, row)[arm])


def _found_of_selected(cell: Cell, row: int) -> _Found:
    *_, means, lows, highs = _present(cell)
    truth = at_selected(cell, _truth(cell, row), np.nan)[: len(means)]
    return _Found(means[:, row], lows[:, row], highs[:, row], truth)


def _present(cell: Cell) -> CorrectedRuns:
    if cell.corrected is None:
        raise StudyError("no means were corrected; say of how many trials they shall be: corrected=200, for example")
    return cell.corrected


def _truth(cell: Cell, row: int) -> Numbers:
    return cell.truth.instance.mu if row == 0 else _nu(cell)[row - 1]


def _corrected_error(found: _Found) -> Numbers:
    return np.asarray(found.means - found.truth)


def _corrected_covered(found: _Found) -> Numbers:
    inside = (found.lows <= found.truth) & (found.truth <= found.highs)
    return np.where(np.isnan(found.means - found.truth), np.nan, inside)


def _of_corrected(measure: Callable[[_Found], Numbers], pick: Callable[[Cell, int], _Found]) -> Values:
    def values(cell: Cell, part: int) -> Numbers:
        padded = np.full(len(cell.runs.size), np.nan)
        measured = measure(pick(cell, part))
        padded[: len(measured)] = measured
        return padded

    return values


def _correction(what: str, first: int, arms: Parts, selected: Parts) -> list[Characteristic]:
    """Bias, root mean square error and coverage of corrected means; `first` is the row of the quantity's first part."""
    by_arm = _pick_arm(first)
    made = []
    for word, kind, measure, about in (
        ("bias", MEAN, _corrected_error, f"corrected mean {what} minus the true mean"),
        ("rmse", ROOT, _corrected_error, f"root mean square of the corrected mean {what} minus the true mean"),
        ("coverage", SHARE, _corrected_covered, f"share of trials in which the approximate 95 % interval of the "
         f"corrected mean {what} holds the true mean"),
    ):  # fmt: skip
        chosen = _of_corrected(measure, lambda cell, part: _found_of_selected(cell, first + part))
        made += [
            Characteristic(
                f"{what} corrected {word}", f"{about}, {_EVERY}", kind, _of_corrected(measure, by_arm),
                if_corrected(arms),
            ),
            Characteristic(
                f"selected {what} corrected {word}", f"{about}, {_CHOSEN}; corrected knowing that it was selected",
                kind, chosen, if_corrected(selected),
            ),
        ]  # fmt: skip
    return made


def _pick_arm(first: int) -> Callable[[Cell, int], _Found]:
    def pick(cell: Cell, part: int) -> _Found:
        row, arm = divmod(part, len(cell.design.arms))
        return _found_of_arm(cell, first + row, arm)

    return pick


ESTIMATION = [
    *_estimation("reward", _heard_reward, if_rewarded(arms_of), if_rewarded(whole)),
    *_correction("reward", 0, if_rewarded(arms_of), if_rewarded(whole)),
    *_estimation("risk", _heard_risk, risks_by_arm, of_selected),
    *_correction("risk", 1, risks_by_arm, of_selected),
]
