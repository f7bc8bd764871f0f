"""Live trials with several risks: told in order, by name and piece by piece, each with its own limit."""

import math
import random

import numpy as np
import pytest

from safebandit import Trial

from .test_trial import ARMS, kl_lower, numbers, refused

RISKS = ["toxicity", "nausea"]


def two_risks(policy="docb", alpha=(0.3, 0.2), seed=1):
    return Trial(ARMS, alpha, policy, seed=seed, risks=RISKS)


def test_several_risks_have_limits_and_names():
    trial = two_risks()
    assert (trial.alpha, trial.limits, trial.risks) == ((0.3, 0.2), (0.3, 0.2), ("toxicity", "nausea"))
    assert Trial(ARMS, [0.3, 0.2]).risks == ("risk 1", "risk 2")
    assert Trial(ARMS, 0.3, risks=RISKS).alpha == (0.3, 0.3)
    for one in (Trial(ARMS, 0.3), Trial(ARMS, [0.3])):
        assert (one.alpha, one.limits, one.risks) == (0.3, (0.3,), ("risk",))


def test_risks_in_order_by_name_and_piece_by_piece_are_the_same():
    trials = [two_risks() for _ in range(4)]
    for trial in trials:
        for _ in range(3):
            trial.ask()
    for i, risk in ((1, (1, 0.5)), (2, (0, 0)), (3, (0.25, 1))):
        trials[0].tell(i, reward=0.5, risk=risk)
        trials[1].tell(i, reward=0.5, risk=np.array(risk, float))
        trials[2].tell(i, reward=0.5, risk={"nausea": risk[1], "toxicity": risk[0]})
        trials[3].tell(i, risk={"nausea": risk[1]})
        assert str(i) in trials[3].pending
        trials[3].tell(i, risk=[risk[0], None])
        assert str(i) in trials[3].pending
        trials[3].tell(i, reward=0.5)
        assert str(i) not in trials[3].pending
    assert {repr(trial.explain()) for trial in trials} == {repr(trials[0].explain())}
    assert trials[0].log[-1].content == {"unit": "3", "outcome": [0.5, 0.25, 1.0]}
    assert trials[3].log[4].content == {"unit": "1", "outcome": [None, None, 0.5]}
    view = trials[0].explain().arms[0]
    assert (view.mean_risk, view.pending) == ((1.0, 0.5), 0)


@pytest.mark.parametrize(
    ("risk", "message"),
    [
        (0.5, 'risk must be 2 numbers (toxicity, nausea) or some of them by name, as {"toxicity": 0}, got 0.5'),
        ([0], "risk must be 2 numbers (toxicity, nausea)"),
        ([0, 0, 0], "risk must be 2 numbers (toxicity, nausea)"),
        ("01", "risk must be 2 numbers (toxicity, nausea)"),
        ({0, 1}, "risk must be 2 numbers (toxicity, nausea)"),
        ([1, "1"], """risk "nausea" must be a number in [0, 1], got '1'"""),
        ([1, [1, 0]], 'risk "nausea" must be a number in [0, 1], got [1, 0]'),
        ([1, math.nan], 'risk "nausea" must lie in [0, 1], got nan'),
        ({"toxicity": 1, "nausea": 1.5}, 'risk "nausea" must lie in [0, 1], got 1.5'),
        ({"nausae": 0}, 'there is no risk "nausae"; did you mean "nausea"?'),
        ({}, "nothing was told of unit '2'"),
        ([None, None], "nothing was told of unit '2'"),
        ({"toxicity": 0, "nausea": 1}, "unit '2' already has risk \"toxicity\" 1, got 0; correct it with a reason"),
    ],
)
def test_risks_that_cannot_be_told_change_nothing(risk, message):
    trial = two_risks()
    trial.ask()
    trial.ask()
    trial.tell(2, risk={"toxicity": 1})
    before = trial.to_json(), trial.pending, numbers(trial)
    with refused(message):
        trial.tell(2, risk=risk)
    assert (trial.to_json(), trial.pending, numbers(trial)) == before


