"""What every policy must do; a new one enters these tests by being registered."""

import numpy as np
import pytest

from safebandit import Instance, Trial, simulate
from safebandit.core.indices import DESCRIPTIONS
from safebandit.core.policies import POLICIES, DoublyOptimistic, PolicyMixture, policy_from_text, policy_to_text
from safebandit.core.policies.texts import reward_indices, safety_indices
from safebandit.core.streams import trial_streams
from safebandit.errors import PolicyError
from safebandit.problems import draw

from .. import plain


def ours(indices):
    """Indices of the package; other tests register their own."""
    return sorted(name for name, kind in indices.items() if kind.__module__.startswith("safebandit."))


# Every index meets one of the other kind, and every gate one that is drawn and one that is not: each pair is compiled.
PAIRS = sorted(
    {f"{reward}+kl-lower" for reward in ours(reward_indices())}
    | {f"{reward}+{safety}" for reward in ("kl-upper", "thompson") for safety in ours(safety_indices())}
)
EVERY = [*POLICIES, *PAIRS]

INSTANCE = Instance.bernoulli([0.3, 0.5, 0.6, 0.9], [0.05, 0.2, 0.3, 0.7], 0.3)
REAL = Instance.beta([0.3, 0.5, 0.6], [0.1, 0.25, 0.4], 0.3, deviation=0.2)
SEVERAL = {
    "two risks": Instance.bernoulli(
        [0.3, 0.5, 0.6, 0.9], [[0.05, 0.2, 0.3, 0.7], [0.1, 0.1, 0.6, 0.2]], [0.3, 0.25], correlation=0.1
    ),
    "three real risks": Instance.beta(
        [0.3, 0.5, 0.6], [[0.1, 0.25, 0.4], [0.2, 0.1, 0.1], [0.05, 0.3, 0.1]], [0.3, 0.3, 0.2], deviation=0.2
    ),
}
SEED = 21


def with_parameters(text, parameters):
    return f"{text}{',' if ':' in text else ':'}{parameters}"


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("text", EVERY)
def test_a_policy_runs_and_its_numbers_add_up(text):
    result = simulate(INSTANCE, text, horizon=200, trials=3, seed=SEED, checkpoints=range(1, 201), workers=1)
    kept = result.of(text)
    assert (kept.plays >= 0).all()
    assert (kept.plays.sum(axis=1) == 200).all()
    assert (kept.held == 0).all()
    assert ((kept.none_permissible >= 0) & (kept.none_permissible <= 200)).all()
    assert ((kept.reward >= 0) & (kept.reward <= kept.plays)).all()
    assert ((kept.risk >= 0) & (kept.risk <= kept.plays)).all()
    assert (np.diff(kept.regret, axis=1) >= -1e-12).all()
    assert kept.regret[:, -1] == pytest.approx(kept.plays @ INSTANCE.costs, rel=1e-12)
    assert (kept.unsafe_plays[:, -1] == kept.plays[:, INSTANCE.unsafe_arms].sum(axis=1)).all()


@pytest.mark.parametrize("text", EVERY)
def test_the_same_seed_gives_the_same_bits(text):
    one, two, other = (
        simulate(INSTANCE, text, horizon=200, trials=3, seed=seed, workers=workers).of(text)
        for seed, workers in ((SEED, 1), (SEED, 2), (SEED + 1, 1))
    )
    assert same(one, two)
    assert not same(one, other)


def same_policy(one, other):
    """NamedTuples of equal numbers are equal, whatever their classes: those are compared too."""
    return one == other and [type(part) for part in one] == [type(part) for part in other]


def follow(text, instance, horizon):
    """A live trial fed with the simulator's outcomes gives the simulator's arms."""
    trial = Trial(list(instance.arms), instance.alpha, text, seed=SEED)
    streams = trial_streams(SEED, 0, len(instance.mu))
    arms = []
    for _ in range(horizon):
        unit = trial.ask()
        if unit.held:
            arms.append(-1)
            continue
        k = instance.arms.index(unit.arm)
        arms.append(k)
        reward, *risks = draw(instance.law, k, streams.arms[k])
        trial.tell(unit.id, reward=reward, risk=risks if len(risks) > 1 else risks[0])
    return arms


