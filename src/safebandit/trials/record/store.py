"""A trial in the tables: the store of a transaction, and its state and its log as they are read."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from safebandit.errors import ConflictError, DamagedError, NotFoundError, RecordError, SafebanditError, suggest
from safebandit.trials.events import NOTHING, Event, canonical
from safebandit.trials.record import rows
from safebandit.trials.record.database import events, trials, units
from safebandit.trials.state import TrialState
from safebandit.trials.texts import project_of
from safebandit.trials.units import Unit, UnitTable, unit_table, with_units


class DatabaseStore:
    """The units and the log of one trial; what is put or appended is seen at once, and written when it is flushed."""

    def __init__(self, connection: sa.Connection, trial: str, ahead: Ahead | None = None) -> None:
        self.ahead = ahead
        self._connection = connection
        self._trial = trial
        self._changed: dict[str, Unit] = {}
        self._new: set[str] = set()
        self._found: dict[str, Unit] = {}
        # Ids that neither the units nor the log have: the trial is locked, so nobody else adds them.
        self._absent: set[str] = set()
        self.appended: list[Event] = []

    def unit(self, id: str) -> Unit | None:
        """The unit of this id, if it was given an arm."""
        if id in self._absent:
            return None
        if id not in self._found:
            row = self._connection.execute(_ONE_UNIT, {"of": self._trial, "unit": id}).one_or_none()
            if row is None:
                self._check_new(id)
                self._absent.add(id)
                return None
            found = _read_unit(row)
            if found.id != id:
                raise DamagedError(f"unit {id!r} is kept under another id; verify the trial")
            self._found[id] = found
        return self._found[id]

    def _check_new(self, id: str) -> None:
        """Ask the log, too, before a unit counts as new: one damaged index must not give it another arm."""
        if id in rows.find(self._connection, self._trial, [id]).asked:
            raise DamagedError(f"unit {id!r} was given an arm, says the log, but is not found; verify the trial")

    def expect(self, ids: Iterable[str]) -> None:
        """Read these units at once, for requests that follow; what is wrong with one is said when it is asked for."""
        wanted = list(dict.fromkeys(unit for unit in ids if unit not in self._found))
        self.know(wanted, rows.find(self._connection, self._trial, wanted))

    def know(self, ids: Iterable[str], found: rows.Found) -> None:
        """Keep what the database has of these ids; those that neither the units nor the log have are of nobody yet."""
        for row in found.units:
            with contextlib.suppress(DamagedError):
                self._found[row.id] = _read_unit(row)
        there = {row.id for row in found.units} | found.asked
        self._absent.update(unit for unit in ids if unit not in there)

    def put(self, unit: Unit) -> None:
        """Keep a new unit, or what has changed of it."""
        if unit.id not in self._found:
            self._new.add(unit.id)
            self._absent.discard(unit.id)
        self._found[unit.id] = self._changed[unit.id] = unit

    def units(self) -> Iterable[Unit]:
        """Every unit that is written, in the order of their rounds."""
        wanted = sa.select(units).where(units.c.trial == self._trial).order_by(units.c.round)
        return [_read_unit(row) for row in self._connection.execute(wanted)]

    def other_than(self, known: Mapping[str, Unit]) -> str | None:
        """A unit that is kept otherwise than it is known, or is not kept, or not known; None if there is none."""
        left = dict(known)
        for page in rows.read_units(self._connection, self._trial):
            for row in page:
                unit = left.pop(row.id, None)
                # What would be written of it is compared first: reading what was written takes longer.
                if unit is None or (rows.as_row(self._trial, unit) != tuple(row) and _read_unit(row) != unit):
                    return str(row.id)
        return next(iter(left), None)

    def table(self) -> UnitTable:
        """Every unit, to be counted anew; of those that were read ahead, what has changed since is read again."""
        ahead = self.ahead or read_ahead(self._connection, self._trial)
        written = _events_after(self._connection, self._trial, ahead.number)
        return with_units(ahead.table, ahead.rows, self._touched((*written, *self.appended)))

    def brought_forward(self, ahead: Ahead, number: int) -> Ahead | None:
        """Units that were read before, as they are after the event `number`; None where the log went another way, or
        so far that to read them all again is as quick.
        """
        if not 0 <= number - ahead.number <= _FAR:
            return None
        found = _events_after(self._connection, self._trial, ahead.number - 1)
        if not found or (found[0].number, found[0].hash) != (ahead.number, ahead.hash):
            return None
        written = found[1:]
        changed = self._touched(written)
        places = dict(ahead.rows)
        for unit in changed:
            places.setdefault(unit.id, len(places))
        return Ahead(
            number, written[-1].hash if written else ahead.hash, places, with_units(ahead.table, ahead.rows, changed)
        )

    def _touched(self, log: Iterable[Event]) -> list[Unit]:
        """The units that these events are about, and those that were changed here, as they are now."""
        contents = [event.content for event in log]
        touched = {str(content["unit"]) for content in contents if "unit" in content} | self._changed.keys()
        self.expect(sorted(touched))
        return [unit for unit in map(self.unit, sorted(touched)) if unit is not None]

    def event(self, number: int) -> Event:
        """The event of this number."""
        if self.appended and number >= self.appended[0].number:
            return self.appended[number - self.appended[0].number]
        wanted = sa.select(events).where(events.c.trial == self._trial, events.c.number == number)
        return read_event(self._connection.execute(wanted).one())

    def append(self, event: Event) -> None:
        """Keep the event that follows the last one."""
        self.appended.append(event)

    def written(self, state: dict[str, Any]) -> rows.Written:
        """All that is to be written, with the trial's state as it is kept."""
        new, changed = (
            [unit for unit in self._changed.values() if (unit.id in self._new) == is_new] for is_new in (True, False)
        )
        return rows.Written(state, self.appended, new, changed)


