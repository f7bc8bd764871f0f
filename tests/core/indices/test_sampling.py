"""Indices drawn from the posterior: the right laws, of what a decision writes and of whom it gives."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from safebandit.core.indices import KLLower, PointMassRisk, SampledRisk, Thompson
from safebandit.core.policies import HOLD, WAIT, DoublyOptimistic

from .. import driving, plain

ROUND = 3_000


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 3.0)])
def test_thompson_draws_are_of_the_posterior_and_the_largest_wins(prior):
    counts = [(5, 1), (400, 260), (4, 0), (0, 0)]
    bench = driving.Bench(DoublyOptimistic(Thompson(*prior), KLLower(), each_first=False), 4, 0.5, seed=1)
    for k, (plays, ones) in enumerate(counts):
        bench.set(k, 0, plays, ones)
    draws = np.empty((8_000, len(counts)))
    for row in draws:
        k, _ = bench.decide(100)
        row[:] = bench.columns()[1]
        assert row[k] == row.max()
    for draw, (plays, ones) in zip(draws.T, counts, strict=True):
        assert stats.kstest(draw, stats.beta(ones + prior[0], plays - ones + prior[1]).cdf).pvalue > driving.FALSE_ALARM
    # They are drawn apart from each other.
    assert np.abs(np.corrcoef(draws.T) - np.eye(len(counts))).max() < 5.0 / math.sqrt(len(draws))
    driving.assert_frequencies(bench.counts(100, 20_000)[:-2], plain.chances_to_win(counts, prior))


@pytest.mark.parametrize(
    ("plays", "ones", "slack", "prior", "t"),
    [(0, 0, 0.0, (1.0, 1.0), 1), (0, 0, 0.25, (1.0, 1.0), 30), (12, 0, 0.25, (1.0, 1.0), 30),
     (12, 12, 0.5, (1.0, 1.0), 1000), (300, 60, 0.0, (1.0, 1.0), 400), (300, 60, 2.0, (0.5, 3.0), 400)],
)  # fmt: skip
def test_a_sampled_risk_is_a_posterior_draw_less_its_slack(plays, ones, slack, prior, t):
    bench = driving.Bench(DoublyOptimistic(Thompson(), SampledRisk(slack, *prior), each_first=False), 1, 0.2, seed=3)
    bench.set(0, 1, plays, ones)
    risks, permits = np.array([bench.gate(t) for _ in range(5_000)]).T
    law = stats.beta(ones + prior[0], plays - ones + prior[1])
    shift = slack * law.std() * math.sqrt(math.log(t))
    assert stats.kstest(risks, lambda x: law.cdf(x + shift)).pvalue > driving.FALSE_ALARM
    assert (permits == (risks <= 0.2)).all()


@pytest.mark.parametrize(
    ("plays", "ones", "mass", "alpha"),
    [
        (0, 0, 1.0, 0.2),
        (40, 8, 1.0, 0.2),
        (40, 14, 0.5, 0.2),
        (2_000, 400, 0.1, 0.2),
        (9, 0, 1.0, 0.0),
        (9, 1, 1.0, 0.0),
    ],
)
def test_a_risk_with_a_point_mass_is_alpha_as_often_as_its_posterior_says(plays, ones, mass, alpha):
    bench = driving.Bench(DoublyOptimistic(Thompson(), PointMassRisk(mass), each_first=False), 1, alpha, seed=3)
    if plays > 0:
        bench.jump(0, 1, plays, ones)
    drawn, permits = np.array([bench.gate(50) for _ in range(5_000)]).T
    hits = int((drawn == alpha).sum())
    assert stats.binomtest(hits, 5_000, point_mass(plays, ones, alpha, mass)).pvalue > driving.FALSE_ALARM
    others = drawn[drawn != alpha]
    if len(others) > 0:
        assert stats.kstest(others, stats.beta(ones + 1, plays - ones + 1).cdf).pvalue > driving.FALSE_ALARM
    assert (permits == (drawn <= alpha)).all()


# (plays, rewards, risks...) per arm, and alpha: where the gate is open, shut and in doubt, and where no arm is likely.
STATES = {
    "one arm": ([(12, 5, 4)], (0.3,)),
    "nothing seen": ([(0, 0, 0), (0, 0, 0), (0, 0, 0)], (0.3,)),
    "the best is unsafe": ([(60, 50, 50), (60, 30, 6), (60, 28, 8)], (0.3,)),
    "all in doubt": ([(40, 30, 14), (50, 20, 16), (25, 12, 8), (30, 3, 9), (10, 1, 3)], (0.3,)),
    "hardly any is permissible": ([(40, 30, 25), (50, 20, 28), (25, 12, 14)], (0.3,)),
    "two risks": ([(40, 30, 8, 20), (50, 20, 10, 24), (25, 12, 9, 2)], (0.3, 0.5)),
    "any risk": ([(20, 9, 20), (20, 12, 3)], (1.0,)),
    "no risk": ([(20, 9, 20), (20, 12, 0), (0, 0, 0)], (0.0,)),
    "many plays": ([(5_000, 2_500, 1_510), (5_000, 2_540, 1_530), (400, 190, 60)], (0.3,)),
}
SLACKS = {"naive-ts": 0.0, "slack-ts": 0.25, "slack-ts:slack=1.5": 1.5, "point-ts": 0.0, "point-ts:mass=0.2": 0.0}
MASSES = {"point-ts": 1.0, "point-ts:mass=0.2": 0.2}


def sampling_bench(text, state, when_none, seed=0):
    counts, limits = STATES[state]
    bench = driving.Bench(text, len(counts), limits, when_none=when_none, seed=seed)
    for k, (plays, *ones) in enumerate(counts):
        for j, each in enumerate(ones):
            if j > 0 and plays > 0:
                bench.jump(k, j, plays, each)
            bench.set(k, j, plays, each)
    return bench


def point_mass(plays, ones, alpha, odds):
    """The posterior chance of exactly alpha, from SciPy's binomial law."""
    after = odds * (plays + 1) * stats.binom.pmf(ones, plays, alpha)
    return after / (1.0 + after)


