"""What every policy must do; a new one enters these tests by being registered."""

import numpy as np
import pytest

from safebandit import Instance, Trial, simulate
from safebandit.core.indices import DESCRIPTIONS
from safebandit.core.laws import draw
from safebandit.core.policies import POLICIES, DoublyOptimistic, PolicyMixture, policy_from_text, policy_to_text
from safebandit.core.policies.texts import reward_indices, safety_indices
from safebandit.core.streams import trial_streams
from safebandit.errors import PolicyError

from .. import driving

# Each pair of indices is compiled: every index is there once, in a policy of the catalogue or in one of these pairs.
PAIRS = [
    "bayes-upper+posterior-gate", "kl-upper+mixture-gate", "thompson+betting-gate",
    *(f"{name}-upper+{name}-lower" for name in ("hoeffding", "variance", "betting")),
]  # fmt: skip
# And what is the same code with other numbers.
EVERY = [
    *POLICIES, *PAIRS, "tsbu:lasting=true,tail=0.25", "bwcr:bounds=published", "pess:bounds=published",
]  # fmt: skip
# What a policy must know, and a live trial does not by itself.
TOLD = {
    "pess": "safe_risk=0.05", "pess:bounds=published": "safe_risk=0.05,units=120", "bwcr:bounds=published": "units=120",
    "bwk": "units=120", "con-lcb": "units=120", "conservative": "baseline_reward=0.3",
}  # fmt: skip


def parts(text):
    """The indices in a policy, as fields or properties of it."""
    policy = policy_from_text(text)
    return {type(getattr(policy, name)) for name in ("reward", "risk", "safety", "gate") if hasattr(policy, name)}


def test_every_index_is_in_a_policy():
    known = {*reward_indices().values(), *safety_indices().values()}
    assert set().union(*map(parts, EVERY)) == {kind for kind in known if kind.__module__.startswith("safebandit.")}


INSTANCE = Instance.bernoulli([0.3, 0.5, 0.6, 0.9], [0.05, 0.2, 0.3, 0.7], 0.3)
INSTANCES = {
    "one risk": INSTANCE,
    "real": driving.problem("beta"),
    "ties": driving.problem("ties"),
    "two risks": Instance.bernoulli(
        [0.3, 0.5, 0.6, 0.9], [[0.05, 0.2, 0.3, 0.7], [0.1, 0.1, 0.6, 0.2]], [0.3, 0.25], correlation=0.1
    ),
    "three real risks": Instance.beta(
        [0.3, 0.5, 0.6], [[0.1, 0.25, 0.4], [0.2, 0.1, 0.1], [0.05, 0.3, 0.1]], [0.3, 0.3, 0.2], deviation=0.2
    ),
}
SEED = 21


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("text", EVERY)
def test_a_policy_runs_and_its_numbers_add_up(text):
    result = simulate(INSTANCE, text, horizon=200, trials=3, seed=SEED, checkpoints=range(1, 201), workers=1)
    kept = result.of(text)
    assert (kept.plays >= 0).all()
    assert (kept.plays.sum(axis=1) + kept.held == 200).all()
    # With a budget of 60 harms it may end before the last round.
    assert (kept.held == 0).all() or text == "bwk"
    assert ((kept.none_permissible >= 0) & (kept.none_permissible <= 200)).all()
    assert ((kept.reward >= 0) & (kept.reward <= kept.plays)).all()
    assert ((kept.risk >= 0) & (kept.risk <= kept.plays)).all()
    assert (np.diff(kept.regret, axis=1) >= -1e-12).all()
    regret = kept.plays @ INSTANCE.costs + kept.held * INSTANCE.best_mean
    assert kept.regret[:, -1] == pytest.approx(regret, rel=1e-12)
    assert (kept.unsafe_plays[:, -1] == kept.plays[:, INSTANCE.unsafe_arms].sum(axis=1)).all()


@pytest.mark.parametrize("text", EVERY)
def test_the_same_seed_gives_the_same_bits(text):
    one, two, other = (
        simulate(INSTANCE, text, horizon=200, trials=3, seed=seed, workers=workers).of(text)
        for seed, workers in ((SEED, 1), (SEED, 2), (SEED + 1, 1))
    )
    assert same(one, two)
    assert not same(one, other)


