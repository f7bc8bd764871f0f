"""What all players share: they are told how much to play, and say in one JSON line per policy how it went."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from typing import NamedTuple

from peers.problem import MU, regret

WARM_UP_ROUNDS = 50


class Played(NamedTuple):
    """The seconds of processor time that the loop took, so that a busy machine counts for nobody, and every regret."""

    seconds: float
    regrets: list[float]


Play = Callable[[str, int, range], Played]
Reward = Callable[[int], int]


def trial_by_trial(play_trial: Callable[[str, int, int, Reward], list[int]]) -> Play:
    """Play one trial after another; `play_trial(policy, horizon, seed, reward)` gives the plays of every arm."""

    def play(policy: str, horizon: int, trials: range) -> Played:
        seconds, regrets = 0.0, []
        for trial in trials:
            reward = rewards_of(trial)
            began = time.process_time()
            plays = play_trial(policy, horizon, trial, reward)
            seconds += time.process_time() - began
            regrets.append(regret(plays))
        return Played(seconds, regrets)

    return play


def rewards_of(trial: int) -> Reward:
    """The rewards of a trial, from a stream that no policy seeded with the trial's number shares."""
    uniform = random.Random(f"rewards of trial {trial}").random
    return lambda arm: int(uniform() < MU[arm])


def answer(version: str, play: Play) -> None:
    """Play what the command line says, each policy after a few rounds that warm it up; new trials in every turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--horizon", type=int, required=True)
    parser.add_argument("--turn", type=int, required=True, help="0 for the first")
    parser.add_argument("--play", nargs=2, action="append", metavar=("POLICY", "TRIALS"), required=True)
    options = parser.parse_args()
    for policy, count in options.play:
        trials = range(options.turn * int(count), (options.turn + 1) * int(count))
        play(policy, WARM_UP_ROUNDS, range(1))
        seconds, regrets = play(policy, options.horizon, trials)
        line = {
            "version": version,
            "policy": policy,
            "rounds": options.horizon * len(trials),
            "seconds": seconds,
            "regrets": regrets,
        }
        print(json.dumps(line), flush=True)
