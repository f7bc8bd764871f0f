"""Long simulations: many trials of one policy on one law.

The rounds are compiled for each policy, together with its search and in one piece: they are the hot loop. What is
around them, which counts what trials come to, is compiled once for all policies, and calls the rounds by an address.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn, cast

import numba
import numpy as np
from numba.extending import intrinsic

from safebandit.core.arms import CELL, REWARD, Counts, Memory, Records, State, at, quantity
from safebandit.core.called import (
    STATE_KIND,
    call_at,
    called,
    introduced,
    introducing,
    record_of,
    types,
    value_at,
)
from safebandit.core.dispatch import apart, compiled, compiled_here, substituted
from safebandit.core.kernels import FIRST, Cells, Costs, Trials, learn_outcome, state_of
from safebandit.core.laws import Laws, draw_reward, draw_risk
from safebandit.core.policies.interface import begin, learned_pair
from safebandit.core.searches import search_for
from safebandit.core.searches.interface import ByDefinition, find, notes_at, work_of
from safebandit.core.streams import STATE, Stream, Streams

# How often a running trial looks whether it should stop; what its rounds then come to.
STOP_EVERY = 1 << 16
STOPPED = -1


class Searched(NamedTuple):
    """A policy, prepared, and the search by which its arms are found."""

    search: Any
    policy: Any


@substituted
def _unwatched(state: State) -> State:
    """The state, of which the compiler knows that nobody reads what a decision writes."""
    return State(
        state.arms, state.size, state.quantities, state.risks, state.stride, state.numbers, state.course, state.stream,
        state.table, state.columns, False, state.features, state.dimension,
    )  # fmt: skip


@apart
def _play_rounds(
    address: Any,
    watchable: State,
    work: Cells,
    notes: Cells,
    law: Laws,
    outcomes: Stream,
    stop: Counts,
    rounds: int,
    held: int,
    until: int,
) -> tuple[int, int, int]:
    """Go on with a trial, which had so many rounds, to a later one; the rounds it then had, those without a play, and
    how often no arm was permissible on the way.
    """
    played, state = value_at(address), _unwatched(watchable)
    search, policy = played.search, played.policy
    first_work, own_notes = work_of(search, work), notes_at(search, notes)
    if rounds == 0:
        begin(policy, state)
    none_permissible = 0
    while rounds < until:
        if rounds % STOP_EVERY == 0 and stop[0] != 0:
            return STOPPED, held, none_permissible
        # A round without a play does not move the clock: waiting never loosens the limit.
        k, none = find(search, policy, state, first_work, own_notes, 1 + rounds - held)
        rounds += 1
        none_permissible += none
        if k < 0:
            held += 1
            continue
        arm = at(state.arms, k)
        play = arm.asked
        arm.asked = play + 1
        state.course.last = k
        state.course.given += 1
        stream = at(outcomes, k)
        reward, place = draw_reward(law, k, stream)
        reward_bit = learn_outcome(policy, state, k, FIRST, play, reward)
        for j in range(1, 1 + state.risks):
            risk = draw_risk(law, k, j - 1, place, stream)
            risk_bit = learn_outcome(policy, state, k, j, play, risk)
            learned_pair(policy, state, k, j, reward_bit, risk_bit)
    return rounds, held, none_permissible


_numba: Any = numba
_WHOLE, _CELL = types.int64, record_of(CELL)
_LAWS: Any = _numba.typeof(Laws(0, np.zeros(1, np.int64), np.zeros((1, 1))))
_ARGUMENTS: Any = (
    STATE_KIND, _CELL, _CELL, _LAWS, record_of(STATE), types.Array(_WHOLE, 1, "C"), _WHOLE, _WHOLE, _WHOLE,
)  # fmt: skip


def _type_play(
    typing_context: Any, function: Any, value: Any, state: Any, work: Any, notes: Any, law: Any, outcomes: Any,
    stop: Any, rounds: Any, held: Any, until: Any,
) -> Any:  # fmt: skip
    return call_at(types.UniTuple(_WHOLE, 3), *_ARGUMENTS)


_introducing: Any = introducing(_play_rounds, *_ARGUMENTS)
_play: Any = cast(Any, intrinsic(_type_play))


def _introduce(searched: Searched, room: Counts) -> Any:
    return _introducing(searched, room)


_ON_DISK, _IN_THIS_PROCESS = compiled(_introduce), compiled_here(_introduce)


class _Addresses(NamedTuple):
    function: int
    value: int


class Player(_Addresses):
    """A policy and its search for trials that are compiled once for all: where its rounds and its value are in this
    process.
    """

    kept: Any

    def __reduce__(self) -> NoReturn:
        raise TypeError("addresses mean nothing in another process; send the policy")


def player_for(policy: Any) -> Player:
    """A prepared policy, with its search, as `play_trials` takes it; its rounds are compiled if need be.

    Without a search the policy is called at every decision, by rounds that all such policies share.
    """
    search = search_for(policy)
    searched = Searched(search, called(policy) if isinstance(search, ByDefinition) else policy)
    function, value = introduced(_ON_DISK, _IN_THIS_PROCESS, searched)
    found = Player(function, value.ctypes.data)
    found.kept = searched, value
    return found


@compiled
def play_trials(
    player: Player,
    law: Laws,
    costs: Costs,
    checkpoints: Counts,
    memory: Memory,
    work: Records,
    notes: Records,
    outcomes: Streams,
    out: Trials,
    stop: Counts,
) -> int:
    """Play trials to the last checkpoint, row by row; how many were finished before `stop` was set.

    What a search notes is handed over as it lies in memory (`as_cells`): every search has a type of its own.
    """
    count = memory.arms.shape[1]
    for i in range(memory.arms.shape[0]):
        state, rounds, held = state_of(memory, i, False), 0, 0
        for c in range(checkpoints.shape[0]):
            rounds, held, none_permissible = _play(
                player.function, player.value, state, work[i, 0], notes[i, 0], law, outcomes[i, 0], stop, rounds, held,
                checkpoints[c],
            )  # fmt: skip
            if rounds == STOPPED:
                return i
            out.none_permissible[i] += none_permissible
            out.regret[i, c] = costs.hold * held
            for k in range(count):
                plays = at(state.arms, k).asked
                out.regret[i, c] += costs.regret[k] * plays
                out.unsafe_plays[i, c] += plays if costs.unsafe[k] else 0
        for k in range(count):
            out.plays[i, k] = at(state.arms, k).asked
            out.reward[i, k] = quantity(state, k, REWARD).total
            for j in range(state.risks):
                out.risk[i, j, k] = quantity(state, k, 1 + j).total
        out.held[i] = held
    return memory.arms.shape[0]
