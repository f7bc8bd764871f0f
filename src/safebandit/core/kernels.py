"""The compiled loops: many trials of one policy on one law, and the single steps that a live trial takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import (
    REWARD,
    Counts,
    Memory,
    Numbers,
    Records,
    State,
    at,
    count_outcome,
    new_memory,
    quantity,
)
from safebandit.core.dispatch import compiled, compiled_here, piece, substituted
from safebandit.core.laws import draw_reward, draw_risk
from safebandit.core.policies.interface import begin, decide, learned, learned_pair, sizes
from safebandit.core.searches.interface import find
from safebandit.core.streams import Streams, bernoulli_bit

# How often a running trial looks whether it should stop.
STOP_EVERY = 1 << 16
FIRST: Any = np.int64(0)


class Costs(NamedTuple):
    """What a play of each arm costs, which arms are unsafe, and what a round without a play costs."""

    regret: Numbers
    unsafe: NDArray[np.bool_]
    hold: float


class Trials(NamedTuple):
    """What is kept of each trial (rows): at checkpoints (columns), per arm (columns), and single counts.

    `risk` has a layer per risk between trials and arms where there are several.
    """

    regret: Numbers
    unsafe_plays: Counts
    plays: Counts
    reward: Numbers
    risk: Numbers
    none_permissible: Counts
    held: Counts


def empty_trials(trials: int, checkpoints: int, arms: int, risks: int = 1) -> Trials:
    """Room for so many trials."""
    return Trials(
        np.zeros((trials, checkpoints)),
        np.zeros((trials, checkpoints), np.int64),
        np.zeros((trials, arms), np.int64),
        np.zeros((trials, arms)),
        np.zeros((trials, risks, arms)),
        np.zeros(trials, np.int64),
        np.zeros(trials, np.int64),
    )


def memory_for(policy: Any, keys: NDArray[np.uint64], streams: Streams, limits: tuple[float, ...]) -> Memory:
    """The memory of a policy's trials before their first play: a row of keys and a stream for each."""
    own = sizes(policy, keys.shape[1], len(limits))
    return new_memory(keys, streams, limits, own, len(getattr(policy, "columns", ())))


@substituted
def state_of(memory: Memory, i: int, watched: bool) -> State:
    """What the memory of trial i holds, as a policy reads it."""
    return State(
        memory.arms[i, 0],
        memory.arms.shape[1],
        memory.quantities[i, 0, 0],
        memory.quantities.shape[2] - 1,
        memory.quantities.strides[2],
        memory.numbers[i, 0],
        memory.streams[i],
        memory.table[0, 0],
        memory.table.shape[1],
        watched,
    )


@substituted
def outcome_draw(state: State, j: int, play: int) -> int:
    """Where the Bernoulli reduction finds the bit of outcome j of a play: each has its own place."""
    return (1 + state.risks) * play + j


@piece
def learn_outcome(policy: Any, state: State, k: int, j: int, play: int, value: float) -> int:
    """Count the reward (j = 0) or risk j of arm k, and let the policy learn from it; the reduced bit is returned."""
    bit = count_outcome(quantity(state, k, j), at(state.arms, k).key, outcome_draw(state, j, play), value)
    learned(policy, state, k, j, value, bit)
    return bit


@piece
def learn_news(policy: Any, state: State, k: int, play: int, news: Numbers, known: Numbers) -> None:
    """Count what is new of one play, its reward and then its risks, given what was known before; NaN is nothing."""
    key = at(state.arms, k).key
    for j in range(1 + state.risks):
        if not np.isnan(news[j]):
            learn_outcome(policy, state, k, j, play, news[j])
    reward = known[0] if np.isnan(news[0]) else news[0]
    for j in range(1, 1 + state.risks):
        risk = known[j] if np.isnan(news[j]) else news[j]
        if not (np.isnan(reward) or np.isnan(risk) or (np.isnan(news[0]) and np.isnan(news[j]))):
            reward_bit = bernoulli_bit(key, outcome_draw(state, 0, play), reward)
            risk_bit = bernoulli_bit(key, outcome_draw(state, j, play), risk)
            learned_pair(policy, state, k, j, reward_bit, risk_bit)


