"""The record of all trials in one database: requests in transactions, events appended, states kept beside them.

    with Ledger("trials.db") as ledger:
        ledger.create("knee", Settings.read(["placebo", "drug"], alpha=0.2))
        ledger.ask("knee", "patient 1")

Many requests can share one transaction, and so one wait for the disk: `writing` opens it, and nothing that was asked or
told in it may be acknowledged before it ends.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import sqlalchemy as sa

from safebandit.errors import ConflictError, NotFoundError, RecordError, suggest
from safebandit.outcomes import AnyRisk
from safebandit.record import desk
from safebandit.record.database import database_errors, events, open_engine, trials, units
from safebandit.record.events import Draft, Event, canonical, now, seal
from safebandit.record.settings import Settings, check_name, check_text
from safebandit.record.state import TrialState
from safebandit.record.units import Unit

# Trials whose state is kept in memory.
STATES_KEPT = 64
# Events that are read at once.
PAGE = 1000
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


class Ledger:
    """A database of trials. Every method is one transaction; `writing` puts several into one."""

    def __init__(self, database: str | Path, *, create: bool = True) -> None:
        self.engine = open_engine(database, create=create)
        self._states: OrderedDict[str, TrialState] = OrderedDict()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: Any, trace: TracebackType | None) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writing]:
        """One transaction: when it ends all is on disk, when it fails nothing is."""
        with self._lock:
            transaction: Writing | None = None
            try:
                with database_errors(), self.engine.begin() as connection:
                    transaction = Writing(connection, self._states)
                    yield transaction
                    transaction.flush()
            except BaseException:
                # States in memory may be ahead of the database, or behind a commit that was not heard of.
                if transaction is not None:
                    transaction.forget()
                raise
            while len(self._states) > STATES_KEPT:
                self._states.popitem(last=False)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for reading: one state of the database all through."""
        with database_errors(), self.engine.connect() as connection:
            level: dict[str, Any] = {"reading": True}
            if connection.dialect.name == "postgresql":
                level["isolation_level"] = "REPEATABLE READ"
            yield connection.execution_options(**level)

    def create(self, name: str, settings: Settings, *, actor: str | None = None) -> Receipt:
        """Begin a trial."""
        with self.writing() as transaction:
            return transaction.create(name, settings, actor=actor or local_actor())

    def ask(self, name: str, unit: str, *, actor: str | None = None) -> Allocation:
        """Give a unit its arm; the same one if it has one already."""
        with self.writing() as transaction:
            return transaction.ask(name, unit, actor=actor or local_actor())

    def tell(
        self, name: str, unit: str, *, reward: Any = None, risk: AnyRisk | None = None, actor: str | None = None
    ) -> Receipt:
        """Say what happened to a unit: reward and risk together, or each when it is known."""
        with self.writing() as transaction:
            return transaction.tell(name, unit, reward=reward, risk=risk, actor=actor or local_actor())

    def correct(
        self, name: str, unit: str, *, reason: str, reward: Any = None, risk: Any = None, actor: str | None = None
    ) -> Receipt:
        """Put another outcome in the place of one that was told."""
        with self.writing() as transaction:
            return transaction.correct(
                name, unit, reason=reason, reward=reward, risk=risk, actor=actor or local_actor()
            )  # fmt: skip

    def give_up(self, name: str, unit: str, *, reason: str, actor: str | None = None) -> Receipt:
        """No longer wait for a unit's outcome."""
        with self.writing() as transaction:
            return transaction.give_up(name, unit, reason=reason, actor=actor or local_actor())

    def amend(self, name: str, *, reason: str, actor: str | None = None, **changes: Any) -> Receipt:
        """Change alpha, policy, arms (`add`, `withdraw`) or pending_cap from now on."""
        with self.writing() as transaction:
            return transaction.amend(name, reason=reason, actor=actor or local_actor(), **changes)

    def set_status(self, name: str, change: str, *, reason: str, actor: str | None = None) -> Receipt:
        """`pause`, `resume` or `close` a trial."""
        with self.writing() as transaction:
            return transaction.set_status(name, change, reason=reason, actor=actor or local_actor())

    def names(self) -> list[str]:
        """Every trial, in order."""
        with self.reading() as connection:
            return list(connection.scalars(sa.select(trials.c.name).order_by(trials.c.name)))

    def state(self, name: str) -> TrialState:
        """A trial's state now, as a copy that nobody else changes."""
        with self.reading() as connection:
            return load_state(connection, name)

    def plays(self, name: str) -> dict[str, int]:
        """How many units each arm was given, withdrawn ones too."""
        counted = sa.select(units.c.arm, sa.func.count()).where(units.c.trial == name).group_by(units.c.arm)
        with self.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(counted)}

    def unit(self, name: str, id: str) -> Unit:
        """What is known of a unit."""
        with self.reading() as connection:
            trial_row(connection, name)
            unit = UnitsInDatabase(connection, name).get(id)
        if unit is None:
            raise NotFoundError(f'trial "{name}" has no unit {id!r}')
        return unit

    def event(self, name: str, number: int) -> Event:
        """One event of a trial's log."""
        found = self.events(name, after=number - 1, limit=1)
        if not found or found[0].number != number:
            raise NotFoundError(f'trial "{name}" has no event {number}')
        return found[0]

    def events(self, name: str, *, after: int = 0, limit: int | None = None, newest_first: bool = False) -> list[Event]:
        """A trial's log, from the event behind `after` on."""
        with self.reading() as connection:
            trial_row(connection, name)
            order = events.c.number.desc() if newest_first else events.c.number
            wanted = sa.select(events).where(events.c.trial == name, events.c.number > after)
            return [Event(*row) for row in connection.execute(wanted.order_by(order).limit(limit))]


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
            raise _no_trial(self._connection, name)
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


