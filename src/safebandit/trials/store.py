"""Where a trial's units and its log are kept: a small interface, and the store in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from safebandit.trials.events import Event
from safebandit.trials.units import Unit, UnitTable, as_table


class Store(Protocol):
    """The units and the log of one trial."""

    def unit(self, id: str) -> Unit | None:
        """The unit of this id, if it was given an arm."""

    def put(self, unit: Unit) -> None:
        """Keep a new unit, or what has changed of it."""

    def units(self) -> Iterable[Unit]:
        """Every unit, in the order of their rounds."""

    def table(self) -> UnitTable:
        """The units that count, to be counted anew."""

    def event(self, number: int) -> Event:
        """The event of this number."""

    def append(self, event: Event) -> None:
        """Keep the event that follows the last one."""


class MemoryStore:
    """A trial that lives in this process."""

    def __init__(self) -> None:
        self.log: list[Event] = []
        self._units: dict[str, Unit] = {}

    def unit(self, id: str) -> Unit | None:
        return self._units.get(id)

    def put(self, unit: Unit) -> None:
        self._units[unit.id] = unit

    def units(self) -> Iterable[Unit]:
        return self._units.values()

    def table(self) -> UnitTable:
        return as_table(self._units.values())

    def event(self, number: int) -> Event:
        return self.log[number - 1]

    def append(self, event: Event) -> None:
        self.log.append(event)
