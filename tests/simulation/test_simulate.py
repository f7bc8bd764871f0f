"""The simulator: the same bits however it is run, outcomes in common, books that balance, and every refusal."""

import math
import re
import threading
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import safebandit
from safebandit import (
    DoublyOptimistic,
    Instance,
    KLLower,
    Result,
    extend,
    instance_by_name,
    rerun,
    simulate,
)
from safebandit.core.kernels import Trials
from safebandit.errors import InstanceError, PolicyError, ResultError, SafebanditError, SimulationError
from safebandit.simulation import execution as module
from safebandit.simulation.simulate import checkpoint_times

DRUG = instance_by_name("drug-trial")
POLICIES = ["docb", "tsbu"]
BETA = Instance.beta([0.3, 0.6, 0.8], [0.2, 0.3, 0.7], 0.4, deviation=0.15)


def refused(text, kind=SimulationError):
    """An error of this package whose message is one line that holds `text`."""
    return pytest.raises(kind, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


def first(result, trials):
    """The first trials of a result, per policy."""
    return {policy: Trials(*(array[:trials] for array in result.of(policy))) for policy in result.policies}


def assert_same(left, right):
    assert list(left) == list(right)
    for policy in left:
        for name, mine, yours in zip(Trials._fields, left[policy], right[policy], strict=True):
            assert np.array_equal(mine, yours), f"{name} of {policy}"


@pytest.fixture(scope="module")
def drug():
    return simulate(DRUG, POLICIES, horizon=2_000, trials=24, seed=5, workers=1)


# The same bits however it is run.


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize(("chunk_rounds", "chunk_trials"), [(1, 1_000), (6_000, 1_000), (10**9, 7), (10**9, 1_000)])
def test_workers_and_chunks_change_nothing(drug, monkeypatch, workers, chunk_rounds, chunk_trials):
    monkeypatch.setattr(module, "CHUNK_ROUNDS", chunk_rounds)
    monkeypatch.setattr(module, "MAX_CHUNK_TRIALS", chunk_trials)
    again = simulate(DRUG, POLICIES, horizon=2_000, trials=24, seed=5, workers=workers)
    assert_same(again.by_policy, drug.by_policy)
    assert again.same_trials(drug)


def test_an_instance_may_be_named(drug):
    assert simulate("drug-trial", POLICIES, horizon=2_000, trials=24, seed=5).same_trials(drug)
    with refused('did you mean "drug-trial"?', InstanceError):
        simulate("drug-trail", "docb", horizon=10, trials=1)
    with refused("got list; make one: Instance.bernoulli(", InstanceError):
        simulate([0.1, 0.2], "docb", horizon=10, trials=1)


def test_a_trial_does_not_depend_on_how_many_there_are(drug):
    few = simulate(DRUG, POLICIES, horizon=2_000, trials=5, seed=5)
    assert_same(few.by_policy, first(drug, 5))


def test_a_policys_trials_do_not_depend_on_the_other_policies(drug):
    alone = simulate(DRUG, "tsbu", horizon=2_000, trials=24, seed=5)
    assert_same(alone.by_policy, {"tsbu": drug.of("tsbu")})


def test_a_shorter_horizon_is_the_beginning_of_a_longer_one(drug):
    long = simulate(DRUG, POLICIES, horizon=4_000, trials=24, seed=5, checkpoints=[2_000])
    for policy in POLICIES:
        for metric in ("regret", "unsafe_plays"):
            assert np.array_equal(long.curve(policy, metric)[:, 0], drug.final(policy, metric))


def test_trials_differ_from_each_other_and_other_seeds_give_other_trials(drug):
    other = simulate(DRUG, POLICIES, horizon=2_000, trials=24, seed=6)
    for policy in POLICIES:
        assert len(np.unique(drug.of(policy).reward, axis=0)) == 24
        assert not np.array_equal(drug.of(policy).reward, other.of(policy).reward)


@pytest.mark.parametrize("seed", [2**53 + 1, 2**64 - 1, 2**127 + 1])
def test_a_seed_may_be_any_whole_number(seed):
    result = simulate(DRUG, "docb", horizon=10, trials=1, seed=seed)
    assert result.specification.seed == seed


@pytest.mark.parametrize("through_file", [False, True])
def test_extending_is_running_at_once(drug, through_file, tmp_path):
    part = simulate(DRUG, POLICIES, horizon=2_000, trials=9, seed=5)
    if through_file:
        part = Result.load(part.save(tmp_path / "part.parquet"))
    whole = extend(part, trials=24)
    assert_same(whole.by_policy, drug.by_policy)
    assert part.trials == 9
    assert extend(whole, trials=24).same_trials(drug)


def test_a_file_can_be_run_again_from_itself(drug, tmp_path):
    loaded = Result.load(drug.save(tmp_path / "drug.parquet"))
    assert_same(rerun(loaded).by_policy, drug.by_policy)


@pytest.mark.parametrize(
    "policies",
    [
        {"mine": safebandit.tsbu(schedule="theory"), "other": safebandit.docb()},
        {"mine": "tsbu:schedule=theory", "tsbu": "docb"},
        ["tsbu:schedule=theory,when_none=hold", "docb:when_none=75 mg"],
        [safebandit.klbayes()],
        [DoublyOptimistic(safebandit.BayesUpper(), safebandit.BayesLower()), safebandit.docb()],
        [DoublyOptimistic(safebandit.Thompson(), safebandit.BayesLower()), safebandit.topsi(), safebandit.tsbu()],
    ],
    ids=["labelled", "labelled texts", "texts", "klbayes", "bayes-upper and docb", "three of Thompson"],
)
def test_the_specification_alone_gives_the_same_policies_again(policies, tmp_path):
    result = simulate(DRUG, policies, horizon=300, trials=3, seed=8)
    assert len(result.policies) == len(policies)
    assert_same(rerun(Result.load(result.save(tmp_path / "x.parquet"))).by_policy, result.by_policy)


def test_beta_and_finite_laws_run_again_from_a_file(tmp_path):
    finite = Instance.finite([[(0.2, 0, 0.5), (0.6, 0.4, 0.5)], [(1, 0.3, 0.7), (0, 1, 0.3)]], 0.4)
    for instance in (BETA, finite):
        result = simulate(instance, "tsbu", horizon=500, trials=4, seed=2)
        assert_same(rerun(Result.load(result.save(tmp_path / "x.parquet"))).by_policy, result.by_policy)


def test_extending_asks_for_more_and_for_the_same_policies(drug):
    with refused("the result already has 24 trials, more than 10"):
        extend(drug, trials=10)
    with refused("the result has policies docb, tsbu, got docb"):
        extend(drug, trials=30, policies="docb")


def test_trials_of_other_sources_are_never_mixed_with_these(drug, edited, tmp_path):
    made = drug.specification.sources
    unnamed = replace(drug, specification=replace(drug.specification, sources=None))
    older = replace(drug, specification=replace(drug.specification, version="0.0.1"))
    path = drug.save(tmp_path / "x.parquet")
    with refused("made by sources that it does not name", ResultError):
        extend(Result.load(unnamed.save(tmp_path / "y.parquet")), trials=30)
    with refused("made by version 0.0.1", ResultError):
        extend(older, trials=30)
    edited()
    mixed = f"made by other sources ({made}), the formulas here are of edited: adding trials would mix the two"
    with refused(mixed, ResultError):
        extend(Result.load(path), trials=30)
    again = rerun(Result.load(path))
    assert again.specification.is_current
    assert again.same_trials(drug)


# Outcomes in common.


@pytest.mark.parametrize("instance", [DRUG, BETA], ids=["bits", "numbers"])
def test_the_nth_play_of_an_arm_gives_the_same_outcome_under_every_policy(instance):
    result = simulate(instance, POLICIES, horizon=1_500, trials=1, seed=17)
    for policy in POLICIES:
        trials = result.of(policy)
        for arm in range(len(instance.mu)):
            plays = int(trials.plays[0, arm])
            # The first so many outcomes of the arm's own stream, added one by one.
            seen = np.cumsum(np.vstack([[0.0, 0.0], instance.draw(arm, plays, seed=17)]), axis=0)[-1]
            assert (trials.reward[0, arm], trials.risk[0, arm]) == (seen[0], seen[1])


def test_outcomes_are_in_common_in_every_trial(drug):
    docb, tsbu = drug.of("docb"), drug.of("tsbu")
    equal = docb.plays == tsbu.plays
    assert equal.any()
    assert np.array_equal(docb.reward[equal], tsbu.reward[equal])
    assert np.array_equal(docb.risk[equal], tsbu.risk[equal])
    # Bits: with more plays the same ones and possibly more, at most one per play.
    more = docb.plays - tsbu.plays
    for mine, yours in ((docb.reward, tsbu.reward), (docb.risk, tsbu.risk)):
        assert (np.where(more >= 0, mine - yours, yours - mine) >= 0).all()
        assert (np.abs(mine - yours) <= np.abs(more)).all()


# Books that balance.


def test_plays_regret_and_unsafe_plays_add_up(drug):
    mu, nu, alpha = np.array([0.360, 0.340, 0.469, 0.465, 0.537]), np.array([0.160, 0.259, 0.184, 0.209, 0.293]), 0.21
    costs = [max(0.469 - m, n - alpha, 0.0) for m, n in zip(mu, nu, strict=True)]
    for policy in POLICIES:
        trials = drug.of(policy)
        assert (trials.held == 0).all()
        assert (trials.plays.sum(axis=1) == 2_000).all()
        assert trials.regret[:, -1] == pytest.approx(trials.plays @ costs, rel=1e-12)
        assert np.array_equal(trials.unsafe_plays[:, -1], trials.plays[:, 1] + trials.plays[:, 4])
        assert (np.diff(trials.regret, axis=1) >= 0).all()
        assert (np.diff(trials.unsafe_plays, axis=1) >= 0).all()
        assert (trials.unsafe_plays <= drug.specification.checkpoints).all()
        assert ((trials.reward >= 0) & (trials.reward <= trials.plays)).all()


def test_rewards_and_risks_have_the_means_of_the_instance():
    # 5 standard errors, 2 means: a false alarm for fewer than 1 seed in 800,000.
    instance = Instance.bernoulli([0.45], [0.2], 0.3)
    trials = simulate(instance, "docb", horizon=5_000, trials=20, seed=3).of("docb")
    for total, mean in ((trials.reward.sum(), 0.45), (trials.risk.sum(), 0.2)):
        assert abs(total / 100_000 - mean) <= 5 * math.sqrt(mean * (1 - mean) / 100_000)


# Checkpoints.


def test_checkpoints_are_rounds_in_order_that_end_at_the_horizon():
    log = checkpoint_times("log", 50_000)
    assert (log[0], log[-1]) == (1, 50_000)
    assert (np.diff(log) > 0).all()
    assert len(log) <= 200
    ratios = log[1:][log[:-1] > 1_000] / log[:-1][log[:-1] > 1_000]
    assert ratios == pytest.approx(50_000 ** (1 / 199), rel=2e-3)
    linear = checkpoint_times("linear", 50_000)
    assert (linear[0], linear[-1], len(linear)) == (1, 50_000, 200)
    assert np.diff(linear) == pytest.approx(49_999 / 199, abs=1)


@pytest.mark.parametrize("kind", ["log", "linear"])
@pytest.mark.parametrize("horizon", [1, 2, 3, 150])
def test_short_horizons_have_checkpoints_too(kind, horizon):
    times = checkpoint_times(kind, horizon)
    assert times[-1] == horizon
    assert times[0] == 1
    assert (np.diff(times) > 0).all()


def test_given_checkpoints_are_sorted_and_end_at_the_horizon():
    assert checkpoint_times([100, 10, 10], 1_000).tolist() == [10, 100, 1_000]
    assert checkpoint_times([], 7).tolist() == [7]
    assert checkpoint_times([7], 7).tolist() == [7]
    result = simulate(DRUG, "docb", horizon=40, trials=2, checkpoints=[5, 20])
    assert result.specification.checkpoints.tolist() == [5, 20, 40]
    assert result.curve("docb").shape == (2, 3)
    # In its first rounds DOCB plays every arm once: the sum of all costs.
    assert result.curve("docb")[:, 0] == pytest.approx([0.109 + 0.129 + 0.004 + 0.083] * 2, abs=1e-12)
    assert result.curve("docb", "unsafe_plays")[:, 0].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("checkpoints", "message"),
    [
        ("cubic", 'checkpoints must be "log", "linear" or rounds from 1 to 100, got "cubic"'),
        ([0, 5], "a checkpoint must be at least 1 (a round), got 0"),
        ([5, 101], "a checkpoint must be at most the horizon, 100, got 101"),
        ([2.5], "a checkpoint must be a whole number, got 2.5"),
        (["x"], "a checkpoint must be a whole number, got 'x'"),
        ([math.inf], "a checkpoint must be a whole number, got inf"),
    ],
)
def test_checkpoints_that_cannot_be_kept(checkpoints, message):
    with refused(message):
        simulate(DRUG, "docb", horizon=100, trials=1, checkpoints=checkpoints)


