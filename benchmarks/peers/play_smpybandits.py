"""SMPyBandits, in the loop of its documentation: choice, then getReward."""

from __future__ import annotations

import contextlib
import sys
from importlib.metadata import version

import numpy as np

from peers.problem import ARMS, BAYES_UCB_FLAT, KL_UCB, THOMPSON, UCB1
from peers.runner import Reward, answer, trial_by_trial

# On import it prints what it misses; standard output is for the answer.
with contextlib.redirect_stdout(sys.stderr):
    from SMPyBandits import Policies

POLICIES = {
    UCB1: Policies.UCB,
    THOMPSON: Policies.Thompson,
    KL_UCB: Policies.klUCB,
    BAYES_UCB_FLAT: Policies.BayesUCB,
}


def play_trial(policy: str, horizon: int, seed: int, reward: Reward) -> list[int]:
    """One trial; the policies draw from NumPy's global stream."""
    np.random.seed(seed)  # noqa: NPY002
    chooser = POLICIES[policy](len(ARMS))
    chooser.startGame()
    plays = [0 for _ in ARMS]
    for _ in range(horizon):
        arm = chooser.choice()
        chooser.getReward(arm, reward(arm))
        plays[arm] += 1
    return plays


if __name__ == "__main__":
    answer(version("SMPyBandits"), trial_by_trial(play_trial))
