"""Rounds per second of one core under policies that go by features: 50 arms, 10 features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safebandit.core.policies import policy_from_text
from safebandit.core.policies.catalogue import POLICIES
from safebandit.problems import Instance
from safebandit.simulation.simulate import simulate
from speed.problems import SEED
from speed.size import Size
from speed.spread import Spread

ARMS, FEATURES = 50, 10
# Rounds per second at least.
GOAL = 100_000
LINEAR = tuple(name for name in POLICIES if getattr(policy_from_text(name), "by_features", False))
# A trial may be so long, of all rounds that a measurement plays.
TRIALS = 10


def many_features() -> Instance:
    """Arms of length 1 in random directions, half of them safe; the safest comes first."""
    random = np.random.default_rng(SEED)
    features = random.random((ARMS, FEATURES))
    features /= np.linalg.norm(features, axis=1)[:, None]
    reward, risk = 0.3 * random.random((2, FEATURES))
    features = features[np.argsort(features @ risk)]
    return Instance.linear(features, reward, risk, alpha=float(np.median(features @ risk)), name="many-features")


def figures(size: Size) -> Iterator[tuple[str, Spread]]:
    """Rounds per second of processor time under each policy, compiling aside."""
    instance = many_features()
    horizon = max(100, size.rounds // (10 * TRIALS))
    for policy in LINEAR:
        speeds = []
        for _ in range(1 + size.repeats):
            played = simulate(
                instance, policy, horizon=horizon, trials=TRIALS, seed=SEED, workers=1, checkpoints=[]
            ).rounds_per_second(policy)
            speeds.append(float(played or 0.0))
        # The first is not counted: caches were cold.
        yield policy, Spread.of(speeds[1:])
