"""The state of a trial: what its log, replayed event by event, gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from safebandit.names import normal
from safebandit.trials.allocator import Allocator
from safebandit.trials.events import NO_ARM, NOTHING, Event, canonical, kind_of
from safebandit.trials.recounting import HARM, in_order
from safebandit.trials.settings import Settings
from safebandit.trials.store import Store
from safebandit.trials.units import Unit

# Kept in the row of a trial only where there is something to keep.
_SELDOM = ("waits_at", "standing", "voided", "aliases", "cohort_from", "dropped", "stop", "proposals", "unsealed")
# Contexts for which it is remembered that no arm is given.
MOST_STANDING = 100
# Events about what needs a second person: they change nothing of what is known.
_OF_TWO = ("proposed", "approved", "declined", "withdrawn", "unsealed")
_ALWAYS = ("version", "status", "held_at", "units", "decisions", "waiting")


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
        # The event that gave no arm because none is permissible, or because all that are wait for outcomes; until
        # something happens that may change it: not a pause, nor asking again.
        self.held_at: int | None = None
        self.waits_at: int | None = None
        # Where a policy goes by the unit's context, the last such events for each context that asked.
        self.standing: dict[str, int] = {}
        # Those that were voided are no units; how many there were, by arm.
        self.units = 0
        self.voided: dict[str, int] = {}
        self.decisions = 0
        self.waiting = 0
        # Ids that were taken before ids had one spelling, by the spelling that they would have now.
        self.aliases: dict[str, str] = {}
        # The round in which the present cohort began, where units come in cohorts.
        self.cohort_from = 0
        # Arms that rules of the design dropped, with the events; and the event that stopped the trial, by which rule
        # and why, what is selected, and since which event that is.
        self.dropped: dict[str, int] = {}
        self.stop: dict[str, Any] | None = None
        # Proposals that wait for a second person, by the numbers of their events; and what was unsealed before the end.
        self.proposals: dict[str, dict[str, Any]] = {}
        self.unsealed: list[str] = []
        # Of the last event, if it is an approval: the proposal that is to be done now.
        self.granted: tuple[int, dict[str, Any]] | None = None
        # Of the last event: whether a look at the data became due by it, and whether the policy said that it is done.
        self.look_due = False
        self.done = False
        # Whether the memory that was kept had been written by other formulas: who writes next notes that in the log.
        self.recounted = False

    @property
    def round(self) -> int:
        """The round that the next unit given an arm will be, from 1. A unit that is voided keeps its round."""
        return self.units + sum(self.voided.values()) + 1

    @property
    def stands_at(self) -> int | None:
        """The event since which no arm is given, because none is permissible or because all wait for outcomes."""
        return self.held_at if self.waits_at is None else self.waits_at

    def stands_for(self, context: Sequence[float]) -> int | None:
        """The event since which a unit of this context is given no arm.

        What is decided for one context says nothing of another, where the policy goes by it: so a unit of another
        context is decided anew, and that is written. For the same context nothing has changed: to decide again would be
        another draw, and no new evidence. The last contexts are remembered, not all, so that a long hold does not make
        the state long.
        """
        return self.standing.get(_key(context)) if self.allocator.context_size else self.stands_at

    def apply(self, event: Event, store: Store, content: dict[str, Any] | None = None) -> None:
        """Do what the event says was done; the decision is not made again. `content` saves reading its body twice."""
        self.do(event.number, event.kind, event.content if content is None else content, store)
        self.hash, self.time = event.hash, event.time

    def do(self, number: int, kind: str, content: dict[str, Any], store: Store) -> None:
        """Do what event `number` of this kind says; a rehearsal has drafts that never become events of a log."""
        self.granted = None
        if kind not in ("paused", "resumed", "closed", "recounted", *_OF_TWO):
            self.held_at = self.waits_at = None
            if kind not in NO_ARM:
                self.standing = {}
        looks = self.allocator.looks
        self.done = bool(content.get("done"))
        match kind_of(kind, content):
            case "asked":
                self._give(number, content, store)
            case "held" | "waiting" as found:
                self.decisions += 1
                self.held_at, self.waits_at = (number, None) if found == "held" else (None, number)
                self._stand(number, content.get("context"))
            case "recounted":
                self._count_anew(store)
                self.recounted = False
                # Version 0.1.0 did not note it.
                self.allocator.position = tuple(content.get("stream", self.allocator.position))
            case "told" | "corrected" | "given up" | "voided":
                self._do_to_unit(number, kind, _existing(store, content["unit"]), content.get("outcome", []), store)
            case "created" | "amended":
                self.settings = Settings.from_dict(content["settings"])
                self.version += 1
                self._count_anew(store)
            case "paused" | "resumed" | "closed":
                self.status = {"resumed": "open"}.get(kind, kind)
            case other:
                self._follow(number, other, content)
        # What was counted anew may be other than what was looked at.
        looks = 0 if kind in ("corrected", "voided", "amended") else looks
        self.look_due = self.allocator.looks > looks
        self.number = number

    def _follow(self, number: int, kind: str, content: dict[str, Any]) -> None:
        """Do what two people want, or what the software wrote because of the event before."""
        if kind in _OF_TWO:
            self._settle(number, kind, content)
        elif kind in ("dropped", "stopped", "selected"):
            self._end(number, kind, content)
        else:
            raise ValueError(f'an event of the unknown kind "{kind}"')

    def _settle(self, number: int, kind: str, content: dict[str, Any]) -> None:
        """Do what an event says of a proposal."""
        if kind == "proposed":
            self.proposals[str(number)] = {name: content[name] for name in ("request", "gives", "person", "expires")}
        elif kind == "unsealed":
            self.unsealed = [*self.unsealed, content["what"]]
        else:
            settled = self.proposals.pop(str(content["proposal"]))
            self.granted = (content["proposal"], settled) if kind == "approved" else None

    def _end(self, number: int, kind: str, content: dict[str, Any]) -> None:
        """Do what the software wrote because of the event before."""
        if kind == "dropped":
            self.dropped[content["arm"]] = number
            self.allocator.drop(self.allocator.arms.index(content["arm"]))
        elif kind == "stopped":
            self.status = "stopped"
            self.stop = {name: content[name] for name in ("rule", "why", "selected", "why_selected")}
            self.stop |= {"event": number, "selected_at": number}
        elif self.stop is not None:
            self.stop |= {"selected": content["after"], "why_selected": content["why_selected"], "selected_at": number}

    def _do_to_unit(
        self, number: int, kind: str, unit: Unit, outcome: list[float | None], store: Store
    ) -> None:  # fmt: skip
        match kind:
            case "told":
                self._tell(number, unit, outcome, store)
            case "corrected":
                self._correct(unit, outcome, store)
            case "given up":
                self._give_up(number, unit, store)
            case "voided":
                self._void(number, unit, store)

    def _stand(self, number: int, context: Mapping[str, float] | None) -> None:
        if context is not None and self.allocator.context_size:
            self.standing[_key(self.settings.read_context("a unit", context))] = number
            if len(self.standing) > MOST_STANDING:
                del self.standing[min(self.standing, key=lambda key: self.standing[key])]

    def _give(self, number: int, content: dict[str, Any], store: Store) -> None:
        self.decisions += 1
        self.units += 1
        self.waiting += 1
        unit, arm = content["unit"], content["arm"]
        # No two units share a play: the bits of their outcomes' Bernoulli reduction would be the same.
        play = self.allocator.give(self.allocator.arms.index(arm), content["round"]) + self.voided.get(arm, 0)
        if self.allocator.conduct.cohort > 1:
            self.cohort_from = self.allocator.course["cohort_from"]
        width = 1 + len(self.settings.risks)
        told_at = [None if self.settings.rewarded else number, *[None] * (width - 1)]
        context = self.settings.read_context(f"unit {unit!r}", content.get("context"))
        store.put(
            Unit(unit, arm, content["round"], play, number, [None] * width, told_at, context=list(context))
        )  # fmt: skip
        if normal(unit) != unit:
            self.aliases.setdefault(normal(unit), unit)

    def _tell(self, number: int, unit: Unit, outcome: list[float | None], store: Store) -> None:
        self._learn(unit, outcome)
        for j, value in enumerate(outcome):
            if value is not None:
                unit.outcome[j], unit.told_at[j] = value, number
        self.waiting -= not unit.pending
        store.put(unit)

    def _give_up(self, number: int, unit: Unit, store: Store) -> None:
        """Stop waiting for what is not known; a missing risk is counted as harm, unless the trial says otherwise."""
        self.waiting -= 1
        counts = HARM if self.settings.lost == "harm" else None
        self._learn(unit, [None, *(counts if risk is None else None for risk in unit.outcome[1:])], lost=True)
        unit.lost_at = number
        store.put(unit)

    def _void(self, number: int, unit: Unit, store: Store) -> None:
        """Count a unit as nothing; random numbers and rounds stay where they are."""
        self.waiting -= unit.pending
        unit.voided_at = number
        store.put(unit)
        self.units -= 1
        self.voided[unit.arm] = self.voided.get(unit.arm, 0) + 1
        self._count_anew(store)

    def _correct(self, unit: Unit, outcome: list[float | None], store: Store) -> None:
        for j, value in enumerate(outcome):
            if value is not None:
                # In the place of what it corrects, as if it had been told so at first.
                unit.outcome[j], unit.told_at[j] = value, unit.told_at[j] or unit.lost_at
        store.put(unit)
        self._count_anew(store)

    def _learn(self, unit: Unit, news: list[float | None], *, lost: bool = False) -> None:
        """Count what is new of a unit; of an arm that was withdrawn nothing is counted until it is added again."""
        if unit.arm in self.allocator.arms:
            k = self.allocator.arms.index(unit.arm)
            context = self.settings.scaled(unit.context)
            self.allocator.learn(
                k, unit.play, unit.round, tuple(unit.outcome), tuple(news), lost=lost, context=context
            )  # fmt: skip

    def count(self, store: Store) -> None:
        """Count all outcomes that a store has, by the settings in force now."""
        self._count_anew(store)

    def _count_anew(self, store: Store) -> None:
        """Count all outcomes in the order in which they were told, by the settings in force now."""
        position = self.allocator.position
        self.allocator = self.settings.allocator()
        self.allocator.position = position
        self._drop_again()
        self.allocator.count(
            *in_order(
                store.table(), self.allocator.arms, lost_is_harm=self.settings.lost == "harm",
                cohort_from=self.cohort_from, declared=self.settings.context,
            )
        )  # fmt: skip

    @property
    def dropped_arms(self) -> list[str]:
        """The arms that rules have dropped, in the order of the events."""
        return sorted(self.dropped, key=lambda arm: self.dropped[arm])

    def _drop_again(self) -> None:
        for arm in self.dropped:
            self.allocator.drop(self.allocator.arms.index(arm))

    def to_row(self) -> dict[str, Any]:
        """As it is kept beside the log."""
        seldom = {name: getattr(self, name) for name in _SELDOM if getattr(self, name)}
        state = {**{name: getattr(self, name) for name in _ALWAYS}, **seldom, "settings": self.settings.to_dict()}
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
        if state.keys() - _SELDOM != set(_ALWAYS):
            # Of a name with a damaged letter nothing would be known: a unit might be given another arm.
            raise ValueError(f"it has {', '.join(sorted(state))}")
        for key, value in state.items():
            setattr(made, key, value)
        made.number, made.hash, made.time = row.number, row.hash, row.time
        made.recounted = not made.allocator.from_bytes(row.memory)
        made._drop_again()
        if made.recounted:
            made._count_anew(store)
        return made


def _key(context: Sequence[float]) -> str:
    return canonical(list(context))


def _existing(store: Store, id: str) -> Unit:
    unit = store.unit(id)
    if unit is None:
        raise LookupError(f"unit {id!r} is told of, but was never given an arm")
    return unit
