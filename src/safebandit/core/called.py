"""Policies that are called by an address, so that what is around them is compiled once for all of them.

Compiled for each policy apart, the machine of trials (cohorts, looks, what is due and what is heard) would take ten
times as long to compile as the policy itself. So everything of trial size knows one type of policy, `Called`: the
address of one compiled function, which has the policy's formulas, and that of the policy's own value. Such a call
costs some nanoseconds; a decision costs more. Long simulations with a search call all rounds of a trial at once by such
an address (`rounds`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import imputils
from numba.extending import intrinsic

from safebandit.core.arms import ARM, CELL, COURSE, OWN, QUANTITY, Counts, State
from safebandit.core.dispatch import apart, compiled, compiled_here, is_ours
from safebandit.core.policies.interface import begin, decide, learned, learned_pair, looked
from safebandit.core.streams import STATE

# What a policy may be asked.
BEGIN, DECIDE, LEARNED, LEARNED_PAIR, LOOKED = 0, 1, 2, 3, 4

# Untyped on purpose, as Numba itself is.
_numba: Any = numba
types, record_of, _borrowed = _numba.types, _numba.from_dtype, cast(Any, imputils.impl_ret_borrowed)
_WHOLE, _REAL, _FLAG = types.int64, types.float64, types.boolean
# In the order of the fields of `State`.
STATE_KIND: Any = types.NamedTuple(
    [
        record_of(ARM), _WHOLE, record_of(QUANTITY), _WHOLE, _WHOLE, record_of(OWN), record_of(COURSE),
        record_of(STATE), record_of(CELL), _WHOLE, _FLAG, record_of(CELL), _WHOLE,
    ],
    State,
)  # fmt: skip
# What every policy is asked with, behind its address: the state, the question, and up to three counts and a number.
_ARGUMENTS: Any = (STATE_KIND, _WHOLE, _WHOLE, _WHOLE, _WHOLE, _REAL)
_ANSWER: Any = types.Tuple((_WHOLE, _FLAG))


def _type_value_at(typing_context: Any, address: Any) -> Any:
    """The value at an address whose type says which it is."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.return_type
        value = builder.load(builder.bitcast(args[0], context.get_value_type(kind).as_pointer()))
        return _borrowed(context, builder, kind, value)

    return address.dtype(address), generate


# The value at an address, in a function that is introduced.
value_at: Any = intrinsic(_type_value_at)


@apart
def _answer(address: Any, state: State, question: int, k: int, j: int, bit: int, value: float) -> tuple[int, bool]:
    """Everything that a policy may be asked; what is not asked for is 0."""
    policy = value_at(address)
    if question == DECIDE:
        k, none = decide(policy, state, k)
        return int(k), bool(none)
    if question == LEARNED:
        learned(policy, state, k, j, value, bit)
    elif question == LEARNED_PAIR:
        learned_pair(policy, state, k, j, bit, int(value))
    elif question == BEGIN:
        begin(policy, state)
    else:
        looked(policy, state)
    return 0, False


class _Addresses(NamedTuple):
    function: int
    value: int
    learns: bool
    learns_pairs: bool


class Called(_Addresses):
    """A policy for code that is compiled once for all: where its function and its value are in this process, and
    whether it changes anything after an outcome, or after a pair of them: else it is not called for that.
    """

    kept: Any

    def __reduce__(self) -> NoReturn:
        raise TypeError("addresses mean nothing in another process; send the policy")


