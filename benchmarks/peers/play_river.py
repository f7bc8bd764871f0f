"""river, in the loop of its documentation: pull, then update."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from river import bandit, proba

from peers.problem import ARMS, THOMPSON, UCB1
from peers.runner import Reward, answer, trial_by_trial


def new_policy(policy: str, seed: int) -> Any:
    """The policy as river has it: delta = 1 is UCB1, a Beta distribution starts uniform."""
    if policy == UCB1:
        return bandit.UCB(delta=1, seed=seed)
    if policy == THOMPSON:
        return bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed)
    return bandit.BayesUCB(seed=seed)


def play_trial(policy: str, horizon: int, seed: int, reward: Reward) -> list[int]:
    """One trial."""
    chooser = new_policy(policy, seed)
    plays = [0 for _ in ARMS]
    for _ in range(horizon):
        arm = chooser.pull(ARMS)
        chooser.update(arm, reward(arm))
        plays[arm] += 1
    return plays


if __name__ == "__main__":
    answer(version("river"), trial_by_trial(play_trial))
