"""Counters at a billion plays and at 2^53: whole numbers that lose nothing, held to Python's own."""

import math
from fractions import Fraction

import numpy as np
import pytest

from safebandit import Result, instance_by_name, simulate
from safebandit.core.arms import NEVER, new_memory
from safebandit.core.indices.joint_sampling import TABLE
from safebandit.core.kernels import Costs, empty_trials, kernels_for
from safebandit.core.policies import policy_from_text, prepare, widths
from safebandit.core.streams import STATE, trial_streams
from safebandit.simulation.simulate import checkpoint_times

from .plain import Bench, precise_divergence

DRUG = instance_by_name("drug-trial")
COUNT = len(DRUG.mu)
BILLION = 10**9
# Beyond 2^53 a float no longer tells a number from the next.
EDGE = 2**53
ROUNDS = [1, 7, 60]


class PlayedOn:
    """A trial that goes on from arms with so many plays each."""

    def __init__(self, text, base):
        policy = prepare(policy_from_text(text), DRUG.arms, "least_risky", limits=DRUG.limits, risks=DRUG.nu)
        random = trial_streams(3, 0, COUNT)
        self.before = [base + k for k in range(COUNT)]
        self.ones = {"reward": [], "risk": []}
        memory = new_memory(random.keys[None, :], random.policy.copy(), widths(policy))
        arms = memory.arms
        arms["asked"][0] = self.before
        for name, means in (("reward", DRUG.mu), ("risk", DRUG.nu)):
            self.ones[name] = [int(mean * plays) for mean, plays in zip(means, self.before, strict=True)]
            arms[name]["plays"][0], arms[name]["ones"][0] = self.before, self.ones[name]
            arms[name]["total"][0] = self.ones[name]
            arms[name]["mean"][0] = np.array(self.ones[name]) / np.array(self.before)
        outcomes = np.zeros((1, COUNT), STATE)
        outcomes[0] = random.arms
        self.out = empty_trials(1, len(ROUNDS), COUNT)
        # Every arm counts as unsafe, so that unsafe plays are all plays.
        costs = Costs(DRUG.costs, np.ones(COUNT, bool), DRUG.best_mean)
        kernels_for(policy, DRUG.law).run_trials(
            policy, DRUG.law, DRUG.limits, costs, np.array(ROUNDS),
            memory, outcomes, self.out, np.zeros(1, np.int64),
        )  # fmt: skip
        self.arms = arms[0]
        self.plays = self.out.plays[0].tolist()
        self.new = [after - before for after, before in zip(self.plays, self.before, strict=True)]


@pytest.fixture(scope="module", params=["docb", "tsbu", "joint-dirichlet", "safe-imed"])
def policy(request):
    return request.param


@pytest.mark.parametrize("base", [BILLION, EDGE - 3, EDGE + 1])
def test_plays_are_counted_one_by_one(policy, base):
    played = PlayedOn(policy, base)
    assert sum(played.new) == ROUNDS[-1]
    assert min(played.new) >= 0
    for name in ("reward", "risk"):
        assert played.arms[name]["plays"].tolist() == played.plays
    assert played.arms["asked"].tolist() == played.plays
    # At every checkpoint, all plays before and those since: no float holds these sums.
    assert played.out.unsafe_plays[0].tolist() == [sum(played.before) + rounds for rounds in ROUNDS]


@pytest.mark.parametrize("base", [BILLION, EDGE + 1])
def test_bits_are_counted_one_by_one(policy, base):
    played = PlayedOn(policy, base)
    for k, new in enumerate(played.new):
        rewards, risks = np.asarray(DRUG.draw(k, new, seed=3)).T.astype(int).tolist() if new else ([], [])
        for name, bits in (("reward", rewards), ("risk", risks)):
            assert played.arms[name]["ones"][k] == played.ones[name][k] + sum(bits)


def test_sums_of_a_billion_bits_are_exact(policy):
    played = PlayedOn(policy, BILLION)
    for name, kept in (("reward", played.out.reward[0]), ("risk", played.out.risk[0, 0])):
        assert kept.tolist() == [float(ones) for ones in played.arms[name]["ones"].tolist()]
        assert played.arms[name]["total"].tolist() == kept.tolist()
        for k, new in enumerate(played.new):
            if new > 0:
                assert played.arms[name]["mean"][k] == float(Fraction(int(kept[k]), played.plays[k]))


