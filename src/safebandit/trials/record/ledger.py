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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa

from safebandit.errors import NotFoundError, RecordError
from safebandit.trials.answers import Allocation, Receipt
from safebandit.trials.batches import Answered, carry_out
from safebandit.trials.contexts import AnyContext
from safebandit.trials.engine import find_unit
from safebandit.trials.events import Event
from safebandit.trials.outcomes import AnyRisk
from safebandit.trials.record.database import POOL, database_errors, events, open_engine, trials, units
from safebandit.trials.record.registry import read_registry
from safebandit.trials.record.store import (
    Ahead,
    DatabaseStore,
    as_written,
    load_state,
    read_ahead,
    read_event,
    trial_row,
)
from safebandit.trials.record.transaction import Transaction
from safebandit.trials.settings import Settings
from safebandit.trials.state import TrialState
from safebandit.trials.strata import AnyStratum
from safebandit.trials.units import Unit

# Trials whose state is kept in memory.
STATES_KEPT = 64
# Trials whose units are kept for the next correction: 100,000 of them take some 30 MB.
AHEADS_KEPT = 4


class Ledger:
    """A database of trials. Every method is one transaction; `writing` puts several into one."""

    def __init__(self, database: str | Path, *, create: bool = True, pool: int = POOL) -> None:
        self.database = database
        self.engine = open_engine(database, create=create, pool=pool)
        self._states: OrderedDict[str, TrialState] = OrderedDict()
        self._lock = threading.Lock()
        self._aheads: dict[str, Ahead] = {}
        self._aheads_lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: Any, trace: TracebackType | None) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Transaction]:
        """One transaction: when it ends all is on disk, when it fails nothing is."""
        with self._lock:
            transaction: Transaction | None = None
            try:
                with database_errors(), self.engine.begin() as connection:
                    transaction = Transaction(connection, self._states)
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

    def read_ahead(self, name: str) -> Ahead:
        """A trial's units, for a request that will count them anew: others need not wait while they are read.

        Those that were read last are kept: the next time only what has changed is read.
        """
        with self.reading() as connection:
            found = read_ahead(connection, name, self._aheads.get(name))
        with self._aheads_lock:
            self._aheads.pop(name, None)
            self._aheads[name] = found
            while len(self._aheads) > AHEADS_KEPT:
                self._aheads.pop(next(iter(self._aheads)))
        return found

    def create(self, name: str, settings: Settings, *, actor: str | None = None) -> Receipt:
        """Begin a trial."""
        with self.writing() as transaction:
            return transaction.create(name, settings, actor=actor or local_actor())

    def ask(
        self,
        name: str,
        unit: str | int,
        *,
        context: AnyContext | None = None,
        eligible: Sequence[str] | None = None,
        stratum: AnyStratum | None = None,
        actor: str | None = None,
    ) -> Allocation:
        """Give a unit its arm; the one that it has already, if it has one."""
        with self.writing() as transaction:
            return transaction.trial(name).ask(
                unit, context=context, eligible=eligible, stratum=stratum, actor=actor or local_actor()
            )  # fmt: skip

    def tell(
        self, name: str, unit: str | int, *, reward: Any = None, risk: AnyRisk | None = None, actor: str | None = None
    ) -> Receipt:
        """Say what happened to a unit: reward and risk together, or each when it is known."""
        with self.writing() as transaction:
            return transaction.trial(name).tell(unit, reward=reward, risk=risk, actor=actor or local_actor())

    def correct(
        self, name: str, unit: str | int, *, reason: str, reward: Any = None, risk: Any = None, actor: str | None = None
    ) -> Receipt:
        """Put another outcome in the place of one that was told."""
        told = {"reward": reward, "risk": risk, "reason": reason}
        ahead = self.read_ahead(name)
        with self.writing() as transaction:
            return transaction.trial(name, ahead).correct(unit, **told, actor=actor or local_actor())

    def give_up(self, name: str, unit: str | int, *, reason: str, actor: str | None = None) -> Receipt:
        """No longer wait for a unit's outcome."""
        with self.writing() as transaction:
            return transaction.trial(name).give_up(unit, reason=reason, actor=actor or local_actor())

    def void(self, name: str, unit: str | int, *, reason: str, actor: str | None = None) -> Receipt:
        """Count a unit that never got its arm as nothing; its id cannot be used again."""
        ahead = self.read_ahead(name)
        with self.writing() as transaction:
            return transaction.trial(name, ahead).void(unit, reason=reason, actor=actor or local_actor())

    def batch(
        self,
        name: str,
        kind: str,
        requests: Sequence[Mapping[str, Any]],
        *,
        whole: bool = True,
        write: bool = True,
        actor: str | None = None,
    ) -> list[Answered]:
        """Answer many requests of a kind ("ask", "tell", "correct", "give_up", "void"), each with the unit as `id`.

        With `whole` all are written or none; without it each that can be. Without `write` nothing is: the answers say
        what would become of them.
        """
        ahead = self.read_ahead(name) if kind in ("correct", "void") else None
        answers: list[Answered] = []
        with contextlib.suppress(_NotWrittenError), self.writing() as transaction:
            transaction.expect(name, [request["id"] for request in requests if "id" in request])
            trial = transaction.trial(name, ahead)
            answers = carry_out(trial, kind, requests, whole=whole, actor=actor or local_actor())
            if not write:
                raise _NotWrittenError
        return answers

    def amend(self, name: str, *, reason: str, actor: str | None = None, **changes: Any) -> Receipt:
        """Change alpha, policy (by its text), arms (`add`, `withdraw`), pending_cap, ids, control, control_floor,
        second_person or fields of the `design`, from now on.
        """
        ahead = self.read_ahead(name)
        with self.writing() as transaction:
            return transaction.trial(name, ahead).amend(reason=reason, actor=actor or local_actor(), **changes)

    def propose(self, name: str, request: str, *, person: str, actor: str | None = None, **said: Any) -> Receipt:
        """Propose to "amend", "correct", "void", "give_up" or "unseal", for a second person to approve; the event is
        its number.
        """
        with self.writing() as transaction:
            return transaction.trial(name).propose(request, person=person, actor=actor or local_actor(), **said)

    def approve(self, name: str, number: int, *, person: str, actor: str | None = None) -> Receipt:
        """Do what another person proposed, exactly that."""
        ahead = self.read_ahead(name)
        with self.writing() as transaction:
            return transaction.trial(name, ahead).approve(number, person=person, actor=actor or local_actor())

    def refuse(self, name: str, number: int, *, reason: str, person: str, actor: str | None = None) -> Receipt:
        """Decline a proposal, or withdraw one's own."""
        with self.writing() as transaction:
            return transaction.trial(name).refuse(number, reason=reason, person=person, actor=actor or local_actor())

    def set_status(self, name: str, change: str, *, reason: str, actor: str | None = None) -> Receipt:
        """`pause`, `resume` or `close` a trial; `route` all units to its control, or `unroute` them."""
        with self.writing() as transaction:
            return transaction.trial(name).set_status(change, reason=reason, actor=actor or local_actor())

    def names(self) -> list[str]:
        """Every trial, in order."""
        with self.reading() as connection:
            return list(connection.scalars(sa.select(trials.c.name).order_by(trials.c.name)))

    def state(self, name: str) -> TrialState:
        """A trial's state now, as a copy that nobody else changes."""
        with self.reading() as connection:
            return load_state(connection, name)

    def plays(self, name: str) -> dict[str, int]:
        """How many units each arm was given, withdrawn arms too; those that were voided are none."""
        counting = units.c.trial == name, units.c.voided_at.is_(None)
        counted = sa.select(units.c.arm, sa.func.count()).where(*counting).group_by(units.c.arm)
        with self.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(counted)}

    def unit(self, name: str, id: str) -> Unit:
        """What is known of a unit, however its id is typed."""
        with self.reading() as connection:
            row = trial_row(connection, name)
            with as_written(f'the state of trial "{name}"'):
                aliases = dict(json.loads(row.state).get("aliases", {}))
            unit = find_unit(aliases, DatabaseStore(connection, name), id)
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
            return [read_event(row) for row in connection.execute(wanted.order_by(order).limit(limit))]

    def registry(self) -> list[Event]:
        """The database's own log: trials created, keys made and revoked."""
        with self.reading() as connection:
            return read_registry(connection)


class _NotWrittenError(Exception):
    """Ends a transaction of which nothing is to be written."""


def local_actor() -> str:
    """Who runs this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise RecordError("this process has no user name; say who acts with actor=") from None
