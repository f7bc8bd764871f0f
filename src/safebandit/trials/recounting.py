"""All that was told in a trial, in the order in which it was told, for compiled code to count anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import CELL, Counts
from safebandit.core.kernels import Told
from safebandit.trials.allocator import Given
from safebandit.trials.contexts import scaled
from safebandit.trials.units import UnitTable

HARM = 1.0


def in_order(
    units: UnitTable, arms: Sequence[str], *, lost_is_harm: bool, cohort_from: int = 0, declared: Sequence[str] = ()
) -> tuple[Given, Told]:  # fmt: skip
    """The units that these arms were given, and what was told of them, event by event.

    `cohort_from` is the round in which the present cohort began; by default that of the last unit. What became known
    after a unit was given up is counted where it was given up, and the rest given up. `declared` are the numbers of a
    context, with their ranges.
    """
    place = {arm: k for k, arm in enumerate(arms)}
    # The last place stands for -1.
    of = np.array([*(place.get(arm, -1) for arm in units.names), -1], np.int64)[units.arms]
    given = _given(of, units.rounds, len(arms), cohort_from)
    rows, numbers, lost = _events(units)
    kept = of[rows] >= 0
    # Of one event, what became known late comes before the loss of the rest.
    order = np.lexsort((lost, numbers))
    order = order[kept[order]]
    rows, numbers, lost = rows[order], numbers[order], lost[order]
    outcomes, told_at = units.outcomes[rows], units.told_at[rows]
    before = (told_at > 0) & ((told_at < numbers[:, None]) | ((told_at == numbers[:, None]) & lost[:, None]))
    known = np.where(before, outcomes, np.nan)
    news = np.where((told_at == numbers[:, None]) & ~lost[:, None], outcomes, np.nan)
    if lost_is_harm:
        news[:, 1:][lost[:, None] & np.isnan(known[:, 1:])] = HARM
    new, old = (np.ascontiguousarray(part).view(CELL) for part in (news, known))
    # Of no units no width is known.
    contexts = scaled(units.contexts[rows].reshape(len(rows), len(declared)), declared)
    return given, Told(of[rows], units.plays[rows], units.rounds[rows], new, old, lost, contexts)


def _given(of: Counts, rounds: Counts, arms: int, cohort_from: int) -> Given:
    counted = np.flatnonzero(of >= 0)
    if not len(counted):
        return Given(np.zeros(arms, np.int64), -1, 0, cohort_from)
    last = counted[np.argmax(rounds[counted])]
    began = cohort_from or int(rounds[last])
    counts = np.bincount(of[counted], minlength=arms).astype(np.int64)
    return Given(counts, int(of[last]), int((rounds[counted] >= began).sum()), began)


def _events(units: UnitTable) -> tuple[Counts, Counts, NDArray[np.bool_]]:
    """The events that told something of a unit: the unit's row, the event's number, and whether it gave the unit up."""
    rows: list[Counts] = []
    numbers: list[Counts] = []
    for j in range(units.told_at.shape[1]):
        number = units.told_at[:, j]
        # One event may tell several parts of an outcome.
        first = (number > 0) & (units.told_at[:, :j] != number[:, None]).all(axis=1)
        rows.append(np.flatnonzero(first))
        numbers.append(number[first])
    gone = np.flatnonzero(units.lost_at > 0)
    told = sum(map(len, rows))
    lost = np.arange(told + len(gone)) >= told
    return np.concatenate([*rows, gone]), np.concatenate([*numbers, units.lost_at[gone]]), lost