def introduced(on_disk: Any, in_this_process: Any, value: Any) -> tuple[int, Counts]:
    """The address of a function that is compiled for a value's type, if need be; and the value, laid out in memory."""
    introduce = on_disk if is_ours(value) else in_this_process
    _, size = introduce(value, np.zeros(0, np.int64))
    laid_out = np.zeros(size // 8 + 1, np.int64)
    function, _ = introduce(value, laid_out)
    return function, laid_out


def called(policy: Any) -> Called:
    """A policy, prepared, as code that is compiled once takes it; its function is compiled if need be."""
    function, value = introduced(_ON_DISK, _IN_THIS_PROCESS, policy)
    found = Called(function, value.ctypes.data, learned.answered_by(policy), learned_pair.answered_by(policy))
    found.kept = policy, value
    return found


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A value whose arrays own nothing: whoever holds the address holds the arrays, too."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for place, part in enumerate(kind.types):
            inner = _without_owner(context, builder, part, builder.extract_value(value, place))
            value = builder.insert_value(value, inner, place)
        return value
    # Of other types that own something, one is kept for good.
    context.nrt.incref(builder, kind, value)
    return value


def store_value(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write a value where there is room for it, if there is enough; the bytes that it takes."""
    kind, room = signature.args
    layout = context.get_value_type(kind)
    size = context.get_constant(types.int64, context.get_abi_sizeof(layout))
    array = context.make_array(room)(context, builder, value=args[1])
    with builder.if_then(builder.icmp_signed(">=", builder.mul(array.nitems, array.itemsize), size)):
        place = builder.bitcast(array.data, layout.as_pointer())
        builder.store(_without_owner(context, builder, kind, args[0]), place)
    return size


def introducing(function: Any, *arguments: Any) -> Any:
    """What writes a value where there is room; it gives the address of the function, compiled for the address of such
    a value and for these types, and the bytes that the value takes.
    """
    of_function = _numba.typeof(function)

    def type_introduce(typing_context: Any, value: Any, room: Any) -> Any:
        kinds = (types.CPointer(value), *arguments)
        of_function.get_call_type(typing_context, kinds, {})

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            made = of_function.dispatcher.overloads[kinds]
            context.add_linking_libs([made.library])
            declared = context.declare_function(builder.module, made.fndesc)
            address = builder.ptrtoint(declared, context.get_value_type(types.int64))
            size = store_value(context, builder, signature, args)
            return context.make_tuple(builder, signature.return_type, (address, size))

        return types.UniTuple(types.int64, 2)(value, room), generate

    return intrinsic(type_introduce)


def call_at(answer: Any, *arguments: Any) -> Any:
    """The type of a call of an introduced function, by its address and that of its value; and how it is made."""
    kinds = (types.CPointer(types.uint8), *arguments)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention = context.call_conv
        callee = builder.inttoptr(args[0], convention.get_function_type(answer, kinds).as_pointer())
        where = builder.inttoptr(args[1], context.get_value_type(kinds[0]))
        status, answered = convention.call_function(builder, callee, answer, kinds, [where, *args[2:]])
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return answered

    return answer(types.int64, types.int64, *arguments), generate


def _type_ask(
    typing_context: Any, function: Any, policy: Any, state: Any, question: Any, k: Any, j: Any, bit: Any, value: Any
) -> Any:  # fmt: skip
    return call_at(_ANSWER, *_ARGUMENTS)


_introducing: Any = introducing(_answer, *_ARGUMENTS)
_ask: Callable[..., tuple[int, bool]] = cast(Any, intrinsic(_type_ask))


def _introduce(policy: Any, room: Counts) -> Any:
    return _introducing(policy, room)


_ON_DISK, _IN_THIS_PROCESS = compiled(_introduce), compiled_here(_introduce)


@begin.register(Called)
def _begin(policy: Called, state: State) -> None:
    _ask(policy.function, policy.value, state, BEGIN, 0, 0, 0, 0.0)


@decide.register(Called)
def _decide(policy: Called, state: State, t: int) -> tuple[int, bool]:
    return _ask(policy.function, policy.value, state, DECIDE, t, 0, 0, 0.0)


@learned.register(Called)
def _learned(policy: Called, state: State, k: int, j: int, value: float, bit: int) -> None:
    if policy.learns:
        _ask(policy.function, policy.value, state, LEARNED, k, j, bit, value)


@learned_pair.register(Called)
def _learned_pair(policy: Called, state: State, k: int, j: int, reward: int, risk: int) -> None:
    if policy.learns_pairs:
        _ask(policy.function, policy.value, state, LEARNED_PAIR, k, j, reward, float(risk))


@looked.register(Called)
def _looked(policy: Called, state: State) -> None:
    _ask(policy.function, policy.value, state, LOOKED, 0, 0, 0, 0.0)
