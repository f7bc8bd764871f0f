"""Chances of policies that draw, without draws: beside very many decisions, each drawn anew."""

import numpy as np
import pytest
from scipy import stats

from safebandit.core.conduct import plain_conduct
from safebandit.core.policies import propensities
from safebandit.core.policies.texts import policy_from_text
from safebandit.core.streams import trial_streams
from safebandit.trials.allocator import ANSWERS, Allocator

DRAWS = 100_000
RISKS = (0.1, 0.3, 0.4, 0.35)


def after_some(policy, units=40, **others):
    """Four arms after so many units; the last one's risk is still waited for, so that it may not be given."""
    arms = Allocator(["a", "b", "c", "d"], (0.3,), policy_from_text(policy), risks=("risk",), seed=3, **others)
    rng = np.random.default_rng(5)
    for t in range(1, units + 1):
        k = int(rng.integers(4)) if t < units else 3
        play = arms.give(k, t)
        risk = float(rng.random() < RISKS[k]) if k < 3 else None
        arms.learn(k, play, t, (None, None), (float(rng.random() < 0.5), risk))
    return arms


def partly_known(policy, units=60):
    """Four arms of whose units one outcome, or both, are known, some by halves: tables are not their margins."""
    arms = Allocator(["a", "b", "c", "d"], (0.3,), policy_from_text(policy), risks=("risk",), seed=3)
    rng = np.random.default_rng(6)
    for t in range(1, units + 1):
        k = int(rng.integers(4))
        reward, risk = float(rng.choice([0.0, 0.5, 1.0])), float(rng.random() < RISKS[k] + 0.1)
        late = rng.integers(4)
        arms.learn(k, arms.give(k, t), t, (None, None), (None if late == 0 else reward, None if late == 1 else risk))
    return arms


def drawn(arms, t, draws=DRAWS):
    """How often each arm, and none, is given in so many decisions."""
    counts, before = np.zeros(ANSWERS + 4, np.int64), arms.memory.streams.copy()
    arms.memory.streams[:] = trial_streams(99, 0, 1).policy
    arms._kernels.decide(arms._called, arms._packed, arms.memory, t, draws, counts)
    arms.memory.streams[:] = before
    return np.array([*counts[:-ANSWERS], counts[-ANSWERS:].sum()])


# One case fails by chance in ten thousand.
@pytest.mark.parametrize(
    "policy",
    [
        "tsbu",
        "naive-ts:when_none=hold",
        "naive-ts:when_none=b",
        "slack-ts:slack=1",
        "point-ts",
        "joint-ts:soft=0.2",
        "joint-dirichlet",
        "joint-dirichlet:soft=0",
        "joint-dirichlet:soft=4,when_none=b",
        "joint-dirichlet:floor=0.05",
    ],
)
def test_integrated_chances_are_shares_of_draws(policy):
    arms = after_some(policy)
    position = arms.position
    found = arms.chances(41, 1)
    assert (found.how, arms.position) == ("integrated, right to 1e-06", position)
    chances, shares = np.array([*found.arms, found.held]), drawn(arms, 41)
    assert chances.sum() == pytest.approx(1.0, abs=1e-8)
    assert chances[3] == shares[3] == 0  # the arm that waits
    part = chances > 1e-6
    assert shares[~part].sum() <= 1
    assert stats.chisquare(shares[part], chances[part] / chances[part].sum() * shares[part].sum()).pvalue > 1e-4


# One case fails by chance in ten thousand.
@pytest.mark.parametrize("soft", [0, 0.7, 3])
def test_outcomes_of_which_one_is_known_are_no_part_of_a_table(soft):
    arms = partly_known(f"joint-dirichlet:soft={soft}")
    rewards = arms.memory.quantities[0, :, 0]
    found, shares = arms.chances(61, 1), drawn(arms, 61)
    assert found.how == "integrated, right to 1e-06"
    assert (rewards["ones"] != rewards["total"]).any()
    chances = np.array([*found.arms, found.held])
    part = chances > 1e-6
    assert stats.chisquare(shares[part], chances[part] / chances[part].sum() * shares[part].sum()).pvalue > 1e-4


def test_chances_are_the_same_whatever_was_asked_before():
    # What an arm's tests go by is kept until it learns: it is the same bits, kept or made anew, in any order.
    first, second = partly_known("joint-dirichlet"), partly_known("joint-dirichlet", units=61)
    kept = [first.chances(61, 1), second.chances(62, 1), first.chances(61, 1), first.chances(500, 1)]
    propensities._shares.cache_clear()
    assert kept[0] == kept[2] != kept[1]
    anew = partly_known("joint-dirichlet")
    assert [anew.chances(500, 1), anew.chances(61, 1)] == [kept[3], kept[0]]


def test_what_is_not_known_without_draws_is_drawn():
    for policy in ("naive-ts:when_none=least_risky", "thompson+bayes-lower:reward.prior_a=0.5"):
        assert after_some(policy).chances(41, 1).how == "estimated from 1000 draws"
    upwards = plain_conduct()._replace(upwards=True)
    assert after_some("naive-ts", conduct=upwards).chances(41, 1).draws == 1000
    # A gate that is not drawn for excludes upwards all the same.
    assert after_some("tsbu", conduct=upwards).chances(41, 1).draws == 0


def test_ties_have_exact_chances():
    arms = after_some("docb", units=1)
    for t, k in enumerate((0, 1, 2), start=2):
        arms.learn(k, arms.give(k, t), t, (None, None), (1.0, 0.0))
    found = arms.chances(5, 1)
    assert (found.how, found.arms) == ("exact", (1 / 3, 1 / 3, 1 / 3, 0.0))
    assert arms.chances(5, 1, by_draws=True).draws == 1000


def test_a_burn_in_has_exact_chances():
    arms = after_some("tsbu", units=7, conduct=plain_conduct()._replace(burn_in=12))
    asked = arms.memory.arms["asked"][0]
    found = arms.chances(8, 1)
    least = (asked == asked[:3].min()) & (np.arange(4) < 3)
    assert (found.how, found.arms) == ("exact", tuple(least / least.sum()))