_ONE_UNIT = sa.select(units).where(units.c.trial == sa.bindparam("of"), units.c.id == sa.bindparam("unit"))


class Ahead(NamedTuple):
    """The units of a trial as they were after the event `number`, and the row of each.

    Counting anew takes a moment in a long trial, nearly all of it to read the units. They are read before the
    transaction that others wait for, and what was written meanwhile is read in it.
    """

    number: int
    hash: str
    rows: dict[str, int]
    table: UnitTable


# From so many events on, units are read again as a whole.
_FAR = 5000


def _events_after(connection: sa.Connection, name: str, number: int) -> list[Event]:
    later = sa.select(events).where(events.c.trial == name, events.c.number > number).order_by(events.c.number)
    return [Event(*row) for row in connection.execute(later)]


def read_ahead(connection: sa.Connection, name: str, known: Ahead | None = None) -> Ahead:
    """All units, column by column, for there may be many; or those that are `known` from before, and what has changed
    of them since.
    """
    row = connection.execute(sa.select(trials.c.number, trials.c.hash).where(trials.c.name == name)).one_or_none()
    number, last = (0, NOTHING) if row is None else row
    forward = None if known is None else DatabaseStore(connection, name).brought_forward(known, number)
    if forward is not None:
        return forward
    wanted = sa.select(*(units.c[column] for column in _COLUMNS)).where(units.c.trial == name)
    columns: dict[str, list[Any]] = {column: [] for column in _COLUMNS}
    try:
        # Page by page: other threads do not wait long for one of them.
        for page in connection.execute(wanted).partitions(rows.PAGE):
            for column, read in zip(_COLUMNS, zip(*page, strict=True), strict=True):
                # As one text: many times faster than each by itself.
                texts = ("[]" if text is None else text for text in read) if column in _LISTS else ()
                columns[column] += json.loads(f"[{','.join(texts)}]") if column in _LISTS else read
        ids = columns.pop("id")
        return Ahead(number, last, {unit: row for row, unit in enumerate(ids)}, unit_table(*columns.values()))
    except (TypeError, ValueError):
        raise DamagedError(f'units of "{name}" are not kept as they were written; verify the trial') from None


