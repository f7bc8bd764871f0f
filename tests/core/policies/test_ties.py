"""What a policy notes to save work never changes a decision: not even which of two equal arms is taken."""

import numpy as np
import pytest

from safebandit import Trial


def outcomes(seed):
    return (np.random.default_rng(seed).random(400) < 0.5).astype(int).tolist()


# Equal arms tie often while they have few plays. Seeds at which the notes once decided a later tie.
@pytest.mark.parametrize(
    ("policy", "arms", "seed"),
    [("docb", 12, 1), ("docb", 18, 2), ("docb", 16, 4), ("docb", 6, 11), ("bayes-upper+kl-lower", 11, 9)],
)
def test_a_trial_read_back_breaks_ties_as_the_first_would(policy, arms, seed):
    first = Trial(arms, 0.5, policy, seed=seed)
    copies = []
    for t, reward in enumerate(outcomes(seed)):
        if t in (20, 60, 150):
            copies.append(Trial.from_json(first.to_json()))
        unit = first.ask()
        for trial in copies:
            assert trial.ask() == unit, f"unit {unit.id}"
        for trial in (first, *copies):
            trial.tell(unit.id, reward=reward, risk=0)


@pytest.mark.parametrize("policy", ["docb", "bayes-upper+kl-lower"])
@pytest.mark.parametrize("seed", range(4))
def test_the_explained_arm_is_the_arm_that_is_given(policy, seed):
    trial = Trial(8, 0.5, policy, seed=seed)
    for reward in outcomes(seed)[:150]:
        chosen = trial.explain().chosen
        unit = trial.ask()
        assert unit.arm == chosen
        trial.tell(unit.id, reward=reward, risk=0)