@pytest.mark.parametrize("base", [BILLION, EDGE - 100])
def test_regret_is_costs_times_plays(policy, base):
    played = PlayedOn(policy, base)
    exact = sum(Fraction(float(cost)) * plays for cost, plays in zip(DRUG.costs, played.plays, strict=True))
    # A product and a sum per arm, each rounded once.
    assert abs(Fraction(float(played.out.regret[0, -1])) - exact) <= exact * Fraction(2 * COUNT, 2**53)


@pytest.mark.parametrize("t", [BILLION, EDGE + 1, 2**60 + 1])
def test_the_clock_and_the_notes_of_later_rounds_are_whole(t):
    bench = Bench(policy_from_text("docb"), 3, 0.2)
    for k, (ones, risks) in enumerate([(0.5, 0.1), (0.4, 0.1), (0.9, 0.9)]):
        bench.jump(k, "reward", BILLION + k, int(ones * BILLION))
        bench.jump(k, "risk", BILLION + k, int(risks * BILLION))
    assert bench.decide(t) == (0, False)
    # Up to this round the gate surely stays closed.
    seen = t + t // 16 + 8
    assert bench.arms["ask_gate_at"].tolist() == [NEVER, NEVER, seen + 1]
    assert (bench.memory.notes["gates_at"][0], bench.memory.notes["gates_seen"][0]) == (seen + 1, seen)
    # In every round until then it is not asked again, and in the next it is.
    for later in (t + 1, seen):
        assert bench.go_on(later) == (0, False)
        assert bench.arms["ask_gate_at"][2] == seen + 1
    later = seen + 1
    assert bench.go_on(later) == (0, False)
    assert bench.arms["ask_gate_at"][2] == later + later // 16 + 9


def test_indices_tell_a_billion_plays_from_one_more():
    # N d(mean||U) = log t to ten digits of log t, at N and at N + 1.
    t, bounds = 2 * BILLION, []
    for plays in (BILLION, BILLION + 1):
        bench = Bench(policy_from_text("docb"), 2, 0.3)
        bench.jump(0, "reward", plays, 400_000_000)
        bench.jump(0, "risk", plays, 200_000_000)
        low, permitted, high = bench.look(t)[0].tolist()
        assert permitted == 1.0
        for bound, ones in ((high, 400_000_000), (low, 200_000_000)):
            # The mean that the index saw is rounded; the bound is that of this number.
            spent = plays * precise_divergence(ones / plays, bound)
            assert float(spent) == pytest.approx(math.log(t), rel=1e-7)
        bounds.append(high)
    assert bounds[0] > bounds[1]


def test_the_table_of_both_outcomes_counts_one_by_one():
    bench = Bench(policy_from_text("joint-dirichlet"), 1, 0.3)
    own = bench.arms["reward"]["own"]
    own[0, TABLE : TABLE + 4] = BILLION
    for cell, (reward, risk) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        for _ in range(cell + 1):
            bench.learn(0, float(reward), float(risk))
    assert own[0, TABLE : TABLE + 4].tolist() == [BILLION + 1, BILLION + 2, BILLION + 3, BILLION + 4]


@pytest.mark.parametrize("kind", ["log", "linear"])
@pytest.mark.parametrize("horizon", [BILLION, EDGE - 1, EDGE + 1, EDGE + 3, 2**62 + 1])
def test_checkpoints_end_at_the_horizon_itself(kind, horizon):
    times = checkpoint_times(kind, horizon).tolist()
    assert (times[0], times[-1]) == (1, horizon)
    assert times == sorted(set(times))


def test_given_checkpoints_are_kept_to_the_round():
    assert checkpoint_times([EDGE + 1, BILLION + 1], EDGE + 3).tolist() == [BILLION + 1, EDGE + 1, EDGE + 3]


def test_a_file_keeps_counts_to_the_last_play(tmp_path):
    result = simulate(DRUG, "docb", horizon=10, trials=2)
    trials = result.of("docb")
    trials.plays[0], trials.unsafe_plays[0] = EDGE + 1, EDGE - 1
    loaded = Result.load(result.save(tmp_path / "x.parquet")).of("docb")
    assert loaded.plays[0].tolist() == [EDGE + 1] * COUNT
    assert set(loaded.unsafe_plays[0].tolist()) == {EDGE - 1}
