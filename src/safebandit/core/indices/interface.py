"""The questions that an index answers; each index registers its own answers for its class.

A reward index must answer `upper`. A safety index must answer `lower`, and may answer `permits` faster.
The rest has defaults: an index keeps no numbers of its own, promises nothing about its growth, and the
largest one is found by computing all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from safebandit.core.arms import Numbers, Seen, State
from safebandit.core.dispatch import generic
from safebandit.core.streams import Stream

K = TypeVar("K", bound=type)


class Description(NamedTuple):
    """What people read of an index, its parameters that must be above, or not below, 0; whether it takes one risk."""

    formula: str = ""
    source: str = ""
    positive: tuple[str, ...] = ()
    not_negative: tuple[str, ...] = ()
    one_risk: bool = False


DESCRIPTIONS: dict[type, Description] = {}


def described(formula: str, source: str = "", **rules: Any) -> Callable[[K], K]:
    """Say of an index what its formula is, where it comes from, and the rules of a `Description`."""

    def note(kind: K) -> K:
        DESCRIPTIONS[kind] = Description(formula, source, **rules)
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
def exceeds(index: object, seen: Seen, t: int, bar: float, stream: Stream) -> bool:
    """Whether U > bar, for an index that is `steady`."""
    raise NotImplementedError


@generic
def upper_near(index: object, seen: Seen, t: int, before: float, since: int, stream: Stream) -> float:
    """U of a steady index, perhaps sooner because `before` is near it: what it was in another round, or 0.

    `since` is that round where the arm has learnt nothing since, else 0.
    """
    raise NotImplementedError


@generic
def lower_near(index: object, seen: Seen, t: int, alpha: float, before: float, since: int, stream: Stream) -> float:
    """L of a steady index, perhaps sooner because `before` is near it; `since` as for U."""
    raise NotImplementedError


@generic
def line(index: object, seen: Seen, t: int, until: int, before: float, stream: Stream) -> tuple[float, float]:
    """A reach and a slope such that U of a steady index is at most reach + slope log s in rounds s from t to `until`.

    A line that rises, slope > 0, is U itself in round t. `before` is near U: what it was in another round, or 0.
    """
    raise NotImplementedError


@generic
def line_until(index: object, t: int) -> int:
    """Up to which round lines are drawn in round t: near, where they are flat, since U outgrows them."""
    raise NotImplementedError


@generic
def best(index: object, state: State, t: int) -> int:
    """The permitted arm of the largest U, ties at random; -1 if no U is a number."""
    raise NotImplementedError


@generic
def reveal(index: object, state: State, winner: int, t: int) -> None:
    """For people: draw every permitted arm's U that `best` left undrawn (NaN in `index`), given whom it chose."""
    raise NotImplementedError


@generic
def steady(index: object) -> bool:
    """Whether the index draws nothing and, between two plays of the arm, never grows less optimistic with t."""
    raise NotImplementedError


@generic
def drawn(index: object) -> bool:
    """Whether L draws random numbers, so that asking twice gives two answers."""
    raise NotImplementedError


@generic
def tells_chances(index: object) -> bool:
    """Whether a drawn index carries the chance that it lies below a number, so that it need not be drawn every time.

    An index that is derived from such a one, but drawn in another way, must say that it does not.
    """
    raise NotImplementedError


@generic
def chance_near(index: object, seen: Seen, later: int, alpha: float) -> float:
    """The chance that a drawn risk is near alpha: so low that L <= alpha in round `later`, or a little higher.

    In earlier rounds L <= alpha for near risks only.
    """
    raise NotImplementedError


@generic
def lower_if(index: object, near: bool, seen: Seen, t: int, later: int, alpha: float, stream: Stream) -> float:
    """L in round t, given that the drawn risk is near alpha, or that it is not."""
    raise NotImplementedError


@generic
def permits_if_near(index: object, seen: Seen, t: int, later: int, alpha: float, stream: Stream) -> bool:
    """Whether L <= alpha in round t, given that the drawn risk is near; `own[DRAWN]` is then L, NaN if not drawn."""
    raise NotImplementedError


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
def charge(index: object, seen: Seen, against: float) -> None:
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


@exceeds.register(object)
def _upper_above_bar(index: object, seen: Seen, t: int, bar: float, stream: Stream) -> bool:
    return upper(index, seen, t, stream) > bar


@upper_near.register(object)
def _upper_itself(index: object, seen: Seen, t: int, before: float, since: int, stream: Stream) -> float:
    return upper(index, seen, t, stream)


@lower_near.register(object)
def _lower_itself(index: object, seen: Seen, t: int, alpha: float, before: float, since: int, stream: Stream) -> float:
    return lower(index, seen, t, alpha, stream)


@line.register(object)
def _flat(index: object, seen: Seen, t: int, until: int, before: float, stream: Stream) -> tuple[float, float]:
    return upper_near(index, seen, until, before, 0, stream), 0.0


@line_until.register(object)
def _soon(index: object, t: int) -> int:
    return t + t // 512 + 2


@steady.register(object)
def _promises_nothing(index: object) -> bool:
    return False


@drawn.register(object)
def _draws_nothing(index: object) -> bool:
    return False


@tells_chances.register(object)
def _tells_nothing(index: object) -> bool:
    return False


@width.register(object)
def _keeps_nothing(index: object) -> int:
    return 0


@start.register(object)
def _starts_with_nothing(index: object) -> None:
    pass


@learn.register(object)
@charge.register(object)
@reveal.register(object)
@learn_together.register(object)
def _learns_nothing(index: object) -> None:
    pass


@evidence.register(object)
def _has_no_evidence(index: object) -> float:
    return 0.0
