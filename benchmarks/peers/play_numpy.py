"""The script that a careful user would write: NumPy arrays over all trials at once, one step per round."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, xlogy

from peers.problem import BAYES_UCB, BAYES_UCB_FLAT, KL_UCB, MU, THOMPSON, UCB1
from peers.runner import Played, answer

Numbers = npt.NDArray[np.float64]
HALVINGS = 24


def ucb1(plays: Numbers, ones: Numbers, t: int, random: np.random.Generator) -> Numbers:
    return ones / plays + np.sqrt(2 * np.log(t) / plays)


def thompson(plays: Numbers, ones: Numbers, t: int, random: np.random.Generator) -> Numbers:
    return random.beta(ones + 1, plays - ones + 1)


def kl_ucb(plays: Numbers, ones: Numbers, t: int, random: np.random.Generator) -> Numbers:
    """By bisection, between the mean and Pinsker's bound."""
    mean, budget = ones / plays, np.log(t) / plays
    # N d(mean||q) <= log t, with what does not depend on q on the right.
    allowed = budget - xlogy(mean, mean) - xlogy(1 - mean, 1 - mean)
    low, high = mean, np.minimum(1.0, mean + np.sqrt(budget / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            inside = -mean * np.log(middle) - (1 - mean) * np.log1p(-middle) <= allowed
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high


def bayes_ucb(plays: Numbers, ones: Numbers, t: int, random: np.random.Generator) -> Numbers:
    failures = plays - ones
    quantile = betaincinv(ones + 1, np.maximum(failures, 1), 1 - 1 / (t + 1))
    return np.where(failures == 0, 1.0, quantile)


def bayes_ucb_flat(plays: Numbers, ones: Numbers, t: int, random: np.random.Generator) -> Numbers:
    return np.asarray(betaincinv(ones + 1, plays - ones + 1, 1 - 1 / (t + 1)))


INDICES: dict[str, Callable[[Numbers, Numbers, int, np.random.Generator], Numbers]] = {
    UCB1: ucb1,
    THOMPSON: thompson,
    KL_UCB: kl_ucb,
    BAYES_UCB: bayes_ucb,
    BAYES_UCB_FLAT: bayes_ucb_flat,
}
FROM_A_PRIOR = (THOMPSON, BAYES_UCB_FLAT)


def play(policy: str, horizon: int, trials: range) -> Played:
    """All trials together; all but the policies with a prior first play every arm once."""
    began = time.process_time()
    random = np.random.default_rng(trials.start)
    index = INDICES[policy]
    # Every trial has the arms in an order of its own, so that ties, which go to the first, favour none.
    mu = random.permuted(np.tile(MU, (len(trials), 1)), axis=1)
    plays, ones = np.zeros_like(mu), np.zeros_like(mu)
    rows = np.arange(len(trials))
    for t in range(1, horizon + 1):
        if t <= len(MU) and policy not in FROM_A_PRIOR:
            arms = np.full(len(trials), t - 1)
        else:
            arms = index(plays, ones, t, random).argmax(axis=1)
        plays[rows, arms] += 1
        ones[rows, arms] += random.random(len(trials)) < mu[rows, arms]
    seconds = time.process_time() - began
    return Played(seconds, (plays * (max(MU) - mu)).sum(axis=1).tolist())


if __name__ == "__main__":
    answer(np.__version__, play)
