"""Who counts what is known in a trial and decides by it: one allocator of all units, and one of each stratum."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from safebandit.trials.allocator import Allocator
from safebandit.trials.recounting import in_order
from safebandit.trials.settings import Settings
from safebandit.trials.units import UnitTable, of_stratum


class Deciders:
    """The allocators of a trial. With strata, rules are measured by that of all units, which then decides nothing."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.all_units = settings.allocator()
        self._strata: dict[str, Allocator] = {}
        # Whether all units get the control, and which arms are dropped.
        self._routed, self._dropped = False, tuple[str, ...]()

    def of(self, stratum: str = "") -> Allocator:
        """Who decides for a unit of this stratum: with strata, each by what is known of its own units."""
        if not stratum:
            return self.all_units
        if stratum not in self._strata:
            self._strata[stratum] = self.settings.allocator(stratum)
            self._mark(self._strata[stratum])
        return self._strata[stratum]

    def counting(self, stratum: str) -> list[Allocator]:
        """Those that count what happens to a unit of this stratum: all units together, and those of the stratum."""
        return [self.all_units, self.of(stratum)] if stratum else [self.all_units]

    def mark(self, *, routed: bool, dropped: Iterable[str]) -> None:
        """Note with the arms what events say of them: which are dropped, and whether all units get the control."""
        self._routed, self._dropped = routed, tuple(dropped)
        for counted in (self.all_units, *self._strata.values()):
            self._mark(counted)

    def _mark(self, counted: Allocator) -> None:
        counted.route(self._routed)
        for arm in self._dropped:
            counted.drop(counted.arms.index(arm))

    def position(self, strata: Collection[str]) -> Any:
        """Where the random numbers are, as JSON has it; with strata, those of each in which a unit asked."""
        if not self.settings.factors:
            return list(self.all_units.position)
        return {stratum: list(self.of(stratum).position) for stratum in sorted(strata)}

    def go_to(self, words: Any, strata: Collection[str]) -> None:
        """Take random numbers from there on, where `position` was."""
        if not self.settings.factors:
            self.all_units.position = tuple(words)
            return
        for stratum in strata:
            self.of(stratum).position = tuple(words[stratum])

    def count(self, table: UnitTable, cohort_from: int, cohorts: Mapping[str, int]) -> None:
        """Count all units of a table, of which nothing is counted yet, in the order in which they were told of.

        The present cohort began in round `cohort_from`; those of the strata, where they have some, in others.
        """
        self._count(self.all_units, table, cohort_from)
        for stratum in sorted(set(table.strata) - {""}):
            self._count(self.of(stratum), of_stratum(table, stratum), cohorts.get(stratum, 0))

    def _count(self, counted: Allocator, table: UnitTable, cohort_from: int) -> None:
        counted.count(
            *in_order(
                table, counted.arms, lost_is_harm=self.settings.lost == "harm", cohort_from=cohort_from,
                declared=self.settings.context,
            )
        )  # fmt: skip

    def to_bytes(self, strata: Collection[str]) -> bytes:
        """What was counted of all units, and of those of every stratum in which a unit asked."""
        return b"".join(counted.to_bytes() for counted in self._kept(strata))

    def from_bytes(self, memory: bytes, strata: Collection[str]) -> bool:
        """Take over what `to_bytes` wrote; False where other formulas wrote it."""
        kept = self._kept(strata)
        size = len(memory) // len(kept)
        parts = [memory[i * size : (i + 1) * size] for i in range(len(kept))]
        return len(memory) == size * len(kept) and all(a.from_bytes(b) for a, b in zip(kept, parts, strict=True))

    def _kept(self, strata: Collection[str]) -> list[Allocator]:
        return [self.all_units, *(self.of(stratum) for stratum in sorted(strata))]
