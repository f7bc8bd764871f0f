"""Theory: against the numbers that the paper prints, against brute force, and against each other."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.special import rel_entr

import safebandit as sb
from safebandit.errors import SimulationError
from safebandit.problems.theory import bayes_level, bounds_of, gap_free_regret, kl_level


def kl(p: float, q: float) -> float:
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def test_the_paper_prints_137_and_81():
    bounds = bounds_of(sb.instance_by_name("drug-trial", 0.21))
    assert math.floor(bounds.regret_slope) == 137
    assert math.floor(bounds.unsafe_slope) == 81


def test_at_019_theorem_1_is_not_the_printed_40_and_1500_but_theorem_4_is_near():
    bounds = bounds_of(sb.instance_by_name("drug-trial", 0.19))
    assert bounds.regret_slope == pytest.approx(28.2, abs=0.05)
    assert bounds.unsafe_slope == pytest.approx(935.6, abs=0.05)
    assert bounds.tsbu_regret_slope == pytest.approx(40, rel=0.1)
    assert bounds.tsbu_unsafe_slope == pytest.approx(1_500, rel=0.1)


@pytest.mark.parametrize("seed", range(8))
def test_slopes_are_the_sums_of_the_theorems(seed):
    rng = np.random.default_rng(seed)
    mu, nu = rng.uniform(0.05, 0.95, (2, 6))
    alpha = float(np.sort(nu)[2]) + 1e-3
    best = max(m for m, n in zip(mu, nu, strict=True) if n <= alpha)
    sums = np.zeros(6)
    for m, n in zip(mu, nu, strict=True):
        reward = kl(m, best) if m < best else 0.0
        risk = kl(n, alpha) if n > alpha else 0.0
        cost = max(best - m, n - alpha, 0.0)
        if cost > 0:
            rates = 1 / max(reward, risk), 1 / max(reward, risk * 2 / 3), 1 / (reward + risk)
            sums[:3] += cost * np.array(rates)
            sums[3:] += np.array(rates) * (n > alpha)
    bounds = bounds_of(sb.Instance.bernoulli(mu, nu, alpha))
    found = (
        bounds.regret_slope, bounds.tsbu_regret_slope, bounds.lower_regret_slope,
        bounds.unsafe_slope, bounds.tsbu_unsafe_slope, bounds.lower_unsafe_slope,
    )  # fmt: skip
    np.testing.assert_allclose(found, sums, rtol=1e-9)
    assert bounds.lower_regret_slope <= bounds.regret_slope <= 2 * bounds.lower_regret_slope
    assert bounds.regret_slope <= bounds.tsbu_regret_slope <= 1.5 * bounds.regret_slope


def test_explicit_bounds_are_the_least_over_a_fine_grid():
    horizon = 50_000
    instance = sb.instance_by_name("drug-trial", 0.21)
    at = bounds_of(instance).at(horizon)
    level = math.log(horizon) + 3 * math.log(math.log(horizon))
    inner = np.linspace(0, 1, 20_001)[1:-1]
    total = 0.0
    for k, (m, n) in enumerate(zip(instance.mu, instance.nu, strict=True)):
        candidates = [float(horizon)]
        if m < instance.best_mean:
            x = m + (instance.best_mean - m) * inner
            values = level / np.vectorize(kl)(x, instance.best_mean) + 2 / np.minimum(1, np.vectorize(kl)(x, m))
            candidates.append(values.min() + 6 * math.log(math.log(horizon)) + 24)
        if n > instance.alpha:
            y = instance.alpha + (n - instance.alpha) * inner
            values = level / np.vectorize(kl)(y, instance.alpha) + 2 / np.minimum(1, np.vectorize(kl)(y, n))
            candidates.append(values.min())
        assert at.explicit_docb_plays[k] == pytest.approx(min(candidates), rel=1e-6)
        total += min(candidates) * instance.costs[k]
    assert at.explicit_docb_regret == pytest.approx(total, rel=1e-6)


def test_levels_and_the_gap_free_bound():
    assert kl_level(1000) == pytest.approx(math.log(1000 * math.log(1000) ** 3))
    assert bayes_level(1000) == pytest.approx(math.log((2 * 1000 * math.log(1000) ** 2) ** 1.5))
    expected = math.sqrt(28 * 5 * 1e4 * math.log(1e4)) + 30 * math.log(math.log(1e4)) + 32
    assert gap_free_regret(5, 10_000) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["policy-case-2", "dose-two-risks"])
def test_simulated_docb_with_the_analysed_level_stays_below_its_explicit_bounds(name):
    # The bounds are on means and loose by a factor of about five: a false alarm would need a hundred standard errors.
    instance = sb.instance_by_name(name)
    result = sb.simulate(instance, ["docb:level=theory"], horizon=10_000, trials=30, seed=3)
    at = bounds_of(instance).at(10_000)
    plays = result.of("docb:level=theory").plays.mean(axis=0)
    suboptimal = instance.costs > 0
    assert (plays[suboptimal] < np.array(at.explicit_docb_plays)[suboptimal]).all()
    assert result.final("docb:level=theory").mean() < at.explicit_docb_regret


def test_no_horizon_below_three():
    with pytest.raises(SimulationError, match="at least 3"):
        bounds_of(sb.instance_by_name("drug-trial")).at(2)


def test_the_command_prints_the_same_numbers(command):
    asked = ["bounds", "--instance", "drug-trial", "--alpha", "0.21", "--horizon", "50000"]
    document = json.loads(command(*asked, "--json").out)
    bounds = bounds_of(sb.instance_by_name("drug-trial", 0.21))
    assert document["regret_slope"] == bounds.regret_slope
    assert document["at_horizon"]["horizon"] == 50_000
    assert document["arms"][2]["plays_slope"] is None
    assert len(document["arms"]) == 5
    assert "137.1 log T" in command(*asked).out


# Several risks.


@pytest.mark.parametrize("seed", range(6))
def test_slopes_with_several_risks_are_sums_by_hand(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 5))
    mu, nu = rng.uniform(0.05, 0.95, 6), rng.uniform(0.05, 0.95, (m, 6))
    limits = rng.uniform(0.3, 0.6, m)
    nu[:, 0] = limits - 0.1
    safe = [k for k in range(6) if all(nu[j, k] <= limits[j] for j in range(m))]
    best = max(mu[k] for k in safe)
    sums = np.zeros(6)
    for k in range(6):
        reward = kl(mu[k], best) if mu[k] < best else 0.0
        risks = [kl(nu[j, k], limits[j]) if nu[j, k] > limits[j] else 0.0 for j in range(m)]
        cost = max(best - mu[k], *(nu[j, k] - limits[j] for j in range(m)), 0.0)
        if cost > 0:
            rates = 1 / max(reward, *risks), 1 / max(reward, max(risks) * 2 / 3), 1 / (reward + sum(risks))
            sums[:3] += cost * np.array(rates)
            sums[3:] += np.array(rates) * (k not in safe)
    bounds = bounds_of(sb.Instance.bernoulli(mu, nu, limits))
    found = (
        bounds.regret_slope, bounds.tsbu_regret_slope, bounds.lower_regret_slope,
        bounds.unsafe_slope, bounds.tsbu_unsafe_slope, bounds.lower_unsafe_slope,
    )  # fmt: skip
    np.testing.assert_allclose(found, sums, rtol=1e-9)
    for k, arm in enumerate(bounds.arms):
        assert arm.nu == nu[:, k].tolist()
        assert arm.risk_divergence == pytest.approx(
            [kl(n, a) if n > a else 0.0 for n, a in zip(nu[:, k], limits, strict=True)]
        )
    # The sum is at most m + 1 times the largest.
    assert bounds.lower_regret_slope <= bounds.regret_slope <= (m + 1) * bounds.lower_regret_slope


def test_explicit_bounds_with_two_risks_are_the_least_over_risks_and_a_fine_grid():
    horizon = 20_000
    instance = sb.Instance.bernoulli([0.3, 0.5, 0.6, 0.4], [[0.1, 0.2, 0.5, 0.1], [0.1, 0.2, 0.6, 0.3]], [0.3, 0.25])
    at = bounds_of(instance).at(horizon)
    log = math.log(2 * horizon)
    kl_gate = log + 3 * math.log(log)
    bayes_gate = 0.5 * math.log(8 * horizon) + log + 3 * math.log(log)
    reward_level = math.log(horizon) + 3 * math.log(math.log(horizon))
    inner = np.linspace(0, 1, 20_001)[1:-1]
    each = np.vectorize(kl)

    def by_gate(k, level):
        found = [float(horizon)]
        for mean, limit in zip(instance.nu[:, k], instance.limits, strict=True):
            if mean > limit:
                y = limit + (mean - limit) * inner
                found.append((level / each(y, limit) + 2 / np.minimum(1, each(y, mean))).min())
        return min(found)

    for k in range(4):
        candidates = [by_gate(k, kl_gate)]
        if instance.mu[k] < instance.best_mean:
            x = instance.mu[k] + (instance.best_mean - instance.mu[k]) * inner
            values = reward_level / each(x, instance.best_mean) + 2 / np.minimum(1, each(x, instance.mu[k]))
            candidates.append(values.min() + 6 * math.log(math.log(horizon)) + 24)
        assert at.explicit_docb_plays[k] == pytest.approx(min(candidates), rel=1e-6)
    unsafe = instance.unsafe_arms
    assert at.explicit_topsi_unsafe_plays == pytest.approx(sum(by_gate(k, kl_gate) for k in unsafe), rel=1e-6)
    assert at.explicit_tsbu_unsafe_plays == pytest.approx(sum(by_gate(k, bayes_gate) for k in unsafe), rel=1e-6)
    root = math.sqrt(28 * 4 * horizon * log)
    assert at.gap_free_regret == pytest.approx(root + 24 * math.log(math.log(horizon)) + 32)


def test_a_gate_with_more_risks_refutes_the_best_arm_no_more_often():
    # The summand of the proof, m times for a gate asked about m t, never grows with m.
    t = np.unique(np.geomspace(3, 1e9, 400).astype(int)).astype(float)
    before = np.full(len(t), np.inf)
    for m in range(1, 30):
        log = np.log(m * t)
        summand = m * np.e * ((log + 3 * np.log(log)) * np.log(t) + 1) / (m * t * log**3)
        assert (summand <= before).all()
        before = summand
