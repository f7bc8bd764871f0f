"""Theory: against the numbers that the paper prints, against brute force, and against each other."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import rel_entr

import safebandit as sb
from safebandit.errors import InstanceError, SimulationError
from safebandit.problems.at_horizon import bayes_level, gap_free_regret, kl_level, rounds_without_arm
from safebandit.problems.theory import bounds_of


def kl(p: float, q: float) -> float:
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def test_at_019_the_printed_40_and_1500_are_near_theorem_4():
    """What the sums come to is a check of `safebandit validate`."""
    bounds = bounds_of(sb.instance_by_name("drug-trial", 0.19))
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
    inner = np.linspace(0, 1, 2_001)[1:-1]
    without = math.e * (math.log(math.log(horizon)) + 4) + 2
    most = np.zeros(5)
    for k, (m, n) in enumerate(zip(instance.mu, instance.nu, strict=True)):
        by_reward = by_gate = float(horizon)
        if m < instance.best_mean:
            x = m + (instance.best_mean - m) * inner
            values = level / np.vectorize(kl)(x, instance.best_mean) + 2 / np.minimum(1, np.vectorize(kl)(x, m))
            by_reward = values.min() + 6 * math.log(math.log(horizon)) + 24
        if n > instance.alpha:
            y = instance.alpha + (n - instance.alpha) * inner
            values = level / np.vectorize(kl)(y, instance.alpha) + 2 / np.minimum(1, np.vectorize(kl)(y, n))
            by_gate = values.min()
        assert at.explicit_docb_plays[k] == pytest.approx(min(horizon, by_reward, by_gate + without), rel=1e-4)
        most[k] = min(by_reward, by_gate)
    most[np.argmax(instance.costs)] += without
    # The most regret with so many plays of each arm at most, and one arm a round: a linear program.
    found = linprog(-instance.costs, bounds=[(0, m) for m in most], A_eq=np.ones((1, 5)), b_eq=[horizon])
    assert at.explicit_docb_regret == pytest.approx(-found.fun, rel=1e-4)


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


def test_where_no_arm_is_safe_there_are_no_bounds():
    # "True for every T" was 64.7 unsafe plays where 10,000 of 10,000 rounds are.
    instance = sb.Instance.bernoulli([0.5, 0.6], [0.9, 0.8], 0.1, allow_infeasible=True)
    with pytest.raises(InstanceError, match=r"some arm is safe, and at alpha 0\.1 no arm is; raise alpha"):
        bounds_of(instance)


@pytest.mark.parametrize("steps", [1, 2, 3, 50])
def test_gaps_of_the_last_digits(steps):
    # 0.1 + 0.2 is the number after 0.3.
    above = 0.3
    for _ in range(steps):
        above = math.nextafter(above, 1.0)
    instance = sb.Instance.bernoulli([0.5, 0.6], [0.2, above], 0.3)
    at = bounds_of(instance).at(1_000)
    assert at.explicit_docb_unsafe_plays == at.leading_unsafe_plays == 1_000
    assert at.lower_leading_unsafe_plays == 0.0
    at = bounds_of(sb.Instance.bernoulli([above, 0.3], [0.1, 0.1], 0.2)).at(1_000)
    assert at.explicit_docb_plays == [1_000, 1_000]


def possible_regret(instance, horizon):
    return float(instance.costs.max()) * horizon


@pytest.mark.parametrize("horizon", [3, 10, 36, 400, 20_000])
@pytest.mark.parametrize("name", ["drug-trial", "dose-two-risks", "two-arm-example", "gaps-small:i=1"])
def test_nothing_is_above_what_is_possible(name, horizon):
    instance = sb.instance_by_name(name)
    bounds = bounds_of(instance)
    at = bounds.at(horizon)
    for number, value in at._asdict().items():
        if number.endswith("regret"):
            assert 0 <= value <= possible_regret(instance, horizon) * (1 + 1e-12), number
        if number.endswith("unsafe_plays"):
            assert 0 <= value <= horizon, number
    assert max(at.explicit_docb_plays) <= horizon
    # Vacuous ones say nothing: an upper bound all that is possible, the lower bound nothing at all.
    for number in at.vacuous:
        all_of = horizon if number.endswith("plays") else possible_regret(instance, horizon)
        assert getattr(at, number) == pytest.approx(0.0 if number.startswith("lower") else all_of), number
    assert set(bounds.remarks(at)) == set(at.vacuous)


@pytest.mark.parametrize("name", ["drug-trial", "dose-two-risks"])
def test_a_bound_says_something_from_the_horizon_that_is_told(name):
    bounds = bounds_of(name)
    at = bounds.at(8)
    for number, start in bounds.says_from(at).items():
        assert number in bounds.at(int(0.99 * start) - 1).vacuous
        for later in (int(start), int(2 * start), int(100 * start)):
            assert number not in bounds.at(later).vacuous, (number, later)
    for arm, start in bounds.lower_says_from(at).items():
        assert arm in bounds.at(int(0.99 * start) - 1).left_out
        assert arm not in bounds.at(int(start)).left_out


def test_the_lower_bound_at_400_patients_is_below_what_policies_do():
    # Once 459 unsafe plays among 400 patients; simulated: 155 under tsbu.
    bounds = bounds_of("drug-trial")
    at = bounds.at(400)
    assert at.lower_leading_unsafe_plays == pytest.approx(math.log(400) / (kl(0.34, 0.469) + kl(0.259, 0.21)))
    assert at.left_out == ["300 mg", "150 mg"]
    assert "300 mg (from T = 786 on)" in bounds.lower_remark(at)
    assert bounds.remarks(at)["explicit_tsbu_unsafe_plays"].endswith("it does from T = 13,600 on")
    assert bounds.lower_remark(bounds.at(10**6)) == ""


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
    assert document["lower_class"] == "independent bits"
    assert document["at_horizon"]["vacuous"] == {"gap_free_regret": 98_400.0}
    assert document["at_horizon"]["left_out"] == {"150 mg": 404_000.0}
    printed = command(*asked).out
    assert "137.1 log T" in printed
    assert "Theorem 2, whatever the means; level theory" in printed
    assert "policies consistent for independent bits" in printed
    assert "docb, any gaps, regret: from T = 98,400 on" in printed
    assert "150 mg (from T = 404,000 on)" in printed


def test_the_command_takes_a_correlation(command):
    asked = ["bounds", "--mu", ".5,.3", "--nu", ".3,.7", "--alpha", ".5", "--correlation", "0,.42", "--json"]
    assert json.loads(command(*asked).out)["lower_unsafe_slope"] == pytest.approx(3.728, abs=5e-4)


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
    inner = np.linspace(0, 1, 2_001)[1:-1]
    each = np.vectorize(kl)
    without = rounds_without_arm(horizon)

    def by_gate(k, level):
        found = [float(horizon)]
        for mean, limit in zip(instance.nu[:, k], instance.limits, strict=True):
            if mean > limit:
                y = limit + (mean - limit) * inner
                found.append((level / each(y, limit) + 2 / np.minimum(1, each(y, mean))).min())
        return min(found)

    for k in range(4):
        candidates = [by_gate(k, kl_gate) + without, float(horizon)]
        if instance.mu[k] < instance.best_mean:
            x = instance.mu[k] + (instance.best_mean - instance.mu[k]) * inner
            values = reward_level / each(x, instance.best_mean) + 2 / np.minimum(1, each(x, instance.mu[k]))
            candidates.append(values.min() + 6 * math.log(math.log(horizon)) + 24)
        assert at.explicit_docb_plays[k] == pytest.approx(min(candidates), rel=1e-4)
    unsafe = instance.unsafe_arms
    assert at.explicit_topsi_unsafe_plays == pytest.approx(without + sum(by_gate(k, kl_gate) for k in unsafe), rel=1e-4)
    assert at.explicit_tsbu_unsafe_plays == pytest.approx(
        without + sum(by_gate(k, bayes_gate) for k in unsafe), rel=1e-4
    )
    root = math.sqrt(28 * 4 * horizon * log)
    assert gap_free_regret(4, horizon, 2) == pytest.approx(root + 24 * math.log(math.log(horizon)) + 32)


def test_a_gate_with_more_risks_refutes_the_best_arm_no_more_often():
    # The summand of the proof, m times for a gate asked about m t, never grows with m.
    t = np.unique(np.geomspace(3, 1e9, 400).astype(int)).astype(float)
    before = np.full(len(t), np.inf)
    for m in range(1, 30):
        log = np.log(m * t)
        summand = m * np.e * ((log + 3 * np.log(log)) * np.log(t) + 1) / (m * t * log**3)
        assert (summand <= before).all()
        before = summand
