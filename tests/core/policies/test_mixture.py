"""Mixtures of arms: the choice is the optimum of the linear program, and the baselines behave as elsewhere."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog

import safebandit as sb
from safebandit.core.indices import lower, upper
from safebandit.core.policies import PolicyMixture, Setup, policy_from_text, prepare
from safebandit.errors import PolicyError

from .. import driving, plain


@functools.cache
def bench(text, count, alpha):
    return driving.Bench(text, count, alpha)


def looked_at(text, plays, rewards, risks, alpha, t):
    """What a mixture sees after so many plays with such totals: risk bounds, permitted, reward indices, chances."""
    one = bench(text, len(plays), alpha)
    for k in range(len(plays)):
        one.set(k, 0, plays[k], rewards[k]).set(k, 1, plays[k], risks[k])
        one.arms["asked"][k] = plays[k]
    permitted, reward, chance, risk = (each.copy() for each in one.table(t))
    return risk[:, 0], permitted, reward, chance


@pytest.mark.parametrize("text", ["bwcr", "bwcr:level=theory", "pess"])
@pytest.mark.parametrize("seed", range(25))
def test_the_mixture_solves_the_linear_program(text, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    plays = rng.integers(1, 60, count)
    rewards, risks = rng.binomial(plays, rng.random(count)), rng.binomial(plays, rng.random(count))
    alpha, t = float(rng.uniform(0.1, 0.9)), int(plays.sum()) + 1
    risk, permitted, reward, chance = looked_at(text, plays, rewards, risks, alpha, t)
    # The table has the formulas' numbers; the safe arm's risk is known to be 0.
    level = "theory" if "theory" in text else "practical"
    assert reward == pytest.approx(plain.kl_upper_index(level, plays, rewards, t), abs=1e-7)
    bounds = plain.kl_lower_index(level, plays, risks, t)
    if text == "pess":
        bounds = plain.kl_upper_index(level, plays, risks, t)
        bounds[0] = 0.0
    assert risk == pytest.approx(bounds, abs=1e-7)
    assert (permitted == (risk <= alpha)).all()
    solved = linprog(-reward, A_ub=[risk], b_ub=[alpha], A_eq=[np.ones(count)], b_eq=[1.0], bounds=(0, 1))
    if not solved.success:
        assert not permitted.any()
        assert np.isnan(chance).all()
        return
    assert chance.sum() == pytest.approx(1.0, abs=1e-12)
    assert chance @ risk <= alpha + 1e-12
    assert chance @ reward == pytest.approx(-solved.fun, abs=1e-8)
    assert (chance > 0).sum() <= 2
    # And arms are given with these chances, where no other mixture is as good.
    values = sorted(value for value, _ in every_mixture(reward, risk, alpha))
    if len(values) == 1 or values[-2] < values[-1] - 1e-9:
        found = bench(text, count, alpha).counts(t, 10_000)[:-2]
        assert found[chance == 0].sum() == 0
        driving.assert_frequencies(found[chance > 0], chance[chance > 0])


def every_mixture(reward, risk, alpha):
    """Each mixture of the definition, by trying all pairs: its value, and the chance of each arm."""
    for i in np.flatnonzero(risk <= alpha):
        yield reward[i], np.eye(len(reward))[i]
        for j in np.flatnonzero((risk > alpha) & (reward > reward[i] + 1e-9)):
            share = (alpha - risk[i]) / (risk[j] - risk[i])
            yield reward[i] + share * (reward[j] - reward[i]), np.eye(len(reward))[[i, j]].T @ [1 - share, share]


def test_units_that_are_pending_make_no_arm_safer():
    one = driving.Bench("pess", 2, 0.25)
    for k in range(2):
        one.set(k, 0, 5, 3).set(k, 1, 5, 0)
    one.arms["asked"] = 10
    one.seen["pending"][1] = 5
    # Of five units without harm the largest risk at t = 11 is 1 - 11^(-1/5), whoever is waited for.
    _, _, _, risk = one.table(11)
    assert risk[1, 0] == pytest.approx(1 - 11 ** (-1 / 5), abs=1e-9)


@pytest.mark.parametrize("text", ["bwcr", "pess"])
@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 12, 50])
def test_the_mixture_is_one_of_the_best_of_all_pairs(text, alpha, count):
    rng = np.random.default_rng(count)
    for _ in range(12):
        # Few plays, so that many arms have seen the same.
        plays = rng.integers(1, 5, count)
        rewards, risks = rng.binomial(plays, 0.5), rng.binomial(plays, 0.5)
        risk, permitted, reward, chance = looked_at(text, plays, rewards, risks, alpha, 300)
        found = list(every_mixture(reward, risk, alpha))
        if not found:
            assert not permitted.any()
            assert np.isnan(chance).all()
            continue
        best = max(value for value, _ in found)
        assert any(value >= best - 1e-9 and np.allclose(chance, shares, atol=1e-12) for value, shares in found)


def test_tied_mixtures_are_as_likely():
    # Two safe arms that saw the same and three unsafe ones: six mixtures, of one value. Chi-square, 5 degrees of
    # freedom, an error in 10,000.
    counts = {}
    for _ in range(3_000):
        chance = looked_at("bwcr", [30] * 5, [9, 9, 27, 27, 27], [3, 3, 27, 27, 27], 0.3, 200)[3]
        pair = tuple(np.flatnonzero(chance))
        counts[pair] = counts.get(pair, 0) + 1
    assert set(counts) == {(i, j) for i in (0, 1) for j in (2, 3, 4)}
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 25.75


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
        prepare(policy_from_text(text), Setup(("0", "1", "2"), (0.3,), "hold"))
    for word in words:
        assert word in str(caught.value)


class Mean(NamedTuple):
    """The mean itself; infinite before the first play."""


@upper.register(Mean)
def mean_upper(index, seen):
    return seen.mean if seen.plays > 0 else math.inf


@lower.register(Mean)
def mean_lower(index, seen):
    return seen.mean


def test_indices_of_ones_own_that_may_be_infinite_and_a_safe_arm_of_risk_alpha():
    one = driving.Bench(PolicyMixture(Mean(), Mean(), safe_arm=1, safe_risk=0.3, each_first=False), 4, 0.3)
    # An arm that was never played has the largest reward index, and the risk 0.
    k, none = one.decide(1)
    assert k in range(4)
    assert not none
    for k, outcome in enumerate([(0.97, 0.9), (0.96, 0.3), (0.98, 0.31), (0.45, 0.29)]):
        one.learn(k, *outcome)
    assert one.decide(10) == (1, False)
    # Once the safe arm, of risk alpha, falls to 0.5, the last two mixed are worth about 0.71.
    one.learn(1, 0.04, 0.3)
    assert one.table(11)[2].tolist() == pytest.approx([0.0, 0.0, 0.5, 0.5])