def _play_trials(
    policy: Any,
    search: Any,
    law: Any,
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

    One long function, because it is the hot loop: arrays that cross a call are counted in and out.
    """
    count = memory.arms.shape[1]
    for i in range(memory.arms.shape[0]):
        state, first_work, own_notes = state_of(memory, i, False), work[i, 0], notes[i]
        begin(policy, state)
        t, rounds, none_permissible, held = 1, 0, 0, 0
        for c in range(checkpoints.shape[0]):
            while rounds < checkpoints[c]:
                if rounds % STOP_EVERY == 0 and stop[0] != 0:
                    return i
                rounds += 1
                k, none = find(search, policy, state, first_work, own_notes, t)
                none_permissible += none
                if k < 0:
                    # A round without a play does not move the clock: waiting never loosens the limit.
                    held += 1
                    continue
                arm = at(state.arms, k)
                play = arm.asked
                arm.asked = play + 1
                reward, place = draw_reward(law, k, outcomes[i, k])
                reward_bit = learn_outcome(policy, state, k, FIRST, play, reward)
                for j in range(1, 1 + state.risks):
                    risk = draw_risk(law, k, j - 1, place, outcomes[i, k])
                    risk_bit = learn_outcome(policy, state, k, j, play, risk)
                    learned_pair(policy, state, k, j, reward_bit, risk_bit)
                t += 1
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
        out.none_permissible[i] = none_permissible
        out.held[i] = held
    return memory.arms.shape[0]


def _begin(policy: Any, memory: Memory) -> None:
    begin(policy, state_of(memory, 0, False))


def _decide(policy: Any, memory: Memory, t: int, times: int, counts: Counts) -> tuple[int, bool]:
    """Decide round t so many times, and count each arm, and behind the arms WAIT and HOLD, as negative places do.

    The last decision is given back; what it saw is written into the memory's table.
    """
    state = state_of(memory, 0, times == 1)
    k, none = 0, False
    for _ in range(times):
        k, none = decide(policy, state, t)
        counts[k] += 1
    return k, none


def _learn(
    policy: Any, memory: Memory, arms: Counts, plays: Counts, news: Numbers, known: Numbers, lost: NDArray[np.bool_]
) -> None:
    """Count what is new of plays, one row after the other, given what was known of each before.

    What is still not known of a play that is `lost` is no longer waited for.
    """
    state = state_of(memory, 0, False)
    for i in range(arms.shape[0]):
        k = arms[i]
        for j in range(1 + state.risks):
            if not np.isnan(news[i, j]) or (lost[i] and np.isnan(known[i, j])):
                quantity(state, k, j).pending -= 1
        learn_news(policy, state, k, plays[i], news[i], known[i])


class Kernels(NamedTuple):
    """The compiled steps, all from the same formulas."""

    play_trials: Callable[..., int]
    begin: Callable[..., None]
    decide: Callable[..., tuple[int, bool]]
    learn: Callable[..., None]


_STEPS: tuple[Any, ...] = (_play_trials, _begin, _decide, _learn)
_KEPT_ON_DISK = Kernels(*(compiled(step) for step in _STEPS))
_IN_THIS_PROCESS = Kernels(*(compiled_here(step) for step in _STEPS))


def kernels_for(*values: Any) -> Kernels:
    """The kernels for a policy (and a law): kept on disk if all of its types are ours, else in this process only."""
    return _KEPT_ON_DISK if all(is_ours(value) for value in values) else _IN_THIS_PROCESS


def is_ours(value: Any) -> bool:
    """Whether a value, and all that it is made of, has a type of this package."""
    if not hasattr(value, "_fields"):
        return True
    return type(value).__module__.startswith("safebandit.") and all(is_ours(field) for field in value)
