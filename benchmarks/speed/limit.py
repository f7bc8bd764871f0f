"""The limit: a bare compiled loop that is told which arms to play, draws their outcomes and counts them.

It draws from the same streams as the simulator and decides nothing. The arms are those that TSBU played, in their order.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from safebandit.arms import NOTES, Counts, State, at, new_arms
from safebandit.dispatch import compiled
from safebandit.instances import Instance, draw_reward, draw_risk
from safebandit.policies import begin, choose, learn_reward, learn_risk, widths
from safebandit.simulation import ready_for
from safebandit.streams import trial_streams
from speed.problems import SEED


@compiled
def _played_arms(
    policy: Any, law: Any, limits: Any, arms: Any, stream: Any, notes: Any, outcomes: Any, out: Any
) -> None:
    """The arms that a policy plays, in order."""
    state = State(arms[0], len(arms), stream[0], notes[0])
    begin(policy, state, limits)
    for i in range(len(out)):
        k, _ = choose(policy, state, i + 1, limits)
        play = at(state.first, k).asked
        at(state.first, k).asked = play + 1
        reward, mark = draw_reward(law, k, outcomes[k])
        risk = draw_risk(law, k, 0, mark, outcomes[k])
        learn_reward(policy, state, k, play, reward, limits)
        learn_risk(policy, state, k, 0, play, risk, limits)
        out[i] = k


@compiled
def _bare_loop(law: Any, outcomes: Any, played: Any, plays: Any, rewards: Any, risks: Any) -> None:
    """Draw the outcomes of given arms and count them."""
    for k in played:
        reward, mark = draw_reward(law, k, outcomes[k])
        risk = draw_risk(law, k, 0, mark, outcomes[k])
        plays[k] += 1
        rewards[k] += reward
        risks[k] += risk


class BareLoop:
    """The bare loop on one instance, for trials of one horizon; it is told the arms of the first few trials in turn."""

    def __init__(self, instance: Instance, *, horizon: int, told: int) -> None:
        self.instance = instance
        self.horizon = horizon
        self.count = len(instance.mu)
        self.told = np.array([self._played(trial) for trial in range(told)])
        self.nanoseconds(trials=1)

    def play(self, *, trials: int) -> tuple[Counts, float]:
        """How often each arm was played in so many trials, and the seconds that it took."""
        streams = [trial_streams(SEED, trial, self.count).arms for trial in range(trials)]
        plays, rewards, risks = np.zeros(self.count, np.int64), np.zeros(self.count), np.zeros(self.count)
        began = time.perf_counter()
        for trial, outcomes in enumerate(streams):
            _bare_loop(self.instance.law, outcomes, self.told[trial % len(self.told)], plays, rewards, risks)
        return plays, time.perf_counter() - began

    def nanoseconds(self, *, trials: int) -> float:
        """The time of one round, as the mean over so many trials."""
        return 1e9 * self.play(trials=trials)[1] / (trials * self.horizon)

    def _played(self, trial: int) -> Counts:
        policy = ready_for("tsbu", self.instance)
        random = trial_streams(SEED, trial, self.count)
        arms, notes = new_arms(random.keys, widths(policy)), np.zeros(1, NOTES)
        out = np.zeros(self.horizon, np.int64)
        _played_arms(policy, self.instance.law, self.instance.limits, arms, random.policy, notes, random.arms, out)
        return out