def follow(text, instance, horizon, *, halfway=False):
    """The arms of a live trial that is fed with the simulator's outcomes; each is explained before it is given."""
    trial = Trial(list(instance.arms), instance.alpha, text, seed=SEED)
    streams = trial_streams(SEED, 0, len(instance.mu))
    arms = []
    for i in range(horizon):
        if halfway and i == horizon // 2:
            # Read back, it goes on alike.
            trial = Trial.from_json(trial.to_json())
        chosen = trial.explain().chosen if i % 5 == 0 else None
        unit = trial.ask()
        assert chosen in (None, unit.arm)
        if unit.held:
            arms.append(-1)
            continue
        k = instance.arms.index(unit.arm)
        arms.append(k)
        reward, *risks = draw(instance.law, k, streams.arms[k])
        trial.tell(unit.id, reward=reward, risk=risks if len(risks) > 1 else risks[0])
    assert trial.replay() == []
    return arms


def refuses_several(text):
    """Policies over mixtures have one constraint; some indices ask how the reward depends on the one risk."""
    policy = policy_from_text(text)
    return isinstance(policy, PolicyMixture) or any(DESCRIPTIONS[kind].one_risk for kind in parts(text))


TAKE_SEVERAL = [text for text in EVERY if not refuses_several(text)]
CASES = [
    *((text, "one risk") for text in EVERY), *((text, "two risks") for text in TAKE_SEVERAL),
    *((text, "three real risks") for text in TAKE_SEVERAL),
    *((text, "ties") for text in ("docb", "klbayes", "naive-ts", "safe-ids")),
    *((text, "real") for text in ("docb", "tsbu", "safe-ids", "slack-ts", "empirical-kl")),
    ("bayes-upper+posterior-gate", "real"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name"), CASES)
def test_a_live_trial_decides_by_the_definition(text, name):
    # That a deterministic policy's simulator does so, too, is held by the tests of its search.
    told = [TOLD[text]] if text in TOLD else []
    if "when_none" in policy_from_text(text)._fields:
        told.append("when_none=least_risky")
    text = driving.with_parameters(text, ",".join(told)) if told else text
    expected = driving.walked(text, INSTANCES[name], 80, SEED)[1].tolist()
    assert follow(text, INSTANCES[name], 80, halfway=True) == expected


@pytest.mark.parametrize(("text", "name"), [case for case in CASES if "risks" in case[1]])
def test_a_policy_takes_several_risks(text, name):
    instance = INSTANCES[name]
    runs = [simulate(instance, text, horizon=200, trials=3, seed=SEED, workers=workers) for workers in (1, 2)]
    kept = runs[0].of(text)
    assert same(kept, runs[1].of(text))
    assert (kept.plays.sum(axis=1) + kept.held == 200).all()
    assert (kept.held == 0).all() or text == "bwk"
    assert kept.risk.shape == (3, len(instance.limits), len(instance.mu))
    assert ((kept.risk >= 0) & (kept.risk <= kept.plays[:, None, :])).all()
    regret = kept.plays @ instance.costs + kept.held * instance.best_mean
    assert kept.regret[:, -1] == pytest.approx(regret, rel=1e-12)
    assert (kept.unsafe_plays[:, -1] == kept.plays[:, instance.unsafe_arms].sum(axis=1)).all()


@pytest.mark.parametrize("text", [text for text in EVERY if refuses_several(text)])
def test_a_policy_with_one_constraint_refuses_several_risks(text):
    for use in (
        lambda: simulate(INSTANCES["two risks"], text, horizon=10, trials=1),
        lambda: Trial(3, [0.3, 0.2], text),
    ):
        with pytest.raises(PolicyError, match="one risk, got 2"):
            use()


@pytest.mark.parametrize("text", ["docb", "klbayes", "tsbu", "topsi", "safe-ids"])
def test_a_live_trial_holds_where_the_definition_does(text):
    instance = Instance.bernoulli([0.3, 0.5], [0.5, 0.7], 0.1, allow_infeasible=True)
    text = driving.with_parameters(text, "when_none=hold")
    arms = follow(text, instance, 150)
    assert arms == driving.walked(text, instance, 150, SEED)[1].tolist()
    assert -1 in arms


@pytest.mark.parametrize("text", EVERY)
def test_a_policy_is_read_back_from_its_text(text):
    policy = policy_from_text(text)
    assert policy_from_text(policy_to_text(policy)) == policy
    if isinstance(policy, DoublyOptimistic):
        # A changed default survives too.
        changed = policy._replace(when_none="hold", each_first=not policy.each_first)
        assert policy_from_text(policy_to_text(changed)) == changed


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_says_what_it_is(name):
    entry = POLICIES[name]
    assert entry.formula
    assert entry.source
    assert entry.constructor.__doc__
    assert policy_to_text(entry.constructor()) == name
