"""A unit that was given an arm, and what is known of it; and all units of a trial as one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Counts, Numbers


@dataclass
class Unit:
    """One unit: which play of which arm, in which round; its outcome (reward, then every risk) as far as it is known,
    with the numbers of the events that told it; `lost_at` is the event in which it was given up, `voided_at` the one
    that says that it never got its arm. That a unit of a trial without rewards has none is known since it got its arm.
    `context` are the numbers that it asked with, as they were told, and `stratum` names the stratum that it is of.
    """

    id: str
    arm: str
    round: int
    play: int
    asked_at: int
    outcome: list[float | None]
    told_at: list[int | None] = field(default_factory=list)
    lost_at: int | None = None
    voided_at: int | None = None
    context: list[float] = field(default_factory=list)
    stratum: str = ""

    def __post_init__(self) -> None:
        self.told_at = self.told_at or [None] * len(self.outcome)

    @property
    def pending(self) -> bool:
        """Whether something of its outcome is still waited for."""
        if self.lost_at is not None or self.voided_at is not None or None not in self.outcome:
            return False
        return (None, None) in zip(self.outcome, self.told_at, strict=True)


class UnitTable(NamedTuple):
    """Units, a row for each: their arms, by their places in `names` (-1: voided, it counts as nothing), plays and
    rounds; their outcomes (columns), NaN where not known, with the numbers of the events that told them, and the event
    in which each was given up; 0 where there is none; their contexts as they were told, and their strata by name.
    """

    names: tuple[str, ...]
    arms: Counts
    plays: Counts
    rounds: Counts
    outcomes: Numbers
    told_at: Counts
    lost_at: Counts
    contexts: Numbers
    strata: NDArray[np.object_]


def as_table(units: Iterable[Unit]) -> UnitTable:
    """These units in their order."""
    fields = ("arm", "play", "round", "outcome", "told_at", "lost_at", "voided_at", "context", "stratum")
    listed = list(units)
    return unit_table(*([getattr(unit, name) for unit in listed] for name in fields))


def unit_table(
    arms: Sequence[str],
    plays: Sequence[int],
    rounds: Sequence[int],
    outcomes: Sequence[Sequence[float | None]],
    told_at: Sequence[Sequence[int | None]],
    lost_at: Sequence[int | None],
    voided_at: Sequence[int | None],
    contexts: Sequence[Sequence[float]],
    strata: Sequence[str | None],
) -> UnitTable:
    """A table of these columns; None becomes NaN or 0."""
    names = tuple(dict.fromkeys(arms))
    place = {arm: k for k, arm in enumerate(names)}
    shape = (len(arms), len(outcomes[0]) if outcomes else 1)
    told, lost, void = (np.nan_to_num(np.array(each, float)).astype(np.int64) for each in (told_at, lost_at, voided_at))
    places = np.where(void > 0, -1, np.array([place[arm] for arm in arms], np.int64))
    values = np.array(outcomes, float).reshape(shape)
    numbers, order = np.array(plays, np.int64), np.array(rounds, np.int64)
    told_of = np.array(contexts, float).reshape((len(arms), len(contexts[0]) if contexts else 0))
    named = np.array([stratum or "" for stratum in strata], object)
    return UnitTable(names, places, numbers, order, values, told.reshape(shape), lost, told_of, named)


def of_stratum(table: UnitTable, stratum: str) -> UnitTable:
    """The units of one stratum."""
    mine = table.strata == stratum
    return UnitTable(table.names, *(column[mine] for column in table[1:]))


def with_units(table: UnitTable, rows: Mapping[str, int], units: Sequence[Unit]) -> UnitTable:
    """A table with these units as they are now; `rows` says where in it each one stands, if it does."""
    if not units or not len(table.arms):
        return as_table(units) if units else table
    now = as_table(units)
    names = tuple(dict.fromkeys((*table.names, *now.names)))
    # The last place stands for -1.
    arms = np.array([*(names.index(arm) for arm in now.names), -1], np.int64)[now.arms]
    there = np.array([unit.id in rows for unit in units])
    at = [rows[unit.id] for unit in units if unit.id in rows]
    columns = []
    for before, changed in zip(table[1:], (arms, *now[2:]), strict=True):
        column = before.copy()
        column[at] = changed[there]
        columns.append(np.concatenate([column, changed[~there]]))
    return UnitTable(names, *columns)
