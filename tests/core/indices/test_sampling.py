"""Indices drawn from the posterior: the right laws, also where most arms are never drawn."""

import math

import numpy as np
import pytest
from scipy import stats

from safebandit.core.indices import KLLower, SampledRisk, Thompson
from safebandit.core.policies import DoublyOptimistic

from ..plain import Bench

# Each statistical test below fails by chance with probability at most this, were its seed not fixed.
FALSE_ALARM = 1e-4

# (plays, ones) per arm: equal arms, which mostly all exceed the bar, a clear leader, which mostly does so alone, and
# arms that now and then win from far below.
STATES = {
    "nothing seen": [(0, 0), (0, 0), (0, 0)],
    "equal": [(20, 10)] * 4,
    "one lead": [(50, 25), (50, 35), (50, 30)],
    "wins one in 100": [(50, 25), (50, 36)],
    "few plays against many": [(5, 1), (400, 260), (4, 0), (0, 0)],
    "on both sides of the leader": [(30, 12), (30, 13), (200, 130), (30, 14), (30, 15)],
    "means of 0 and 1": [(6, 0), (6, 6), (3, 3), (0, 0)],
    "many plays": [(100_000, 50_000), (100_000, 50_300), (20_000, 9_990)],
}


def thompson_bench(counts, policy=None, seed=0):
    policy = policy or DoublyOptimistic(Thompson(), KLLower(), each_first=False)
    bench = Bench(policy, len(counts), 0.5, seed)
    for k, (plays, ones) in enumerate(counts):
        if plays:
            bench.jump(k, "reward", plays, ones)
    return bench


def chances_to_win(counts, prior=(1.0, 1.0)):
    """For each arm the chance that its posterior draw is the largest, by integration over its own quantiles."""
    laws = [stats.beta(ones + prior[0], plays - ones + prior[1]) for plays, ones in counts]
    nodes, weights = np.polynomial.legendre.leggauss(400)
    levels, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    chances = []
    for k, law in enumerate(laws):
        points = law.ppf(levels)
        others = np.prod([other.cdf(points) for j, other in enumerate(laws) if j != k], axis=0)
        chances.append(float(weights @ others))
    assert sum(chances) == pytest.approx(1.0, abs=1e-4)
    return np.array(chances) / sum(chances)


def assert_frequencies(wins, chances):
    """Chi-square, with arms that are hardly expected to win taken together."""
    total = wins.sum()
    rare = chances * total < 10
    if rare.any():
        wins = np.append(wins[~rare], wins[rare].sum())
        chances = np.append(chances[~rare], chances[rare].sum())
        if chances[-1] * total < 10:
            # Too few for the approximation: the exact law of so rare a count.
            assert stats.binomtest(int(wins[-1]), int(total), float(chances[-1])).pvalue > FALSE_ALARM
            wins, chances = wins[:-1], chances[:-1] / chances[:-1].sum()
    if len(wins) > 1:
        assert stats.chisquare(wins, chances * wins.sum()).pvalue > FALSE_ALARM


def play(bench, rounds):
    """Who wins how often, and the winning draws; nothing is learnt in between."""
    wins, draws = np.zeros(len(bench.arms), int), np.empty(rounds)
    for i in range(rounds):
        k, none = bench.draw(100)
        assert not none
        wins[k] += 1
        draws[i] = bench.arms["index"][k]
    return wins, draws


@pytest.mark.parametrize("name", STATES)
def test_arms_win_as_often_as_if_all_were_drawn(name):
    counts = STATES[name]
    bench = thompson_bench(counts)
    wins, draws = play(bench, 40_000)
    assert_frequencies(wins, chances_to_win(counts))
    # The largest of independent draws lies below x with the product of the chances.
    laws = [stats.beta(ones + 1, plays - ones + 1) for plays, ones in counts]
    assert stats.kstest(draws, lambda x: np.prod([law.cdf(x) for law in laws], axis=0)).pvalue > FALSE_ALARM


def test_every_arms_draw_is_one_of_its_posterior():
    # Also the draws that the decision did not need, and those of arms that exceed the bar together, or not at all.
    counts = STATES["few plays against many"]
    bench = thompson_bench(counts, seed=1)
    draws = np.empty((20_000, len(counts)))
    for row in draws:
        k, _ = bench.draw(100)
        row[:] = bench.arms["index"]
        assert row[k] == row.max()
    for draw, (plays, ones) in zip(draws.T, counts, strict=True):
        assert stats.kstest(draw, stats.beta(ones + 1, plays - ones + 1).cdf).pvalue > FALSE_ALARM
    # They are drawn apart from each other.
    assert np.abs(np.corrcoef(draws.T) - np.eye(len(counts))).max() < 5.0 / math.sqrt(len(draws))


