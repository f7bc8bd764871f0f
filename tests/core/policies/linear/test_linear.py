"""Linear policies against plain transcriptions, and with unit vectors against the plain policy of single arms."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import safebandit as sb
from safebandit.core.arms import CELL, Features
from safebandit.core.policies import WAIT
from safebandit.core.streams import normal
from safebandit.errors import PolicyError

from ... import driving
from .plain import Plain

# Arms that differ in three features; the first is known to be safe, and near to some others.
Z = np.array([[1.0, 0.0, 0.1], [1.0, 0.1, 0.0], [1.0, 0.15, 0.2], [0.9, 0.5, 0.1], [1.0, 0.6, 0.9], [0.8, 1.0, 0.3]])
THETA, PHI = np.array([0.2, 0.4, 0.3]), np.array([[0.05, 0.4, 0.1], [0.02, 0.1, 0.5]])
LIMITS = (0.3, 0.25)
# A large ridge lets the pessimistic ones open arms in the few rounds of a test.
CASES = {
    "linear": ("linear:ridge=0.7", {"ridge": 0.7}),
    "doss": ("doss:norm=0.8,delta=0.1", {"norm": 0.8, "delta": 0.1}),
    "safe_lucb": ("safe-lucb:norm=0.05,ridge=40", {"norm": 0.05, "ridge": 40.0}),
    "safe_lts": ("safe-lts:norm=0.05,ridge=40", {"norm": 0.05, "ridge": 40.0}),
    "colts": ("colts:norm=0.8", {"norm": 0.8}),
}


def noises_from(streams, dimension):
    """Standard normal vectors from a stream."""
    while True:
        yield np.array([normal(streams[0]) for _ in range(dimension)])


@pytest.mark.parametrize("limits", [LIMITS[:1], LIMITS])
@pytest.mark.parametrize("name", CASES)
def test_a_decision_is_that_of_the_plain_transcription(name, limits):
    text, parameters = CASES[name]
    bench = driving.Bench(text, len(Z), limits, features=Features(Z), when_none="least_risky")
    plain = Plain(Z, limits, **parameters)
    random, chosen, opened = np.random.default_rng(5), set(), 0
    for t in range(1, 301):
        noises = noises_from(bench.memory.streams.copy(), plain.d)
        k, none = bench.decide(t)
        permissible, indices, _, risks = bench.columns()
        safe, index, bounds = getattr(plain, name)(t, Z, noises)
        assert risks == pytest.approx(bounds, rel=1e-9, abs=1e-12)
        assert (permissible == 1).tolist() == safe.tolist()
        assert indices == pytest.approx(np.where(safe, index, math.nan), rel=1e-9, abs=1e-12, nan_ok=True)
        if none:
            assert not safe.any()
            assert k == np.argmin((bounds - limits).max(axis=1))
        else:
            assert index[k] == pytest.approx(index[safe].max(), rel=1e-9, abs=1e-12)
        opened += safe[1:].any()
        chosen.add(k)
        # Rewards and risks are not all known, and not of the same units.
        outcome = np.array([Z[k] @ THETA, *(PHI[: len(limits)] @ Z[k])]) > random.random(1 + len(limits))
        told = np.where(random.random(1 + len(limits)) < 0.8, outcome, math.nan)
        bench.learn(k, *told)
        plain.learn(Z[k], *told)
    # Some arm was permissible besides the one that is known to be, and was played.
    assert opened > 10
    assert len(chosen) > 1


class RidgeUpper(NamedTuple):
    """Of an arm's own outcomes: total / (N + ridge) + sqrt(log t / (2 (N + ridge)))."""

    ridge: float = 1e-6


class RidgeLower(NamedTuple):
    """The same below."""

    ridge: float = 1e-6


@sb.upper.register(RidgeUpper)
def ridge_upper(index, seen, t):
    n = seen.plays + index.ridge
    return seen.total / n + math.sqrt(math.log(t) / (2 * n))


@sb.lower.register(RidgeLower)
def ridge_lower(index, seen, t, alpha):
    n = seen.plays + index.ridge
    return seen.total / n - math.sqrt(math.log(t) / (2 * n))


@pytest.mark.parametrize("ridge", [1e-6, 1.0])
def test_with_unit_vectors_it_is_the_plain_policy_round_by_round(ridge):
    """Ties too: arms that were played as often with the same total have the very same index, drawn by one number."""
    single = sb.DoublyOptimistic(RidgeUpper(ridge), RidgeLower(ridge), each_first=False)
    instance = driving.problem("five")
    walks = (driving.walk(policy, instance, 1_500, 3) for policy in (single, f"linear:ridge={ridge}"))
    ties = 0
    for (one, t, k, none), (other, t_too, k_too, none_too) in zip(*walks, strict=True):
        assert (t, k, none) == (t_too, k_too, none_too)
        assert other.memory.streams.tolist() == one.memory.streams.tolist()
        for mine, its in zip(other.columns(), one.columns(), strict=True):
            assert mine == pytest.approx(its, rel=1e-9, abs=1e-9, nan_ok=True)
        ties += (one.columns()[1] == np.nanmax(one.columns()[1])).sum() > 1
    assert ties > 1


