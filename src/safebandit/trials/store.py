"""Where a trial's units and its log are kept: a small interface, and the store in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from safebandit.trials.events import Event
from safebandit.trials.units import Unit, UnitTable, as_table, with_units


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
        # The units as they were when they were last counted anew, the row of each, and those that have changed since.
        self._table: UnitTable | None = None
        self._rows: dict[str, int] = {}
        self._changed: dict[str, Unit] = {}

    def unit(self, id: str) -> Unit | None:
        return self._units.get(id)

    def put(self, unit: Unit) -> None:
        self._units[unit.id] = unit
        if self._table is not None:
            self._changed[unit.id] = unit

    def units(self) -> Iterable[Unit]:
        return self._units.values()

    def table(self) -> UnitTable:
        if self._table is None:
            self._table = as_table(self._units.values())
        else:
            # Many corrections of a long trial: each costs what has changed, not all units.
            self._table = with_units(self._table, self._rows, list(self._changed.values()))
        for unit in self._changed if self._rows else self._units:
            self._rows.setdefault(unit, len(self._rows))
        self._changed.clear()
        return self._table

    def event(self, number: int) -> Event:
        return self.log[number - 1]

    def append(self, event: Event) -> None:
        self.log.append(event)
