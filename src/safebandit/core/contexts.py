"""Trials in which every unit has a context: who is best, and who is safe, is asked anew in every round.

The mean reward and risks of an arm are linear in (1, x), x the context, or the logistic function of that. Contexts come
from a stream of their own: unit n of a trial has the same one under every policy. Its outcomes are bits, by the arm's
own stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import REWARD, Counts, Memory, Numbers, Records, at, meet, quantity
from safebandit.core.dispatch import compiled, compiled_here, inlined, is_ours
from safebandit.core.kernels import FIRST, Trials, learn_outcome, state_of
from safebandit.core.policies.interface import begin, learned_pair
from safebandit.core.rounds import STOP_EVERY
from safebandit.core.searches.interface import find
from safebandit.core.streams import Stream, Streams, beta, uniform

# How one number of a context is drawn: between two bounds, as a bit, or by a Beta law.
UNIFORM, BIT, BETA = 0, 1, 2
# Means that are at their limit, but for rounding, are within it.
ROUNDING = 1e-12


class ContextLaws(NamedTuple):
    """The law of contexts, and the means that follow: of the reward and each risk (first), of every arm.

    The coefficients of arm k are those of (1, x). Contexts are rows of `table` where `rows` says how many there are, or
    0: then number i of a context is drawn as `kinds[i]` says, with two parameters.
    """

    logistic: bool
    coefficients: Numbers
    rows: int
    table: Numbers
    kinds: Counts
    parameters: Numbers

    @property
    def risks(self) -> int:
        """How many risks a play has."""
        return self.coefficients.shape[0] - 1


@inlined
def draw_context(law: ContextLaws, stream: Stream, context: Numbers) -> None:
    """Draw the context of the next unit."""
    if law.rows > 0:
        row = int(uniform(stream) * law.rows)
        for i in range(context.shape[0]):
            context[i] = law.table[row, i]
        return
    for i in range(context.shape[0]):
        a, b = law.parameters[i, 0], law.parameters[i, 1]
        if law.kinds[i] == BETA:
            context[i] = beta(stream, a, b)
        elif law.kinds[i] == BIT:
            context[i] = 1.0 * (uniform(stream) < a)
        else:
            context[i] = a + (b - a) * uniform(stream)


@inlined
def mean_in(law: ContextLaws, j: int, k: int, context: Numbers) -> float:
    """The mean of the reward (j = 0) or of risk j of arm k in a context."""
    total = law.coefficients[j, k, 0]
    for i in range(context.shape[0]):
        total += law.coefficients[j, k, 1 + i] * context[i]
    return 1.0 / (1.0 + math.exp(-total)) if law.logistic else total


@inlined
def write_means(law: ContextLaws, context: Numbers, limits: Numbers, means: Numbers, excess: Numbers) -> float:
    """Write the means of every arm (columns), and how far its risks exceed their limits at most; mu* is given back.

    mu* is the largest mean reward of arms that are safe in this context, 0 where none is.
    """
    best = 0.0
    for k in range(means.shape[1]):
        most = -math.inf
        for j in range(means.shape[0]):
            means[j, k] = mean_in(law, j, k, context)
            if j != REWARD:
                most = max(most, means[j, k] - limits[j - 1])
        excess[k] = most if most > ROUNDING else 0.0
        if excess[k] == 0.0:
            best = max(best, means[REWARD, k])
    return best


@inlined
def meet_all(features: Records, arm_features: Records, context: Numbers) -> None:
    """Set the features of every arm for a unit of this context."""
    for k in range(arm_features.shape[0]):
        meet(features, arm_features, k, context)


def _play_in_contexts(
    policy: Any,
    search: Any,
    law: ContextLaws,
    limits: Numbers,
    by_features: bool,
    checkpoints: Counts,
    memory: Memory,
    work: Records,
    notes: Records,
    outcomes: Streams,
    out: Trials,
    stop: Counts,
) -> int:
    """Play trials to the last checkpoint, row by row; how many were finished before `stop` was set.

    Behind the streams of the arms' outcomes lies that of the contexts. One long function, because it is the hot loop.
    """
    count, risks = memory.arms.shape[1], len(limits)
    context, means, excess = np.zeros(law.coefficients.shape[2] - 1), np.zeros((1 + risks, count)), np.zeros(count)
    for i in range(memory.arms.shape[0]):
        state, first_work, own_notes = state_of(memory, i, False), work[i, 0], notes[i]
        begin(policy, state)
        t, rounds, none_permissible, held, regret, unsafe = 1, 0, 0, 0, 0.0, 0
        for c in range(checkpoints.shape[0]):
            while rounds < checkpoints[c]:
                if rounds % STOP_EVERY == 0 and stop[0] != 0:
                    return i
                rounds += 1
                draw_context(law, outcomes[i, count], context)
                best = write_means(law, context, limits, means, excess)
                if by_features:
                    meet_all(memory.features, memory.arm_features, context)
                k, none = find(search, policy, state, first_work, own_notes, t)
                none_permissible += none
                if k < 0:
                    held += 1
                    regret += best
                    continue
                regret += max(best - means[REWARD, k], excess[k], 0.0)
                unsafe += excess[k] > 0.0
                arm = at(state.arms, k)
                play = arm.asked
                arm.asked = play + 1
                state.course.last = k
                state.course.given += 1
                reward = 1.0 * (uniform(outcomes[i, k]) < means[REWARD, k])
                reward_bit = learn_outcome(policy, state, k, FIRST, play, reward)
                for j in range(1, 1 + risks):
                    risk = 1.0 * (uniform(outcomes[i, k]) < means[j, k])
                    risk_bit = learn_outcome(policy, state, k, j, play, risk)
                    learned_pair(policy, state, k, j, reward_bit, risk_bit)
                t += 1
            out.regret[i, c] = regret
            out.unsafe_plays[i, c] = unsafe
        for k in range(count):
            out.plays[i, k] = at(state.arms, k).asked
            out.reward[i, k] = quantity(state, k, REWARD).total
            for j in range(risks):
                out.risk[i, j, k] = quantity(state, k, 1 + j).total
        out.none_permissible[i] = none_permissible
        out.held[i] = held
    return memory.arms.shape[0]


_KEPT_ON_DISK: Callable[..., int] = compiled(_play_in_contexts)
_IN_THIS_PROCESS: Callable[..., int] = compiled_here(_play_in_contexts)


def context_player(policy: Any) -> Callable[..., int]:
    """The loop for a policy: kept on disk if all of its types are ours, else in this process only."""
    return _KEPT_ON_DISK if is_ours(policy) else _IN_THIS_PROCESS