_COLUMNS = ("id", "arm", "play", "round", "outcome", "told_at", "lost_at", "voided_at", "context", "stratum")
_LISTS = ("outcome", "told_at", "context")


def read_log(connection: sa.Connection, name: str, *, kinds: Sequence[str] = ()) -> Iterator[Event]:
    """A trial's whole log, or the events of some kinds, page by page: a long one need not fit in memory."""
    after = sa.select(events).where(events.c.trial == name, events.c.number > sa.bindparam("last"))
    after = after.where(events.c.kind.in_(kinds)) if kinds else after
    wanted, last = after.order_by(events.c.number).limit(rows.PAGE), 0
    while page := [Event(*row) for row in connection.execute(wanted, {"last": last})]:
        yield from page
        last = page[-1].number


def load_state(connection: sa.Connection, name: str) -> TrialState:
    """A trial's state as it is kept."""
    return state_of(connection, name, trial_row(connection, name))


def state_of(connection: sa.Connection, name: str, row: Any, known: TrialState | None = None) -> TrialState:
    """The state that a trial's row has; one that was `known` before is then no longer to be used."""
    with as_written(f'the state of trial "{name}"'):
        return TrialState.from_row(name, row, DatabaseStore(connection, name), known)


@contextlib.contextmanager
def as_written(what: str) -> Iterator[None]:
    """Read what nobody but this software writes: where that cannot be done, it is damaged."""
    try:
        yield
    except (RecordError, ConflictError):
        raise
    except (SafebanditError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as problem:
        raise DamagedError(f"{what} cannot be read: {problem}; verify the trial") from problem


def read_event(row: Any) -> Event:
    """An event as the table has it; one that was changed is no answer to anybody."""
    event = Event(*row)
    if not event.is_whole:
        raise DamagedError(f"event {event.number} was changed: its content does not give its hash; verify the trial")
    return event


def _read_unit(row: Any) -> Unit:
    try:
        outcome, told_at = _read_list(row.outcome), _read_list(row.told_at)
        context = [] if row.context is None else _read_list(row.context)
        kept_at = (row.round, row.play, row.asked_at)
        unit = Unit(row.id, row.arm, *kept_at, outcome, told_at, row.lost_at, row.voided_at, context, row.stratum or "")
        whole = len(outcome) == len(told_at) and unit.pending == bool(row.pending) and row.context != "[]"
    except (TypeError, ValueError, RecursionError):
        whole = False
    if not whole:
        raise DamagedError(f"unit {row.id!r} is not kept as it was written; verify the trial")
    return unit


def _read_list(text: Any) -> list[Any]:
    return list(_listed(text))


# Most units that are told of have nothing yet, and most outcomes are a few.
@functools.lru_cache(maxsize=4096)
def _listed(text: str) -> tuple[Any, ...]:
    """The list that a text is, which must be written as we write it."""
    read = json.loads(text)
    if not isinstance(read, list) or canonical(read) != text:
        raise ValueError(f"a list is not kept as it was written: {text[:80]}")
    return tuple(read)


def trial_row(connection: sa.Connection, name: str) -> Any:
    """A trial and its state, as they are kept."""
    row = connection.execute(sa.select(trials).where(trials.c.name == name)).one_or_none()
    if row is None:
        raise no_trial(connection, name)
    return row


def no_trial(connection: sa.Connection, name: str) -> NotFoundError:
    """The error for a name that no trial has, with the nearest one that some trial of its project has."""
    project = project_of(str(name))
    known = [each for each in connection.scalars(sa.select(trials.c.name)) if project_of(each) == project]
    return unknown_trial(name, known)


def unknown_trial(name: str, known: Sequence[str] = ()) -> NotFoundError:
    """The error for a name that none of the known trials has."""
    remedy = suggest(str(name), known) if known else "none was created yet"
    return NotFoundError(f'there is no trial "{str(name)[:120]}"; {remedy}')
