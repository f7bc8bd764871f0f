"""The limit: a bare compiled loop that is told which arms to play, draws their outcomes and counts them.

It draws from the same streams as the simulator and decides nothing. The arms are those that TSBU played, in order.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.core.dispatch import compiled
from safebandit.core.kernels import Costs, empty_trials, memory_for
from safebandit.core.laws import draw_reward, draw_risk
from safebandit.core.rounds import play_trials, player_for
from safebandit.core.searches import notes_of, search_for
from safebandit.core.searches.interface import as_cells
from safebandit.core.streams import trial_streams
from safebandit.problems import Instance
from safebandit.simulation.execution import ready_for
from speed.problems import SEED

# So many rounds of TSBU are followed; what it played by then is told again and again.
FOLLOWED = 50_000


@compiled
def _bare_loop(law: Any, outcomes: Any, played: Any, plays: Any, rewards: Any, risks: Any) -> None:
    """Draw the outcomes of given arms and count them, in one trial after another."""
    for i in range(outcomes.shape[0]):
        for k in played:
            reward, place = draw_reward(law, k, outcomes[i, k])
            risk = draw_risk(law, k, 0, place, outcomes[i, k])
            plays[k] += 1
            rewards[k] += reward
            risks[k] += risk


def played_arms(instance: Instance, policy: str, *, horizon: int) -> Counts:
    """The arms that a policy plays in trial 0, in order: read off costs that name the arm."""
    ready, count, rounds = ready_for(policy, instance, horizon), len(instance.mu), min(horizon, FOLLOWED)
    random, search = trial_streams(SEED, 0, count), search_for(ready)
    memory = memory_for(ready, random.keys[None], random.policy, instance.limits)
    out = empty_trials(1, rounds, count, len(instance.limits))
    costs = Costs(np.arange(1.0, count + 1.0), np.zeros(count, bool), 0.0)
    work, notes = notes_of(search).room(1, count)
    play_trials(
        player_for(ready), instance.law, costs, np.arange(1, rounds + 1), memory, *as_cells(work, notes),
        random.arms[None], out, np.zeros(1, np.int64),
    )  # fmt: skip
    return np.diff(out.regret[0], prepend=0.0).astype(np.int64) - 1


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
