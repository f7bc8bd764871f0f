"""Measure means by inverse propensities, and what-ifs, over simulated trials: the tables of docs/how-to/off-policy.md.

Two arms; the chance of each is that it is the better one by a normal approximation of the posteriors, with a floor.

    python tools/measure_weights.py [TRIALS]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.special import ndtr

from safebandit.core.importance import Points, bounds, estimate
from safebandit.trials.analysis.weighted import adaptive_mean

UNITS = 400
LOOKS = (50, 100, 200, 400)
Means = tuple[float, float]


def simulate(mu: Means, floor: float, trials: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Arms, outcomes, chances of the second arm, and what was predicted of both before each unit."""
    rng, plays, total = np.random.default_rng(seed), np.zeros((trials, 2)), np.zeros((trials, 2))
    arms, values, chances = (np.zeros((trials, UNITS)) for _ in range(3))
    before, rows = np.zeros((trials, UNITS, 2)), np.arange(trials)
    for t in range(UNITS):
        mean = (total + 1.0) / (plays + 2.0)
        deviation = np.sqrt((mean * (1.0 - mean) / (plays + 3.0)).sum(axis=1))
        before[:, t] = (total + 0.5) / (plays + 1.0)
        chances[:, t] = floor + (1.0 - 2.0 * floor) * ndtr((mean[:, 1] - mean[:, 0]) / deviation)
        chosen = (rng.random(trials) < chances[:, t]).astype(int)
        arms[:, t] = chosen
        values[:, t] = rng.random(trials) < np.array(mu)[chosen]
        plays[rows, chosen] += 1.0
        total[rows, chosen] += values[:, t]
    return arms.astype(int), values, chances, before


def means_row(mu: Means, floor: float, trials: int, seed: int) -> list[list[float]]:
    """Of both arms: bias of the plain mean, of IPW and of AIPW, and coverage of naive and of AIPW intervals."""
    arms, values, chances, _ = simulate(mu, floor, trials, seed)
    found = []
    for k in (0, 1):
        given, chance = arms == k, chances if k else 1.0 - chances
        plays = np.maximum(given.sum(axis=1), 1)
        plain = (values * given).sum(axis=1) / plays
        naive = 1.96 * np.sqrt(plain * (1.0 - plain) / plays)
        ipw = (values * given / chance).mean(axis=1)
        mean, error = np.array([adaptive_mean(values[i], given[i], chance[i]) for i in range(trials)]).T
        covered = (np.abs(plain - mu[k]) <= naive).mean(), (np.abs(mean - mu[k]) <= 1.96 * error).mean()
        biases = (each.mean() - mu[k] for each in (plain, ipw, mean))
        spread = (each.std() for each in (plain, ipw, mean))
        found.append([*biases, *spread, *covered])
    return found


def what_if_row(mu: Means, floor: float, trials: int, seed: int) -> tuple[float, float, float, float]:
    """The greedy policy on the log: bias of its value, how often a 95 % interval misses at any look, and its width."""
    arms, values, chances, before = simulate(mu, floor, trials, seed)
    greedy = np.eye(2)[before.argmax(axis=2)]
    both = np.stack([1.0 - chances, chances], axis=2)
    errors, missed, width = [], 0, 0.0
    for i in range(trials):
        ok = True
        for n in LOOKS:
            points = Points(arms[i, :n], values[i, :n], both[i, :n], before[i, :n])
            low, high = bounds(points, greedy[i, :n], 0.95)
            ok = ok and low <= (greedy[i, :n] @ np.array(mu)).mean() <= high
        errors.append(estimate(points, greedy[i]) - (greedy[i] @ np.array(mu)).mean())
        missed += not ok
        width += (high - low) / trials
    return float(np.mean(errors)), float(np.std(errors)), missed / trials, width


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"{trials:,} trials of {UNITS} units")
    print("| means | floor | arm | bias: plain | IPW | AIPW | sd: plain | IPW | AIPW | covered: naive | AIPW |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for mu in ((0.4, 0.4), (0.4, 0.6), (0.1, 0.1)):
        for floor in (0.02, 0.1, 0.2):
            for k, row in enumerate(means_row(mu, floor, trials, 5)):
                numbers = " | ".join([*(f"{x:+.4f}" for x in row[:3]), *(f"{x:.3f}" for x in row[3:])])
                print(f"| {mu[0]:g}, {mu[1]:g} | {floor:g} | {k + 1} | {numbers} |")
    print("| means | floor | bias | sd | missed at any of four looks | width at the last |")
    print("|---|---|---|---|---|---|")
    for mu in ((0.4, 0.4), (0.4, 0.6)):
        for floor in (0.02, 0.1, 0.2):
            bias, spread, missed, width = what_if_row(mu, floor, trials // 5, 6)
            print(f"| {mu[0]:g}, {mu[1]:g} | {floor:g} | {bias:+.4f} | {spread:.3f} | {missed:.4f} | {width:.2f} |")


if __name__ == "__main__":
    main()