@pytest.mark.parametrize(
    ("alpha", "risks", "message"),
    [
        ([0.3, 0.2], ["a"], "one alpha for all risks or one per risk (1), got 2: 0.3, 0.2"),
        ([0.3, 0.2], ["a", "a"], "names of risks must differ, got a, a"),
        ([0.3, 2], None, "alpha[1] must lie in [0, 1], got 2"),
        ([], None, "alpha must be a number in [0, 1], or one per risk, got []"),
        (0.3, [], "risks must be a list of names, got []"),
        (0.3, "tox", "risks must be a list of names, got 'tox'"),
    ],
)
def test_limits_and_names_that_make_no_sense(alpha, risks, message):
    with refused(message):
        Trial(ARMS, alpha, risks=risks)


def test_an_arm_waits_while_any_of_its_risks_does():
    trial = Trial(["only"], [0.5, 0.5], "docb", seed=1)
    assert trial.ask().arm == "only"
    trial.tell(1, reward=1, risk=[0, None])
    assert trial.ask().waiting
    trial.tell(1, risk=[None, 0])
    assert trial.ask().arm == "only"
    assert trial.ask().waiting
    trial.tell(2, risk={"risk 1": 0})
    assert trial.ask().waiting
    assert trial.explain().arms[0].pending == 1
    trial.tell(2, risk={"risk 2": 0})
    assert [trial.ask().waiting for _ in range(3)] == [False, False, True]


def test_why_says_which_risk_forbids_an_arm():
    trial = two_risks()
    harm = {"placebo": (0, 0), "low": (1, 0), "high": (0, 1)}
    for _ in range(60):
        unit = trial.ask()
        trial.tell(unit.id, reward=1, risk=harm[unit.arm])
    # KL lower index of round m t = 122.
    whys = {view.arm: view for view in trial.explain().arms}
    for arm, j, alpha in (("low", 0, 0.3), ("high", 1, 0.2)):
        view = whys[arm]
        bound = kl_lower(1.0, math.log(2 * 61) / view.plays)
        assert view.risk_index[j] == pytest.approx(bound, abs=1e-9)
        assert view.risk_index[1 - j] == 0.0
        assert (
            view.why
            == f'not permissible: lower risk index {bound:.4g} of risk "{RISKS[j]}" is above its alpha {alpha:g}'
        )
    assert whys["placebo"].chosen
    text = str(trial.explain())
    assert "round 61, alpha 0.3, 0.2: placebo" in text
    assert "mean_risk toxicity" in text
    assert trial.explain().table()["risk_index nausea"].tolist() == [view.risk_index[1] for view in whys.values()]


def test_a_trial_holds_when_every_arm_has_a_risk_too_many():
    trial = two_risks(alpha=(0.05, 0.05))
    while not (answer := trial.ask()).held:
        trial.tell(answer.id, reward=1, risk=(1, 0) if answer.arm == "low" else (0, 1))
    assert "every arm has a lower risk index above its alpha (nearest: " in answer.why
    assert "against 0.05" in answer.why
    both = two_risks(alpha=(0.05, 0.05))
    while not (answer := both.ask()).held:
        both.tell(answer.id, reward=1, risk=(1, 1))
    assert " and lower risk index" in both.explain().arms[0].why


@pytest.mark.parametrize("policy", ["docb", "tsbu"])
def test_copies_of_a_risk_told_together_do_as_that_risk_in_a_simulation_of_copies(policy):
    # Two names for one number: each decision is that of two equal rows, told at once or piece by piece.
    once, apart = two_risks(policy, 0.3, seed=6), two_risks(policy, 0.3, seed=6)
    rng = random.Random(6)
    for _ in range(120):
        unit = once.ask()
        assert apart.ask().arm == unit.arm
        k = ARMS.index(unit.arm)
        reward, risk = float(rng.random() < (0.3, 0.5, 0.8)[k]), float(rng.random() < (0.1, 0.2, 0.6)[k])
        once.tell(unit.id, reward=reward, risk=[risk, risk])
        apart.tell(unit.id, risk={"nausea": risk})
        apart.tell(unit.id, reward=reward, risk={"toxicity": risk})
    assert numbers(once) == numbers(apart)
    for view in once.explain().arms:
        assert view.risk_index[0] == view.risk_index[1]
        assert view.mean_risk[0] == view.mean_risk[1]
