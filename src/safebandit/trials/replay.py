"""A trial done again from its log: every hash, whether each event was allowed, and every decision made again.

An event is gone over in one of three ways. `read` makes the request again that it was written for, and compares: a
decision letter by letter, and part by part where that fails. `take` does what it says, at its word, while another
process reads it (`record/two_parts`). `pass_over` looks at its hash alone, where a checkpoint stands for it.

It is long because logs of every released version must hold: version 0.1.0 did not say how many random numbers it took
(`certain`, `taken_up`), ids had no one spelling, other formulas may have decided (`formulas_in_force`), and some events
are written by the software because of the one before (`_due`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from safebandit.errors import ConflictError, SafebanditError
from safebandit.sources import formulas_hash
from safebandit.trials import drafts, version_0_1_0
from safebandit.trials.allocator import Position
from safebandit.trials.chances import ESTIMATED
from safebandit.trials.conduct_words import BARS
from safebandit.trials.contexts import Context
from safebandit.trials.differences import different_parts, other_formulas
from safebandit.trials.eligibility import Mask
from safebandit.trials.engine import SOFTWARE, find_unit
from safebandit.trials.events import (
    DECISIONS,
    NOTHING,
    Draft,
    Event,
    canonical,
    link_problem,
    stamp_problem,
)
from safebandit.trials.looks import consequences
from safebandit.trials.requests_again import draft_again
from safebandit.trials.settings import Settings
from safebandit.trials.state import TrialState
from safebandit.trials.store import MemoryStore
from safebandit.trials.texts import check_name, check_text, read_unit_id

# Where a decision that this version wrote says whose it is.
_UNIT = re.compile(r',"unit":("(?:[^"\\]|\\.)*"),"version":[0-9]+,"why":')
# Versions that took ids as they were typed.
_BEFORE_ONE_SPELLING = ("0.1.0", "0.2.0")
# Events that the software writes because of the one before, and what they say.
_FOLLOWS = {
    "dropped": "an arm is dropped",
    "stopped": "the trial stops",
    "selected": "another arm is selected",
    "paused": "a rule pauses the trial",
    "routed": "a rule routes all units to the control",
}
# Of these, the last of several in a row is counted.
_CHANGES = ("corrected", "voided")


class Verification(NamedTuple):
    """How many events were read, the hash of the last, and the first that fails with what is wrong (None: all hold).

    Of the `decisions`, all were made again but `unrepeated`: random ones that only version 0.1.0 can make again.
    `misdated` events have a time that the clock did not give; `after` is how many events came after the one whose hash
    was expected (None: none was).
    """

    trial: str
    events: int
    decisions: int
    unrepeated: int
    hash: str
    failed: int | None
    problem: str | None
    misdated: int = 0
    after: int | None = None

    @property
    def holds(self) -> bool:
        """Whether everything is as it was written."""
        return self.problem is None


class Difference(NamedTuple):
    """A decision that comes out otherwise when it is made again: its event, its unit, and both arms (None: held)."""

    event: int
    unit: str
    logged: str | None
    recomputed: str | None


class Replay:
    """A trial's log, read event by event.

    Without `decide`, decisions are not made again: that they were allowed is checked all the same. `expected` is the
    hash of some event, as it was noted elsewhere.
    """

    def __init__(self, name: str, *, decide: bool = True, expected: str | None = None) -> None:
        self.name = name
        self.state: TrialState | None = None
        self.store = MemoryStore()
        self.differences: list[Difference] = []
        self.formulas = {formulas_hash()}
        self.number, self.hash, self.decisions, self.unrepeated, self.misdated = 0, NOTHING, 0, 0, 0
        # Whether the random numbers are where the log leads to: not after a decision that was not made again; and where
        # the first decision after such a one took them up.
        self.certain = True
        self.taken_up: Position | None = None
        # Other formulas note in the log that they count anew, before they write anything else.
        self.formulas_in_force: str | None = None
        # What the software must have written next, because of the event that was read last.
        self._due: list[Draft] = []
        # Whether a version after 0.1.0 has decided.
        self.newer = False
        self._decide = decide
        self._expected = None if expected is None else expected.strip().lower()
        self._expected_at: int | None = None

    def read(self, event: Event) -> str | None:
        """Do what an event says; what is wrong with it, if anything."""
        problem = link_problem(event, trial=self.name, number=self.number + 1, previous=self.hash)
        if problem is not None:
            return f"event {self.number + 1} {problem}"
        try:
            check_text("actor", event.actor)
            repeated = self._repeated(event)
            content = event.content if repeated is None else repeated
            if self.state is None:
                problem = self._begin(event, content)
            elif repeated is None:
                problem = self._allowed(self.state, event, content)
            problem = problem or self._time_problem(event, content)
            if self.state is not None:
                self.state.apply(event, self.store, content)
                self._due = self._due[1:] or self._consequences(self.state, event.kind)
        except (
            SafebanditError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ) as mistake:
            return problem or f"event {event.number} cannot be replayed: {mistake}"
        self._note(event, content)
        return problem

    def take(self, event: Event) -> None:
        """Do what an event says, at its word: whether it is right is looked at elsewhere."""
        if self.state is None:
            problem = self.read(event)
            if problem is not None:
                raise ValueError(problem)
            return
        content = event.content
        if event.kind in DECISIONS:
            self._go_on_from(self.state, content)
        self.misdated += "clock" in content
        self.state.apply(event, self.store, content)
        self._note(event, content)

    def _note(self, event: Event, content: Mapping[str, Any]) -> None:
        """Count an event as read."""
        self.number, self.hash = event.number, event.hash
        if event.hash == self._expected:
            self._expected_at = event.number
        self.decisions += event.kind in DECISIONS
        if "formulas" in content:
            self.formulas.add(content["formulas"])
            self.formulas_in_force = content["formulas"]
        self.newer = self.newer or ("stream" in content and not version_0_1_0.decided(content))

    def pass_over(self, event: Event, number: int, previous: str) -> str | None:
        """What is wrong with the hash of an event that a checkpoint stands for, if anything: it should have this number
        and follow the one of the hash `previous`. What it says is not done again.
        """
        if event.hash == self._expected:
            self._expected_at = event.number
        return link_problem(event, trial=self.name, number=number, previous=previous)

    def verify(
        self, events: Iterable[Event], *, after: Callable[[int], None] | None = None, taken: int = 0
    ) -> Verification:  # fmt: skip
        """Read all events up to the first that fails; `after` is called after each. Of these, so many are `taken`."""
        for event, following in _with_following(events):
            read = self._summary()
            if self.state is not None:
                self.state.counts_later = following is not None and following.kind in _CHANGES
            if event.number <= taken:
                self.take(event)
                problem = None
            else:
                problem = self.read(event)
            if problem is not None:
                return read._replace(failed=event.number, problem=problem)
            if after is not None:
                after(event.number)
        read = self._summary()
        return read if self.missing is None else read._replace(failed=self.number, problem=self.missing)

    def end_problem(self, kept: Mapping[str, Any]) -> str | None:
        """What is wrong with a state that is kept beside the log that was read."""
        if self.state is None:
            return "the log is empty"
        if (kept["number"], kept["hash"]) != (self.number, self.hash):
            return f"the log ends with event {self.number}, but event {kept['number']} was written: the end is missing"
        if self._expected is not None and self._expected_at is None:
            return (
                f"no event has the hash {self._expected} that was expected: this is not the log that it was noted from"
            )
        if not self.certain:
            self.state.position = json.loads(kept["state"])["position"]
        mine = self.state.to_row()
        written = bytes(kept.get("memory", b""))[: len(formulas_hash())].decode("ascii", "replace")
        if written != formulas_hash() and written in self.formulas:
            # Counted by formulas that were in force before: it will be counted anew when it is next used.
            del mine["memory"]
        different = sorted(key for key in kept if key in mine and kept[key] != mine[key])
        if different:
            return f"the state kept beside the log ({', '.join(different)}) is not what the log gives"
        return None

    def _summary(self) -> Verification:
        read = Verification(
            self.name, self.number, self.decisions, self.unrepeated, self.hash, None, None, self.misdated
        )
        return read if self._expected_at is None else read._replace(after=self.number - self._expected_at)

    def _begin(self, event: Event, content: Mapping[str, Any]) -> str | None:
        if event.kind != "created":
            return f"event {event.number} should be the trial's creation, but is of kind {event.kind!r}"
        self.state = TrialState(check_name(event.trial), Settings.from_dict(content["settings"]).checked())
        drafts.check_beginning(self.state.settings)
        return self._draft_problem(drafts.create(self.state.settings), event, content)

    def _time_problem(self, event: Event, content: Mapping[str, Any]) -> str | None:
        problem = stamp_problem(event.time, content.get("clock"), after=self.state.time if self.state else "")
        self.misdated += "clock" in content
        return problem and f"event {event.number} {problem}"

    def _allowed(self, state: TrialState, event: Event, content: Mapping[str, Any]) -> str | None:
        """Whether the request that the event was written for gives this event again."""
        if self._due:
            return self._due_problem(self._due[0], event, content)
        if event.kind in DECISIONS:
            self._check_asking(state, content)
            if self._decide:
                return self._decision_problem(state, event, content)
            self._go_on_from(state, content)
            return None
        if event.kind in _FOLLOWS and "reason" not in content and self._takes_their_word:
            return None
        if event.kind == "recounted":
            return self._recount_problem(state, event, content)
        return self._draft_problem(draft_again(state, self.store, event.kind, content), event, content)

    def _repeated(self, event: Event) -> dict[str, Any] | None:
        """What a decision says that comes out letter by letter when it is made again: nothing of it need be read.

        None of any other event, or where something is otherwise: then the event is looked at part by part, from where
        the random numbers were. Which unit asked is only guessed: with another one the letters are others, too.
        """
        state, unit = self.state, _UNIT.search(event.body) if event.kind in DECISIONS else None
        usual = self._decide and self.certain and not self._due and self.formulas_in_force == formulas_hash()
        if unit is None or state is None or not usual or state.settings.context or state.settings.factors:
            return None
        before = state.allocator.position
        try:
            asked = json.loads(unit[1])
            self._check_new(state, asked, spelled=True)
            if state.stands_for(()) is None:
                drafts.check_id(state, asked)
                draft = drafts.ask(state, asked)
                if draft.kind == event.kind and canonical(draft.to_write, finite=True) == event.body:
                    return draft.body
        except (SafebanditError, ValueError):
            pass
        state.allocator.position = before
        return None

    def _draft_problem(self, draft: Draft | None, event: Event, content: Mapping[str, Any]) -> str | None:
        if draft is not None and not different_parts(draft, event, content):
            return None
        return f"event {event.number} is not what a trial writes: nothing that was asked for then gives it"

    @property
    def _takes_their_word(self) -> bool:
        """Whether rules are not measured again: as decisions are not, where other formulas made them."""
        return not self._decide and self.formulas_in_force != formulas_hash()

    def _consequences(self, state: TrialState, kind: str) -> list[Draft]:
        return [] if self._takes_their_word and kind != "approved" else consequences(state, kind)

    @property
    def missing(self) -> str | None:
        """What the log lacks at its end, if anything: the software writes it together with the last event."""
        return f"the log lacks its end: that {_follows(self._due[0])}" if self._due else None

    def _due_problem(self, due: Draft, event: Event, content: Mapping[str, Any]) -> str | None:
        """Whether the event is the one that the software had to write because of the one before."""
        if event.kind != due.kind:
            return f"event {event.number} is not the one that must follow: the trial writes that {_follows(due)}"
        different = different_parts(due, event, content)
        if not different:
            written = event.actor == SOFTWARE
            return None if written else f"event {event.number} is written by the software, not by {event.actor!r}"
        if "proposal" in due.body:
            return f"event {event.number} is not what was approved: {different} differ"
        problem = f"event {event.number} is not what the design's rules give when they are measured again: {different}"
        return f"{problem} differ{other_formulas(content)}"

    def _recount_problem(self, state: TrialState, event: Event, content: Mapping[str, Any]) -> str | None:
        if self.certain and content.get("stream", state.position) != state.position:
            return f"event {event.number} goes on at another place of the random stream than the log leads to"
        self.certain = self.certain or "stream" in content
        state.position = content.get("stream", state.position)
        return self._draft_problem(drafts.recount(state), event, content)

    def _check_asking(self, state: TrialState, content: Mapping[str, Any]) -> None:
        """Whether a decision was due, and the arm one that could be given."""
        self._check_new(state, content["unit"], spelled=content["software"] not in _BEFORE_ONE_SPELLING)
        told, eligible, stratum = self._told(state, content)
        stands_at = state.stands_for(told, eligible, stratum)
        if stands_at is not None:
            raise ConflictError(f"the trial gives no arm since event {stands_at}, and nothing has happened since")
        drafts.check_open(state)
        drafts.check_id(state, content["unit"])
        if self.newer and version_0_1_0.decided(content):
            raise ConflictError("version 0.1.0 decided after a newer version")
        due: dict[str, Any] = {"round": state.round, "decision": state.decisions + 1, "version": state.version}
        due |= {"policy": state.settings.policy, "formulas": self.formulas_in_force}
        for name, value in due.items():
            if content[name] != value:
                raise ConflictError(f"its {name} is {content[name]!r}, not {value!r}")
        arm, allocator = content["arm"], state.decider(stratum)
        with allocator.only(eligible):
            if arm is not None and not allocator.may_give(k := allocator.arms.index(arm)):
                raise ConflictError(f"{arm!r} could not be given: it {BARS[allocator.bars()[k]]}")

    def _told(self, state: TrialState, content: Mapping[str, Any]) -> tuple[Context, Mask, str]:
        """What a unit asked with: its context, the arms that it could be given, and its stratum; where these are not as
        a trial writes them, the decision made again differs.
        """
        settings, unit = state.settings, f"unit {content['unit']!r}"
        return (
            settings.read_context(unit, content.get("context")),
            settings.read_eligible(unit, content.get("eligible")),
            settings.read_stratum(unit, content.get("stratum")),
        )

    def _check_new(self, state: TrialState, unit: str, *, spelled: bool) -> None:
        """Whether a unit has an id that could be taken, and no arm; `spelled`: ids had one spelling already."""
        check_text("a unit's id", unit)
        if spelled and read_unit_id(unit) != unit:
            raise ConflictError(f"unit {unit!r} is not spelled as a trial spells it, {read_unit_id(unit)!r}")
        if (find_unit(state.aliases, self.store, unit) if spelled else self.store.unit(unit)) is not None:
            raise ConflictError(f"unit {unit!r} has an arm already")

    def _go_on_from(self, state: TrialState, content: Mapping[str, Any]) -> None:
        self.certain = False
        allocator = state.decider(self._told(state, content)[-1])
        allocator.position = version_0_1_0.stream_words(content) or allocator.position

    def _decision_problem(self, state: TrialState, event: Event, content: Mapping[str, Any]) -> str | None:
        older = version_0_1_0.decided(content)
        told = self._told(state, content)
        allocator = state.decider(told[-1])
        words = version_0_1_0.stream_words(content) or allocator.position
        if self.certain and not older and allocator.position != words:
            return f"event {event.number} was decided at another place of the random stream than the log leads to"
        allocator.position = words
        if not self.certain and self.taken_up is None:
            self.taken_up = words
        # The first version did not always note how chances were known: it drew.
        noted = content.get("propensities", ESTIMATED)
        draft = drafts.ask(state, content["unit"], *told, noted=noted)
        different = different_parts(draft, event, content)
        # How many random numbers version 0.1.0 took is not known.
        self.certain = not different and not older
        if older and (different or content["stream"] is None) and version_0_1_0.may_have_drawn(state, draft, content):
            self.unrepeated += 1
            return None
        if not different:
            return None
        self.differences.append(Difference(event.number, content["unit"], content["arm"], draft.body["arm"]))
        problem = f"event {event.number} is not what its decision gives when it is made again: {different} differ"
        return problem + other_formulas(content)


def _with_following(events: Iterable[Event]) -> Iterator[tuple[Event, Event | None]]:
    """Each event with the one after it."""
    before: Event | None = None
    for event in events:
        if before is not None:
            yield before, event
        before = event
    if before is not None:
        yield before, None


def _follows(due: Draft) -> str:
    return "what was approved is done" if "proposal" in due.body else _FOLLOWS[due.kind]
