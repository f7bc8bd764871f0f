"""The questions that an index answers; each index registers its own answers for its class.

A reward index must answer `upper`. A safety index must answer `lower`, and may answer `permits` without inverting a
bound. The rest has defaults: an index keeps no numbers of its own, and promises nothing about its growth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, Numbers, Seen, State, at, quantity, write, written
from safebandit.core.declared import declared
from safebandit.core.dispatch import generic
from safebandit.core.streams import Stream

K = TypeVar("K", bound=type)


class Description(NamedTuple):
    """What people read of an index or a rule, and rules for its parameters.

    Those that must be above 0, or not below it, or between 0 and 1; those that the risks of an arm share in equal
    parts; whether the index takes one risk only; what it is called in explanations, if it is a safety index;
    and its name in texts where that is not its class's.
    """

    formula: str = ""
    source: str = ""
    positive: tuple[str, ...] = ()
    not_negative: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    one_risk: bool = False
    risk_word: str = "lower risk index"
    name: str = ""


DESCRIPTIONS: dict[type, Description] = {}


def described(formula: str, source: str = "", *, steady: bool = False, **rules: Any) -> Callable[[K], K]:
    """Say of an index its formula, where it comes from, whether it is steady, and the rules of a `Description`."""

    def note(kind: K) -> K:
        DESCRIPTIONS[kind] = Description(formula, source, **rules)
        if steady:
            said: Any = kind
            said.steady = True
        return kind

    return note


@generic
def upper(index: object, seen: Seen, t: int, stream: Stream) -> float:
    """The reward index U of an arm in round t, a number that is likely above its mean."""
    raise NotImplementedError


@generic
def lower(index: object, seen: Seen, t: int, alpha: float, stream: Stream) -> float:
    """The safety index L of an arm in round t, a number that is likely below its mean risk."""
    raise NotImplementedError


@generic
def permits(index: object, seen: Seen, t: int, alpha: float, stream: Stream) -> bool:
    """Whether L <= alpha: the arm may be played in round t."""
    raise NotImplementedError


@generic
def write_indices(index: object, state: State, t: int) -> None:
    """Write U of every arm that is permissible and available into the table of the decision, NaN of all others.

    An index of one arm alone need not answer; one that compares arms with each other does.
    """
    raise NotImplementedError


@declared(property)
def steady(index: object) -> bool:
    """Whether the index draws nothing and, between two plays of the arm, never grows less optimistic with t.

    Its class says so: `steady = True`.
    """
    return bool(getattr(index, "steady", False))


@generic
def width(index: object) -> int:
    """How many numbers of its own the index keeps for each arm."""
    raise NotImplementedError


@generic
def start(index: object, own: Numbers, alpha: float) -> None:
    """Set the index's own numbers of an arm that has not been played."""
    raise NotImplementedError


@generic
def learn(index: object, seen: Seen, value: float, bit: int, alpha: float) -> None:
    """Change the index's own numbers after a play that `seen` already counts: its outcome, and the reduced one."""
    raise NotImplementedError


@generic
def evidence(index: object, seen: Seen, alpha: float) -> float:
    """The arm's evidence against "its mean risk is at most alpha", in nats: 0 where the data are not against it."""
    raise NotImplementedError


@generic
def note_evidence(index: object, seen: Seen, against: float) -> None:
    """Take note of the evidence against the arm's safety, all its risks together, in a reward index that spends it."""
    raise NotImplementedError


@generic
def learn_together(index: object, seen: Seen, reward: int, risk: int) -> None:
    """Take note of both reduced outcomes of one play, in a reward index that asks how they depend on each other."""
    raise NotImplementedError


@permits.register(object)
def _lower_at_most_alpha(index: object, seen: Seen, t: int, alpha: float, stream: Stream) -> bool:
    # NaN compares False, so an arm with a broken index is never permissible.
    return lower(index, seen, t, alpha, stream) <= alpha


@write_indices.register(object)
def _upper_of_each(index: object, state: State, t: int) -> None:
    for k in range(state.size):
        if written(state, k, PERMISSIBLE) == 1.0 and at(state.arms, k).available:
            write(state, k, INDEX, upper(index, quantity(state, k, REWARD), t, state.stream))
        else:
            write(state, k, INDEX, math.nan)


@width.register(object)
def _keeps_nothing(index: object) -> int:
    return 0


@start.register(object)
def _starts_with_nothing(index: object, own: Numbers, alpha: float) -> None:
    pass


@learn.register(object)
def _learns_nothing(index: object, seen: Seen, value: float, bit: int, alpha: float) -> None:
    pass


@note_evidence.register(object)
def _spends_no_evidence(index: object, seen: Seen, against: float) -> None:
    pass


@learn_together.register(object)
def _learns_nothing_from_pairs(index: object, seen: Seen, reward: int, risk: int) -> None:
    pass


@evidence.register(object)
def _has_no_evidence(index: object, seen: Seen, alpha: float) -> float:
    return 0.0
