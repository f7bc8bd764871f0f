"""MABWiser, in the loop of its documentation: predict, then partial_fit; it must first be fitted to some plays."""

from __future__ import annotations

from importlib.metadata import version

from mabwiser.mab import MAB, LearningPolicy

from peers.problem import ARMS, THOMPSON, UCB1
from peers.runner import Reward, answer, trial_by_trial

LEARNING = {UCB1: LearningPolicy.UCB1(alpha=1), THOMPSON: LearningPolicy.ThompsonSampling()}


def play_trial(policy: str, horizon: int, seed: int, reward: Reward) -> list[int]:
    """One trial, of which the first round of every arm is what the policy is fitted to."""
    arms = list(ARMS)
    chooser = MAB(arms, LEARNING[policy], seed=seed)
    chooser.fit(arms, [reward(arm) for arm in arms])
    plays = [1 for _ in arms]
    for _ in range(len(arms), horizon):
        arm = chooser.predict()
        chooser.partial_fit([arm], [reward(arm)])
        plays[arm] += 1
    return plays


if __name__ == "__main__":
    answer(version("mabwiser"), trial_by_trial(play_trial))
