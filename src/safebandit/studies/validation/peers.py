"""Checks beside other libraries: where every arm is safe, the problem is the standard one, and so must regret be."""

from __future__ import annotations

import functools
import math

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.problems import Instance
from safebandit.simulation.simulate import simulate
from safebandit.studies.validation import numbers
from safebandit.studies.validation.check import Check, Extent, Obtained, simulated

GROUP = "peers"
SEED = 7
TRIALS = (400, 3_000)
POLICIES = {"Thompson": "tsbu", "KL-UCB": "docb"}


@functools.cache
def _regret(policy: str, trials: int, workers: int | None) -> Numbers:
    instance = Instance.bernoulli(numbers.PEER_MEANS, [0.5] * len(numbers.PEER_MEANS), 1.0)
    result = simulate(instance, policy, horizon=numbers.PEER_ROUNDS, trials=trials, seed=SEED, workers=workers)
    return result.final(policy)


def _check(library: str, kind: str, mean: float, error: float) -> Check:
    def compute(extent: Extent) -> Obtained:
        values = _regret(POLICIES[kind], extent.trials(*TRIALS), extent.workers)
        ours = float(np.std(values, ddof=1)) / math.sqrt(len(values))
        return Obtained(float(np.mean(values)), math.hypot(ours, error))

    return Check(
        f"mean regret of {kind} without risks ({POLICIES[kind]} here)", GROUP,
        f"{library}, run beside ours by make bench-peers; its standard error {error:g}", mean, compute, margin=0.5,
        **simulated(", and half of the last printed digit"),
    )  # fmt: skip


CHECKS = tuple(_check(*peer) for peer in numbers.PEERS)
