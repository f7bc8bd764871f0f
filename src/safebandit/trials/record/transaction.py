"""Requests that share one transaction: the engines of the trials that they touch, each on a store of the database."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa

from safebandit.core.dispatch import is_ours
from safebandit.core.policies import policy_from_text
from safebandit.errors import ConflictError, TrialError
from safebandit.trials.answers import Receipt
from safebandit.trials.drafts import check_beginning
from safebandit.trials.engine import Engine
from safebandit.trials.record import rows
from safebandit.trials.record.database import trials
from safebandit.trials.record.projects import check_there
from safebandit.trials.record.registry import register
from safebandit.trials.record.store import Ahead, DatabaseStore, no_trial, state_of
from safebandit.trials.settings import Settings
from safebandit.trials.state import TrialState
from safebandit.trials.texts import check_name, check_text, project_of, read_unit_id


class Transaction:
    """The requests of one transaction. A trial that is touched is locked until the end."""

    def __init__(self, connection: sa.Connection, states: OrderedDict[str, TrialState]) -> None:
        self._connection = connection
        self._states = states
        self._engines: dict[str, Engine] = {}
        self._stores: dict[str, DatabaseStore] = {}
        self._created: list[str] = []
        self._expected: dict[str, list[str | int]] = {}
        # Trials that are locked, and not yet asked for.
        self._taken: dict[str, tuple[list[str], rows.Taken]] = {}

    def create(self, name: str, settings: Settings, *, actor: str, any_seed: bool = False) -> Receipt:
        """Begin a trial; the same again changes nothing, another one of this name is refused.

        `any_seed`: nobody chose the seed, so one that has another is the same trial.
        """
        check_name(name)
        check_text("actor", actor)
        check_there(self._connection, project_of(name))
        check_beginning(settings)
        if not is_ours(policy_from_text(settings.policy)):
            raise TrialError(f"the policy of a record must be known to every process, got {settings.policy}; take ours")
        for rule in (*settings.design.stop, settings.design.select) if settings.design else ():
            if not is_ours(rule):
                raise TrialError(f"the rules of a record must be known to every process, got {rule!r}; take ours")
        state = TrialState(name, settings)
        if name not in self._engines and self._insert(state):
            self._created.append(name)
            return self._begin(state, DatabaseStore(self._connection, name)).create(actor=actor)
        there = self.trial(name)
        begun = there.store.event(1).content["settings"]
        if {**begun, **({"seed": settings.seed} if any_seed else {})} == settings.to_dict():
            return Receipt(there.state.number, False)
        raise ConflictError(f'there is a trial "{name}" already, with other settings; give another name')

    def expect(self, name: str, ids: Sequence[str | int]) -> None:
        """Say which units of a trial requests of this transaction are about, however they are typed: what the database
        has of them is then read at once.
        """
        self._expected.setdefault(name, []).extend(ids)

    def take(self) -> set[str]:
        """Lock all trials of which units are expected, at once, and read those units. Only the first is waited for; the
        others that another process writes just now are given back: nothing can be done to them here.
        """
        names = list(self._expected)
        return self._lock(names) if names else set()

    def _lock(self, names: Sequence[str]) -> set[str]:
        wanted = {name: list(dict.fromkeys(_spelled(self._expected.pop(name, ())))) for name in names}
        taken, elsewhere = rows.take(self._connection, wanted)
        self._taken.update({name: (wanted[name], each) for name, each in taken.items()})
        return elsewhere

    def trial(self, name: str, ahead: Ahead | None = None) -> Engine:
        """A trial's engine, with its state from memory if nobody else has written to the trial; `ahead` are its units,
        for a request that will count them anew.
        """
        if name in self._engines:
            self._stores[name].ahead = ahead
            return self._engines[name]
        if name not in self._taken:
            self._lock([name])
        if name not in self._taken:
            raise no_trial(self._connection, name)
        ids, (row, found) = self._taken.pop(name)
        state = self._states.pop(name, None)
        if state is None or (state.number, state.hash) != (row.number, row.hash):
            # Another process has written.
            state = state_of(self._connection, name, row, state)
        store = DatabaseStore(self._connection, name, ahead)
        store.know(ids, found)
        return self._begin(state, store).ready()

    def flush(self) -> None:
        """Write all that was added, once, as the last thing that is done here."""
        for name in self._created:
            first = self._stores[name].event(1)
            register(self._connection, "trial created", {"trial": name, "hash": first.hash}, actor=first.actor)
        written = {
            name: store.written(self._engines[name].state.to_row())
            for name, store in self._stores.items()
            if store.appended
        }
        if written:
            rows.write(self._connection, written)
        self._states.update({name: engine.state for name, engine in self._engines.items()})

    def forget(self) -> None:
        """Drop the states in memory that this transaction used."""
        for name in self._engines:
            self._states.pop(name, None)

    def _insert(self, state: TrialState) -> bool:
        """Insert a new trial at once, because units and events that follow refer to it; False if there is one."""
        try:
            with self._connection.begin_nested():
                self._connection.execute(trials.insert(), {"name": state.name, **state.to_row()})
        except sa.exc.IntegrityError:
            return False
        return True

    def _begin(self, state: TrialState, store: DatabaseStore) -> Engine:
        self._engines[state.name], self._stores[state.name] = Engine(state, store), store
        return self._engines[state.name]


def _spelled(ids: Iterable[str | int]) -> Iterator[str]:
    """Those of these ids that a unit can have; the others are refused where they are asked for."""
    for typed in ids:
        with contextlib.suppress(TrialError):
            yield read_unit_id(typed)
