"""Information-directed sampling: the mixture by brute force, its exact chances, its gate, and its parameters."""

import functools
import itertools

import numpy as np
import pytest

from safebandit import Trial, simulate
from safebandit.core.arms import RISKS
from safebandit.core.beliefs import weigh
from safebandit.core.policies import (
    HOLD,
    WAIT,
    InformationDirected,
    Setup,
    plan,
    policy_from_text,
    policy_to_text,
    prepare,
    safe_ids,
)
from safebandit.core.policies.information import settings_for
from safebandit.errors import PolicyError

from .. import driving

ODDS, CONFIDENCE = 0.1, 0.95


@functools.cache
def bench(count, limits, when_none="hold"):
    return driving.Bench("safe-ids", count, limits, when_none=when_none)


def told(one, plays, rewards, harms):
    """The bench after so many plays of every arm, with such totals; `harms` has a row per risk."""
    one.begin()
    for k, n in enumerate(plays):
        for i in range(n):
            one.learn(k, float(i < rewards[k]), *(float(i < row[k]) for row in harms))
    return one


def columns(one):
    """Permissible, chance, and the policy's own columns of the decision that was made last."""
    permissible, _, chance, _ = one.columns()
    cost, lesson, best = one.memory.table["value"][:, RISKS + len(one.limits) :].T
    return permissible == 1.0, chance, cost, lesson, best


def random_state(seed, risks=1, most=40):
    rng = np.random.default_rng(seed)
    plays = rng.integers(0, most, int(rng.integers(1, 6)))
    rewards, *harms = (rng.binomial(plays, rng.uniform(0.0, 0.8, plays.size)) for _ in range(1 + risks))
    return plays, rewards, harms


def least_ratio(cost, lesson, usable):
    """The least (expected cost)^2 / (expected lesson) of mixtures of two arms, by trying 2,001 shares of each pair."""
    share = np.linspace(0.0, 1.0, 2001)
    return min(
        (((1 - share) * cost[i] + share * cost[j]) ** 2 / ((1 - share) * lesson[i] + share * lesson[j] + 1e-30)).min()
        for i, j in itertools.combinations_with_replacement(np.flatnonzero(usable), 2)
    )


# States in which two arms are mixed, which is seldom best.
MIXED = (106, 132, 196, 364, 380)


@pytest.mark.parametrize("seed", [*range(24), *MIXED])
def test_the_mixture_is_the_best_of_all_pairs(seed):
    risks = 1 + seed % 2
    limits = (0.3, 0.25)[:risks]
    plays, rewards, harms = random_state(seed, risks)
    one = told(bench(plays.size, limits), plays, rewards, harms)
    k, none = one.decide(1)
    permissible, chance, cost, lesson, best = columns(one)
    seen = np.stack([np.stack([plays, row], 1) for row in harms], 1).astype(float)
    beliefs = weigh(np.stack([plays, rewards], 1).astype(float), seen, np.array(limits), ODDS)
    for column, expected in ((cost, beliefs.cost), (lesson, beliefs.lesson), (best, beliefs.best)):
        assert (column == expected).all()
    if not permissible.any():
        assert (k, none) == (HOLD, True)
        assert not chance.any()
        return
    assert chance.sum() == pytest.approx(1.0, abs=1e-12)
    assert chance[k] > 0
    assert not chance[~permissible].any()
    assert seed not in MIXED or np.count_nonzero(chance) == 2
    ratio = (chance @ cost) ** 2 / (chance @ lesson + 1e-30)
    found = least_ratio(cost, lesson, permissible)
    # The shares that were tried lie next to the best one.
    assert found * (1 - 1e-4) <= ratio <= found * (1 + 1e-9)
    driving.assert_frequencies(one.counts(1, 2_000)[: plays.size][chance > 0], chance[chance > 0])


