"""What other systems promise, read off results."""

import math

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import PolicyError, ResultError

from ..core import driving

REWARDS = sb.Instance.bernoulli(mu=[0.5, 0.3, 0.6], nu=[0, 0, 0], alpha=1)


def played(policies, instance=REWARDS, horizon=400, trials=20):
    return sb.simulate(instance, policies, horizon=horizon, trials=trials, seed=2, checkpoints=range(1, horizon + 1))


def test_violations_are_counted_round_by_round():
    result = played(["docb", "equal"], trials=1)
    for policy in ("docb", "equal"):
        arms = driving.walked(policy, REWARDS, 400, 2)[1]
        earned = np.cumsum(REWARDS.mu[arms])
        for baseline, loss in ((0, 0.1), (2, 0.1), (2, 0.25)):
            short = earned < (1 - loss) * REWARDS.mu[baseline] * np.arange(1, 401) - 1e-9
            assert sb.violations(result, policy, baseline=baseline, loss=loss).tolist() == [short.sum()]
    # Equal shares earn 0.467 a round, less than 0.54.
    assert sb.violations(result, "equal", baseline=2)[0] > 300


def test_conservative_keeps_its_promise_and_others_do_not():
    result = played(["conservative", "docb"])
    # It may break it in 1 of 20 trials.
    assert (sb.violations(result, "conservative") > 0).sum() <= 4
    assert (sb.violations(result, "docb") > 0).mean() > 0.5


def test_violations_need_every_round_and_rewards_alone():
    few = sb.simulate(REWARDS, "docb", horizon=100, trials=1, checkpoints=[50])
    with pytest.raises(ResultError, match=r"has 2 checkpoints of 100; simulate it with checkpoints=range"):
        sb.violations(few, "docb")
    unsafe = played("docb", sb.instance_by_name("two-arm-example"), 20, 1)
    with pytest.raises(ResultError, match="only where no arm is unsafe; raise alpha to 1"):
        sb.violations(unsafe, "docb")
    result = played("docb", horizon=20, trials=1)
    with pytest.raises(PolicyError, match=r"loss must lie in \[0, 1\], got 2"):
        sb.violations(result, "docb", loss=2)
    with pytest.raises(PolicyError, match="baseline must be an arm"):
        sb.violations(result, "docb", baseline="placebo")


def test_the_flag_is_that_of_the_last_counts():
    infeasible = sb.Instance.bernoulli([0.3, 0.6], [0.5, 0.8], 0.2, allow_infeasible=True)
    feasible = sb.Instance.bernoulli([0.3, 0.6], [0.1, 0.8], 0.2)
    for instance, right in ((infeasible, False), (feasible, True)):
        result = sb.simulate(instance, "con-lcb", horizon=3_000, trials=20, seed=2)
        kept = result.of("con-lcb")
        width = np.sqrt(math.log(2 * 3_000**2) / (2 * kept.plays))
        expected = (kept.risk.reshape(kept.plays.shape) / kept.plays - width <= 0.2).any(axis=1)
        assert sb.says_feasible(result, "con-lcb").tolist() == expected.tolist()
        assert (expected == right).all()
    with pytest.raises(ResultError, match='only con-lcb says whether an instance is feasible, got "docb"'):
        sb.says_feasible(sb.simulate(feasible, "docb", horizon=20, trials=1), "docb")


def test_the_flag_looks_at_every_risk():
    # Each risk is harmless on one arm, but no arm is harmless in both.
    both = sb.Instance.bernoulli([0.3, 0.6], [[0.0, 0.9], [0.9, 0.0]], [0.2, 0.2], allow_infeasible=True)
    result = sb.simulate(both, "con-lcb", horizon=2_000, trials=3, seed=1)
    assert not sb.says_feasible(result, "con-lcb").any()
