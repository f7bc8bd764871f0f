"""Units that were given an arm, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol


@dataclass
class Unit:
    """One unit: which play of which arm, in which round; its outcome (reward, then every risk) as far as it is known,
    with the numbers of the events that told it; `lost_at` is the event in which it was given up.
    """

    id: str
    arm: str
    round: int
    play: int
    asked_at: int
    outcome: list[float | None]
    told_at: list[int | None] = field(default_factory=list)
    lost_at: int | None = None

    def __post_init__(self) -> None:
        self.told_at = self.told_at or [None] * len(self.outcome)

    @property
    def pending(self) -> bool:
        """Whether something of its outcome is still waited for."""
        return self.lost_at is None and None in self.outcome


class Units(Protocol):
    """Where a trial's units are looked up and put."""

    def get(self, id: str) -> Unit | None:
        """The unit of this id, if it was given an arm."""

    def put(self, unit: Unit) -> None:
        """Keep a new unit, or what has changed of it."""

    def all(self) -> Iterable[Unit]:
        """Every unit, in the order of their rounds."""


class UnitsInMemory:
    """Units of a trial that is replayed or rehearsed."""

    def __init__(self) -> None:
        self._units: dict[str, Unit] = {}

    def get(self, id: str) -> Unit | None:
        """The unit of this id."""
        return self._units.get(id)

    def put(self, unit: Unit) -> None:
        """Keep a unit."""
        self._units[unit.id] = unit

    def all(self) -> Iterable[Unit]:
        """Every unit, in the order of their rounds."""
        return self._units.values()
