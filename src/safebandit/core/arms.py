"""What has been seen in a trial: the facts that policies read and that outcomes change.

Two arrays of records hold the facts of one trial, whatever its policy. Per arm there is one `ARM`:

    asked      how often it was given out
    available  whether it may be given out now: not while too many of its units wait for their risk
    dropped    whether a rule of the design has ended it for good
    masked     whether the unit in question may not be given it, though others may
    key        fixes the bits of the Bernoulli reduction

and for its reward, then for each of its risks, one `QUANTITY`:

    plays    plays whose outcome is known          limit  alpha of a risk, NaN of the reward
    pending  plays whose outcome is not known yet  own    numbers that the index itself keeps
    total    the sum of the known outcomes
    ones     the same sum after the Bernoulli reduction (equal where outcomes are bits)
    mean     total / plays, 0 before the first

`own` is declared with one number, and as many as the index wants lie behind it: records are laid out so far apart. So
every policy, number of risks and index has the same types, and compiled code is shared.

How the trial has gone so far is one `COURSE`:

    last          the arm of the last unit that was given one, -1 before
    given         units that were given an arm
    settled       those of which nothing is waited for any more: told, or given up
    cohort        units of the present cohort so far
    cohort_from   the round of its first unit
    cohort_harms  harms known of its units, after the Bernoulli reduction
    looks         how often the data have been looked at
    upwards       whether an arm that is not permissible excludes those above it
    routed        whether every unit is given the control, for now

An arm may have features z, and a unit a context x: what a linear policy goes by is then z (x) (1, x), the products of
each number of the arm with 1 and with each number of the unit. Arms without features have the unit vectors, so that
every arm has coefficients of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from safebandit.core.dispatch import both, inlined
from safebandit.core.streams import Stream, Streams, bernoulli_bit

Counts: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.float64]
Records: TypeAlias = NDArray[np.void]
Seen: TypeAlias = Any  # one record of type QUANTITY

ARM = np.dtype([("asked", "i8"), ("available", "i8"), ("dropped", "i8"), ("masked", "i8"), ("key", "u8")])
QUANTITY = np.dtype(
    [
        ("plays", "i8"),
        ("pending", "i8"),
        ("ones", "i8"),
        ("total", "f8"),
        ("mean", "f8"),
        ("limit", "f8"),
        ("own", "f8", (1,)),
    ]
)
COURSE = np.dtype(
    [
        ("last", "i8"),
        ("given", "i8"),
        ("settled", "i8"),
        ("cohort", "i8"),
        ("cohort_from", "i8"),
        ("cohort_harms", "i8"),
        ("looks", "i8"),
        ("upwards", "i8"),
        ("routed", "i8"),
    ]
)
# Numbers that a policy keeps for itself lie behind one another, as those of an index do.
OWN = np.dtype([("own", "f8", (1,))])
CELL = np.dtype([("value", "f8")])

# What a decision writes of every arm, by column: whether it is permissible, its reward index, the chance with which it
# is played where the policy mixes arms, and from here on the index of each risk. A policy's own columns follow those.
PERMISSIBLE, INDEX, CHANCE, RISKS = 0, 1, 2, 3

REWARD = 0


class State(NamedTuple):
    """All that a policy knows of a trial, as bare pointers and plain numbers.

    Arrays would be counted in and out at every call of compiled code, which costs more than a decision.
    `watched` says that somebody reads what the decision writes, beyond what it needs itself. The `features` are those
    of every arm for the unit in question, `dimension` numbers each.
    """

    arms: Any
    size: int
    quantities: Any
    risks: int
    stride: int
    numbers: Any
    course: Any
    stream: Stream
    table: Any
    columns: int
    watched: bool
    features: Any
    dimension: int


class Memory(NamedTuple):
    """The arrays behind a state: of one trial, or of many, one per row.

    The `table` serves one decision after the other, and so do the `features` of the unit in question (rows: arms),
    which are made of `arm_features` and its context. `bytes` are all quantities with their own numbers, of which
    `quantities` is a view.
    """

    arms: Records
    quantities: Records
    numbers: Records
    courses: Records
    streams: Streams
    table: Records
    features: Records
    arm_features: Records
    bytes: NDArray[np.uint8]

    def copy(self) -> Memory:
        """Another memory that knows the same."""
        raw = self.bytes.copy()
        return Memory(
            self.arms.copy(), _view(raw), self.numbers.copy(), self.courses.copy(), self.streams.copy(),
            self.table.copy(), self.features.copy(), self.arm_features, raw,
        )  # fmt: skip


# What serves all trials of a memory, one after the other.
SHARED = ("table", "features", "arm_features")


class Features(NamedTuple):
    """What is known of arms and units before any outcome: a row of numbers for each arm, and how many numbers the
    context of a unit has.
    """

    arms: Numbers
    context: int = 0


class Sizes(NamedTuple):
    """How many numbers of its own a policy keeps: for each arm's reward, for each risk of an arm, and for itself."""

    reward: int = 0
    risk: int = 0
    trial: int = 0


