"""What has been seen of every arm: the record that indices read and that a play changes.

One NumPy structured array holds all arms, so that compiled code passes one pointer and memory is contiguous. Per arm:
how often it was given out (`asked`), the `key` that fixes the bits of the Bernoulli reduction, whether it may be given
out now (`available`), and for its `reward` and its `risk` each (with several risks, those that follow lie behind the
first, so that `at(arm.risk, j)` is risk j)

    plays    plays whose outcome is known          pending  plays whose outcome is not known yet
    total    the sum of the known outcomes         own      numbers that the index itself keeps
    ones     the same after the Bernoulli reduction (equal where outcomes are bits)
    mean     total / plays, 0 before the first

The rest are notes that a policy takes to skip work whose outcome is certain. What a search through all arms reads of
each of them lies close together, in the front: with a thousand arms their records would not fit in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from safebandit.core.dispatch import inlined, spliced
from safebandit.core.streams import Stream, Streams, bernoulli_bit

Counts: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.float64]
Seen: TypeAlias = Any  # one quantity of one arm, a record with the fields above
Arms: TypeAlias = NDArray[np.void]

# Two drawn arms that mostly exceed the bar together (`other` is 0 where none are noted): the `chance` that the draw of
# the first is the larger, the `slope` by which a play changes it, and the parameters of the `laws` for which both hold.
RIVALS = np.dtype([("one", "i8"), ("other", "i8"), ("chance", "f8"), ("slope", "f8"), ("laws", "f8", (4,))])

# A policy's notes; all 0 says that nothing is known. `changed` is EVERY, NONE, or 1 + the only arm that learnt since
# the last decision; `unplayed` the arm before which all were given out; `gates_at` the round in which a closed gate may
# open, and `gates_seen` how far that was looked for. The rest belong to the search for the largest index.
NOTES = np.dtype(
    [
        ("changed", "i8"),
        ("gates_at", "i8"),
        ("gates_seen", "i8"),
        ("open_arms", "i8"),
        ("safe_arms", "i8"),
        ("unplayed", "i8"),
        ("leader", "i8"),
        ("until", "i8"),
        ("bar", "f8"),
        ("top", "i8"),
        ("second", "f8"),
        ("largest", "f8"),
        ("price", "f8"),
        ("work", "i8"),
        ("rivals", RIVALS),
    ]
)
EVERY, NONE = 0, -1
NEVER = 1 << 62

# Of each arm what it can reach: minus infinity where it may not be played, infinity where that is not known. Of a
# steady index that is at most `reach` + `slope` x; of a drawn one `reach` is the chance that it exceeds the bar and
# counts. `mark` is of a block of drawn arms the chance that none does, kept at its first arm (0 where it is not known),
# and of an arm of a mixture the round in which its indices were computed, 0 if it has learnt since.
FRONT = np.dtype([("reach", "f8"), ("slope", "f8"), ("mark", "f8")])
BLOCK = 32


class State(NamedTuple):
    """All that a policy knows, as bare pointers: the first arm's record, how many arms follow, and the rest.

    Arrays would be counted in and out at every call of compiled code, which costs more than the decision.
    """

    first: Any
    size: int
    stream: Stream
    notes: Any
    front: Any


class Memory(NamedTuple):
    """The arrays behind a state: of one trial, or of many, one per row."""

    arms: Arms
    streams: Streams
    notes: NDArray[np.void]
    front: NDArray[np.void]

    def copy(self) -> Memory:
        """Another memory that knows the same."""
        return Memory(*(array.copy() for array in self))


def quantity_type(width: int) -> np.dtype[np.void]:
    """The record of one quantity of one arm, with `width` numbers of an index's own."""
    counts = [("plays", "i8"), ("pending", "i8"), ("ones", "i8"), ("total", "f8"), ("mean", "f8")]
    return np.dtype([*counts, ("own", "f8", (max(1, width),))])


def risk_fields(risks: int) -> list[str]:
    """The names under which an arm's record holds its risks.

    >>> risk_fields(3)
    ['risk', 'risk 1', 'risk 2']
    """
    return ["risk", *(f"risk {j}" for j in range(1, risks))]


def new_arms(keys: NDArray[np.uint64], widths: tuple[int, int], risks: int = 1) -> Arms:
    """Arms of which nothing has been seen."""
    record = np.dtype(
        [
            ("reward", quantity_type(widths[0])),
            *((field, quantity_type(widths[1])) for field in risk_fields(risks)),
            ("asked", "i8"),
            ("key", "u8"),
            ("index", "f8"),
            ("ceiling", "f8"),
            ("risk_bound", "f8"),
            ("excess", "f8"),
            ("reward_reach", "f8"),
            ("reward_slope", "f8"),
            ("risk_reach", "f8"),
            ("risk_slope", "f8"),
            ("ask_gate_at", "i8"),
            ("next", "i8"),
            ("available", "i8"),
            ("safe", "i8"),
            ("permitted", "i8"),
        ]
    )
    arms = np.zeros(keys.shape, record)
    arms["key"] = keys
    arms["available"] = 1
    return arms


def new_memory(keys: NDArray[np.uint64], streams: Streams, widths: tuple[int, int], risks: int = 1) -> Memory:
    """The memory of one trial before its first play, or of many: a row of keys and a stream for each."""
    arms = new_arms(keys, widths, risks)
    return Memory(arms, streams, np.zeros(len(streams), NOTES), np.zeros(arms.shape, FRONT))


def _record_at(typing_context: Any, first: Any, k: Any) -> Any:
    element = ir.ArrayType(ir.IntType(8), first.size)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]], source_etype=element)

    return first(first, types.intp), generate


# The record `k` places after `first` in their array: at(first, k).
at: Callable[[Any, int], Any] = cast(Any, intrinsic(_record_at))


@spliced
def state_of(memory: Memory) -> State:
    """What the memory of one trial holds, as a policy reads it."""
    return State(memory.arms[0], len(memory.arms), memory.streams[0], memory.notes[0], memory.front[0])


@inlined
def note_change(state: State, k: int) -> None:
    """Note that arm k has learnt something: what was noted of it no longer holds."""
    notes = state.notes
    if notes.changed != k + 1:
        notes.changed = k + 1 if notes.changed == NONE else EVERY
    set_reach(state, k, np.inf if at(state.first, k).permitted else -np.inf)


@inlined
def set_reach(state: State, k: int, reach: float) -> None:
    """Set what arm k can reach, at any x; minus infinity closes it, infinity says that it is not known."""
    place = at(state.front, k)
    place.reach = reach
    place.slope = 0.0
    at(state.front, k & -BLOCK).mark = 0.0


@inlined
def count_outcome(seen: Seen, key: np.uint64, draw: int, value: float) -> int:
    """Add one known outcome to a quantity; its reduced bit, fixed by the arm's key and `draw`, is returned."""
    bit = bernoulli_bit(key, draw, value)
    seen.plays += 1
    seen.total += value
    seen.ones += bit
    # In [0, 1] even after rounding.
    seen.mean = min(1.0, seen.total / seen.plays)
    return bit
