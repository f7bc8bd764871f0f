"""The steps of a live trial, which compiled code finds by its address.

To hand over the arrays of a trial one by one takes longer than most decisions, and a live trial takes one step after
the other. So they are written once into a place of their own, and each step is told where that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numba.core import imputils
from numba.extending import intrinsic

from safebandit.core.arms import CELL, Counts, Memory, Records, Sizes, new_memory
from safebandit.core.called import Called, store_value
from safebandit.core.conduct import give, next_arm, plain_conduct
from safebandit.core.dispatch import compiled
from safebandit.core.kernels import Told, hear, no_contexts, state_of
from safebandit.core.streams import STATE

_numba: Any = numba
types, _borrowed = _numba.types, cast(Any, imputils.impl_ret_borrowed)


class Live(NamedTuple):
    """A policy, how units are given arms around it, what it has seen, and room for what is told of one unit."""

    policy: Called
    conduct: Records
    memory: Memory
    told: Told


def room_to_tell(risks: int) -> Told:
    """Room for what is told of one unit without a context."""
    k, play, t = (np.zeros(1, np.int64) for _ in range(3))
    news, known = (np.full((1, 1 + risks), np.nan).view(CELL) for _ in range(2))
    return Told(k, play, t, news, known, np.zeros(1, np.bool_), no_contexts(1))


def _any_live() -> Any:
    """The type of every live trial. Its sizes are above 1, so that no array lies side by side: such a type fits all."""
    memory = new_memory(np.zeros((1, 2), np.uint64), np.zeros(1, STATE), (0.5,), Sizes(2, 2, 2))
    return _numba.typeof(Live(Called(0, 0, False, False), plain_conduct().packed(), memory, room_to_tell(1)))


_LIVE = _any_live()


def _type_live_at(typing_context: Any, address: Any) -> Any:
    """The live trial at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        where = builder.inttoptr(args[0], context.get_value_type(_LIVE).as_pointer())
        return _borrowed(context, builder, _LIVE, builder.load(where))

    return _LIVE(types.int64), generate


def _type_place(typing_context: Any, live: Any, room: Any) -> Any:
    """Write a live trial where there is room; the bytes that it takes."""
    return types.int64(live, room), store_value


_live_at: Callable[[int], Live] = cast(Any, intrinsic(_type_live_at))
_placing: Any = intrinsic(_type_place)


@compiled
def _place(live: Live, room: Counts) -> int:
    return _placing(live, room)


def place(live: Live) -> Counts:
    """A place that holds a live trial, for as long as whoever has it keeps both; its address is that of its data."""
    room = np.zeros(_place(live, np.zeros(0, np.int64)) // 8 + 1, np.int64)
    _place(live, room)
    return room


@compiled
def decide_at(address: int, t: int) -> tuple[int, bool]:
    """The decision of round t; what it saw is written into the memory's table."""
    live = _live_at(address)
    return next_arm(live.policy, live.conduct[0], state_of(live.memory, 0, True), t)


@compiled
def give_at(address: int, k: int, t: int) -> int:
    """Count the unit of round t, which is given arm k; the number of its play."""
    live = _live_at(address)
    return give(live.conduct[0], state_of(live.memory, 0, False), k, t)


@compiled
def learn_at(address: int, k: int, play: int, t: int, lost: bool) -> None:
    """Count what the room for it says of a play."""
    live = _live_at(address)
    told = live.told
    hear(
        live.policy, live.conduct[0], state_of(live.memory, 0, False), k, play, t, told.news[0, 0], told.known[0, 0],
        lost,
    )  # fmt: skip