def new_memory(
    keys: NDArray[np.uint64],
    streams: Streams,
    limits: tuple[float, ...],
    sizes: Sizes,
    columns: int = 0,
    features: Features | None = None,
) -> Memory:
    """The memory of trials before their first play: a row of keys and a stream for each.

    `columns` are those that the policy itself adds to the table of a decision. Without `features` arms have one
    number, 0.
    """
    trials, arms = keys.shape
    risks = len(limits)
    # One number at least lies behind each record, used or not: arrays without gaps are another type to Numba, and all
    # would be compiled twice.
    stride = QUANTITY.itemsize + 8 * max(1, sizes.reward - 1, sizes.risk - 1)
    raw = np.zeros((trials, arms, 1 + risks, stride), np.uint8)
    quantities = _view(raw)
    quantities["limit"] = [np.nan, *limits]
    counted = np.zeros(keys.shape, ARM)
    counted["key"], counted["available"] = keys, 1
    table = np.full((arms, RISKS + risks + columns), np.nan).view(CELL)
    courses = np.zeros(trials, COURSE)
    courses["last"] = -1
    own = np.zeros((trials, max(1, sizes.trial)), OWN)
    of_arms, width = (np.zeros((arms, 1)), 1) if features is None else (features.arms, 1 + features.context)
    of_unit = np.repeat(of_arms, width, axis=1)
    return Memory(
        counted, quantities, own, courses, streams, table, of_unit.view(CELL), np.ascontiguousarray(of_arms).view(CELL),
        raw,
    )  # fmt: skip


def _view(raw: NDArray[np.uint8]) -> Records:
    """The quantities in an array of bytes, whose last axis is one record with the numbers behind it."""
    view: Records = np.ndarray(raw.shape[:-1], QUANTITY, buffer=raw, strides=raw.strides[:-1])
    return view


def _after(first: Any, found: Any) -> Any:
    """What lies `k` records after `first`, as the type `found`."""
    element = ir.ArrayType(ir.IntType(8), first.size)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]], source_etype=element)

    return found(first, types.intp), generate


def _record_after(typing_context: Any, first: Any, k: Any) -> Any:
    return _after(first, first)


# The record `k` places after `first` in their array: at(first, k).
at: Callable[[Any, int], Any] = cast(Any, intrinsic(_record_after))


def _cells_after(typing_context: Any, first: Any, k: Any) -> Any:
    return _after(first, from_dtype(CELL))


# The plain numbers that lie behind `k` records: the first of them, a record of type CELL.
cells_after: Callable[[Any, int], Any] = cast(Any, intrinsic(_cells_after))


def _field(builder: Any, state: Any, kind: Any, name: str) -> Any:
    return builder.extract_value(state, kind.fields.index(name))


def _quantity(typing_context: Any, state: Any, k: Any, j: Any) -> Any:
    """What has been seen of arm k's reward (j = 0) or of its risk number j, from 1."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first, risks, stride = (_field(builder, args[0], state, name) for name in ("quantities", "risks", "stride"))
        quantities = builder.add(risks, ir.Constant(risks.type, 1))
        place = builder.add(builder.mul(args[1], quantities), args[2])
        return builder.gep(first, [builder.mul(place, stride)], source_etype=ir.IntType(8))

    return state.types[state.fields.index("quantities")](state, types.intp, types.intp), generate


def _cell(context: Any, builder: Any, state: Any, args: Any) -> Any:
    """Where a number is in the table of the decision."""
    table, columns = (_field(builder, args[0], state, name) for name in ("table", "columns"))
    place = builder.add(builder.mul(args[1], columns), args[2])
    number = context.get_value_type(types.float64)
    first = builder.bitcast(table, number.as_pointer())
    return builder.gep(first, [place])


def _write(typing_context: Any, state: Any, k: Any, column: Any, value: Any) -> Any:
    """Write a number into the table of the decision."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[3], _cell(context, builder, state, args))
        return context.get_dummy_value()

    return types.none(state, types.intp, types.intp, types.float64), generate


def _written(typing_context: Any, state: Any, k: Any, column: Any) -> Any:
    """Read a number from the table of the decision."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_cell(context, builder, state, args))

    return types.float64(state, types.intp, types.intp), generate


# Written for the compiler itself: as functions of Python they would be typed anew in everything that calls them.
quantity: Callable[[State, int, int], Seen] = cast(Any, intrinsic(_quantity))
write: Callable[[State, int, int, float], None] = cast(Any, intrinsic(_write))
written: Callable[[State, int, int], float] = cast(Any, intrinsic(_written))


@inlined
def meet(features: Records, arm_features: Records, k: int, context: Numbers) -> None:
    """Set the features of arm k for a unit of this context: z (x) (1, x)."""
    width = 1 + context.shape[0]
    for i in range(arm_features.shape[1]):
        number = arm_features[k, i].value
        features[k, i * width].value = number
        for j in range(1, width):
            features[k, i * width + j].value = number * context[j - 1]


@both
def fits(pending: int, plays: int, cap: int) -> bool:
    """Whether one more unit of an arm may wait for a risk: no more than are known, or `cap` where that is more.

    So units whose outcome is not known do not pile up on an untested arm.
    """
    return pending < cap or pending < plays


@inlined
def count_outcome(seen: Seen, key: np.uint64, draw: int, value: float) -> int:
    """Add one known outcome to a quantity; its reduced bit, fixed by the arm's key and `draw`, is returned."""
    bit = bernoulli_bit(key, draw, value)
    seen.plays += 1
    seen.total += value
    seen.ones += bit
    # In [0, 1] even after rounding.
    mean = seen.total / seen.plays
    seen.mean = mean if mean < 1.0 else 1.0
    return bit