def test_as_the_ridge_goes_to_0_the_bounds_are_hoeffdings():
    bench = driving.Bench("linear:ridge=1e-9", 3, 0.3)
    for k in range(3):
        for value in [0.0] * 60 + [1.0] * 20:
            bench.learn(k, value, value)
    width = math.sqrt(math.log(100) / (2 * 80))
    assert bench.table(100)[1] == pytest.approx([0.25 + width] * 3, rel=1e-8)
    assert bench.columns()[3][:, 0] == pytest.approx([0.25 - width] * 3, rel=1e-8)


def test_the_features_of_a_unit_are_those_of_its_context():
    """Two decisions with other features at the same state: those that are set are gone by."""
    bench = driving.Bench("linear", 2, 0.9, features=Features(np.eye(2), context=1))
    bench.memory.features[:] = np.array([[1.0, 0.5, 0, 0], [0, 0, 1.0, 0.5]]).view(CELL)
    bench.learn(0, 1.0, 0.0)
    bench.learn(1, 0.0, 0.0)
    first = bench.table(9)[1].copy()
    bench.memory.features[:] = np.array([[1.0, 0.0, 0, 0], [0, 0, 1.0, 1.0]]).view(CELL)
    second = bench.table(9)[1]
    beta, v = math.sqrt(math.log(9) / 2), np.eye(2) + np.outer([1, 0.5], [1, 0.5])
    for index, contexts in ((first, [(1, 0.5), (1, 0.5)]), (second, [(1, 0), (1, 1)])):
        spreads = [math.sqrt(np.array(x) @ np.linalg.inv(v) @ np.array(x)) for x in contexts]
        mean = np.array(contexts[0]) @ np.linalg.inv(v) @ [1, 0.5]
        assert index == pytest.approx([mean + beta * spreads[0], beta * spreads[1]])


def test_safe_lucb_explores_arms_that_are_surely_safe():
    bench = driving.Bench("safe-lucb:explore=1000,norm=0.3,ridge=40", len(Z), (0.6,), features=Features(Z))
    counts = bench.counts(1_000, 6_000)
    permissible = bench.columns()[0] == 1
    assert permissible.sum() > 1
    assert (counts[: len(Z)] > 0).tolist() == permissible.tolist()
    driving.assert_frequencies(counts[: len(Z)][permissible], np.full(permissible.sum(), 1 / permissible.sum()))
    bench.decide(1_001)
    assert bench.answer[0] == np.nanargmax(bench.columns()[1])


def test_an_arm_that_may_not_be_given_is_passed_over_and_a_wait_is_no_hold():
    bench = driving.Bench("safe-lucb", 3, 0.3)
    assert bench.decide(1) == (0, False)
    bench.arms["available"][0] = 0
    assert bench.decide(1) == (WAIT, False)
    bench = driving.Bench("linear", 3, 0.3)
    bench.arms["available"][1] = 0
    assert bench.counts(1, 300)[1] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("linear:ridge=0", "ridge must be above 0: without it the design is singular until every direction was played"),
        ("doss:ridge=-1", "ridge must be above 0"),
        ("doss:delta=1", "delta must lie between 0 and 1, got 1"),
        ("doss:norm=0", "norm must be above 0, got 0"),
        ("safe-lucb:explore=-1", r"explore must be at least 0 \(rounds\), got -1"),
        ("safe-lucb:safe_arm=7", "safe_arm must be an arm"),
        ("safe-lts:inflation=0", "inflation must be above 0, got 0"),
        ("colts:draws=0", r"draws must be at least 1 \(a noise for each\), got 0"),
        ("colts:scale=0", "scale must be above 0, got 0"),
        ("linear:level=loud", "level must be one of practical, theory, proof, got 'loud'"),
    ],
)
def test_a_bad_parameter_is_refused_in_one_line(text, message):
    with pytest.raises(PolicyError, match=message):
        driving.ready(text, ["a", "b"], (0.2,))


def test_features_must_be_of_every_arm():
    with pytest.raises(PolicyError, match="there are 3 arms but 2 rows of features; give one per arm"):
        driving.ready("linear", ["a", "b", "c"], (0.2,), features=Features(np.eye(2)))


def test_too_many_coefficients_are_refused():
    with pytest.raises(PolicyError, match="at most 1,000 coefficients, got 1,200; give arms fewer features"):
        driving.ready("linear", ["a", "b"], (0.2,), features=Features(np.ones((2, 400)), context=2))


def test_without_tolerated_risk_the_inflation_must_be_given():
    with pytest.raises(PolicyError, match="alpha is 0; give inflation="):
        driving.ready("safe-lts", ["a", "b"], (0.0,))
    assert driving.ready("safe-lts:inflation=2", ["a", "b"], (0.0,)).inflation == 2.0
