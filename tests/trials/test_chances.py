"""Chances that are noted never contradict the decision that they stand beside, and are verified as they were noted."""

import functools

import numpy as np
import pytest
from scipy import stats

from safebandit import Trial
from safebandit.core.policies import propensities
from safebandit.trials import allocator, drafts
from safebandit.trials.chances import Chances


def given(trial):
    """The decisions in a trial's log that gave an arm."""
    return [event.content for event in trial.log if event.kind == "asked"]


def run(units, policy="tsbu"):
    trial = Trial(3, 0.3, policy, seed=4)
    for i in range(units):
        trial.tell(trial.ask().unit, reward=i % 2, risk=0)
    return trial


def test_the_decision_is_one_of_the_draws():
    assert Chances((0.25, 0.75), 0.0, 4).counting(0) == Chances((0.4, 0.6), 0.0, 5)
    assert Chances((0.0, 0.75), 0.25, 4).counting(-1) == Chances((0.0, 0.6), 0.4, 5)
    exact = Chances((0.0, 1.0), 0.0, 0)
    assert exact.counting(1) is exact


@pytest.mark.parametrize("p", [0.001, 0.03, 0.5, 1.0])
def test_the_inverse_of_the_chance_is_the_right_weight(p):
    # Over all that 20 draws may give, in exact proportion.
    counts, draws = np.arange(21), 20
    inverse = [1.0 / Chances((c / draws, 1 - c / draws), 0.0, draws).counting(0).arms[0] for c in counts]
    assert p * stats.binom.pmf(counts, draws, p) @ inverse == pytest.approx(1 - (1 - p) ** (draws + 1))


def test_no_arm_is_given_at_a_chance_of_0(monkeypatch):
    # With two draws an arm is often given that neither of them gave.
    monkeypatch.setattr(allocator, "CHANCE_DRAWS", 2)
    decisions = given(run(60, "naive-ts:when_none=least_risky"))
    chances = [content["arms"][content["arm"]]["propensity"] for content in decisions]
    assert set(chances) == {1 / 3, 2 / 3, 1.0}
    for content in decisions:
        assert content["propensities"] == "estimated from 3 draws, this decision among them"
        shares = [arm["propensity"] for arm in content["arms"].values()]
        assert sum(shares) + content["held_propensity"] == pytest.approx(1.0)


@pytest.mark.parametrize("noted", ["estimated from 1000 draws", "estimated from 1001 draws, this decision among them"])
def test_a_log_whose_chances_were_estimated_is_verified(monkeypatch, noted):
    monkeypatch.setattr(drafts, "ask", functools.partial(drafts.ask, noted=noted))
    older = run(8)
    assert {content["propensities"] for content in given(older)} == {noted}
    arms = [content["arm"] for content in given(older)]
    monkeypatch.undo()
    older.tell(older.ask().unit, reward=1, risk=0)
    assert given(older)[-1]["propensities"] == "integrated, right to 1e-06"
    assert older.verify().holds
    assert arms == [content["arm"] for content in given(run(8))]


def test_integrated_chances_are_verified_to_their_error(monkeypatch):
    # Other formulas, or another machine, may sum up an integral otherwise.
    exactly = propensities.chances_largest
    for moved, holds in ((9e-7, True), (2e-6, False)):
        monkeypatch.setattr(propensities, "chances_largest", lambda *args, by=moved: exactly(*args) + by)
        trial = run(4)
        monkeypatch.undo()
        found = trial.verify()
        assert found.holds is holds
    assert "arms differ" in found.problem