# Ctrl-C and progress.


@pytest.mark.parametrize("keep", ["trials", "summary"])
def test_an_interrupted_run_keeps_the_trials_that_every_policy_finished(drug, monkeypatch, keep):
    settings = {"horizon": 2_000, "seed": 5, "keep": keep}
    monkeypatch.setattr(module, "CHUNK_ROUNDS", 3 * 2_000)
    may_go_on = threading.Event()
    run_chunk = module.run_chunk

    def hold_back_later_chunks(job, trials):
        if len(trials) > 0 and trials[0] >= 9:
            may_go_on.wait(timeout=60)
        return run_chunk(job, trials)

    def press_ctrl_c(step):
        if step.done == 9 * 2_000 * len(POLICIES):
            may_go_on.set()
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "run_chunk", hold_back_later_chunks)
    part = simulate(DRUG, POLICIES, **settings, trials=24, workers=1, progress=press_ctrl_c)
    assert part.interrupted
    assert part.trials == 9
    monkeypatch.setattr(module, "run_chunk", run_chunk)
    assert part.same_trials(simulate(DRUG, POLICIES, **settings, trials=9))
    whole = extend(part, trials=24)
    assert not whole.interrupted
    assert not drug.interrupted
    assert whole.same_trials(drug if keep == "trials" else simulate(DRUG, POLICIES, **settings, trials=24))


