"""Mixtures of arms: the choice is the optimum of the linear program, and the baselines behave as elsewhere."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog

import safebandit as sb
from safebandit.core.arms import EVERY, new_memory
from safebandit.core.indices import lower, steady, upper
from safebandit.core.kernels import kernels_for
from safebandit.core.policies import PolicyMixture, prepare, widths
from safebandit.core.streams import trial_streams
from safebandit.errors import PolicyError


def looked_at(policy, plays, rewards, risks, alpha, t, seed=0):
    """What a mixture sees after so many plays with such totals: risk bounds, reward indices, probabilities."""
    count = len(plays)
    ready = prepare(policy, [str(k) for k in range(count)], "hold", limits=(alpha,), risks=[0.0] * count)
    streams = trial_streams(seed, 0, count)
    memory = new_memory(streams.keys, streams.policy, widths(ready))
    kernels = kernels_for(ready)
    kernels.begin(ready, memory, (alpha,))
    for k in range(count):
        for play in range(plays[k]):
            values = float(play < rewards[k]), float(play < risks[k])
            kernels.learn(ready, memory, (alpha,), k, play, values[0], values[1:], np.nan, (np.nan,))
        memory.arms["asked"][k] = plays[k]
    table = np.full((count, 4), np.nan)
    kernels.look(ready, memory, (alpha,), t, table)
    return table[:, [3, 0, 1, 2]]


@pytest.mark.parametrize("policy", ["bwcr", "pess"])
@pytest.mark.parametrize("seed", range(25))
def test_the_mixture_solves_the_linear_program(policy, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    plays = rng.integers(1, 60, count)
    rewards, risks = rng.binomial(plays, rng.random(count)), rng.binomial(plays, rng.random(count))
    alpha = float(rng.uniform(0.1, 0.9))
    table = looked_at(policy, plays, rewards, risks, alpha, int(plays.sum()) + 1)
    risk, permitted, reward, probability = table.T
    solved = linprog(-reward, A_ub=[risk], b_ub=[alpha], A_eq=[np.ones(count)], b_eq=[1.0], bounds=(0, 1))
    if not solved.success:
        assert not permitted.any()
        assert not probability.any()
        return
    assert probability.sum() == pytest.approx(1.0, abs=1e-12)
    assert probability @ risk <= alpha + 1e-12
    assert probability @ reward == pytest.approx(-solved.fun, abs=1e-8)
    assert (probability > 0).sum() <= 2


def test_arms_are_played_as_often_as_the_mixture_says():
    # The best mixture has risk 0.5 in the mean, half of each arm; lower risk indices let it begin above that, and the
    # excess, of order sqrt(log T / T), is 0.01 at T = 20,000. A standard error of the mean share is 0.001.
    instance = sb.Instance.bernoulli(mu=[0.2, 0.9], nu=[0.1, 0.9], alpha=0.5)
    result = sb.simulate(instance, "bwcr", horizon=20_000, trials=20, seed=1)
    share = result.of("bwcr").plays[:, 1] / 20_000
    assert 0.5 < share.mean() < 0.55


def test_pess_never_exceeds_the_limit_in_the_mean():
    instance = sb.instance_by_name("policy-case-1")
    result = sb.simulate(instance, "pess", horizon=20_000, trials=20, seed=1)
    mean_risk = result.of("pess").risk.sum(axis=1) / 20_000
    # The upper risk index holds with high probability, so that the mixture's true risk stays below alpha.
    assert mean_risk.mean() < instance.alpha + 3 * 0.5 / np.sqrt(20 * 20_000)


def test_baselines_play_unsafe_arms_as_measured_before():
    # 100 trials elsewhere gave 10,400 for BwCR; the interval here is three combined standard errors (3 in 1,000).
    result = sb.simulate(sb.instance_by_name("policy-case-2"), ["docb", "bwcr"], horizon=50_000, trials=60, seed=5)
    unsafe = result.final("bwcr", "unsafe_plays")
    error = unsafe.std(ddof=1) * np.sqrt(1 / 60 + 1 / 100)
    assert abs(unsafe.mean() - 10_400) < 3 * error
    assert (result.final("docb", "unsafe_plays") < unsafe).mean() > 0.95


def test_a_live_trial_shows_the_mixture():
    trial = sb.Trial(["safe", "strong"], alpha=0.3, policy="pess:safe_arm=safe,safe_risk=0.1", seed=2)
    for _ in range(40):
        unit = trial.ask()
        trial.tell(unit.id, reward=float(unit.arm == "strong"), risk=float(unit.arm == "strong"))
    views = trial.explain().arms
    assert sum(view.probability for view in views) == pytest.approx(1.0)
    risk = sum(view.probability * view.risk_index for view in views)
    assert risk <= 0.3 + 1e-12
    assert views[0].risk_index == 0.1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pess", ["must be known", "safe_risk"]),
        ("pess:safe_risk=0.9", ["[0, alpha]", "0.9"]),
        ("pess:safe_arm=7,safe_risk=0.1", ["safe_arm must be an arm", "7"]),
        ("pess:safe_risk=x", ["safe_risk", "x"]),
        ("bwcr:safe_arm=0", ["safe_arm", "when_none"]),
    ],
)
def test_mistakes(text, words):
    with pytest.raises(PolicyError) as caught:
        sb.Trial(3, 0.3, text)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("policy", ["bwcr", "pess", "bwcr:level=theory"])
@pytest.mark.parametrize(
    ("count", "alpha", "alike"),
    [
        (1, 0.4, False), (2, 0.3, False), (5, 0.21, False), (40, 0.3, False), (1_000, 0.3, False),
        (6, 0.0, False), (6, 1.0, False), (4, 0.02, True), (6, 0.4, True), (40, 0.5, True),
    ],
)  # fmt: skip
def test_few_indices_give_the_mixture_that_all_would_give(policy, count, alpha, alike):
    """In every round the decision is the one that is made where nothing is noted: same arm, same random numbers."""
    rng = np.random.default_rng(count)
    ready = prepare(policy, [str(k) for k in range(count)], "least_risky", limits=(alpha,), risks=[0.0] * count)
    streams, kernels = trial_streams(count, 0, count), kernels_for(ready)
    means = np.full((count, 2), 0.4) if alike else rng.random((count, 2))
    few = new_memory(streams.keys, streams.policy.copy(), widths(ready))
    kernels.begin(ready, few, (alpha,))
    skipped = 0
    for t in range(1, 1_500 + 2 * count):
        every = few.copy()
        every.notes["changed"] = EVERY
        chosen = kernels.decide(ready, few, (alpha,), t)
        if count < 100 or t % 5 == 0:
            assert chosen == kernels.decide(ready, every, (alpha,), t), t
            assert np.array_equal(few.streams, every.streams)
        skipped += (few.front["mark"] != t).sum()
        k = chosen[0]
        few.arms["asked"][k] += 1
        reward, risk = (rng.random(2) < means[k]).astype(float)
        kernels.learn(ready, few, (alpha,), k, t, reward, (risk,), np.nan, (np.nan,))
    assert skipped > 0 or count <= 2 or alpha < 0.1


def every_mixture(reward, risk, alpha):
    """Each mixture of the definition, by trying all pairs: its value, and the probability of each arm."""
    for i in np.flatnonzero(risk <= alpha):
        yield reward[i], np.eye(len(reward))[i]
        for j in np.flatnonzero((risk > alpha) & (reward > reward[i] + 1e-9)):
            share = (alpha - risk[i]) / (risk[j] - risk[i])
            yield reward[i] + share * (reward[j] - reward[i]), np.eye(len(reward))[[i, j]].T @ [1 - share, share]


@pytest.mark.parametrize("policy", ["bwcr", "pess"])
@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 12, 50])
def test_the_mixture_is_one_of_the_best_of_all_pairs(policy, alpha, count):
    rng = np.random.default_rng(count)
    for seed in range(12):
        # Few plays, so that many arms have seen the same.
        plays = rng.integers(1, 5, count)
        rewards, risks = rng.binomial(plays, 0.5), rng.binomial(plays, 0.5)
        risk, permitted, reward, probability = looked_at(policy, plays, rewards, risks, alpha, 300, seed).T
        found = list(every_mixture(reward, risk, alpha))
        if not found:
            assert not permitted.any()
            assert not probability.any()
            continue
        best = max(value for value, _ in found)
        assert any(value >= best - 1e-9 and np.allclose(probability, shares, atol=1e-12) for value, shares in found)


def test_tied_mixtures_are_as_likely():
    # Two safe arms that saw the same and three unsafe ones: six mixtures, of one value. Chi-square, 5 degrees of
    # freedom, an error in 10,000.
    counts = {}
    for seed in range(3_000):
        table = looked_at("bwcr", [30] * 5, [9, 9, 27, 27, 27], [3, 3, 27, 27, 27], 0.3, 200, seed)
        pair = tuple(np.flatnonzero(table[:, 3]))
        counts[pair] = counts.get(pair, 0) + 1
    assert set(counts) == {(i, j) for i in (0, 1) for j in (2, 3, 4)}
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 25.75


class Mean(NamedTuple):
    """The mean itself, steady; infinite before the first play."""


@upper.register(Mean)
def mean_upper(index, seen):
    return seen.mean if seen.plays > 0 else math.inf


@lower.register(Mean)
def mean_lower(index, seen):
    return seen.mean


@steady.register(Mean)
def mean_is_steady(index):
    return True


def test_the_safe_arms_risk_may_be_alpha_itself():
    # (reward, risk): once the safe arm, of risk alpha, falls to 0.5, the last two mixed are worth about 0.71.
    policy = PolicyMixture(Mean(), Mean(), safe_arm=1, safe_risk=0.3, each_first=False)
    ready = prepare(policy, ["a", "b", "c", "d"], "hold", limits=(0.3,))
    streams, kernels = trial_streams(0, 0, 4), kernels_for(ready)
    few = new_memory(streams.keys, streams.policy, widths(ready))
    kernels.begin(ready, few, (0.3,))
    for k, (reward, risk) in enumerate([(0.97, 0.9), (0.96, 0.3), (0.98, 0.31), (0.45, 0.29)]):
        kernels.learn(ready, few, (0.3,), k, 0, reward, (risk,), np.nan, (np.nan,))
    kernels.decide(ready, few, (0.3,), 10)
    kernels.learn(ready, few, (0.3,), 1, 1, 0.04, (0.3,), np.nan, (np.nan,))
    every = few.copy()
    every.notes["changed"] = EVERY
    assert kernels.decide(ready, few, (0.3,), 11) == kernels.decide(ready, every, (0.3,), 11)
    assert few.arms["ceiling"][few.notes["leader"][0]] == 0.45


def test_an_arm_that_was_never_played_may_have_an_infinite_index():
    ready = prepare(PolicyMixture(Mean(), Mean(), each_first=False), ["a", "b"], "hold", limits=(0.3,))
    streams, kernels = trial_streams(0, 0, 2), kernels_for(ready)
    memory = new_memory(streams.keys, streams.policy, widths(ready))
    kernels.begin(ready, memory, (0.3,))
    k, none = kernels.decide(ready, memory, (0.3,), 1)
    assert k in (0, 1)
    assert not none
