"""What is written often, as values that go from one process to another: done twice, it does no more than once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from safebandit.trials.answers import Allocation, Receipt
from safebandit.trials.batches import REQUESTS, Answered, carry_out
from safebandit.trials.record.store import Ahead
from safebandit.trials.record.transaction import Transaction


class One(NamedTuple):
    """A request of a kind ("ask", "tell") to a trial's engine, with the keywords of the engine's method."""

    trial: str
    kind: str
    named: Mapping[str, Any]

    def do(self, transaction: Transaction) -> Allocation | Receipt:
        """Do it in a transaction."""
        return REQUESTS[self.kind](transaction.trial(self.trial), **self.named)


class Many(NamedTuple):
    """A batch of requests of one kind."""

    trial: str
    kind: str
    requests: Sequence[Mapping[str, Any]]
    whole: bool
    actor: str

    def do(self, transaction: Transaction, ahead: Ahead | None = None) -> list[Answered]:
        """Do it in a transaction; `ahead` are the trial's units, where they will be counted anew."""
        engine = transaction.trial(self.trial, ahead)
        return carry_out(engine, self.kind, self.requests, whole=self.whole, actor=self.actor)


Work = One | Many


class Sent(NamedTuple):
    """Work as it is sent to a home: the number by which it is answered, and the units that it is about."""

    number: int
    work: Work
    units: Sequence[str | int]


class Done(NamedTuple):
    """What became of it: a value, or a problem and what that came from."""

    number: int
    value: Any = None
    problem: BaseException | None = None
    cause: BaseException | None = None