@functools.cache
def plain_draws(state, slack, mass, size=60_000):
    """What a policy draws that draws every arm, in NumPy: rewards, and the largest risk less alpha, a row per arm."""
    counts, limits = STATES[state]
    random = np.random.default_rng(5)
    best, excess = np.empty((len(counts), size)), np.empty((len(counts), size))
    for k, (plays, ones, *risks) in enumerate(counts):
        best[k] = random.beta(ones + 1, plays - ones + 1, size)
        laws = [stats.beta(each + 1, plays - each + 1) for each in risks]
        shifts = [slack * law.std() * math.sqrt(math.log(ROUND * len(limits))) for law in laws]
        lower = [random.beta(*law.args, size) - shift for law, shift in zip(laws, shifts, strict=True)]
        for each, alpha, drawn in zip(risks, limits, lower, strict=True):
            drawn[random.random(size) < point_mass(plays, each, alpha, mass)] = alpha
        excess[k] = np.max([each - alpha for each, alpha in zip(lower, limits, strict=True)], axis=0)
    return best, excess


def plain_answers(state, slack, rule, available=None, mass=0.0):
    """What a policy that draws every arm answers, counted as a bench does."""
    best, excess = plain_draws(state, slack, mass)
    count = len(best)
    some = np.ones(count, bool) if available is None else np.array(available)
    best = np.where((excess <= 0.0) & some[:, None], best, -1.0)
    least = np.where(some[:, None], excess, np.inf).argmin(axis=0)
    answer = np.where(best.max(axis=0) >= 0.0, best.argmax(axis=0), least if rule == "least_risky" else HOLD)
    answer = np.where((best.max(axis=0) < 0.0) & (excess <= 0.0).any(axis=0), WAIT, answer)
    return np.bincount(answer % (2 + count), minlength=2 + count)


@pytest.mark.parametrize("rule", ["least_risky", "hold"])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("text", SLACKS)
def test_both_drawn_arms_are_given_as_often_as_in_numpy(text, state, rule):
    found = sampling_bench(text, state, rule).counts(ROUND, 20_000)
    assert (
        plain.same_law(found, plain_answers(state, SLACKS[text], rule, mass=MASSES.get(text, 0.0)))
        > driving.FALSE_ALARM
    )


@pytest.mark.parametrize("rule", ["least_risky", "hold"])
@pytest.mark.parametrize("text", ["naive-ts", "slack-ts"])
def test_an_arm_that_waits_for_outcomes_is_not_given(text, rule):
    bench, available = sampling_bench(text, "hardly any is permissible", rule, seed=3), [True, False, True]
    bench.arms["available"] = available
    found = bench.counts(ROUND, 20_000)
    assert found[1] == 0
    assert found[WAIT] > 0
    expected = plain_answers("hardly any is permissible", SLACKS[text], rule, available)
    assert plain.same_law(found, expected) > driving.FALSE_ALARM


@pytest.mark.parametrize("state", ["all in doubt", "hardly any is permissible", "two risks", "nothing seen"])
def test_the_comparison_would_notice_another_slack(state):
    found = sampling_bench("slack-ts", state, "hold").counts(ROUND, 20_000)
    assert plain.same_law(found, plain_answers(state, 0.0, "hold")) < 1e-9


@pytest.mark.parametrize("state", ["all in doubt", "hardly any is permissible", "two risks"])
@pytest.mark.parametrize("text", SLACKS)
def test_what_is_written_are_the_draws_that_give_the_decision(text, state):
    bench = sampling_bench(text, state, "least_risky", seed=6)
    for _ in range(1_000):
        k, none = bench.decide(ROUND)
        permissible, index, _, risks = bench.columns()
        safe = (risks <= bench.limits).all(axis=1)
        assert (permissible == safe).all()
        assert none == (not safe.any())
        if none:
            assert k == (risks - bench.limits).max(axis=1).argmin()
        else:
            assert k == np.nanargmax(index)
            assert (np.isnan(index) == ~safe).all()


@pytest.mark.parametrize("t", [2**61, 2**62, 2**63 - 1])
def test_rounds_beyond_all_bounds_are_answered(t):
    assert sampling_bench("slack-ts", "the best is unsafe", "hold").decide(t)[0] in (0, 1, 2)
