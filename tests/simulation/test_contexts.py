"""Simulation with contexts, against a plain loop in Python; and results of it, kept, shown and run again."""

import json

import numpy as np
import pytest

import safebandit as sb
from safebandit.core.streams import beta, trial_streams, uniform
from safebandit.errors import InstanceError
from tests.core import driving

# In some contexts no arm is safe, in others all are.
THETA, PHI = [0.2, 0.1, 0.2, 0.5, -0.2, 0.1], [[0.02, 0.2, 0.0, 0.3, 0.4, -0.2], [0.1, 0.0, 0.1, 0.1, 0.2, 0.2]]
ARMS = [[1.0, 0.0], [1.0, 0.5], [1.0, 1.0]]
LIMITS = (0.2, 0.25)
LAWS = ["uniform:0.2..1", "beta:2,1"]
TABLE = [[0.0, 1.0], [0.5, 0.25], [1.0, 0.0], [0.9, 0.9]]


def made(contexts):
    return sb.Instance.linear(ARMS, THETA, PHI, LIMITS, contexts=contexts)


INSTANCE = made(LAWS)
POLICIES = ["linear", "docb"]


def drawn_by_law(stream):
    return [0.2 + (1.0 - 0.2) * uniform(stream), beta(stream, 2.0, 1.0)]


def drawn_from_table(stream):
    return TABLE[int(uniform(stream) * len(TABLE))]


def plain_trial(policy, instance, draw, horizon, seed, trial):
    """One trial, round by round: the arms, the regret and the unsafe plays so far, and rounds without a safe arm."""
    bench = driving.Bench(policy, 3, LIMITS, features=instance.features, arms=instance.arms, risks=instance.nu)
    streams = trial_streams(seed, trial, 4)
    bench.memory.streams[:] = streams.policy
    arms, regret, unsafe, none_safe = [], [0.0], [0], 0
    for t in range(1, horizon + 1):
        context = [1.0, *draw(streams.arms[3])]
        x = np.array([np.kron(z, context) for z in ARMS])
        if bench.memory.features.shape == x.shape:
            bench.memory.features["value"] = x
        mu, nu = x @ THETA, x @ np.transpose(PHI)
        excess = (nu - LIMITS).max(axis=1)
        best = mu[excess <= 0].max() if (excess <= 0).any() else 0.0
        none_safe += not (excess <= 0).any()
        k, _ = bench.decide(t)
        arms.append(k)
        regret.append(regret[-1] + max(best - mu[k], excess[k], 0.0))
        unsafe.append(unsafe[-1] + (excess[k] > 0))
        bench.learn(k, *(float(uniform(streams.arms[k]) < mean) for mean in (mu[k], *nu[k])))
    return arms, regret[1:], unsafe[1:], none_safe


@pytest.mark.parametrize(("contexts", "draw"), [(LAWS, drawn_by_law), (TABLE, drawn_from_table)])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_trial_is_that_of_the_plain_loop(policy, contexts, draw):
    instance = made(contexts)
    result = sb.simulate(instance, policy, horizon=150, trials=2, seed=5, checkpoints=range(1, 151), workers=1)
    kept = result.of(policy)
    for trial in range(2):
        arms, regret, unsafe, none_safe = plain_trial(policy, instance, draw, 150, 5, trial)
        assert kept.plays[trial].tolist() == np.bincount(arms, minlength=3).tolist()
        assert kept.regret[trial] == pytest.approx(regret, rel=1e-12)
        assert kept.unsafe_plays[trial].tolist() == unsafe
        assert 0 < none_safe < 150


def test_a_round_that_is_held_costs_the_best_safe_arm_of_its_context():
    # No risk is tolerated, and every arm has some: after the first harm no arm is permissible.
    strict = sb.Instance.linear([[1.0]], [0.5, 0.4], [0.9, 0.0], 0.0, contexts=["uniform"])
    result = sb.simulate(strict, "linear:when_none=hold", horizon=400, trials=3, workers=1, checkpoints=[400])
    kept = result.of("linear:when_none=hold")
    assert (kept.held > 300).all()
    # No arm is safe in any context: mu* is 0, and what was played cost its risk.
    assert kept.regret[:, -1] == pytest.approx(0.9 * kept.plays[:, 0])


@pytest.fixture(scope="module")
def result():
    return sb.simulate(INSTANCE, POLICIES, horizon=150, trials=6, seed=2, checkpoints=[50, 150], workers=1)


def test_the_same_bits_on_any_number_of_workers(result):
    two = sb.simulate(INSTANCE, POLICIES, horizon=150, trials=6, seed=2, checkpoints=[50, 150], workers=3)
    assert two.same_trials(result)
    less = sb.simulate(INSTANCE, POLICIES, horizon=150, trials=2, seed=2, checkpoints=[50, 150], workers=2)
    assert sb.extend(less, trials=6).same_trials(result)


def test_a_result_is_kept_read_back_and_run_again(result, tmp_path):
    again = sb.Result.load(result.save(tmp_path / "kept.parquet"))
    assert again.same_trials(result)
    assert sb.rerun(again).same_trials(result)
    assert again.specification.to_dict() == json.loads(json.dumps(result.specification.to_dict()))


def test_a_summary_is_that_of_all_trials(result, tmp_path):
    options = {"horizon": 150, "trials": 6, "seed": 2, "checkpoints": [50, 150], "workers": 1}
    summed = sb.simulate(INSTANCE, POLICIES, keep="summary", **options)
    summed = sb.Result.load(summed.save(tmp_path / "summed.parquet"))
    for policy in POLICIES:
        assert summed.mean(policy) == pytest.approx(result.mean(policy))
    assert list(summed.summary()) == list(result.summary())


def test_tables_leave_out_which_risk_made_a_play_unsafe(result):
    titles = {title for title, _ in result.summary()}
    assert {"regret", "unsafe_plays", "risk risk 1", "risk risk 2"} <= titles
    assert not any("unsafe_plays risk" in str(title) for title in (*titles, *result.per_trial()))
    assert "unsafe_by_risk" not in result.to_dict()["policies"]["docb"]
    with pytest.raises(InstanceError, match="depends on the unit"):
        result.unsafe_by_risk("docb")


def test_policies_are_compared_in_pairs(result):
    compared = result.compare("linear", "docb")
    difference = result.final("linear") - result.final("docb")
    assert compared["difference"] == pytest.approx(difference.mean())
    assert compared["wide_low"] <= compared["difference"] <= compared["wide_high"]
    assert not result.near_limit


def test_features_without_contexts_are_known_to_linear_policies():
    """With features it needs fewer units than without: the arms teach each other."""
    known = sb.instance_by_name("linear-doses")
    unknown = sb.Instance.bernoulli(known.mu, known.nu, known.alpha)
    regret = [
        sb.simulate(one, "linear", horizon=2_000, trials=40, seed=3, workers=1, checkpoints=[]).final("linear")
        for one in (known, unknown)
    ]
    # Measured: 96 against 157, with standard errors of 3.5 and 3.7.
    assert regret[0].mean() < 0.75 * regret[1].mean()