def test_an_interrupt_before_any_trial_is_finished_is_passed_on():
    def press_ctrl_c(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(DRUG, POLICIES, horizon=2_000, trials=4, progress=press_ctrl_c)


def test_progress_counts_every_round_of_every_policy(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROUNDS", 1_000)
    steps = []
    simulate(DRUG, POLICIES, horizon=500, trials=6, progress=steps.append)
    done = [step.done for step in steps]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] == 500 * 6 * 2
    assert {step.total for step in steps} == {500 * 6 * 2}


# Refusals.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0}, "horizon must be at least 1 (rounds to play), got 0"),
        ({"horizon": -5}, "horizon must be at least 1 (rounds to play), got -5"),
        ({"horizon": 10.5}, "horizon must be a whole number, got 10.5"),
        ({"horizon": "x"}, "horizon must be a whole number, got 'x'"),
        ({"horizon": None}, "horizon must be a whole number, got None"),
        ({"horizon": True}, "horizon must be a whole number, got True"),
        ({"horizon": math.nan}, "horizon must be a whole number, got nan"),
        ({"horizon": math.inf}, "horizon must be a whole number, got inf"),
        ({"trials": 0}, "trials must be at least 1 (trials to play), got 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": 0.5}, "seed must be a whole number, got 0.5"),
        ({"workers": 0}, "workers must be at least 1 (threads), got 0"),
        ({"policies": []}, "at least one policy is needed, got none"),
        ({"policies": {}}, "at least one policy is needed, got none"),
        ({"policies": ["docb", "docb"]}, 'policy "docb" is given twice'),
        ({"policies": ["docb", safebandit.docb()]}, 'policy "docb" is given twice'),
    ],
)
def test_runs_that_make_no_sense(options, message):
    chosen = {"policies": "docb", "horizon": 10, "trials": 1, **options}
    with refused(message):
        simulate(DRUG, **chosen)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("tbsu", 'unknown policy "tbsu"; did you mean "tsbu"?'),
        ("tsbu:schedule=fast", "schedule must be one of practical, theory, proof, got 'fast'"),
        ("docb:when_none=9", "got '9'"),
        ("docb:when_none=placebo", "got 'placebo'"),
        ([3], "a policy is a name such as tsbu, or a DoublyOptimistic(...), got 3"),
        (DoublyOptimistic(KLLower(), KLLower()), "a reward index is a NamedTuple with a formula registered for upper"),
    ],
)
def test_policies_that_do_not_exist(policy, message):
    with refused(message, PolicyError):
        simulate(DRUG, policy, horizon=10, trials=1)


