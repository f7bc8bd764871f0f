"""Thompson sampling by the bar: the law of drawing every arm, whatever the bar, in blocks, and while arms learn."""

import numpy as np
import pytest
from scipy import stats

from safebandit.core.indices import KLLower, Thompson
from safebandit.core.policies import DoublyOptimistic

from .. import driving, plain

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
UNIFORM = DoublyOptimistic(Thompson(), KLLower(), each_first=False)


def searching(counts, seed=0, alpha=0.5):
    search = driving.Search(UNIFORM, len(counts), alpha, seed=seed)
    for k, (plays, ones) in enumerate(counts):
        if plays:
            search.jump(k, 0, plays, ones)
    return search


@pytest.mark.parametrize("name", STATES)
def test_arms_win_as_often_as_if_all_were_drawn(name):
    search, chances = searching(STATES[name]), plain.chances_to_win(STATES[name])
    # By the search, and by the definition.
    driving.assert_frequencies(search.find(100, 40_000)[:-2], chances)
    driving.assert_frequencies(search.counts(100, 40_000)[:-2], chances)


@pytest.mark.parametrize("bar", [0.05, 0.4, 0.5, 0.6, 0.95, 0.999])
def test_who_wins_does_not_depend_on_the_bar(bar):
    counts = [(20, 10), (25, 13), (3, 1), (40, 19)]
    search = searching(counts, seed=2)
    driving.assert_frequencies(search.find(100, 20_000, bar=bar)[:-2], plain.chances_to_win(counts))
    assert search.notes["bar"] == bar


@pytest.mark.parametrize("count", [1, 2, 33, 1_000])
def test_one_uniform_number_serves_a_block_of_arms(count):
    # All arms alike: each wins as often as the others, in whatever block it is.
    wins = searching([(0, 0)] * count, seed=3).find(100, 20 * max(count, 500))[:-2]
    if count > 1:
        assert stats.chisquare(wins).pvalue > driving.FALSE_ALARM


def test_a_thousand_arms_of_which_few_can_win():
    counts = [(40, 8)] * 500 + [(60, 40), (300, 190)] + [(40, 9)] * 498
    groups = plain.chances_to_win([(60, 40), (300, 190), (40, 8)])[:2]
    wins = searching(counts, seed=4).find(100, 20_000)[:-2]
    # So many poor arms win a little, too: their best is drawn in NumPy.
    random = np.random.default_rng(1)
    best = np.zeros(20_000)
    for ones in [9] * 500 + [10] * 498:
        best = np.maximum(best, random.beta(ones, 42 - ones, 20_000))
    draws = np.stack([random.beta(41, 21, 20_000), random.beta(191, 111, 20_000), best])
    expected = np.bincount(draws.argmax(axis=0), minlength=3)
    found = np.array([wins[500], wins[501], wins.sum() - wins[500] - wins[501]])
    assert plain.same_law(found, expected) > driving.FALSE_ALARM
    assert groups.sum() > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_the_chance_to_lie_below_the_bar_is_carried_from_play_to_play(seed):
    random, search = np.random.default_rng(seed), searching([(0, 0)] * 4, seed=seed)
    for t in range(3_000):
        k = int(search.find(100).argmax())
        work = search.work[0]
        if t % 10 == 0:
            known = work["carried_bar"] > 0.0
            law = stats.beta(work["ones"] + 1, work["plays"] - work["ones"] + 1)
            assert work["below"][known] == pytest.approx(law.cdf(work["carried_bar"])[known], abs=1e-11)
        search.learn(k, float(random.random() < 0.3 + 0.1 * k), 0.0)
    assert search.seen["plays"][:, 0].sum() == 3_000


@pytest.mark.parametrize("limits", [(0.5,), (0.5, 0.9)])
def test_an_arm_behind_a_closed_gate_never_wins(limits):
    counts = [(50, 25), (50, 45), (50, 30)]
    search = searching(counts, alpha=limits)
    search.jump(1, len(limits), 200, 200)
    for wins in (search.find(100, 10_000), search.counts(100, 10_000)):
        assert wins[1] == 0
        driving.assert_frequencies(wins[[0, 2]], plain.chances_to_win([counts[0], counts[2]]))


@pytest.mark.parametrize("text", ["topsi", "tsbu", "joint-ts", "joint-dirichlet"])
@pytest.mark.parametrize("name", ["five", "none safe", "beta"])
def test_the_simulator_plays_as_the_definition_does_in_law(text, name):
    # Plays of each arm in 120 trials by either way: two-sample t-tests, all together an error in about 1,000 seeds.
    instance, trials, rounds = driving.problem(name), 120, 150
    plays = np.zeros((2, trials, len(instance.mu)))
    for i in range(trials):
        played = driving.decisions(text, instance, rounds, i)
        drawn = driving.walked(text, instance, rounds, 1_000 + i)[1]
        plays[:, i] = [np.bincount(each, minlength=len(instance.mu)) for each in (played, drawn)]
    for k in range(len(instance.mu)):
        assert stats.ttest_ind(plays[0, :, k], plays[1, :, k]).pvalue > 1e-4 / 3
