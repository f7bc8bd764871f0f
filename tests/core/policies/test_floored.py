"""A floor under the chances of permissible arms: the formula, by draws, and what it may not touch."""

import numpy as np
import pytest
from scipy import stats

from safebandit import Trial
from safebandit.core.policies import Floored, policy_from_text, policy_to_text, tsbu
from safebandit.errors import PolicyError

from .test_propensities import after_some, drawn


def test_each_permissible_arm_has_the_floor_and_its_part_of_the_rest():
    with_floor, without = after_some("tsbu:floor=0.1"), after_some("tsbu")
    found, own = with_floor.chances(41, 1), np.array(without.chances(41, 1).arms)
    free = np.arange(4) < 3  # the last waits for its risk
    expected = np.where(free, 0.1 + 0.7 * own, 0.0)
    assert found.arms == pytest.approx(expected, abs=1e-8)
    # One in ten thousand fails by chance.
    shares = drawn(with_floor, 41)[:3]
    assert stats.chisquare(shares, expected[:3] * shares.sum()).pvalue > 1e-4


def test_an_arm_that_is_not_permissible_has_no_floor():
    trial = Trial(["a", "b", "c"], alpha=0.2, policy="tsbu:floor=0.2", seed=3)
    given = []
    for _ in range(60):
        asked = trial.ask()
        content = trial.log[-1].content
        for saw in content["arms"].values():
            assert (saw["propensity"] >= 0.2) if saw["permissible"] else (saw["propensity"] == 0.0)
        given.append(asked.arm)
        trial.tell(asked.unit, reward=1, risk=float(asked.arm == "c"))
    assert "c" not in given[30:]
    assert trial.verify().holds
    reasons = {event.content["why"] for event in trial.log if event.kind == "asked"}
    assert any(reason.startswith("drawn by its floor of 0.2;") for reason in reasons)


def test_a_floor_is_a_parameter_of_any_policy():
    for text in ("tsbu:floor=0.05", "thompson+kl-lower:each_first=false,floor=0.1", "safe-ids:odds=0.2,floor=0.1"):
        policy = policy_from_text(text)
        assert isinstance(policy, Floored)
        assert policy_from_text(policy_to_text(policy)) == policy
    assert policy_from_text("tsbu:floor=0.05") == Floored(tsbu(), 0.05)
    # It has a floor of its own.
    assert policy_from_text("response-adaptive:floor=0.1").floor == 0.1
    assert not isinstance(policy_from_text("response-adaptive:floor=0.1"), Floored)
    # The arm that a policy names is still known by its name.
    kept = Trial(["a", "b"], 0.3, "tsbu:when_none=#1,floor=0.1", seed=1).settings.policy
    assert kept == "thompson+bayes-lower:when_none=b,each_first=false,floor=0.1"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("tsbu:floor=0.6", r"floor must lie in \(0, 0.5\], what 2 arms can all have, got 0.6"),
        ("tsbu:floor=0", r"floor must lie in \(0, 0.5\]"),
        ("tsbu:floor=x", "floor must be a finite number, got 'x'"),
        ("naive-ts:floor=0.1", "a floor needs gates that are not drawn for, got SampledRisk"),
        ("colts:floor=0.1", "a floor needs gates that are not drawn for, got Colts"),
        ("boin:floor=0.1", "Boin moves from dose to dose, and takes no floor"),
    ],
)
def test_a_floor_that_cannot_be_is_refused(text, rule):
    with pytest.raises(PolicyError, match=rule):
        Trial(["a", "b"], 0.3, text, seed=1)