def test_a_number_is_no_list_of_policies():
    with pytest.raises(SafebanditError):
        simulate(DRUG, 5, horizon=10, trials=1)


# When no arm is permissible.

CERTAIN_HARM = Instance.bernoulli([0.2, 0.8], [1.0, 1.0], 0.1, allow_infeasible=True)


def test_held_rounds_are_counted_and_do_not_move_the_clock():
    # One play of each: evidence log 10 each, above log t until t = 10, which never comes.
    trials = simulate(CERTAIN_HARM, "docb:when_none=hold", horizon=500, trials=3).of("docb:when_none=hold")
    assert trials.plays.tolist() == [[1, 1]] * 3
    assert trials.held.tolist() == [498] * 3
    assert trials.none_permissible.tolist() == [498] * 3
    # No arm is safe: holding costs nothing, each play costs its risk above alpha.
    assert trials.regret[:, -1] == pytest.approx([1.8] * 3, abs=1e-12)


def test_a_held_round_costs_the_best_safe_arms_reward():
    # A first risk of 1 weighs log(1/0.4) > log 2: the only arm is held back for good, though it is safe.
    instance = Instance.bernoulli([0.7], [0.4], 0.4)
    trials = simulate(instance, "docb:when_none=hold", horizon=400, trials=40, seed=2).of("docb:when_none=hold")
    assert np.array_equal(trials.plays.sum(axis=1) + trials.held, np.full(40, 400))
    assert trials.regret[:, -1] == pytest.approx(0.7 * trials.held, rel=1e-12)
    assert (trials.held == 399).any()
    assert (trials.held == 0).any()
    assert (trials.unsafe_plays == 0).all()


