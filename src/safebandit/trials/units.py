"""A unit that was given an arm, and what is known of it; and all units of a trial as one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Counts, Numbers


@dataclass
class Unit:
    """One unit: which play of which arm, in which round; its outcome (reward, then every risk) as far as it is known,
    with the numbers of the events that told it; `lost_at` is the event in which it was given up, `voided_at` the one
    that says that it never got its arm.
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

    def __post_init__(self) -> None:
        self.told_at = self.told_at or [None] * len(self.outcome)

    @property
    def pending(self) -> bool:
        """Whether something of its outcome is still waited for."""
        return self.lost_at is None and self.voided_at is None and None in self.outcome


class UnitTable(NamedTuple):
    """The units that count, a row for each: their arms and plays; their outcomes (columns), NaN where not known, with
    the numbers of the events that told them, and the event in which each was given up; 0 where there is none.
    """

    arms: Sequence[str]
    plays: Counts
    outcomes: Numbers
    told_at: Counts
    lost_at: Counts


def as_table(units: Iterable[Unit]) -> UnitTable:
    """These units, without those that were voided."""
    rows = [unit for unit in units if unit.voided_at is None]
    return unit_table(
        [unit.arm for unit in rows],
        [unit.play for unit in rows],
        [unit.outcome for unit in rows],
        [unit.told_at for unit in rows],
        [unit.lost_at for unit in rows],
    )


def unit_table(
    arms: Sequence[str],
    plays: Sequence[int],
    outcomes: Sequence[Sequence[float | None]],
    told_at: Sequence[Sequence[int | None]],
    lost_at: Sequence[int | None],
) -> UnitTable:
    """A table of these columns; None becomes NaN or 0."""
    shape = (len(arms), len(outcomes[0]) if outcomes else 1)
    told, lost = (np.nan_to_num(np.array(column, float)).astype(np.int64) for column in (told_at, lost_at))
    values = np.array(outcomes, float).reshape(shape)
    return UnitTable(arms, np.array(plays, np.int64), values, told.reshape(shape), lost)
