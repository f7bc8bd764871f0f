"""The paper's remark on a safe set of a vector of risks: gates by the lower indices, and what a play costs."""

import re

import numpy as np
import pytest

import safebandit as sb
from safebandit.errors import InstanceError, PolicyError

from .. import driving
from .exploring.plain import SETS, PlainSet

ARMS, LIMITS = 4, (0.3, 0.3)
TEXT = "risk1 + risk2 <= 0.5, risk1 <= 0.3"
FAMILY = "optimistic-in-set:reward=kl-upper,safety=kl-lower"


def states(benches, seed, count):
    random = np.random.default_rng(seed)
    for _ in range(count):
        plays = random.integers(1, 60, ARMS)
        ones = random.binomial(plays[:, None], random.random((ARMS, 3)))
        for bench in benches:
            bench.begin()
            for k in range(ARMS):
                for j in range(3):
                    bench.jump(k, j, int(plays[k]), int(ones[k, j]))
        yield int(plays.sum()) + 1


def test_a_bound_for_each_risk_is_the_doubly_optimistic_policy():
    ours, docb = (driving.Bench(text, ARMS, LIMITS, when_none="hold") for text in (FAMILY, "docb"))
    held = 0
    for t in states((ours, docb), 3, 150):
        assert ours.decide(t) == docb.decide(t)
        for mine, its in zip(ours.columns(), docb.columns(), strict=True):
            assert mine == pytest.approx(its, nan_ok=True)
        held += ours.answer[1]
    assert 0 < held < 100


def test_an_arm_is_permissible_where_its_lower_indices_lie_in_the_set():
    bench, plain = driving.Bench(f'{FAMILY},safe_set="{TEXT}"', ARMS, LIMITS), PlainSet(TEXT)
    met = set()
    for t in states((bench,), 4, 100):
        k, none = bench.decide(t)
        permissible, indices, _, risks = bench.columns()
        points = np.column_stack([np.zeros(ARMS), risks])
        inside = [plain.contains(point) for point in points]
        assert (permissible == 1).tolist() == inside
        if none:
            assert k == np.argmin([plain.distance(point) for point in points])
        else:
            assert indices[k] == np.nanmax(indices)
            assert inside[k]
        met.add(none)
    assert met == {False, True}


NU = [[0.2, 0.25, 0.4, 0.1], [0.1, 0.35, 0.4, 0.45]]


def test_a_play_costs_the_distance_to_the_set_where_that_is_more():
    """The remark's regret: the sum of max(mu* - mu, dist(nu, S))."""
    instance = sb.Instance.bernoulli([0.3, 0.7, 0.8, 0.2], NU, 0.5).with_safe_set(TEXT)
    plain = PlainSet(TEXT)
    points = np.column_stack([np.zeros(ARMS), np.array(NU).T])
    outside = np.array([0.0 if plain.contains(x) else plain.distance(x) for x in points])
    assert instance.unsafe_arms.tolist() == [1, 2, 3]
    assert instance.best_arm == 0
    assert instance.safety_gaps == pytest.approx(outside, abs=1e-6)
    assert instance.costs == pytest.approx(np.maximum(outside, [0, 0, 0, 0.1]), abs=1e-6)
    again = sb.Instance.from_dict(instance.to_dict())
    assert again.safe_set == TEXT
    assert again.costs.tolist() == instance.costs.tolist()


def test_policies_are_simulated_against_the_set():
    """In the set the best arm is the third, by alpha it is the second: each policy comes to its own."""
    nu = [[0.05, 0.1, 0.29], [0.05, 0.9, 0.05]]
    instance = sb.Instance.bernoulli([0.2, 0.9, 0.6], nu, 1.0).with_safe_set("risk1 + risk2 <= 0.5")
    policies = {"in set": f'{FAMILY},safe_set="{instance.safe_set}"', "docb": "docb"}
    result = sb.simulate(instance, policies, horizon=2_000, trials=20, seed=5)
    in_set, by_alpha = (result.of(label) for label in policies)
    assert (in_set.plays.argmax(axis=1) == 2).all()
    assert (by_alpha.plays.argmax(axis=1) == 1).all()
    assert in_set.regret[:, -1] == pytest.approx(in_set.plays @ instance.costs)
    assert in_set.unsafe_plays[:, -1].tolist() == in_set.plays[:, 1].tolist()


def test_mistakes():
    instance = sb.Instance.bernoulli([0.3, 0.7], [[0.2, 0.3], [0.1, 0.4]], 0.5, risks=["toxicity", "nausea"])
    assert instance.with_safe_set("toxicity + nausea <= 0.5").safe_set == "risk1 + risk2 <= 0.5"
    with pytest.raises(InstanceError, match=re.escape('(nearest: 0.1 off, arm "0"); loosen it, add a safe arm')):
        instance.with_safe_set("toxicity <= 0.1")
    with pytest.raises(PolicyError, match="cannot ask about the reward"):
        instance.with_safe_set("reward >= 0.1")
    with pytest.raises(InstanceError, match="the bounds are about one alpha for each risk"):
        sb.bounds_of(instance.with_safe_set("toxicity + nausea <= 0.5"))
    bad = sb.OptimisticInSet(sb.KLUpper(), sb.KLLower(), "reward >= 0.2")
    with pytest.raises(PolicyError, match="a safe set of risks cannot ask about the reward"):
        driving.Bench(bad, 2, LIMITS)
    assert set(SETS) >= {TEXT}


@pytest.mark.parametrize("reward", ["joint-upper", "imed", "joint-dirichlet"])
@pytest.mark.parametrize("family", ["optimistic-in-set:reward={},safety=kl-lower", "mixture:reward={},risk=kl-lower"])
def test_a_reward_index_that_weighs_the_risks_is_refused_where_nobody_tells_it_of_them(family, reward):
    kinds = {"joint-upper": sb.JointUpper(), "imed": sb.IMED(), "joint-dirichlet": sb.JointDirichlet()}
    if family.startswith("mixture"):
        policy = sb.PolicyMixture(kinds[reward], sb.KLLower())
    else:
        policy = sb.OptimisticInSet(kinds[reward], sb.KLLower())
    with pytest.raises(PolicyError, match="weighs evidence against limits of single risks"):
        sb.Trial(2, alpha=0.3, policy=policy, seed=1)


def test_what_an_index_leaves_open_is_filled_in_or_asked_for():
    with pytest.raises(PolicyError, match="must know how many units are planned; give units="):
        sb.Trial(2, alpha=0.3, policy=sb.OptimisticInSet(sb.KLUpper(), sb.PlannedLower()), seed=1)
    trial = sb.Trial(2, alpha=0.3, policy=sb.OptimisticInSet(sb.KLUpper(), sb.PlannedLower()), seed=1, units=40)
    assert "units=40" in trial.settings.policy
    with pytest.raises(PolicyError, match="slack of SlackUpper must be given"):
        sb.Trial(2, alpha=0.3, policy=sb.DoublyOptimistic(sb.SlackUpper(units=9), sb.KLLower()), seed=1)