def test_arms_of_which_the_same_is_known_are_as_likely():
    one = told(bench(4, (0.3,)), [0] * 4, [0] * 4, [[0] * 4])
    one.decide(1)
    assert columns(one)[1] == pytest.approx(np.full(4, 0.25), abs=1e-15)
    # A pair of equal arms beside others: whatever the mixture, both have the same part.
    told(one, [6, 6, 2, 20], [4, 4, 1, 12], [[1, 1, 0, 6]]).decide(1)
    chance = columns(one)[1]
    assert chance[0] == pytest.approx(chance[1], abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_of_a_table_is_what_would_be_computed(seed):
    plays, rewards, harms = random_state(seed, risks=2)
    one = told(bench(plays.size, (0.3, 0.4)), plays, rewards, harms)
    rng = np.random.default_rng(seed)
    for _ in range(6):
        one.decide(1)
        kept = one.memory.table.copy()
        one.arms["available"][:] = rng.integers(0, 2, plays.size)
        one.decide(1)
        again = one.memory.table.copy()
        # As a policy finds it that has written nothing yet.
        one.memory.table["value"][:] = np.nan
        one.decide(1)
        assert one.memory.table.tobytes() == again.tobytes()
        np.testing.assert_array_equal(kept["value"][:, RISKS:], again["value"][:, RISKS:])
        one.arms["available"][:] = 1
        one.learn(int(rng.integers(plays.size)), *rng.integers(0, 2, 3).astype(float))


def test_an_arm_that_may_not_be_given_has_no_part():
    plays, rewards, harms = [9, 9, 9], [8, 5, 3], [[1, 1, 1]]
    one = told(bench(3, (0.3,)), plays, rewards, harms)
    one.arms["available"][0] = 0
    k, none = one.decide(1)
    permissible, chance, *_ = columns(one)
    assert permissible.all()
    assert (chance[0], k in (1, 2), none) == (0.0, True, False)
    one.arms["available"] = 0
    assert one.decide(1) == (WAIT, False)
    # Arms that are excluded do not change that an arm is waited for.
    told(one, [9, 9, 9], rewards, [[9, 9, 1]])
    one.arms["available"][2] = 0
    assert one.decide(1) == (WAIT, False)
    assert not columns(one)[1].any()


def test_what_is_played_while_no_arm_is_permissible():
    harmed = ([8, 9], [4, 4], [[8, 8]])
    assert told(bench(2, (0.3,)), *harmed).decide(1) == (HOLD, True)
    assert told(bench(2, (0.3,), "least_risky"), *harmed).decide(1) == (1, True)
    assert told(driving.Bench("safe-ids:when_none=#0", 2, 0.3), *harmed).decide(1) == (0, True)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_no_risk_tolerated_and_every_risk_tolerated(alpha):
    one = told(bench(3, (alpha,)), [5, 5, 0], [3, 1, 0], [[0, 4, 0]])
    k, none = one.decide(1)
    permissible, chance, *_ = columns(one)
    assert permissible.tolist() == [True, alpha == 1.0, True]
    assert chance.sum() == pytest.approx(1.0)
    assert (chance[k] > 0, none) == (True, False)


def test_one_arm_on_which_everyone_is_harmed():
    trial = Trial(["dose"], 0.35, seed=1)
    for _ in range(3):
        trial.tell(trial.ask().id, reward=1, risk=1)
    assert trial.ask().held


def test_a_live_trial_tells_its_chances_exactly():
    trial = Trial(["placebo", "low", "high"], 0.3, "safe-ids", seed=4)
    mixed = 0
    for i in range(30):
        views = {view.arm: view for view in trial.explain().arms}
        before = trial._allocator.position
        chances = trial._allocator.chances(trial.round, 1)
        assert trial._allocator.position == before
        assert chances.how == "exact"
        assert chances.arms == tuple(view.probability for view in views.values())
        assert sum(chances.arms) == pytest.approx(1.0, abs=1e-12)
        unit = trial.ask()
        body = trial.log[-1].content
        assert body["propensities"] == "exact"
        assert body["arms"][unit.arm]["propensity"] == views[unit.arm].probability > 0
        mixed += views[unit.arm].probability < 1
        trial.tell(unit.id, reward=float(i % 3 > 0), risk=float(i % 5 == 0))
    assert mixed > 5
    assert "the mixture of least squared cost for what it teaches" in str(trial.explain())


def test_chances_are_drawn_where_the_least_risky_arm_is_played_by_lot():
    trial = Trial(["a", "b"], 0.1, "safe-ids:when_none=least_risky", seed=4)
    for i in range(6):
        unit = trial.ask(str(i))
        trial.tell(unit.id, reward=1, risk=1)
    chances = trial._allocator.chances(trial.round, 1)
    assert sum(chances.arms) + chances.held == pytest.approx(1.0)


def test_parameters_follow_from_planned_units():
    assert [settings_for(units) for units in (36, 600, 999, 1000, 2000, 10**6)] == [
        (0.1, 0.95), (0.15, 0.95), (0.24975, 0.95), (0.25, 0.99), (0.5, 0.99), (0.5, 0.99),
    ]  # fmt: skip
    arms, limits = ("a", "b"), (0.3,)
    for policy, units, expected in (
        (safe_ids(), None, (0.1, 0.95, 400)),
        (safe_ids(), 2000, (0.5, 0.99, 2000)),
        (safe_ids(units=36), 2000, (0.1, 0.95, 36)),
        (safe_ids(odds=0, confidence=0.8), 2000, (0.0, 0.8, 2000)),
    ):
        assert prepare(policy, Setup(arms, limits, "hold", units=units))[:3] == expected
        full = plan(policy, units)
        assert full[:3] == expected
        # Planned once, it is not planned otherwise by another size.
        assert plan(full, 7) == full
    assert plan(policy_from_text("tsbu"), 400) == policy_from_text("tsbu")


def test_the_simulator_tells_its_horizon():
    by_horizon, same, other = (
        simulate("drug-trial", text, horizon=1_200, trials=2, seed=1).of(text).plays.tolist()
        for text in ("safe-ids", "safe-ids:units=1200", "safe-ids:units=400")
    )
    assert by_horizon == same != other


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (InformationDirected(), "safe-ids"),
        (InformationDirected(0.15, 0.95, 400), "safe-ids:odds=0.15,confidence=0.95,units=400"),
        (InformationDirected(odds=0.5, when_none="hold"), "safe-ids:odds=0.5,when_none=hold"),
        (InformationDirected(units=36, when_none=1), "safe-ids:units=36,when_none=#1"),
    ],
)
def test_it_is_written_and_read_back(policy, text):
    assert policy_to_text(policy) == text
    read = policy_from_text(text)
    assert policy_to_text(read) == text
    setup = Setup(("a", "b"), (0.3,), "hold")
    assert prepare(read, setup) == prepare(policy, setup)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("safe-ids:units=0", "units must be at least 1 (units planned), got 0"),
        ("safe-ids:units=x", "units"),
        ("safe-ids:odds=-1", "odds of PosteriorGate must be at least 0, got -1"),
        ("safe-ids:confidence=95", "confidence of PosteriorGate must lie between 0 and 1, got 95"),
        ("safe-ids:when_none=7", "when_none"),
    ],
)
def test_mistakes(text, words):
    with pytest.raises(PolicyError) as caught:
        prepare(policy_from_text(text), Setup(("a", "b"), (0.3,), "hold"))
    assert words in str(caught.value)