@pytest.mark.parametrize("text", EVERY)
def test_a_live_trial_decides_as_the_simulator_does(text):
    text = with_parameters(text, "when_none=least_risky")
    if text.startswith("pess"):
        # A live trial does not know the safe arm's risk by itself.
        text = with_parameters(text, "safe_risk=0.05")
    assert follow(text, INSTANCE, 250) == plain.decisions(text, INSTANCE, 250, SEED).tolist()


def refuses_several(text):
    """Policies over mixtures have one constraint; some indices ask how the reward depends on the one risk."""
    policy = policy_from_text(text)
    return isinstance(policy, PolicyMixture) or DESCRIPTIONS[type(policy.reward)].one_risk


TAKE_SEVERAL = [text for text in EVERY if not refuses_several(text)]


# Each number of risks is compiled by itself: the third risk is for a few.
CASES = [*((text, "two risks") for text in TAKE_SEVERAL), ("docb", "three real risks"), ("tsbu", "three real risks")]


@pytest.mark.parametrize(("text", "name"), CASES)
def test_a_policy_takes_several_risks(text, name):
    instance = SEVERAL[name]
    count = len(instance.limits)
    runs = [simulate(instance, text, horizon=200, trials=3, seed=SEED, workers=workers) for workers in (1, 2)]
    kept = runs[0].of(text)
    assert same(kept, runs[1].of(text))
    assert (kept.plays.sum(axis=1) == 200).all()
    assert kept.risk.shape == (3, count, len(instance.mu))
    assert ((kept.risk >= 0) & (kept.risk <= kept.plays[:, None, :])).all()
    assert kept.regret[:, -1] == pytest.approx(kept.plays @ instance.costs, rel=1e-12)
    assert (kept.unsafe_plays[:, -1] == kept.plays[:, instance.unsafe_arms].sum(axis=1)).all()
    text = with_parameters(text, "when_none=least_risky")
    assert follow(text, instance, 150) == plain.decisions(text, instance, 150, SEED).tolist()


@pytest.mark.parametrize("text", [text for text in EVERY if refuses_several(text)])
def test_a_policy_with_one_constraint_refuses_several_risks(text):
    for use in (lambda: simulate(SEVERAL["two risks"], text, horizon=10, trials=1), lambda: Trial(3, [0.3, 0.2], text)):
        with pytest.raises(PolicyError, match="one risk, got 2"):
            use()


@pytest.mark.parametrize("text", ["docb", "tsbu", "slack-ts", "bayes-upper+kl-lower", "empirical-upper+kl-lower"])
def test_a_live_trial_reduces_outcomes_as_the_simulator_does(text):
    text = with_parameters(text, "when_none=least_risky")
    assert follow(text, REAL, 250) == plain.decisions(text, REAL, 250, SEED).tolist()


@pytest.mark.parametrize("text", ["docb", "klbayes", "tsbu", "topsi"])
def test_a_live_trial_holds_where_the_simulator_does(text):
    instance = Instance.bernoulli([0.3, 0.5], [0.5, 0.7], 0.1, allow_infeasible=True)
    text = with_parameters(text, "when_none=hold")
    arms = follow(text, instance, 150)
    assert arms == plain.decisions(text, instance, 150, SEED).tolist()
    assert -1 in arms


@pytest.mark.parametrize("text", EVERY)
def test_a_policy_is_read_back_from_its_text(text):
    policy = policy_from_text(text)
    assert same_policy(policy_from_text(policy_to_text(policy)), policy)
    if isinstance(policy, DoublyOptimistic):
        # A changed default survives too.
        changed = policy._replace(when_none="hold", each_first=not policy.each_first)
        assert same_policy(policy_from_text(policy_to_text(changed)), changed)


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_says_what_it_is(name):
    entry = POLICIES[name]
    assert entry.formula
    assert entry.source
    assert entry.constructor.__doc__
    assert policy_to_text(entry.constructor()) == name
