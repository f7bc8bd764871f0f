"""Pure exploration, each policy held to a plain transcription: at random states, and from first unit to last."""

import math
import re

import numpy as np
import pytest

from safebandit.core.policies import Setup, policy_from_text, policy_to_text, prepare
from safebandit.core.policies.interface import DONE, WAIT
from safebandit.errors import PolicyError

from ... import driving
from . import plain

ARMS, LIMITS = 4, (0.3, 0.3)
SETUP = Setup([f"arm {k}" for k in range(ARMS)], LIMITS, "hold", units=100)


def text_of(name, safe_set, more=""):
    parts = [f'safe_set="{safe_set}"'] * (safe_set is not None) + [more] * bool(more)
    return f"{name}:{','.join(parts)}" if parts else name


def random_states(bench, seed, count, most):
    """Known counts of every arm: plays and means, set in the bench."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        plays = random.integers(1, most, ARMS)
        ones = random.binomial(plays[:, None], random.random((ARMS, 3)))
        for k in range(ARMS):
            bench.arms["asked"][k] = plays[k]
            for j in range(3):
                bench.set(k, j, int(plays[k]), int(ones[k, j]))
        yield plays, ones / plays[:, None]


def own(bench, name):
    columns = bench.policy.columns
    return bench.memory.table["value"][:, columns.index(name) - len(columns)]


@pytest.mark.parametrize("safe_set", plain.SETS)
@pytest.mark.parametrize(
    ("name", "parameter", "value", "formula"),
    [("md-apt", "tolerance", 0.05, plain.apt), ("md-ucbe", "explore", 1.5, plain.ucbe)],
)
def test_the_arm_of_the_published_index_is_given(name, parameter, value, formula, safe_set):
    bench, truth = (
        driving.Bench(text_of(name, safe_set, f"{parameter}={value}"), ARMS, LIMITS),
        plain.PlainSet(safe_set),
    )
    sides = set()
    for plays, means in random_states(bench, 5, 60, 40):
        expected = np.array(formula(truth, plays, means, value))
        k, none = bench.decide(50)
        assert not none
        assert bench.columns()[1] == pytest.approx(-expected, abs=1e-5)
        assert expected[k] <= expected.min() + 1e-5
        for arm, away in enumerate(own(bench, "distance inside")):
            assert abs(away) == pytest.approx(truth.distance(means[arm]), abs=1e-5)
            assert (away >= 0) == truth.contains(means[arm])
            sides.add(away >= 0)
    assert sides == {False, True}


def test_every_arm_is_given_first_and_units_that_are_awaited_count():
    bench = driving.Bench("md-apt", ARMS, LIMITS)
    for k in range(ARMS):
        assert bench.decide(1 + k)[0] == k
        bench.learn(k, 1, 0, 0)
    assert bench.decide(5)[0] in range(ARMS)
    # All are as far inside after one unit; the one with units that are not known yet is surer soon.
    for k in range(ARMS - 1):
        bench.seen["pending"][k] = 3
    assert bench.decide(5)[0] == ARMS - 1


@pytest.mark.parametrize("safe_set", plain.SETS)
def test_phases_from_the_first_unit_to_the_last(safe_set):
    units, mu = 120, np.array([[0.3, 0.1, 0.1], [0.5, 0.25, 0.2], [0.6, 0.35, 0.3], [0.7, 0.6, 0.4]])
    outcomes = (np.random.default_rng(6).random((ARMS, units, 3)) < mu[:, None]).astype(float)
    used = [0] * ARMS

    def draw(k):
        used[k] += 1
        return outcomes[k, used[k] - 1]

    expected = plain.sar(plain.PlainSet(safe_set), draw, ARMS, units)
    assert len(expected) <= units
    bench, given = driving.Bench(text_of("md-sar", safe_set, f"units={units}"), ARMS, LIMITS), [0] * ARMS
    for t, arm in enumerate(expected, 1):
        k, _ = bench.decide(t)
        assert k == arm
        bench.learn(k, *outcomes[k, given[k]])
        given[k] += 1
    assert bench.decide(len(expected) + 1)[0] == DONE
    assert own(bench, "settled").sum() == ARMS - 1


@pytest.mark.parametrize("safe_set", plain.SETS)
def test_the_best_feasible_arm_and_its_rival(safe_set):
    bench, truth = driving.Bench(text_of("tf-lucb", safe_set, "delta=0.2"), ARMS, LIMITS), plain.PlainSet(safe_set)
    met = set()
    for n, (plays, means) in enumerate(random_states(bench, 8, 400, 900)):
        refuted, certified, low, high, best, rival, stop = plain.lucb(truth, plays, means, 0.2)
        k, none = bench.decide(2 * n + 1)
        permissible, indices, _, _ = bench.columns()
        assert (permissible == 0).tolist() == refuted.tolist()
        assert indices == pytest.approx(high, abs=1e-12)
        assert own(bench, "lower reward index") == pytest.approx(low, abs=1e-12)
        assert (own(bench, "certified") == 1).tolist() == certified.tolist()
        if stop:
            assert (k, none) == (DONE, best is None)
            met.add("none" if best is None else "stop")
            continue
        assert k == best
        assert bench.decide(2 * n + 2)[0] == (best if rival is None else rival)
        met.add("play")
    assert met == {"none", "stop", "play"}


def test_nothing_is_refuted_or_certified_before_it_is_known():
    bench = driving.Bench("tf-lucb", ARMS, LIMITS)
    assert bench.decide(1) == (0, False)
    assert (bench.columns()[0] == 1).all()
    assert (own(bench, "certified") == 0).all()


def test_a_dropped_arm_keeps_no_phase_from_ending():
    bench = driving.Bench("md-sar:units=40", 3, LIMITS)
    given = [0] * 3
    for _ in range(60):
        k, _ = bench.decide(sum(given) + 1)
        if k < 0:
            break
        given[k] += 1
        if k == 2:
            bench.seen["pending"][2] += 1
        else:
            bench.learn(k, 1.0, 0.0, 0.0)
    # Nothing is heard of the last arm, for which the first phase waits until it is dropped.
    assert k == WAIT
    bench.arms["dropped"][2] = 1
    while (k := bench.decide(sum(given) + 1)[0]) >= 0:
        given[k] += 1
        bench.learn(k, 1.0, 0.0, 0.0)
    assert k == DONE
    assert own(bench, "settled")[2] == 0


@pytest.mark.parametrize(
    "text",
    [
        "md-apt", 'md-apt:safe_set="risk1 + risk2 <= 0.5, risk1 <= 0.3",tolerance=0.01', "md-ucbe:explore=2.0",
        'md-sar:safe_set="reward >= 0.2"', "tf-lucb:delta=0.05",
    ],
)  # fmt: skip
def test_texts_are_read_back(text):
    policy = policy_from_text(text)
    assert policy_from_text(policy_to_text(policy)) == policy
    assert policy.needs == (("reward",) if text.startswith("tf") or "reward" in text else ())
    assert type(prepare(policy, SETUP)) is type(policy)


def test_exploration_follows_from_the_planned_units():
    """Every arm is supposed to be 0.1 off the boundary: H = 4 / 0.01."""
    assert prepare(policy_from_text("md-ucbe"), SETUP).explore == pytest.approx(25 / 36 * 96 / 400)
    assert prepare(policy_from_text("md-sar"), SETUP).ends.tolist() == [
        math.ceil(96 / ((0.5 + 1 / 2 + 1 / 3 + 1 / 4) * (5 - i))) for i in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("text", "setup", "why"),
    [
        ("md-apt:tolerance=-1", SETUP, "tolerance must be at least 0, got -1.0"),
        ("md-apt:tolerance=nan", SETUP, "tolerance must be a finite number, got 'nan'"),
        ("md-ucbe:explore=-2", SETUP, "explore must be at least 0, got -2.0"),
        (
            "md-ucbe",
            SETUP._replace(units=None),
            "md-ucbe needs the number of units, which are not planned; give explore",
        ),
        (
            "md-sar",
            SETUP._replace(units=None),
            "md-sar needs the number of units, which are not planned; give units=400",
        ),
        ("md-sar:units=3", SETUP, "units of md-sar must be at least 1 for each of 4 arms, got 3"),
        ("tf-lucb:delta=1", SETUP, "delta must lie between 0 and 1, got 1.0"),
        ("tf-lucb:delta=0", SETUP, "delta must lie between 0 and 1, got 0.0"),
        ('md-apt:safe_set="risk3 <= 0.3"', SETUP, 'unknown "risk3" in the half-space "risk3 <= 0.3"'),
        ('tf-lucb:safe_set="risk1 <= 0.1, risk1 >= 0.2"', SETUP, "the safe set is empty"),
    ],
)
def test_mistakes(text, setup, why):
    with pytest.raises(PolicyError, match=re.escape(why)):
        prepare(policy_from_text(text), setup)