def test_by_default_the_least_risky_arm_is_played():
    instance = Instance.bernoulli([0.9, 0.1], [1.0, 0.5], 0.01, allow_infeasible=True)
    trials = simulate(instance, "docb", horizon=2_000, trials=5, seed=4).of("docb")
    assert (trials.held == 0).all()
    assert (trials.none_permissible > 1_000).all()
    assert (trials.plays.sum(axis=1) == 2_000).all()
    assert (trials.plays[:, 1] > 1_900).all()
    assert np.array_equal(trials.unsafe_plays[:, -1], np.full(5, 2_000))


@pytest.mark.parametrize("arm", [0, 1])
def test_a_named_arm_is_played_instead(arm):
    trials = simulate(CERTAIN_HARM, f"docb:when_none={arm}", horizon=9, trials=2).of(f"docb:when_none={arm}")
    assert (trials.held == 0).all()
    # Two first plays; then, until t = 10, no arm is permissible.
    assert trials.plays[:, arm].tolist() == [8, 8]
    assert trials.none_permissible.tolist() == [7, 7]


def test_a_sampled_risk_is_drawn_anew_after_a_held_round():
    # A draw above alpha holds one round; were it kept, the trial would hold for good. With nu = 0.1 far below alpha,
    # the posterior soon lies below it: the chance of a held round falls off exponentially with the plays.
    policy = "naive-ts:when_none=hold"
    instance = Instance.bernoulli([0.5], [0.1], 0.5)
    trials = simulate(instance, policy, horizon=1_000, trials=50, seed=6).of(policy)
    assert (trials.held > 0).any()
    assert (trials.held < 500).all()


# A user's own indices: one class for each, as every pair of classes is compiled in this process anew.


class Mean(NamedTuple):
    """The mean reward; if so wanted, no number for an arm whose every reward was 1."""

    nan_if_perfect: bool = False