class UnitsInDatabase:
    """The units of one trial; what is put is seen at once and written when it is flushed."""

    def __init__(self, connection: sa.Connection, trial: str) -> None:
        self._connection = connection
        self._trial = trial
        self._changed: dict[str, Unit] = {}
        self._new: set[str] = set()
        self._found: dict[str, Unit] = {}

    def get(self, id: str) -> Unit | None:
        """The unit of this id."""
        if id not in self._found:
            row = self._connection.execute(_ONE_UNIT, {"of": self._trial, "unit": id}).one_or_none()
            if row is None:
                return None
            self._found[id] = _read_unit(row)
        return self._found[id]

    def put(self, unit: Unit) -> None:
        """Keep a unit."""
        if unit.id not in self._found:
            self._new.add(unit.id)
        self._found[unit.id] = self._changed[unit.id] = unit

    def all(self) -> Iterable[Unit]:
        """Every unit, in the order of their rounds."""
        self.flush()
        wanted = sa.select(units).where(units.c.trial == self._trial).order_by(units.c.round)
        return [_read_unit(row) for row in self._connection.execute(wanted)]

    def flush(self) -> None:
        """Write what has changed."""
        rows = {unit.id: self._row(unit) for unit in self._changed.values()}
        if self._new:
            self._connection.execute(units.insert(), [rows[unit] for unit in rows if unit in self._new])
        changed = [{"of": self._trial, "unit": unit, **row} for unit, row in rows.items() if unit not in self._new]
        if changed:
            self._connection.execute(_UPDATE_UNIT, changed)
        self._changed.clear()
        self._new.clear()

    def _row(self, unit: Unit) -> dict[str, Any]:
        return {
            "trial": self._trial,
            **{name: getattr(unit, name) for name in ("id", "arm", "round", "play", "asked_at", "lost_at", "pending")},
            "outcome": canonical(unit.outcome),
            "told_at": canonical(unit.told_at),
        }


_ONE_UNIT = sa.select(units).where(units.c.trial == sa.bindparam("of"), units.c.id == sa.bindparam("unit"))
_UPDATE_UNIT = (
    units.update()
    .where(units.c.trial == sa.bindparam("of"), units.c.id == sa.bindparam("unit"))
    .values({name: sa.bindparam(name) for name in ("outcome", "told_at", "lost_at", "pending")})
)
_UPDATE_TRIAL = (
    trials.update()
    .where(trials.c.name == sa.bindparam("trial"))
    .values({column.name: sa.bindparam(column.name) for column in trials.c if column.name != "name"})
)


def read_log(connection: sa.Connection, name: str) -> Iterator[Event]:
    """A trial's whole log, page by page: a long one need not fit in memory."""
    after = sa.select(events).where(events.c.trial == name, events.c.number > sa.bindparam("last"))
    wanted, last = after.order_by(events.c.number).limit(PAGE), 0
    while page := [Event(*row) for row in connection.execute(wanted, {"last": last})]:
        yield from page
        last = page[-1].number


def load_state(connection: sa.Connection, name: str) -> TrialState:
    """A trial's state as it is kept."""
    return TrialState.from_row(name, trial_row(connection, name), UnitsInDatabase(connection, name))


def _answer(content: Mapping[str, Any], number: int, *, new: bool) -> Allocation:
    return Allocation(content["unit"], content["arm"], content["why"], content["round"], number, new)


def _read_unit(row: Any) -> Unit:
    outcome, told_at = json.loads(row.outcome), json.loads(row.told_at)
    unit = Unit(row.id, row.arm, row.round, row.play, row.asked_at, outcome, told_at, row.lost_at)
    if (bool(row.pending), row.outcome, row.told_at) != (unit.pending, canonical(outcome), canonical(unit.told_at)):
        raise RecordError(f"unit {row.id!r} is not kept as it was written; verify the trial")
    return unit


def trial_row(connection: sa.Connection, name: str) -> Any:
    """A trial and its state, as they are kept."""
    row = connection.execute(sa.select(trials).where(trials.c.name == name)).one_or_none()
    if row is None:
        raise _no_trial(connection, name)
    return row


def _no_trial(connection: sa.Connection, name: str) -> NotFoundError:
    known = list(connection.scalars(sa.select(trials.c.name)))
    remedy = suggest(str(name), known) if known else "none was created yet"
    return NotFoundError(f'there is no trial "{str(name)[:80]}"; {remedy}')


def local_actor() -> str:
    """Who runs this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise RecordError("this process has no user name; say who acts with actor=") from None
