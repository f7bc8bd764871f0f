"""Requests that share one transaction: each is checked against the state, then written as an event."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.errors import ConflictError
from safebandit.trials.record import desk
from safebandit.trials.record.database import events, trials
from safebandit.trials.record.events import Draft, Event, now, seal
from safebandit.trials.record.kept import UnitsInDatabase, load_state, no_trial
from safebandit.trials.record.settings import Settings, check_name, check_text
from safebandit.trials.record.state import TrialState
from safebandit.trials.record.units import Unit

# Who acts where no person does.
SOFTWARE = "safebandit"


class Allocation(NamedTuple):
    """The answer to `ask`: the unit's arm, or None and why; `new` is False where it had been given before."""

    unit: str
    arm: str | None
    why: str
    round: int
    event: int
    new: bool

    @property
    def held(self) -> bool:
        """Whether no arm was given."""
        return self.arm is None


class Receipt(NamedTuple):
    """The answer to anything else that is written: the trial's last event, and whether this request added it."""

    event: int
    new: bool


class Writing:
    """The requests of one transaction. Each is checked before anything changes: one that is refused leaves no trace."""

    def __init__(self, connection: sa.Connection, states: OrderedDict[str, TrialState]) -> None:
        self._connection = connection
        self._states = states
        self._touched: dict[str, TrialState] = {}
        self._units: dict[str, UnitsInDatabase] = {}
        self._events: list[Event] = []

    def create(self, name: str, settings: Settings, *, actor: str) -> Receipt:
        """Begin a trial; the same again changes nothing, another one of this name is refused."""
        check_name(name)
        check_text("actor", actor)
        state = TrialState(name, settings)
        if name not in self._touched and self._put_down(state):
            return self._append(state, desk.create(settings), actor)
        there = self._state(name)
        if self._event(name, 1).content["settings"] == settings.to_dict():
            return Receipt(there.number, False)
        raise ConflictError(f'there is a trial "{name}" already, with other settings; give another name')

    def _put_down(self, state: TrialState) -> bool:
        """Insert a new trial at once, because units and events that follow refer to it; False if there is one."""
        try:
            with self._connection.begin_nested():
                self._connection.execute(trials.insert(), {"name": state.name, **state.to_row()})
        except sa.exc.IntegrityError:
            return False
        self._touched[state.name], self._units[state.name] = state, UnitsInDatabase(self._connection, state.name)
        return True

    def ask(self, name: str, unit: str, *, actor: str) -> Allocation:
        """Give a unit its arm; the same one if it has one already."""
        state = self._state(name)
        # Before anything is decided: a decision that is then refused would have moved the random numbers.
        check_text("a unit's id", unit)
        check_text("actor", actor)
        found = self._units[name].get(unit)
        if found is not None:
            return _answer(self._event(name, found.asked_at).content, found.asked_at, new=False)
        if state.held_at is not None and state.status == "open":
            # Nothing has happened since that could change it: asking again is no new evidence.
            held = self._event(name, state.held_at)
            return _answer(held.content, held.number, new=False)._replace(unit=unit)
        draft = desk.ask(state, unit)
        done = self._append(state, draft, actor)
        return _answer(draft.body, done.event, new=True)

    def tell(self, name: str, unit: str, *, reward: Any = None, risk: Any = None, actor: str) -> Receipt:
        """Say what happened to a unit."""
        state, found = self._of(name, unit)
        return self._append(state, desk.tell(state, unit, found, reward, risk), actor)

    def correct(
        self, name: str, unit: str, *, reason: str, reward: Any = None, risk: Any = None, actor: str
    ) -> Receipt:
        """Put another outcome in the place of one that was told."""
        state, found = self._of(name, unit)
        return self._append(state, desk.correct(state, unit, found, reward, risk, reason), actor)

    def give_up(self, name: str, unit: str, *, reason: str, actor: str) -> Receipt:
        """No longer wait for a unit's outcome."""
        state, found = self._of(name, unit)
        return self._append(state, desk.give_up(state, unit, found, reason), actor)

    def amend(self, name: str, *, reason: str, actor: str, **changes: Any) -> Receipt:
        """Change settings from now on."""
        state = self._state(name)
        return self._append(state, desk.amend(state, reason, changes), actor)

    def set_status(self, name: str, change: str, *, reason: str, actor: str) -> Receipt:
        """`pause`, `resume` or `close` a trial."""
        drafts: dict[str, Callable[[TrialState, str], Draft | None]]
        drafts = {"pause": desk.pause, "resume": desk.resume, "close": desk.close}
        state = self._state(name)
        return self._append(state, drafts[change](state, reason), actor)

    def flush(self) -> None:
        """Write all that was added, once."""
        for name in {event.trial for event in self._events}:
            self._connection.execute(_UPDATE_TRIAL, {"trial": name, **self._touched[name].to_row()})
        if self._events:
            self._connection.execute(events.insert(), [event._asdict() for event in self._events])
        for kept in self._units.values():
            kept.flush()
        self._states.update(self._touched)

    def forget(self) -> None:
        """Drop the states in memory that this transaction used."""
        for name in self._touched:
            self._states.pop(name, None)

    def _of(self, name: str, unit: str) -> tuple[TrialState, Unit | None]:
        state = self._state(name)
        return state, self._units[name].get(check_text("a unit's id", unit))

    def _state(self, name: str) -> TrialState:
        """The state, from memory if nobody else has written to the trial; the trial is locked until the end."""
        if name in self._touched:
            return self._touched[name]
        # FOR UPDATE locks the row on PostgreSQL; SQLite, which has no such words, is locked as a whole.
        columns = sa.select(trials.c.number, trials.c.hash).where(trials.c.name == name).with_for_update()
        row = self._connection.execute(columns).one_or_none()
        if row is None:
            raise no_trial(self._connection, name)
        kept = self._states.pop(name, None)
        store = UnitsInDatabase(self._connection, name)
        if kept is None or (kept.number, kept.hash) != (row.number, row.hash):
            kept = load_state(self._connection, name)
        self._touched[name], self._units[name] = kept, store
        if kept.recounted:
            self._append(kept, desk.recount(), SOFTWARE)
        return kept

    def _append(self, state: TrialState, draft: Draft | None, actor: str) -> Receipt:
        if draft is None:
            return Receipt(state.number, False)
        check_text("actor", actor)
        # A clock that was set back does not put an event before the one that it follows.
        time = max(now(), state.time)
        event = seal(state.name, state.number + 1, time, actor, draft.kind, draft.body, state.hash)
        # As `apply` does, without reading again what was written just now.
        state.do(event.number, draft.kind, draft.body, self._units[state.name])
        state.hash, state.time = event.hash, event.time
        self._events.append(event)
        return Receipt(event.number, True)

    def _event(self, name: str, number: int) -> Event:
        for event in reversed(self._events):
            if (event.trial, event.number) == (name, number):
                return event
        wanted = sa.select(events).where(events.c.trial == name, events.c.number == number)
        return Event(*self._connection.execute(wanted).one())


def _answer(content: Mapping[str, Any], number: int, *, new: bool) -> Allocation:
    return Allocation(content["unit"], content["arm"], content["why"], content["round"], number, new)


_UPDATE_TRIAL = (
    trials.update()
    .where(trials.c.name == sa.bindparam("trial"))
    .values({column.name: sa.bindparam(column.name) for column in trials.c if column.name != "name"})
)
