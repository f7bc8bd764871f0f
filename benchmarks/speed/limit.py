"""The limit: a bare compiled loop that is told which arms to play, draws their outcomes and counts them.

It draws from the same streams as the simulator and decides nothing. The arms are those that TSBU played, in order.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Counts, Memory, Numbers, at, new_memory, state_of
from safebandit.core.dispatch import compiled
from safebandit.core.laws import draw_reward, draw_risk
from safebandit.core.policies import begin, choose, learn_reward, learn_risk, widths
from safebandit.core.streams import trial_streams
from safebandit.problems import Instance
from safebandit.simulation.execution import ready_for
from speed.problems import SEED

# TSBU is followed for about so long, in slices of so many rounds; what it played by then is told again and again.
PATIENCE = 2.0
SLICE = 2_000


@compiled
def _play_on(policy: Any, law: Any, limits: Any, memory: Memory, outcomes: Any, done: int, out: Any) -> None:
    """The arms that a policy plays next, after so many rounds."""
    state = state_of(memory)
    if done == 0:
        begin(policy, state, limits)
    for i in range(len(out)):
        k, _ = choose(policy, state, done + i + 1, limits)
        play = at(state.first, k).asked
        at(state.first, k).asked = play + 1
        reward, mark = draw_reward(law, k, outcomes[k])
        risk = draw_risk(law, k, 0, mark, outcomes[k])
        learn_reward(policy, state, k, play, reward, limits)
        learn_risk(policy, state, k, 0, play, risk, limits)
        out[i] = k


@compiled
def _bare_loop(law: Any, outcomes: Any, played: Any, plays: Any, rewards: Any, risks: Any) -> None:
    """Draw the outcomes of given arms and count them, in one trial after another."""
    for i in range(outcomes.shape[0]):
        for k in played:
            reward, mark = draw_reward(law, k, outcomes[i, k])
            risk = draw_risk(law, k, 0, mark, outcomes[i, k])
            plays[k] += 1
            rewards[k] += reward
            risks[k] += risk


def played_arms(instance: Instance, policy: str, *, horizon: int, patience: float = PATIENCE) -> Counts:
    """The arms that a policy plays in trial 0, in order, as far as it gets in so many seconds."""
    ready = ready_for(policy, instance)
    random = trial_streams(SEED, 0, len(instance.mu))
    memory = new_memory(random.keys, random.policy, widths(ready))
    out = np.zeros(horizon, np.int64)
    done, began = 0, time.thread_time()
    while done < horizon and (done == 0 or time.thread_time() - began < patience):
        part = out[done : done + SLICE]
        _play_on(ready, instance.law, instance.limits, memory, random.arms, done, part)
        done += len(part)
    return out[:done]


class Played(NamedTuple):
    """What the bare loop counted per arm, over all trials, and the seconds of a core that it took."""

    plays: Counts
    rewards: Numbers
    risks: Numbers
    seconds: float


class BareLoop:
    """The bare loop on one instance, in trials of one horizon."""

    def __init__(self, instance: Instance, *, horizon: int) -> None:
        self.instance = instance
        self.count = len(instance.mu)
        self.told = played_arms(instance, "tsbu", horizon=horizon)
        self.play(trials=1)

    def play(self, *, trials: int) -> Played:
        """Play so many trials."""
        outcomes = np.array([trial_streams(SEED, trial, self.count).arms for trial in range(trials)])
        plays, rewards, risks = np.zeros(self.count, np.int64), np.zeros(self.count), np.zeros(self.count)
        began = time.thread_time()
        _bare_loop(self.instance.law, outcomes, self.told, plays, rewards, risks)
        return Played(plays, rewards, risks, time.thread_time() - began)

    def nanoseconds(self, *, rounds: int) -> float:
        """The time of one round, as the mean over about so many."""
        trials = max(1, rounds // len(self.told))
        return 1e9 * self.play(trials=trials).seconds / (trials * len(self.told))
