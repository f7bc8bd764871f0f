"""The words of a decision are true: they come from the policy that made it."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import safebandit as sb
from safebandit.core.conduct import FREE
from safebandit.core.policies import Decision
from safebandit.trials.allocator import Allocator
from safebandit.trials.explanation import apart, explain_decision, gate_words, policy_reason

ARMS = ("a", "b", "c")


def decision(k, indices=(math.nan,) * 3, *, permissible=(True,) * 3, bounds=(0.1,) * 3, chances=(math.nan,) * 3):
    return Decision(
        k, False, np.array(permissible), np.array(indices), np.array(bounds)[:, None], np.array(chances), {}, ARMS
    )  # fmt: skip


def views(policy, found, alpha=0.2):
    memory = Allocator(ARMS, (alpha,), sb.docb(), risks=("risk",), seed=1).memory
    reason = policy_reason(policy, found, (alpha,), ("risk",))
    return explain_decision(policy, found, memory, 1, (alpha,), reason=reason, bars=[FREE] * len(ARMS)).arms


@pytest.mark.parametrize("policy", ["docb", "bwcr"])
def test_first_plays_are_not_said_to_have_the_largest_index(policy):
    trial = sb.Trial(ARMS, 0.2, policy, seed=1)
    for _ in ARMS:
        explanation, answer = trial.explain(), trial.ask()
        chosen = next(view for view in explanation.arms if view.chosen)
        assert answer.why == explanation.why == chosen.why == "every arm is played once before any index is asked"
        # No mixture was drawn from, and no chance of 0 stands beside the arm that is given.
        assert chosen.probability is None
        assert chosen.reward_index is None
        trial.tell(answer.unit, reward=1, risk=0)
    assert "played once" not in trial.ask().why


def test_a_tie_is_not_said_to_be_lost_to_a_larger_index():
    equal, smaller, _ = (view.why for view in views(sb.docb(), decision(2, (0.5, 0.4, 0.5))))
    assert equal == "permissible; another arm's reward index is as large, and the tie was drawn"
    assert smaller == "permissible; another arm's reward index is larger"
    unasked = views(sb.docb(), decision(2, (math.nan, 0.4, 0.5)))[0].why
    assert unasked == "permissible; its reward index was not needed"


def test_an_arm_that_a_mixture_draws_is_not_called_one_of_the_permissible():
    policy = sb.pess(safe_arm=0, safe_risk=0.1)
    trial = sb.Trial(ARMS, 0.2, policy, seed=3)
    given = set()
    for _ in range(60):
        explanation, answer = trial.explain(), trial.ask()
        chosen = next(view for view in explanation.arms if view.chosen)
        assert chosen.why == explanation.why == answer.why
        assert "permissible" not in answer.why
        assert answer.why.startswith("drawn from the mixture of largest reward index whose upper risk index is at most")
        assert f'{chosen.probability:.4g} "{chosen.arm}"' in answer.why
        assert chosen.probability > 0
        given.add(chosen.permissible)
        for view in explanation.arms:
            assert "lower" not in view.why
            if not view.permissible and view.probability == 0:
                assert view.why.startswith("not permissible: upper risk index")
        trial.tell(answer.unit, reward=int(answer.arm != "a"), risk=0)
    assert given == {True, False}


def test_risk_indices_have_their_own_names():
    found = decision(0, (0.5, 0.4, 0.3), permissible=(True, False, True), bounds=(0.1, 0.3, 0.2))
    setup = {"limits": (0.2,), "risks": ("risk",), "bar": FREE}
    pess = sb.pess(safe_arm=0, safe_risk=0.1)
    assert gate_words(pess, 0, found, **setup) == "permissible: known risk 0.1 is at most alpha 0.2"
    assert gate_words(pess, 1, found, **setup) == "not permissible: upper risk index 0.3 is above alpha 0.2"
    assert gate_words(sb.naive_ts(), 1, found, **setup) == "not permissible: drawn risk index 0.3 is above alpha 0.2"
    assert gate_words(sb.tsbu(), 1, found, **setup) == "not permissible: lower risk index 0.3 is above alpha 0.2"
    none = found._replace(k=-1, none=True, permissible=np.zeros(3, bool), bounds=np.array([[0.4], [0.3], [0.5]]))
    assert policy_reason(sb.pess(safe_arm=None), none, (0.2,), ("risk",)) == (
        'no arm is permissible: every upper risk index is above 0.2 (smallest: 0.3, "b"); the policy holds'
    )


def test_numbers_are_shown_on_the_side_of_alpha_on_which_they_lie():
    assert apart(0.2 + 2**-54, 0.2) == "0.2000000000000001"
    found = decision(0, (0.5, 0.4, 0.3), permissible=(True, False, True), bounds=(0.1, 0.2 + 1e-9, 0.2))
    assert views(sb.docb(), found)[1].why == "not permissible: lower risk index 0.200000001 is above alpha 0.2"


def test_a_gate_that_the_last_digits_of_its_index_contradict_is_not_explained_by_it():
    # One harm of one unit: the evidence of log(1 / 0.2) against a budget of log 5, which are the same but for rounding.
    trial = sb.Trial(ARMS, 0.2, "docb", seed=1)
    for harm in (0, 1, 0, 0):
        trial.tell(trial.ask().unit, reward=1, risk=harm)
    harmed = trial.explain().arms[1]
    assert harmed.risk_index == pytest.approx(0.2, abs=1e-12)
    if harmed.risk_index <= 0.2 and not harmed.permissible:
        assert harmed.why == "not permissible: lower risk index 0.2 is not within alpha 0.2, by the last digits"
    near = decision(0, (0.5, 0.4, 0.3), permissible=(True, False, True), bounds=(0.2 + 1e-12, 0.2 - 1e-12, math.nan))
    setup = {"limits": (0.2,), "risks": ("risk",), "bar": FREE}
    assert gate_words(sb.docb(), 0, near, **setup) == "permissible: lower risk index 0.2 is at most alpha 0.2"
    assert "is above" not in views(sb.docb(), near)[1].why
    assert gate_words(sb.docb(), 2, near, **setup) == "permissible by the policy's own rule"
    unknown = near._replace(permissible=np.array([True, True, False]))
    assert views(sb.docb(), unknown)[2].why == "not permissible: its lower risk index cannot be computed"


class Silent(NamedTuple):
    """A family that says nothing of itself."""


def test_a_family_without_words_is_said_nothing_untrue_of():
    chosen, other, _ = views(Silent(), decision(0))
    assert chosen.why == "the policy's own rule gives this arm"
    assert other.why == "the policy's own rule gives another arm"


class Talks(NamedTuple):
    """A family of its own words."""

    def why(self, decision, arm):
        return f"{decision.arms[arm]}: {decision.indices[arm]}"


def test_a_family_says_why_itself():
    chosen, other, unsafe = views(
        Talks(), decision(0, (0.5, 0.4, 0.3), permissible=(True, True, False), bounds=(0.1, 0.1, 0.3))
    )
    assert (chosen.why, other.why) == ("a: 0.5", "b: 0.4")
    assert unsafe.why == "not permissible: lower risk index 0.3 is above alpha 0.2"