@safebandit.upper.register(Mean)
def mean(index, seen, t):
    if index.nan_if_perfect and seen.plays > 0 and seen.total == seen.plays:
        return math.nan
    return seen.total / max(1, seen.plays)


class Zero(NamedTuple):
    """A lower risk index of 0; if so wanted, no number for arms that were played and never harmed, or for all."""

    nan_if_harmless: bool = False
    nan: bool = False


@safebandit.lower.register(Zero)
def zero(index, seen, t, alpha, stream):
    if index.nan or (index.nan_if_harmless and seen.total == 0.0 and seen.plays > 0):
        return math.nan
    return 0.0


def test_an_arm_whose_reward_index_is_nan_is_never_chosen():
    instance = Instance.bernoulli([1.0, 0.0, 0.5], [0, 0, 0], 0.5)
    policy = DoublyOptimistic(Mean(nan_if_perfect=True), Zero())
    result = simulate(instance, policy, horizon=300, trials=20, seed=1)
    plays = result.of(result.policies[0]).plays
    # The best arm is played in the first rounds, which ask no index, and never again.
    assert (plays[:, 0] == 1).all()
    assert (plays.sum(axis=1) == 300).all()
    # Where the third arm's first reward is 1, its index is NaN too; elsewhere it is at least the second arm's, 0.
    assert (plays[:, 2] == 1).any()
    assert (plays[:, 2] > 100).any()


def test_an_arm_whose_safety_index_is_nan_is_never_permissible():
    instance = Instance.bernoulli([1.0, 0.0], [0.0, 1.0], 1.0)
    policy = DoublyOptimistic(Mean(), Zero(nan_if_harmless=True))
    trials = next(iter(simulate(instance, policy, horizon=200, trials=2, seed=1).by_policy.values()))
    assert trials.plays.tolist() == [[1, 199]] * 2
    assert (trials.none_permissible == 0).all()


def test_when_every_safety_index_is_nan_nothing_is_played():
    instance = Instance.bernoulli([1.0, 0.5], [0.0, 0.0], 1.0)
    policy = DoublyOptimistic(Mean(), Zero(nan=True), each_first=False)
    trials = next(iter(simulate(instance, policy, horizon=50, trials=2).by_policy.values()))
    assert trials.held.tolist() == [50, 50]
    assert (trials.plays == 0).all()
    assert trials.regret[:, -1].tolist() == [50.0, 50.0]


def test_a_users_policy_is_run_again_when_it_is_given_again(tmp_path):
    instance = Instance.bernoulli([1.0, 0.0, 0.5], [0, 0, 0], 0.5)
    policy = DoublyOptimistic(Mean(nan_if_perfect=True), Zero())
    result = simulate(instance, {"mine": policy}, horizon=300, trials=8, seed=1)
    loaded = Result.load(result.save(tmp_path / "mine.parquet"))
    assert_same(rerun(loaded, policies={"mine": policy}).by_policy, result.by_policy)
    longer = simulate(instance, {"mine": policy}, horizon=300, trials=12, seed=1)
    assert_same(extend(loaded, trials=12, policies={"mine": policy}).by_policy, longer.by_policy)


def test_one_risk_gives_what_it_gave_before_there_could_be_several():
    # Numbers as the version before several risks printed them, and no key by risk.
    result = simulate(instance_by_name("drug-trial"), ["docb", "bwcr"], horizon=300, trials=5, seed=3)
    document = result.to_dict()
    assert list(document) == ["instance", "alpha", "horizon", "trials", "seed", "policies"]
    assert list(document["instance"]) == ["name", "kind", "mu", "nu", "arms", "alpha"]
    assert list(document["policies"]["docb"]) == [
        "regret", "unsafe_plays", "reward", "risk", "plays", "reward_by_arm", "risk_by_arm", "none_permissible", "held",
        "rounds_per_second",
    ]  # fmt: skip
    assert {name: summary["plays"] for name, summary in document["policies"].items()} == {
        "docb": [32.4, 30.8, 17.4, 70.2, 149.2],
        "bwcr": [31.6, 30.2, 17.2, 57.0, 164.0],
    }
    assert result.of("docb").risk.shape == (5, 5)
