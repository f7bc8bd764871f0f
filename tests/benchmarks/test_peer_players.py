"""The players that need no other library: the NumPy script by the definitions, and safebandit beside it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from peers import play_numpy, play_safebandit
from peers.problem import BAYES_UCB, BAYES_UCB_FLAT, KL_UCB, MU, POLICIES, UCB1, regret
from peers.runner import rewards_of, trial_by_trial
from peers.tables import Measured, apart
from safebandit.core.indices import upper
from safebandit.core.searches.bounds import exceeds

from ..core import plain

PLAYS = np.array([1.0, 1.0, 3.0, 20.0, 20.0, 400.0, 9_000.0])
ONES = np.array([0.0, 1.0, 3.0, 13.0, 0.0, 171.0, 4_833.0])
ROUNDS = (2, 99, 10_000)
DEFINITIONS = {
    UCB1: lambda plays, ones, t: ones / plays + (2 * np.log(t) / plays) ** 0.5,
    KL_UCB: lambda plays, ones, t: float(plain.kl_upper_index("practical", plays, ones, t)),
    BAYES_UCB: lambda plays, ones, t: 1.0 if ones == plays else stats.beta.ppf(1 - 1 / (t + 1), ones + 1, plays - ones),
    BAYES_UCB_FLAT: lambda plays, ones, t: stats.beta.ppf(1 - 1 / (t + 1), ones + 1, plays - ones + 1),
}
REGISTERED = {UCB1: play_safebandit.PlainUCB1(), BAYES_UCB_FLAT: play_safebandit.FlatBayesUpper()}


@pytest.mark.parametrize("t", ROUNDS)
@pytest.mark.parametrize("policy", DEFINITIONS)
def test_the_script_computes_the_definitions(policy, t):
    expected = [DEFINITIONS[policy](plays, ones, t) for plays, ones in zip(PLAYS, ONES, strict=True)]
    found = play_numpy.INDICES[policy](PLAYS, ONES, t, np.random.default_rng(1))
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("policy", REGISTERED)
def test_registered_indices_are_the_definitions(policy):
    for t in ROUNDS:
        for plays, ones in zip(PLAYS.astype(int), ONES.astype(int), strict=True):
            seen, value = (
                SimpleNamespace(plays=plays, ones=ones, mean=ones / plays),
                DEFINITIONS[policy](plays, ones, t),
            )
            assert upper(REGISTERED[policy], seen, t, None) == pytest.approx(value, abs=1e-9)
            for bar in (value - 1e-6, value + 1e-6):
                if exceeds.knows(type(REGISTERED[policy])):
                    assert exceeds(REGISTERED[policy], seen, t, bar, None) == (value > bar)


def test_the_script_draws_from_the_posterior():
    # A Kolmogorov-Smirnov test that a right sampler fails once in 10,000 seeds.
    draws = play_numpy.thompson(np.full(4_000, 20.0), np.full(4_000, 13.0), 21, np.random.default_rng(5))
    assert stats.kstest(draws, stats.beta(14, 8).cdf).pvalue > 1e-4


@pytest.mark.parametrize("policy", POLICIES)
def test_safebandit_and_the_script_have_equal_regret(policy):
    # Four standard errors: two right programs are further apart for one seed in 16,000.
    players = {"script": play_numpy.play, "safebandit": play_safebandit.play}
    script, ours = (
        Measured(name, "", policy, [1.0], play(policy, 1_000, range(1, 201)).regrets) for name, play in players.items()
    )
    assert len(script.regrets) == len(ours.regrets) == 200
    assert abs(apart(script, ours)) < 4


def test_equal_regret_would_notice_another_exploration(monkeypatch):
    narrow = {UCB1: lambda plays, ones, t, random: ones / plays + np.sqrt(np.log(t) / plays)}
    monkeypatch.setattr(play_numpy, "INDICES", {**play_numpy.INDICES, **narrow})
    script = Measured("script", "", UCB1, [1.0], play_numpy.play(UCB1, 1_000, range(1, 401)).regrets)
    ours = Measured("safebandit", "", UCB1, [1.0], play_safebandit.play(UCB1, 1_000, range(1, 401)).regrets)
    assert apart(script, ours) < -4


def test_regret_counts_what_plays_cost():
    assert regret([0, 0, 0, 0, 10_000]) == 0.0
    assert regret([100, 0, 10, 0, 7]) == pytest.approx(100 * 0.177 + 10 * 0.068)


def test_trials_have_rewards_of_their_own_with_the_right_means():
    def play_arm(policy, horizon, seed, reward):
        rewards = [reward(int(policy)) for _ in range(horizon)]
        seen.append(rewards)
        return [horizon if arm == int(policy) else 0 for arm in range(len(MU))]

    for arm, mean in enumerate(MU):
        seen = []
        played = trial_by_trial(play_arm)(str(arm), 2_000, range(3, 8))
        assert played.regrets == pytest.approx([2_000 * (max(MU) - mean)] * 5)
        assert seen[0] != seen[1]
        # Exact binomial test; a right stream fails it once in 10,000 seeds.
        assert stats.binomtest(sum(map(sum, seen)), 10_000, mean).pvalue > 1e-4
    again = rewards_of(7)
    assert [again(len(MU) - 1) for _ in range(2_000)] == seen[4]
