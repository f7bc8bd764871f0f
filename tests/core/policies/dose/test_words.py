"""Why a dose is given, and why others are not, in each design's own words and with its own numbers."""

import pytest

from safebandit.core.conduct import plain_conduct
from safebandit.core.policies import policy_from_text, policy_to_text
from safebandit.trials.allocator import Allocator
from safebandit.trials.decision_words import explain

DOSES = ("low", "mid", "high")


def explained(text, cohorts, alpha=0.3):
    """The explanation after cohorts of three: dose, harms, and efficacies where they are given."""
    conduct = plain_conduct(pending_cap=9)._replace(cohort=3, waits=True)
    arms = Allocator(DOSES, (alpha,), policy_from_text(text), risks=("harm",), seed=1, conduct=conduct)
    t = 0
    for k, harms, *effects in cohorts:
        for i in range(3):
            t += 1
            outcome = (float(i < (effects[0] if effects else 0)), float(i < harms))
            arms.learn(k, arms.give(k, t), t, (None, None), outcome)
    return explain(arms, t + 1)


CASES = {
    "boin:target=0.3": (
        [(0, 0), (1, 1)],
        'stay from "mid": its rate of harms is 0.3333, escalate at 0.2365 or less, de-escalate at 0.3585 or more',
    ),
    "boin12:tolerated=0.3,wanted=0.2": (
        [(0, 0, 1), (1, 0, 3)],
        'stay from "mid": desirability 0.7599; its rate of harms is 0',
    ),
    "mtpi": ([(0, 0), (1, 0)], 'escalate from "mid": unit probability mass 2.734 to escalate, 1.379'),
    "tpi": ([(0, 0), (1, 2)], 'de-escalate from "mid": posterior mass'),
    "crm": ([(0, 0)], 'escalate from "low": by the model the risk of "high", '),
    "dose-ts:model=independent": ([(0, 0), (1, 0)], 'de-escalate from "mid": the risk drawn of "low", '),
    "three-plus-three": ([(0, 0), (1, 1)], 'stay from "mid": 1 harm of 3 units there'),
}


@pytest.mark.parametrize("text", CASES)
def test_a_step_says_what_it_follows_from(text):
    cohorts, words = CASES[text]
    found = explained(text, cohorts)
    assert found.why.startswith(words)
    others = [view.why for view in found.arms if not view.chosen]
    assert others == ["permissible; the next step leads to another dose"] * 2


EXCLUDED = {
    "boin:target=0.25": "is above 0.25 with a chance of 0.9961, more than 0.95",
    "mtpi": "is above 0.3 with a chance of 0.9919, more than 0.95",
    "dose-ts:model=independent": "is above 0.3 with a chance of 0.9919, more than 0.95",
    "three-plus-three": "had 3 harms",
}


@pytest.mark.parametrize("text", EXCLUDED)
def test_a_dose_that_is_out_says_why_and_so_do_those_above_it(text):
    found = explained(text, [(0, 0), (1, 3)])
    own, above = (view.why for view in found.arms[1:])
    assert own.startswith("not permissible: its risk" if "had" not in EXCLUDED[text] else "not permissible: it had")
    assert own.endswith(EXCLUDED[text])
    assert 'of "mid", below it, is' in above or '"mid", below it, had' in above
    held = explained(text, [(0, 3)])
    assert held.chosen is None
    assert held.why.startswith('no arm is permissible: of "low": it')
    assert EXCLUDED[text] in held.why


def test_a_dose_without_efficacy_says_so():
    found = explained("boin12:tolerated=0.3,wanted=0.5", [(0, 0, 0), (1, 0, 3)])
    assert found.arms[0].why.startswith("not permissible: its efficacy is below 0.5 with a chance of 0.9375, more than")
    assert found.arms[0].own["chance below wanted"] == pytest.approx(0.9375)


@pytest.mark.parametrize("text", CASES)
def test_a_design_is_read_back_from_its_text(text):
    policy = policy_from_text(text)
    assert policy_from_text(policy_to_text(policy)) == policy
