"""The fast search for the largest steady index, held to computing all of them."""

from typing import NamedTuple

import numpy as np
import pytest

from safebandit.core.arms import new_memory
from safebandit.core.indices import (
    IMED,
    BayesLower,
    BayesUpper,
    EmpiricalLower,
    EmpiricalUpper,
    HoeffdingUpper,
    JointUpper,
    KLLower,
    KLUpper,
    Level,
    VarianceUpper,
    steady,
    upper,
)
from safebandit.core.kernels import kernels_for
from safebandit.core.policies import DoublyOptimistic, prepare, widths
from safebandit.core.streams import trial_streams

from .. import plain

INDICES = {
    KLUpper: lambda arms, t: plain.kl_upper_index("practical", arms["plays"] + arms["pending"], share(arms), t),
    # Rewards here are bits, of which the empirical index is that of KL-UCB.
    EmpiricalUpper: lambda arms, t: plain.kl_upper_index("practical", arms["plays"] + arms["pending"], share(arms), t),
    HoeffdingUpper: lambda arms, t: plain.hoeffding_upper_index("practical", arms["plays"], arms["total"], t),
    BayesUpper: lambda arms, t: plain.bayes_upper_index("practical", arms["plays"], arms["ones"], t),
}


def share(arms):
    """The total that plays and pending plays have together, at the mean of those known."""
    return arms["total"] * (arms["plays"] + arms["pending"]) / np.maximum(arms["plays"], 1)


def assert_largest(bench, kind, t, permitted):
    k, none = bench.decide(t)
    assert not none
    values = np.where(permitted, INDICES[kind](bench.arms["reward"], t), -1.0)
    assert permitted[k]
    assert values[k] >= values.max() - 1e-9, (t, k, values)
    return k


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("seed", range(6))
def test_the_chosen_arm_has_the_largest_index(kind, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 9))
    bench = plain.Bench(DoublyOptimistic(kind(), KLLower(), each_first=False), count, 0.5, seed)
    means = rng.random(count)
    for t in range(1, 600):
        k = assert_largest(bench, kind, t, np.ones(count, bool))
        # Now and then another arm learns, as it does when outcomes come late.
        k = k if rng.random() < 0.8 else int(rng.integers(count))
        bench.learn(k, float(rng.random() < means[k]), 0.0)


def test_rounds_may_jump_and_arms_come_and_go():
    rng = np.random.default_rng(11)
    bench = plain.Bench(DoublyOptimistic(KLUpper(), KLLower(), each_first=False), 6, 0.5)
    means, t = rng.random(6), 1
    for _ in range(600):
        available = rng.random(6) < 0.7
        if not available.any():
            continue
        bench.arms["available"] = available
        k = assert_largest(bench, KLUpper, t, available)
        bench.learn(k, float(rng.random() < means[k]), 0.0)
        t += int(rng.integers(1, 200))


def test_pending_plays_lower_an_arms_index():
    # A cohort: plays are given out, and their outcomes arrive all at once.
    rng = np.random.default_rng(12)
    bench = plain.Bench(DoublyOptimistic(KLUpper(), KLLower(), each_first=False), 4, 0.5)
    for k in range(4):
        bench.learn(k, float(k % 2), 0.0)
    t = 5
    for _ in range(60):
        given = []
        for _ in range(8):
            k = assert_largest(bench, KLUpper, t, np.ones(4, bool))
            bench.arms["reward"]["pending"][k] += 1
            given.append(k)
            t += 1
        for k in given:
            bench.arms["reward"]["pending"][k] -= 1
            bench.learn(k, float(rng.random() < 0.5), 0.0)


POLICIES = {
    "docb": DoublyOptimistic(KLUpper(), KLLower()),
    "docb, theory": DoublyOptimistic(KLUpper(Level.theory), KLLower(Level.theory)),
    "klbayes": DoublyOptimistic(KLUpper(), BayesLower(), each_first=False),
    "joint-kl": DoublyOptimistic(JointUpper(), KLLower()),
    "joint-kl, head start": DoublyOptimistic(JointUpper(), KLLower(), head_start=300),
    "safe-imed": DoublyOptimistic(IMED(), BayesLower()),
    "safe-imed, discount": DoublyOptimistic(IMED(0.7), KLLower()),
    "empirical-kl": DoublyOptimistic(EmpiricalUpper(), EmpiricalLower()),
    "empirical-kl, theory": DoublyOptimistic(EmpiricalUpper(Level.theory), EmpiricalLower(Level.theory)),
    "hoeffding": DoublyOptimistic(HoeffdingUpper(), KLLower()),
    "variance": DoublyOptimistic(VarianceUpper(), KLLower()),
}
PROBLEMS = {
    "one arm": (1, 0.3), "two": (2, 0.3), "five": (5, 0.21), "forty": (40, 0.3), "a thousand": (1_000, 0.3),
    "no risk": (5, 0.0), "any risk": (5, 1.0), "none is safe": (4, 0.02), "ties": (6, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", POLICIES)
def test_what_is_noted_changes_no_decision(name, problem):
    """In every round the decision is the one that is made where nothing is noted: same arm, same random numbers."""
    count, alpha = PROBLEMS[problem]
    rng = np.random.default_rng(count)
    ready = prepare(POLICIES[name], [str(k) for k in range(count)], "least_risky", limits=(alpha,))
    streams, kernels = trial_streams(count, 0, count), kernels_for(ready)
    means = np.full((count, 2), 0.4) if problem == "ties" else rng.uniform(0.1, 0.95, (count, 2))
    noted = new_memory(streams.keys, streams.policy.copy(), widths(ready))
    kernels.begin(ready, noted, (alpha,))
    for t in range(1, 2_500 if count < 100 else 4_000):
        fresh = noted.copy()
        fresh.notes[:] = 0
        chosen = kernels.decide(ready, noted, (alpha,), t)
        if count < 100 or t % 7 == 0:
            assert chosen == kernels.decide(ready, fresh, (alpha,), t), t
            assert np.array_equal(noted.streams, fresh.streams)
        k = chosen[0]
        play = int(noted.arms["asked"][k])
        noted.arms["asked"][k] += 1
        reward, risk = (rng.random(2) < means[k]).astype(float)
        kernels.learn(ready, noted, (alpha,), k, play, reward, (risk,), np.nan, (np.nan,))


class Broken(NamedTuple):
    """Steady, but no number for arms of low mean: minus infinity, or NaN."""

    nan: bool


@upper.register(Broken)
def broken_upper(index, seen):
    if seen.mean >= 0.5:
        return seen.mean
    return np.nan if index.nan else -np.inf


@steady.register(Broken)
def broken_is_steady(index):
    return True


@pytest.mark.parametrize("nan", [False, True])
def test_a_closed_arm_is_never_played_for_want_of_numbers(nan):
    bench = plain.Bench(DoublyOptimistic(Broken(nan), KLLower(), each_first=False), 3, 0.3)
    for k, (reward, risk) in enumerate([(0.0, 0.0), (0.0, 0.0), (1.0, 1.0)]):
        for _ in range(30):
            bench.learn(k, reward, risk)
    for t in range(100, 110):
        k, none = bench.go_on(t)
        # The first number counts, even minus infinity; of no number, the least risky arm is played, and that is said.
        assert (k in (0, 1), none) == (True, nan)
        bench.learn(k, 0.0, 0.0)
