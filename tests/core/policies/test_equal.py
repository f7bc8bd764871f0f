"""Equal randomisation: blocks in which every arm is once, in every order alike; nothing is excluded."""

import itertools

import numpy as np
import pytest
from scipy import stats

from safebandit import Instance, PolicyError, Trial, simulate
from safebandit.core.policies import WAIT, policy_from_text

from .. import driving

ARMS = 3
INSTANCE = Instance.bernoulli([0.3, 0.5, 0.6], [0.05, 0.2, 1.0], 0.3)


def test_every_block_has_every_arm_once_and_every_order_is_as_likely():
    played = driving.simulated("equal", INSTANCE, 6_000, seed=3).played.reshape(-1, ARMS)
    orders = [tuple(block) for block in played]
    assert {tuple(sorted(order)) for order in orders} == {(0, 1, 2)}
    counts = [orders.count(order) for order in itertools.permutations(range(ARMS))]
    # A false alarm for 1 seed in 1,000.
    assert stats.chisquare(counts).pvalue > 0.001


def test_nothing_that_is_seen_changes_it():
    other = Instance.bernoulli([0.9, 0.1, 0.6], [0.9, 0.9, 0.0], 0.01)
    one, two = (driving.simulated("equal", instance, 300, seed=3).played for instance in (INSTANCE, other))
    assert np.array_equal(one, two)


def test_a_policy_without_parameters_takes_none():
    with pytest.raises(PolicyError, match="takes none"):
        policy_from_text("equal:when_none=hold")


def test_a_live_trial_says_why():
    trial = Trial(["a", "b"], 0.1, "equal", seed=1)
    first = trial.ask()
    trial.tell(first.id, reward=0, risk=1)
    assert trial.explain().chosen == ({"a", "b"} - {first.arm}).pop()
    table = trial.explain().table()
    assert table["permissible"].all()
    assert table.loc[first.arm, "why"] == "others were given out less often"
    assert "drawn among the arms that were given out least often" in str(trial.explain())


def test_it_is_played_as_often_as_can_be():
    plays = simulate(INSTANCE, "equal", horizon=50, trials=4, seed=2).of("equal").plays
    assert (plays.max(axis=1) - plays.min(axis=1) == 1).all()


def test_its_chances_are_exact():
    bench = driving.Bench("equal", ARMS, seed=4)
    assert bench.policy.exact_chances
    assert bench.table(1)[2].tolist() == [1 / 3] * 3
    bench.memory.arms["asked"][0] = [2, 1, 1]
    assert bench.table(5)[2].tolist() == [0.0, 0.5, 0.5]
    bench.memory.arms["available"][0] = [1, 1, 0]
    assert bench.table(5)[2].tolist() == [0.0, 1.0, 0.0]
    assert bench.decide(5) == (1, False)
    bench.memory.arms["available"][0] = 0
    assert bench.decide(5) == (WAIT, False)
