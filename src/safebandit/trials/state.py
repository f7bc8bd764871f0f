"""The state of a trial: what its log, replayed event by event, gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from safebandit.trials.allocator import Allocator
from safebandit.trials.events import NOTHING, Event, canonical
from safebandit.trials.settings import Settings
from safebandit.trials.store import Store
from safebandit.trials.units import Unit

HARM = 1.0


class TrialState:
    """Settings in force, status, counts and the arms' memory after the event `number`."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self.allocator: Allocator = settings.allocator()
        self.version = 0
        self.status = "open"
        self.number = 0
        self.hash = NOTHING
        self.time = ""
        # The event that gave no arm, until something happens that may change it: not a pause, nor asking again.
        self.held_at: int | None = None
        self.units = 0
        self.decisions = 0
        self.waiting = 0
        # Whether the memory that was kept had been written by other formulas: who writes next notes that in the log.
        self.recounted = False

    @property
    def round(self) -> int:
        """The round that the next unit given an arm will be, from 1."""
        return self.units + 1

    def apply(self, event: Event, store: Store) -> None:
        """Do what the event says was done; the decision itself is not made again."""
        self.do(event.number, event.kind, event.content, store)
        self.hash, self.time = event.hash, event.time

    def do(self, number: int, kind: str, content: dict[str, Any], store: Store) -> None:
        """Do what event `number` of this kind says; a rehearsal has drafts that never become events of a log."""
        if kind not in ("paused", "resumed", "closed", "recounted"):
            self.held_at = number if kind == "held" else None
        match kind:
            case "asked":
                self._give(number, content, store)
            case "held":
                self.decisions += 1
            case "recounted":
                self._count_anew(store)
                self.recounted = False
                # Version 0.1.0 did not note it.
                self.allocator.position = tuple(content.get("stream", self.allocator.position))
            case "told":
                self._tell(number, _existing(store, content["unit"]), content["outcome"], store)
            case "given up":
                self._give_up(number, _existing(store, content["unit"]), store)
            case "corrected":
                self._correct(_existing(store, content["unit"]), content["outcome"], store)
            case "created" | "amended":
                self.settings = Settings.from_dict(content["settings"])
                self.version += 1
                self._count_anew(store)
            case "paused" | "resumed" | "closed":
                self.status = {"resumed": "open"}.get(kind, kind)
            case unknown:
                raise ValueError(f'an event of the unknown kind "{unknown}"')
        self.number = number

    def _give(self, number: int, content: dict[str, Any], store: Store) -> None:
        self.decisions += 1
        self.units += 1
        self.waiting += 1
        play = self.allocator.give(self.allocator.arms.index(content["arm"]))
        nothing: list[float | None] = [None] * (1 + len(self.settings.risks))
        store.put(Unit(content["unit"], content["arm"], content["round"], play, number, nothing))

    def _tell(self, number: int, unit: Unit, outcome: list[float | None], store: Store) -> None:
        self._learn(unit, outcome)
        for j, value in enumerate(outcome):
            if value is not None:
                unit.outcome[j], unit.told_at[j] = value, number
        self.waiting -= not unit.pending
        store.put(unit)

    def _give_up(self, number: int, unit: Unit, store: Store) -> None:
        self.waiting -= 1
        self._lose(unit)
        unit.lost_at = number
        store.put(unit)

    def _correct(self, unit: Unit, outcome: list[float | None], store: Store) -> None:
        for j, value in enumerate(outcome):
            if value is not None:
                # In the place of what it corrects, as if it had been told so at first.
                unit.outcome[j], unit.told_at[j] = value, unit.told_at[j] or unit.lost_at
        store.put(unit)
        self._count_anew(store)

    def _learn(self, unit: Unit, news: list[float | None], known: list[float | None] | None = None) -> None:
        """Count what is new of a unit; of an arm that was withdrawn nothing is counted until it is added again."""
        if unit.arm in self.allocator.arms:
            k = self.allocator.arms.index(unit.arm)
            self.allocator.learn(k, unit.play, tuple(unit.outcome if known is None else known), tuple(news))

    def _lose(self, unit: Unit, known: list[float | None] | None = None) -> None:
        """Stop waiting for what is not known; a missing risk is counted as harm, unless the trial says otherwise."""
        known = list(unit.outcome if known is None else known)
        if self.settings.lost == "harm":
            harm = [None, *(HARM if risk is None else None for risk in known[1:])]
            if any(harm):
                self._learn(unit, harm, known)
                known[1:] = [HARM if risk is None else risk for risk in known[1:]]
        if unit.arm in self.allocator.arms:
            self.allocator.give_up(self.allocator.arms.index(unit.arm), tuple(known))

    def count(self, store: Store) -> None:
        """Count all outcomes that a store has, by the settings in force now."""
        self._count_anew(store)

    def _count_anew(self, store: Store) -> None:
        """Count all outcomes in the order in which they were told, by the settings in force now."""
        position = self.allocator.position
        self.allocator = self.settings.allocator()
        self.allocator.position = position
        everyone = list(store.units())
        for unit in everyone:
            if unit.arm in self.allocator.arms:
                self.allocator.give(self.allocator.arms.index(unit.arm))
        known: dict[str, list[float | None]] = {}
        for _, unit, news in sorted(_told(everyone), key=lambda each: each[0]):
            before = known.setdefault(unit.id, [None] * len(unit.outcome))
            if news is None:
                self._lose(unit, before)
                continue
            self._learn(unit, news, before)
            known[unit.id] = [old if new is None else new for old, new in zip(before, news, strict=True)]

    def to_row(self) -> dict[str, Any]:
        """As it is kept beside the log."""
        names = ("version", "status", "held_at", "units", "decisions", "waiting")
        state = {**{name: getattr(self, name) for name in names}, "settings": self.settings.to_dict()}
        state["position"] = list(self.allocator.position)
        return {
            "number": self.number,
            "hash": self.hash,
            "time": self.time,
            "status": self.status,
            "state": canonical(state),
            "memory": self.allocator.to_bytes(),
        }

    @classmethod
    def from_row(cls, name: str, row: Any, store: Store) -> TrialState:
        """As `to_row` wrote it; where the formulas are others now, outcomes are counted anew."""
        state = json.loads(row.state)
        made = cls(name, Settings.from_dict(state.pop("settings")))
        made.allocator.position = tuple(state.pop("position"))
        for key, value in state.items():
            setattr(made, key, value)
        made.number, made.hash, made.time = row.number, row.hash, row.time
        made.recounted = not made.allocator.from_bytes(row.memory)
        if made.recounted:
            made._count_anew(store)
        return made


def _existing(store: Store, id: str) -> Unit:
    unit = store.unit(id)
    if unit is None:
        raise LookupError(f"unit {id!r} is told of, but was never given an arm")
    return unit


def _told(units: list[Unit]) -> Iterator[tuple[int, Unit, list[float | None] | None]]:
    """What each event told of a unit, by the event's number; None where the unit was given up."""
    for unit in units:
        for number in {at for at in unit.told_at if at is not None and at != unit.lost_at}:
            told = zip(unit.outcome, unit.told_at, strict=True)
            yield number, unit, [value if at == number else None for value, at in told]
        if unit.lost_at is not None:
            found = zip(unit.outcome, unit.told_at, strict=True)
            late = [value if at == unit.lost_at else None for value, at in found]
            # What became known after the unit was given up is counted there, and the rest given up.
            if any(value is not None for value in late):
                yield unit.lost_at, unit, late
            yield unit.lost_at, unit, None
