"""What the paper says in words of the drug trial and its schedules; its numbers are checks of `safebandit validate`."""

import math

import pytest

from safebandit import instance_by_name, simulate

DRUG = instance_by_name("drug-trial")


@pytest.mark.parametrize("policy", ["docb", "tsbu"])
def test_regret_and_unsafe_plays_stay_well_within_the_bounds(policy):
    result, log_t = simulate(DRUG, policy, horizon=50_000, trials=50, seed=2021), math.log(50_000)
    # Means are a fifth of the bounds, a hundred standard errors below.
    assert 0 < result.final(policy).mean() < 137 * log_t
    assert 0 < result.final(policy, "unsafe_plays").mean() < 81 * log_t


def test_the_theoretical_schedule_plays_the_unsafe_arm_more():
    instance = instance_by_name("bayes-schedules")
    result = simulate(instance, ["tsbu", "tsbu:schedule=theory"], horizon=50_000, trials=200, seed=4)
    got = result.compare("tsbu:schedule=theory", "tsbu", "unsafe_plays")
    assert got["difference"] > 5 * got["se"]
