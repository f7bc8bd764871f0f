"""Counters at a billion plays and at 2^53: whole numbers that lose nothing, held to Python's own."""

import math
from fractions import Fraction

import numpy as np
import pytest

from safebandit import Result, instance_by_name, simulate
from safebandit.core.indices.joint_sampling import TABLE
from safebandit.core.kernels import Costs
from safebandit.simulation.simulate import checkpoint_times

from . import driving
from .plain import precise_divergence

DRUG = instance_by_name("drug-trial")
COUNT, MEANS = len(DRUG.mu), (DRUG.mu, DRUG.nu)
BILLION = 10**9
# Beyond 2^53 a float no longer tells a number from the next.
EDGE = 2**53
ROUNDS = [1, 7, 60]


class PlayedOn:
    """A trial that goes on from arms with so many plays each."""

    def __init__(self, text, base):
        self.before = [base + k for k in range(COUNT)]
        self.ones = [[int(mean * plays) for mean, plays in zip(means, self.before, strict=True)] for means in MEANS]
        # Every arm counts as unsafe, so that unsafe plays are all plays.
        costs = Costs(DRUG.costs, np.ones(COUNT, bool), DRUG.best_mean)
        _, memory, self.out, _ = driving.simulated(
            text, DRUG, ROUNDS[-1], 3, before=self.set, costs=costs, checkpoints=ROUNDS
        )
        self.asked, self.seen = memory.arms["asked"][0], memory.quantities[0]
        self.plays = self.out.plays[0].tolist()
        self.new = [after - before for after, before in zip(self.plays, self.before, strict=True)]

    def set(self, memory):
        memory.arms["asked"][0] = self.before
        for j, ones in enumerate(self.ones):
            seen = memory.quantities[0, :, j]
            seen["plays"], seen["ones"], seen["total"] = self.before, ones, ones
            seen["mean"] = np.array(ones) / np.array(self.before)


@pytest.fixture(scope="module", params=["docb", "tsbu", "joint-dirichlet", "safe-imed"])
def policy(request):
    return request.param


@pytest.mark.parametrize("base", [BILLION, EDGE - 3, EDGE + 1])
def test_plays_are_counted_one_by_one(policy, base):
    played = PlayedOn(policy, base)
    assert sum(played.new) == ROUNDS[-1]
    assert min(played.new) >= 0
    for j in (0, 1):
        assert played.seen["plays"][:, j].tolist() == played.plays
    assert played.asked.tolist() == played.plays
    # At every checkpoint, all plays before and those since: no float holds these sums.
    assert played.out.unsafe_plays[0].tolist() == [sum(played.before) + rounds for rounds in ROUNDS]


@pytest.mark.parametrize("base", [BILLION, EDGE + 1])
def test_bits_are_counted_one_by_one(policy, base):
    played = PlayedOn(policy, base)
    for k, new in enumerate(played.new):
        rewards, risks = np.asarray(DRUG.draw(k, new, seed=3)).T.astype(int).tolist() if new else ([], [])
        for j, bits in enumerate((rewards, risks)):
            assert played.seen["ones"][k, j] == played.ones[j][k] + sum(bits)


def test_sums_of_a_billion_bits_are_exact(policy):
    played = PlayedOn(policy, BILLION)
    for j, kept in enumerate((played.out.reward[0], played.out.risk[0, 0])):
        assert kept.tolist() == [float(ones) for ones in played.seen["ones"][:, j].tolist()]
        assert played.seen["total"][:, j].tolist() == kept.tolist()
        for k, new in enumerate(played.new):
            if new > 0:
                assert played.seen["mean"][k, j] == float(Fraction(int(kept[k]), played.plays[k]))


@pytest.mark.parametrize("base", [BILLION, EDGE - 100])
def test_regret_is_costs_times_plays(policy, base):
    played = PlayedOn(policy, base)
    exact = sum(Fraction(float(cost)) * plays for cost, plays in zip(DRUG.costs, played.plays, strict=True))
    # A product and a sum per arm, each rounded once.
    assert abs(Fraction(float(played.out.regret[0, -1])) - exact) <= exact * Fraction(2 * COUNT, 2**53)


def test_indices_tell_a_billion_plays_from_one_more():
    # N d(mean||U) = log t to ten digits of log t, at N and at N + 1.
    t, bounds = 2 * BILLION, []
    for plays in (BILLION, BILLION + 1):
        bench = driving.Bench("docb", 2, 0.3)
        bench.jump(0, 0, plays, 400_000_000)
        bench.jump(0, 1, plays, 200_000_000)
        permitted, high, _, low = (column[0] for column in bench.table(t))
        assert permitted == 1.0
        for bound, ones in ((high, 400_000_000), (low[0], 200_000_000)):
            # The mean that the index saw is rounded; the bound is that of this number.
            spent = plays * precise_divergence(ones / plays, bound)
            assert float(spent) == pytest.approx(math.log(t), rel=1e-7)
        bounds.append(high)
    assert bounds[0] > bounds[1]


def test_the_table_of_both_outcomes_counts_one_by_one():
    bench = driving.Bench("joint-dirichlet", 1, 0.3)
    own = bench.own(0, 0, TABLE + 4)[TABLE:]
    own[:] = BILLION
    for cell, (reward, risk) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        for _ in range(cell + 1):
            bench.learn(0, float(reward), float(risk))
    assert own.tolist() == [BILLION + 1, BILLION + 2, BILLION + 3, BILLION + 4]


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
