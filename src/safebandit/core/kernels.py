"""The compiled code: many trials of one policy on one law, and the single steps that a live trial takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Counts, Memory, Numbers, State, at, state_of
from safebandit.core.dispatch import compiled, compiled_here
from safebandit.core.laws import draw_reward, draw_risk
from safebandit.core.policies.interface import Limits, begin, choose, learn_pair, learn_reward, learn_risk, look, reveal
from safebandit.core.streams import Streams

# How often a running trial looks whether it should stop.
STOP_EVERY = 1 << 16


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


def _run_trials(
    policy: Any,
    law: Any,
    limits: Limits,
    costs: Costs,
    checkpoints: Counts,
    memory: Memory,
    outcomes: Streams,
    out: Trials,
    stop: Counts,
) -> int:
    """Play trials to the last checkpoint, row by row; how many were finished before `stop` was set.

    One long function, because it is the hot loop: arrays that cross a call are counted in and out.
    """
    arms, streams, notes, front = memory
    count = arms.shape[1]
    for i in range(arms.shape[0]):
        state = State(arms[i, 0], count, streams[i], notes[i], front[i, 0])
        begin(policy, state, limits)
        t, rounds, none_permissible, held = 1, 0, 0, 0
        for c in range(checkpoints.shape[0]):
            while rounds < checkpoints[c]:
                if rounds % STOP_EVERY == 0 and stop[0] != 0:
                    return i
                rounds += 1
                k, none = choose(policy, state, t, limits)
                none_permissible += none
                if k < 0:
                    # A round without a play does not move the clock: waiting never loosens the limit.
                    held += 1
                    continue
                arm = at(state.first, k)
                play = arm.asked
                arm.asked = play + 1
                reward, mark = draw_reward(law, k, outcomes[i, k])
                learn_reward(policy, state, k, play, reward, limits)
                for j in range(len(limits)):
                    risk = draw_risk(law, k, j, mark, outcomes[i, k])
                    learn_risk(policy, state, k, j, play, risk, limits)
                    learn_pair(policy, state, k, j, play, reward, risk)
                t += 1
            out.regret[i, c] = costs.hold * held
            for k in range(count):
                plays = at(state.first, k).asked
                out.regret[i, c] += costs.regret[k] * plays
                out.unsafe_plays[i, c] += plays if costs.unsafe[k] else 0
        for k in range(count):
            arm = at(state.first, k)
            out.plays[i, k] = arm.asked
            out.reward[i, k] = arm.reward.total
            for j in range(len(limits)):
                out.risk[i, j, k] = at(arm.risk, j).total
        out.none_permissible[i] = none_permissible
        out.held[i] = held
    return arms.shape[0]


# The steps of a live trial take arrays: Numba recognises their types faster than those of records.
def _begin(policy: Any, memory: Memory, limits: Limits) -> None:
    begin(policy, state_of(memory), limits)


def _decide(policy: Any, memory: Memory, limits: Limits, t: int) -> tuple[int, bool]:
    return choose(policy, state_of(memory), t, limits)


def _count_choices(policy: Any, memory: Memory, limits: Limits, t: int, draws: int, counts: Counts) -> None:
    """Decide round t so many times; count each arm, and behind the arms WAIT and HOLD, as negative places do."""
    state = state_of(memory)
    for _ in range(draws):
        k, _ = choose(policy, state, t, limits)
        counts[k] += 1


def _learn(
    policy: Any, memory: Memory, limits: Limits, k: int, play: int,
    reward: float, risks: Limits, known_reward: float, known_risks: Limits,
) -> None:  # fmt: skip
    """Count what is new of one play, given what was known of it before; NaN says that there is nothing."""
    state = state_of(memory)
    if not np.isnan(reward):
        learn_reward(policy, state, k, play, reward, limits)
    for j in range(len(risks)):
        if not np.isnan(risks[j]):
            learn_risk(policy, state, k, j, play, risks[j], limits)
        if np.isnan(reward) and np.isnan(risks[j]):
            continue
        both = (known_reward if np.isnan(reward) else reward), (known_risks[j] if np.isnan(risks[j]) else risks[j])
        if not (np.isnan(both[0]) or np.isnan(both[1])):
            learn_pair(policy, state, k, j, play, both[0], both[1])


def _look(policy: Any, memory: Memory, limits: Limits, t: int, table: Numbers) -> None:
    look(policy, state_of(memory), t, limits, table)


def _reveal(policy: Any, memory: Memory, k: int, t: int) -> None:
    reveal(policy, state_of(memory), k, t)


class Kernels(NamedTuple):
    """The compiled steps, all from the same formulas."""

    run_trials: Callable[..., int]
    begin: Callable[..., None]
    decide: Callable[..., tuple[int, bool]]
    count_choices: Callable[..., None]
    learn: Callable[..., None]
    look: Callable[..., None]
    reveal: Callable[..., None]


_STEPS: tuple[Any, ...] = (_run_trials, _begin, _decide, _count_choices, _learn, _look, _reveal)
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
