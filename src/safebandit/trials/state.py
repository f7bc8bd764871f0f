"""The state of a trial: what its log, replayed event by event, gives."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from safebandit.names import normal
from safebandit.trials.allocator import Allocator
from safebandit.trials.deciders import Deciders
from safebandit.trials.eligibility import Mask
from safebandit.trials.events import NO_ARM, NOTHING, Event, canonical, kind_of
from safebandit.trials.holds import Holds
from safebandit.trials.recounting import HARM
from safebandit.trials.settings import Settings
from safebandit.trials.store import Store
from safebandit.trials.units import Unit

# Kept in the row of a trial only where there is something to keep; `Holds` has fields of its own.
_SELDOM = (
    "voided", "aliases", "cohort_from", "dropped", "stop", "routed", "paused_by", "asked_in", "rounds", "cohorts",
    "masked", "proposals", "unsealed",
)  # fmt: skip
_ALWAYS = ("version", "status", "units", "decisions", "waiting")
# Events about what needs a second person: they change nothing of what is known.
_OF_TWO = ("proposed", "approved", "declined", "withdrawn", "unsealed")
# Events after which a unit that was given no arm is given none again.
_HOLDS_STAND = frozenset(("paused", "resumed", "closed", "recounted", *_OF_TWO))


class TrialState:
    """Settings in force, status, counts and the arms' memory after the event `number`."""

    def __init__(self, name: str, settings: Settings, deciders: Deciders | None = None) -> None:
        self.name = name
        self.settings = settings
        self.deciders = Deciders(settings) if deciders is None else deciders
        self.version = 0
        self.status = "open"
        self.number = 0
        self.hash = NOTHING
        self.time = ""
        self.holds = Holds()
        # Those that were voided are no units; how many there were, by arm.
        self.units = 0
        self.voided: dict[str, int] = {}
        self.decisions = 0
        self.waiting = 0
        # Units that were given an arm while only some were eligible for them.
        self.masked = 0
        # Ids that were taken before ids had one spelling, by the spelling that they would have now.
        self.aliases: dict[str, str] = {}
        # The round in which the present cohort began, where units come in cohorts.
        self.cohort_from = 0
        # Arms that rules of the design dropped, with the events; and the event that stopped the trial, by which rule
        # and why, what is selected, and since which event that is.
        self.dropped: dict[str, int] = {}
        self.stop: dict[str, Any] | None = None
        # Where every unit is given the control, since which event, and by which rule and why, if it was not a person;
        # and the same of a pause that a rule made.
        self.routed: dict[str, Any] | None = None
        self.paused_by: dict[str, Any] | None = None
        # Where there are strata: how many decisions were made in each, how many of its units were given an arm, and the
        # rounds in which present cohorts began.
        self.asked_in: dict[str, int] = {}
        self.rounds: dict[str, int] = {}
        self.cohorts: dict[str, int] = {}
        # Proposals that wait for a second person, by the numbers of their events; and what was unsealed before the end.
        self.proposals: dict[str, dict[str, Any]] = {}
        self.unsealed: list[str] = []
        # Of the last event, if it is an approval: the proposal that is to be done now.
        self.granted: tuple[int, dict[str, Any]] | None = None
        # Of the last event: whether a look at the data became due by it, and whether the policy said that it is done.
        self.look_due = False
        self.done = False
        # Whether corrections and voids that follow each other are counted at the last of them, and whether some wait.
        self.counts_later = False
        self._uncounted = False
        # Whether the memory that was kept had been written by other formulas: who writes next notes that in the log.
        self.recounted = False

    @property
    def round(self) -> int:
        """The round that the next unit given an arm will be, from 1. A unit that is voided keeps its round."""
        return self.units + sum(self.voided.values()) + 1

    @property
    def allocator(self) -> Allocator:
        """What is known of all units; without strata, who decides."""
        return self.deciders.all_units

    def decider(self, stratum: str = "") -> Allocator:
        """Who decides for a unit of this stratum."""
        return self.deciders.of(stratum)

    def clock(self, stratum: str = "") -> int:
        """The round of the next unit of this stratum, by the stratum's own count, from 1."""
        return self.rounds.get(stratum, 0) + 1 if stratum else self.round

    def stands_for(self, context: Sequence[float], eligible: Mask = None, stratum: str = "") -> int | None:
        """The event since which a unit of this context and stratum that may be given the `eligible` arms gets none."""
        return self.holds.at_for(context if self.allocator.context_size else (), eligible, stratum)

    def apply(self, event: Event, store: Store, content: dict[str, Any] | None = None) -> None:
        """Do what the event says was done; the decision is not made again. `content` saves reading its body twice."""
        self.do(event.number, event.kind, event.content if content is None else content, store)
        self.hash, self.time = event.hash, event.time

    def do(self, number: int, kind: str, content: dict[str, Any], store: Store) -> None:
        """Do what event `number` of this kind says; a rehearsal has drafts that never become events of a log."""
        self.granted = None
        if kind not in _HOLDS_STAND:
            self._end_holds(kind, content)
        looks = self.allocator.looks
        self.done = bool(content.get("done"))
        match kind_of(kind, content):
            case "asked":
                self._give(number, content, store)
            case "held" | "waiting" as found:
                self._hold(number, found, content)
            case "recounted":
                self.count(store)
                self.recounted = False
                # Version 0.1.0 did not note it.
                self.position = content.get("stream", self.position)
            case "told" | "corrected" | "given up" | "voided":
                self._do_to_unit(number, kind, _existing(store, content["unit"]), content.get("outcome", []), store)
            case "created" | "amended":
                self.settings = Settings.from_dict(content["settings"])
                self.version += 1
                self.count(store)
            case "paused" | "resumed" | "closed":
                self.status = {"resumed": "open"}.get(kind, kind)
                self.paused_by = _by_rule(number, content) if "rule" in content else None
            case "routed" | "unrouted":
                self.routed = _by_rule(number, content) if kind == "routed" else None
                self._mark_again()
            case other:
                self._follow(number, other, content)
        # What was counted anew may be other than what was looked at.
        looks = 0 if kind in ("corrected", "voided", "amended") else looks
        self.look_due = self.allocator.looks > looks
        self.number = number

    def _end_holds(self, kind: str, content: Mapping[str, Any]) -> None:
        """Where something happens that may change it, a unit may be given an arm again."""
        if kind not in NO_ARM or not _is_for_some(content):
            self.holds.end()
        if kind not in NO_ARM and self.holds.standing:
            # A unit that is given an arm changes nothing in other strata.
            self.holds.end_for_some(self._stratum(content) if kind == "asked" else "")

    def _hold(self, number: int, kind: str, content: Mapping[str, Any]) -> None:
        stratum = self._count_decision(content)
        if not _is_for_some(content):
            self.holds.note(number, waits=kind == "waiting")
        context, eligible = content.get("context"), content.get("eligible")
        by_context = context is not None and self.allocator.context_size > 0
        known = self.settings.read_context("a unit", context) if by_context else ()
        self.holds.note_for(number, known, None if eligible is None else tuple(eligible), stratum)

    def _count_decision(self, content: Mapping[str, Any]) -> str:
        """Count a decision; the stratum that it was made in."""
        self.decisions += 1
        stratum = self._stratum(content)
        if stratum:
            self.asked_in[stratum] = self.asked_in.get(stratum, 0) + 1
        return stratum

    def _stratum(self, content: Mapping[str, Any]) -> str:
        return self.settings.read_stratum("a unit", content.get("stratum"))

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
            self._mark_again()
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

    def _give(self, number: int, content: dict[str, Any], store: Store) -> None:
        stratum = self._count_decision(content)
        self.units += 1
        self.waiting += 1
        self.masked += "eligible" in content
        unit, arm = content["unit"], content["arm"]
        if stratum:
            self._give_in(stratum, arm, content["round"])
        # No two units share a play: the bits of their outcomes' Bernoulli reduction would be the same.
        play = self.allocator.give(self.allocator.arms.index(arm), content["round"]) + self.voided.get(arm, 0)
        if self.allocator.conduct.cohort > 1:
            self.cohort_from = self.allocator.course["cohort_from"]
        width = 1 + len(self.settings.risks)
        told_at = [None if self.settings.rewarded else number, *[None] * (width - 1)]
        context = self.settings.read_context(f"unit {unit!r}", content.get("context"))
        store.put(
            Unit(
                unit, arm, content["round"], play, number, [None] * width, told_at, context=list(context),
                stratum=stratum,
            )
        )  # fmt: skip
        if normal(unit) != unit:
            self.aliases.setdefault(normal(unit), unit)

    def _give_in(self, stratum: str, arm: str, round: int) -> None:
        """Count a unit of a stratum, which has rounds of its own: a unit that is voided keeps its round."""
        decider = self.decider(stratum)
        decider.give(decider.arms.index(arm), round)
        self.rounds[stratum] = self.rounds.get(stratum, 0) + 1
        if decider.conduct.cohort > 1:
            self.cohorts[stratum] = decider.course["cohort_from"]

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
        self._count_changed(store)

    def _correct(self, unit: Unit, outcome: list[float | None], store: Store) -> None:
        for j, value in enumerate(outcome):
            if value is not None:
                # In the place of what it corrects, as if it had been told so at first.
                unit.outcome[j], unit.told_at[j] = value, unit.told_at[j] or unit.lost_at
        store.put(unit)
        self._count_changed(store)

    def _learn(self, unit: Unit, news: list[float | None], *, lost: bool = False) -> None:
        """Count what is new of a unit; of an arm that was withdrawn nothing is counted until it is added again."""
        arms = self.allocator.arms
        if unit.arm in arms:
            k, context = arms.index(unit.arm), self.settings.scaled(unit.context)
            for counted in self.deciders.counting(unit.stratum):
                counted.learn(k, unit.play, unit.round, tuple(unit.outcome), tuple(news), lost=lost, context=context)

    @property
    def position(self) -> Any:
        """Where the random numbers are, as JSON has it; with strata, those of each in which a unit asked."""
        return self.deciders.position(self.asked_in)

    @position.setter
    def position(self, words: Any) -> None:
        self.deciders.go_to(words, self.asked_in)

    @contextlib.contextmanager
    def counting_once(self, store: Store) -> Iterator[None]:
        """Meanwhile there are only corrections and voids, which are counted once, at the end."""
        self.counts_later = True
        try:
            yield
        finally:
            self.counts_later = False
            if self._uncounted:
                self._count_changed(store)

    def _count_changed(self, store: Store) -> None:
        """Count anew what was told before and is another now, or leave that to the next of its kind: nothing in between
        reads the counts but the rules of a design, and what counting gives depends on the units alone.
        """
        self._uncounted = self.counts_later and self.settings.design is None
        if not self._uncounted:
            self.count(store)

    def count(self, store: Store) -> None:
        """Count all outcomes in the order in which they were told, by the settings in force now."""
        position = self.position
        self.deciders = Deciders(self.settings)
        self.position = position
        self._mark_again()
        self.deciders.count(store.table(), self.cohort_from, self.cohorts)

    @property
    def dropped_arms(self) -> list[str]:
        """The arms that rules have dropped, in the order of the events."""
        return sorted(self.dropped, key=lambda arm: self.dropped[arm])

    def _mark_again(self) -> None:
        self.deciders.mark(routed=self.routed is not None, dropped=self.dropped)

    def to_row(self) -> dict[str, Any]:
        """As it is kept beside the log."""
        state = {name: getattr(self, name) for name in _ALWAYS}
        state |= {name: getattr(self, name) for name in _SELDOM if getattr(self, name)}
        state |= {**self.holds.to_row(), "settings": self.settings.to_dict(), "position": self.position}
        return {
            "number": self.number,
            "hash": self.hash,
            "time": self.time,
            "status": self.status,
            "state": canonical(state),
            "memory": self.deciders.to_bytes(self.asked_in),
        }

    @classmethod
    def from_row(cls, name: str, row: Any, store: Store, known: TrialState | None = None) -> TrialState:
        """As `to_row` wrote it; where the formulas are others now, outcomes are counted anew.

        Who has `known` the trial before, and needs it no more, need not make its arms anew, where they are the same.
        """
        state = json.loads(row.state)
        settings, position = state.pop("settings"), state.pop("position")
        if known is not None and settings == known.settings.to_dict() and state.get("dropped", {}) == known.dropped:
            made = cls(name, known.settings, known.deciders)
        else:
            made = cls(name, Settings.from_dict(settings))
        made.holds = Holds.of_row(state)
        own = {name: value for name, value in state.items() if name not in made.holds.to_row()}
        if own.keys() - set(_SELDOM) != set(_ALWAYS):
            # Of a name with a damaged letter nothing would be known: a unit might be given another arm.
            raise ValueError(f"it has {', '.join(sorted(state))}")
        for key, value in own.items():
            setattr(made, key, value)
        made.number, made.hash, made.time = row.number, row.hash, row.time
        made.position = position
        made.recounted = not made.deciders.from_bytes(bytes(row.memory), made.asked_in)
        made._mark_again()
        if made.recounted:
            made.count(store)
        return made


def _is_for_some(content: Mapping[str, Any]) -> bool:
    """Whether a decision is for some arms, or of one stratum: no arm then says nothing of the trial as a whole."""
    return "eligible" in content or "stratum" in content


def _by_rule(number: int, content: Mapping[str, Any]) -> dict[str, Any]:
    """The event since which something is so, and by which rule and why; or the reason that a person gave."""
    return {"event": number, "rule": content.get("rule"), "why": content.get("why", content.get("reason"))}


def _existing(store: Store, id: str) -> Unit:
    unit = store.unit(id)
    if unit is None:
        raise LookupError(f"unit {id!r} is told of, but was never given an arm")
    return unit
