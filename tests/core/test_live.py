"""The steps of a live trial by its address are those of the kernels, which are handed everything."""

import numpy as np
import pytest

from safebandit.core.conduct import plain_conduct
from safebandit.core.kernels import Told, kernels_for, no_contexts
from safebandit.core.policies import policy_from_text
from safebandit.trials.allocator import ANSWERS, Allocator

ARMS, LIMITS = ("a", "b", "c"), (0.3, 0.4)


# With numbers of their own for each arm, for the trial, and without any: their arrays lie apart in some.
@pytest.mark.parametrize("policy", ["safe-ids", "docb", "tsbu", "equal", "bwk"])
def test_decisions_outcomes_and_streams_are_the_same(policy):
    live = Allocator(
        ARMS, LIMITS, policy_from_text(policy), risks=("x", "y"), seed=3, conduct=plain_conduct(pending_cap=9),
        units=100,
    )  # fmt: skip
    kernels, memory, rng = kernels_for(live._called), live.memory.copy(), np.random.default_rng(1)
    for t in range(1, 40):
        numbers, counts = memory.numbers.copy(), np.zeros(ANSWERS + len(ARMS), np.int64)
        memory.table["value"][:] = np.nan
        answer = kernels.decide(live._called, live._packed, memory, t, 1, counts)
        memory.numbers[:] = numbers
        decision = live.decide(t)
        assert (decision.k, decision.none) == answer
        assert decision.saw == memory.table.tobytes()
        assert live.memory.streams.tobytes() == memory.streams.tobytes()
        k = int(rng.integers(len(ARMS)))
        play = live.give(k, t)
        assert play == memory.arms["asked"][0, k]
        memory.arms["asked"][0, k] += 1
        memory.quantities["pending"][0, k] += 1
        memory.courses[:] = live.memory.courses
        outcome = tuple(rng.integers(0, 2, 3).astype(float).tolist())
        live.learn(k, play, t, (None,) * 3, outcome)
        news, known = np.array([outcome]), np.full((1, 3), np.nan)
        told = Told(
            *(np.array([each]) for each in (k, play, t)), news.view(memory.table.dtype), known.view(memory.table.dtype),
            np.array([False]), no_contexts(1),
        )  # fmt: skip
        kernels.learn(live._called, live._packed, memory, told)
        assert live.memory.bytes.tobytes() == memory.bytes.tobytes()
        assert live.memory.numbers.tobytes() == memory.numbers.tobytes()
        assert live.memory.courses.tobytes() == memory.courses.tobytes()
