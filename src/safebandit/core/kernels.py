"""The compiled steps of a trial, one unit at a time: what live trials take, and what long simulations are made of.

Long simulations are in `rounds`; trials of designs, with arrivals and delays, are in `trials`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import (
    REWARD,
    Counts,
    Features,
    Memory,
    Numbers,
    Records,
    State,
    at,
    count_outcome,
    meet,
    new_memory,
    quantity,
)
from safebandit.core.conduct import ConductRecord, bar, highest, mark_available, next_arm, settle
from safebandit.core.dispatch import compiled, compiled_here, inlined, is_ours, piece, substituted
from safebandit.core.policies.interface import begin, learned, learned_pair, sizes
from safebandit.core.selection.interface import select
from safebandit.core.stopping.interface import measure
from safebandit.core.streams import Streams, bernoulli_bit

FIRST: Any = np.int64(0)
# The first of several records of type CELL.
Cells: TypeAlias = Any


class Told(NamedTuple):
    """What was told of plays, a row for each time that something was: the play's arm, number and round, its reward and
    risks as far as they are new (NaN: not told then), what was known of it before, both as records of type CELL,
    whether the rest was given up then, and the context of its unit.
    """

    arms: Counts
    plays: Counts
    rounds: Counts
    news: Records
    known: Records
    lost: NDArray[np.bool_]
    contexts: Numbers


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


def memory_for(
    policy: Any,
    keys: NDArray[np.uint64],
    streams: Streams,
    limits: tuple[float, ...],
    features: Features | None = None,
) -> Memory:
    """The memory of a policy's trials before their first play: a row of keys and a stream for each.

    A policy that goes by features has unit vectors where there are none; another one has none.
    """
    arms, known = keys.shape[1], None
    if getattr(policy, "by_features", False):
        known = Features(np.eye(arms)) if features is None else features
    own, columns = sizes(policy, arms, len(limits)), len(getattr(policy, "columns", ()))
    return new_memory(keys, streams, limits, own, columns, known)


def no_contexts(units: int) -> Numbers:
    """The contexts of units that have none."""
    return np.empty((units, 0))


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
        memory.courses[i],
        memory.streams[i],
        memory.table[0, 0],
        memory.table.shape[1],
        watched,
        memory.features[0, 0],
        memory.features.shape[1],
    )


@inlined
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
def learn_news(policy: Any, state: State, k: int, play: int, news: Cells, known: Cells) -> None:
    """Count what is new of one play, its reward and then its risks, given what was known before; NaN is nothing."""
    key, new_reward = at(state.arms, k).key, at(news, REWARD).value
    for j in range(1 + state.risks):
        if not math.isnan(at(news, j).value):
            learn_outcome(policy, state, k, j, play, at(news, j).value)
    reward = at(known, REWARD).value if math.isnan(new_reward) else new_reward
    for j in range(1, 1 + state.risks):
        new_risk = at(news, j).value
        risk = at(known, j).value if math.isnan(new_risk) else new_risk
        if not (math.isnan(reward) or math.isnan(risk) or (math.isnan(new_reward) and math.isnan(new_risk))):
            reward_bit = bernoulli_bit(key, outcome_draw(state, REWARD, play), reward)
            risk_bit = bernoulli_bit(key, outcome_draw(state, j, play), risk)
            learned_pair(policy, state, k, j, reward_bit, risk_bit)


@piece
def hear(
    policy: Any,
    conduct: ConductRecord,
    state: State,
    k: int,
    play: int,
    t: int,
    news: Cells,
    known: Cells,
    lost: bool,
) -> bool:
    """Count what is new of the unit of round t, given what was known before (NaN: nothing); what is still not known of
    one that is `lost` is no longer waited for. Whether it is then time to look at the data.
    """
    open_before, open_now = False, False
    for j in range(1 + state.risks):
        if j == REWARD and not conduct.rewarded:
            continue
        unknown, new = math.isnan(at(known, j).value), at(news, j).value
        open_before = open_before or unknown
        open_now = open_now or (unknown and math.isnan(new) and not lost)
        if not math.isnan(new) or (lost and unknown):
            quantity(state, k, j).pending -= 1
        if j != REWARD and t >= state.course.cohort_from and not math.isnan(new):
            state.course.cohort_harms += bernoulli_bit(at(state.arms, k).key, outcome_draw(state, j, play), new)
    learn_news(policy, state, k, play, news, known)
    return settle(policy, conduct, state) if open_before and not open_now else False


def _begin(policy: Any, memory: Memory) -> None:
    begin(policy, state_of(memory, 0, False))


def _decide(
    policy: Any, conduct: Records, memory: Memory, t: int, times: int, counts: Counts
) -> tuple[int, bool]:  # fmt: skip
    """Decide round t so many times, and count each arm, and behind the arms DONE, WAIT and HOLD, as negative places do.

    The last decision is given back; what it saw is written into the memory's table.
    """
    state = state_of(memory, 0, times == 1)
    k, none = 0, False
    for _ in range(times):
        k, none = next_arm(policy, conduct[0], state, t)
        counts[k] += 1
    return k, none


def _learn(policy: Any, conduct: Records, memory: Memory, told: Told) -> None:
    """Count what is new of plays, one row after the other, given what was known of each before."""
    state = state_of(memory, 0, False)
    for i in range(told.arms.shape[0]):
        if told.contexts.shape[1] > 0:
            meet(memory.features, memory.arm_features, told.arms[i], told.contexts[i])
        hear(
            policy, conduct[0], state, told.arms[i], told.plays[i], told.rounds[i], told.news[i, 0], told.known[i, 0],
            told.lost[i],
        )  # fmt: skip


def _meet_unit(features: Records, arm_features: Records, context: Numbers) -> None:
    """Set the features of every arm for a unit of this context."""
    for k in range(arm_features.shape[0]):
        meet(features, arm_features, k, context)


def _bars(conduct: Records, memory: Memory, out: Counts) -> None:
    """Write of every arm what speaks against giving it now, and note whether it may be given."""
    state = state_of(memory, 0, False)
    mark_available(conduct[0], state)
    top = highest(conduct[0], state)
    for k in range(state.size):
        out[k] = bar(conduct[0], state, k, top)


def _measure_all(rule: Any, memory: Memory, rows: Counts, found: Numbers) -> None:
    """Measure a rule in some trials, by their rows: the first row of `found` is that of the first."""
    for n in range(rows.shape[0]):
        found[n] = np.nan
        measure(rule, state_of(memory, rows[n], False), found[n])


def _select_all(rule: Any, memory: Memory, rows: Counts, chosen: Counts) -> None:
    """What is selected in some trials, by their rows."""
    for n in range(rows.shape[0]):
        chosen[n] = select(rule, state_of(memory, rows[n], False))


class Kernels(NamedTuple):
    """The compiled steps, all from the same formulas."""

    begin: Callable[..., None]
    decide: Callable[..., tuple[int, bool]]
    learn: Callable[..., None]
    measure: Callable[..., None]
    select: Callable[..., None]


_STEPS: tuple[Any, ...] = (_begin, _decide, _learn, _measure_all, _select_all)
write_bars: Callable[..., None] = compiled(_bars)
meet_unit: Callable[..., None] = compiled(_meet_unit)
_KEPT_ON_DISK = Kernels(*(compiled(step) for step in _STEPS))
_IN_THIS_PROCESS = Kernels(*(compiled_here(step) for step in _STEPS))


def kernels_for(*values: Any) -> Kernels:
    """The kernels for a policy or a rule: kept on disk if all of its types are ours, else in this process only."""
    return _KEPT_ON_DISK if all(is_ours(value) for value in values) else _IN_THIS_PROCESS