@pytest.mark.parametrize("bar", [0.05, 0.4, 0.5, 0.6, 0.95, 0.999])
def test_who_wins_does_not_depend_on_the_bar(bar):
    counts = [(20, 10), (25, 13), (3, 1), (40, 19)]
    bench = thompson_bench(counts, seed=2)
    wins = np.zeros(len(counts), int)
    for _ in range(20_000):
        bench.memory.notes["bar"], bench.memory.notes["work"] = bar, 0
        wins[bench.decide(100)[0]] += 1
    assert_frequencies(wins, chances_to_win(counts))


@pytest.mark.parametrize("seed", range(3))
def test_the_chance_to_lie_below_the_bar_is_carried_from_play_to_play(seed):
    rng = np.random.default_rng(seed)
    bench = thompson_bench([(0, 0)] * 4, seed=seed)
    for _ in range(3_000):
        k, _ = bench.decide(100)
        bench.learn(k, float(rng.random() < 0.3 + 0.1 * k), 0.0)
        below, _, bar = bench.arms["reward"]["own"][k, :3]
        seen = bench.arms["reward"][k]
        assert below == pytest.approx(
            stats.beta.cdf(bar, seen["ones"] + 1, seen["plays"] - seen["ones"] + 1), abs=1e-11
        )


@pytest.mark.parametrize("count", [1, 2, 33, 1_000])
def test_one_uniform_number_serves_a_block_of_arms(count):
    # All arms alike: each wins as often as the others, in whatever block it is.
    bench = thompson_bench([(0, 0)] * count, seed=3)
    wins = np.zeros(count, int)
    for _ in range(20 * max(count, 500)):
        wins[bench.decide(100)[0]] += 1
    if count > 1:
        assert stats.chisquare(wins).pvalue > FALSE_ALARM


def test_an_impermissible_arm_is_not_drawn():
    bench = thompson_bench([(50, 25), (50, 45), (50, 30)])
    bench.jump(1, "risk", 200, 200)
    wins, _ = play(bench, 4_000)
    assert wins[1] == 0
    assert_frequencies(wins[[0, 2]], chances_to_win([(50, 25), (50, 30)]))


def test_another_prior_is_drawn_by_its_own_posterior():
    prior = (0.5, 3.0)
    policy = DoublyOptimistic(Thompson(*prior), KLLower(), each_first=False)
    counts = [(50, 25), (50, 36), (0, 0), (3, 3)]
    bench = thompson_bench(counts, policy)
    wins, draws = play(bench, 20_000)
    assert_frequencies(wins, chances_to_win(counts, prior))
    laws = [stats.beta(ones + prior[0], plays - ones + prior[1]) for plays, ones in counts]
    assert stats.kstest(draws, lambda x: np.prod([law.cdf(x) for law in laws], axis=0)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("plays", "ones", "slack", "prior", "t"),
    [(0, 0, 0.0, (1.0, 1.0), 1), (0, 0, 0.25, (1.0, 1.0), 30), (12, 0, 0.25, (1.0, 1.0), 30),
     (12, 12, 0.5, (1.0, 1.0), 1000), (300, 60, 0.0, (1.0, 1.0), 400), (300, 60, 2.0, (0.5, 3.0), 400)],
)  # fmt: skip
def test_a_sampled_risk_is_a_posterior_draw_less_its_slack(plays, ones, slack, prior, t):
    policy = DoublyOptimistic(Thompson(), SampledRisk(slack, *prior), each_first=False)
    alpha = 0.2
    bench = Bench(policy, 1, alpha, seed=3)
    if plays:
        bench.jump(0, "risk", plays, ones)
    table = np.array([bench.look(t)[0] for _ in range(10_000)])
    law = stats.beta(ones + prior[0], plays - ones + prior[1])
    shift = slack * law.std() * math.sqrt(math.log(t))
    assert stats.kstest(table[:, 0], lambda x: law.cdf(x + shift)).pvalue > FALSE_ALARM
    assert (table[:, 1] == (table[:, 0] <= alpha)).all()


@pytest.mark.parametrize(("alpha", "permitted"), [(0.0, False), (1.0, True)])
def test_a_sampled_risk_where_risk_is_never_or_always_tolerated(alpha, permitted):
    bench = Bench(DoublyOptimistic(Thompson(), SampledRisk(), each_first=False), 1, alpha)
    bench.jump(0, "risk", 10, 4)
    assert {bool(bench.look(20)[0, 1]) for _ in range(1_000)} == {permitted}


def test_a_sampled_risk_permits_with_the_posteriors_chance():
    bench = Bench(DoublyOptimistic(Thompson(), SampledRisk(), each_first=False), 1, 0.3)
    bench.jump(0, "risk", 40, 13)
    rounds = 20_000
    # A new round for each: within a round the gate is asked once.
    blocked = sum(bench.decide(41 + i)[1] for i in range(rounds))
    assert stats.binomtest(blocked, rounds, stats.beta.sf(0.3, 14, 28)).pvalue > FALSE_ALARM
