"""Two arms that exceed the bar together: the right chances, carried or computed, and the law of drawing every arm."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from safebandit import Instance
from safebandit.core.bernoulli import chance_larger
from safebandit.core.searches.rivals import REFRESH_EVERY, SOON

from .. import driving, plain
from .test_thompson import searching

# (plays, ones) per arm, two of which mostly exceed the bar by themselves.
RIVALS = {
    "two": [(400, 200), (420, 215)],
    "nothing seen": [(0, 0), (0, 0)],
    "few plays": [(1, 1), (2, 1)],
    "never a reward": [(3, 0), (2, 0)],
    "always a reward": [(5, 5), (9, 9)],
    "unequal": [(60, 36), (90, 45)],
    "few plays against many": [(20, 10), (5_000, 2_450)],
    "three": [(3_000, 1_400), (300, 90), (2_900, 1_360)],
    "many plays": [(100_000, 50_000), (90_000, 45_090), (20_000, 8_000)],
    "five": [(127, 45), (124, 42), (29_016, 13_608), (20_444, 9_506), (60, 5)],
    "in two blocks of forty": [(50, 5)] * 3 + [(600, 300)] + [(50, 4)] * 34 + [(500, 260), (30, 0)],
}
counts = st.integers(1, 40)


def exact(a, b, c, d):
    """P(X > Y) of X ~ Beta(a, b), Y ~ Beta(c, d) as a fraction: the law of Y as a polynomial, integrated over X's."""

    def integral(p, q):
        return Fraction(math.factorial(p - 1) * math.factorial(q - 1), math.factorial(p + q - 1))

    n = c + d - 1
    return sum(math.comb(n, j) * integral(a + j, b + n - j) for j in range(c, n + 1)) / integral(a, b)


def by_quadrature(a, b, *others):
    """The chance that X ~ Beta(a, b) is above all others, by Gauss and Legendre, twelve deviations to either side."""
    mean, deviation = a / (a + b), math.sqrt(a * b / (a + b + 1.0)) / (a + b)
    low, high = max(0.0, mean - 12.0 * deviation), min(1.0, mean + 12.0 * deviation)
    nodes, weights = plain.legendre(400)
    points = low + 0.5 * (nodes + 1.0) * (high - low)
    # The density's constant has lost digits to rounding where there are many plays.
    logs = (a - 1.0) * np.log(points / mean) + (b - 1.0) * np.log1p((mean - points) / (1.0 - mean))
    density = weights * np.exp(logs)
    below = np.prod([special.betainc(*other, points) for other in others], axis=0)
    return float(density @ below / density.sum())


@given(counts, counts, counts, counts)
def test_the_chance_to_be_larger_is_the_exact_one(a, b, c, d):
    truth = exact(a, b, c, d)
    chance, slope = chance_larger(a, b, c, d)
    assert chance == pytest.approx(float(truth), rel=1e-12, abs=1e-15)
    assert chance_larger(c, d, a, b)[0] == pytest.approx(float(1 - truth), rel=1e-12, abs=1e-15)
    # The changes by one more play of either outcome of either arm.
    changes = [exact(a + 1, b, c, d), exact(a, b + 1, c, d), exact(a, b, c + 1, d), exact(a, b, c, d + 1)]
    steps = [slope / a, -slope / b, -slope / c, slope / d]
    assert steps == pytest.approx([float(change - truth) for change in changes], rel=1e-11)


@pytest.mark.parametrize(
    "laws",
    [(50_001, 50_001, 45_091, 44_911), (30_000, 60, 29_000, 62), (2_451, 2_551, 11, 11), (500_001, 500_001, 2, 1),
     (469_001, 531_001, 465_001, 535_001)],
)  # fmt: skip
def test_the_chance_to_be_larger_with_many_plays(laws):
    a, b, c, d = laws
    assert chance_larger(a, b, c, d)[0] == pytest.approx(by_quadrature(a, b, (c, d)), abs=1e-10)
    assert chance_larger(a, b, c, d)[0] + chance_larger(c, d, a, b)[0] == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize(("b", "c", "d"), [(1, 100_001, 50_001), (100_001, 3, 100_001), (1, 1, 1), (400, 70, 90_000)])
def test_the_chance_to_be_larger_where_it_is_a_product(b, c, d):
    # P(X > y) = (1-y)^b for X ~ Beta(1, b).
    product = math.prod(Fraction(d + i, b + d + i) for i in range(c)) if b > 1 else Fraction(d, c + d)
    assert chance_larger(1, b, c, d)[0] == pytest.approx(float(product), rel=1e-12)


@pytest.mark.parametrize("laws", [(1, 1_000_001, 1_000_001, 1), (100_001, 900_001, 900_001, 100_001)])
def test_a_chance_beyond_the_smallest_number_is_none(laws):
    a, b, c, d = laws
    assert chance_larger(a, b, c, d) == (0.0, 0.0)
    assert chance_larger(c, d, a, b) == (1.0, 0.0)


def undrawn(search):
    """How often two rivals decided by one number, and no arm was drawn."""
    return search.words[1] if search.notes["rivals"][0] else 0


@pytest.mark.parametrize("seed", range(3))
def test_the_chance_to_be_larger_is_carried_from_play_to_play(seed):
    random = np.random.default_rng(seed)
    search = searching([(200, 100), (200, 99), (200, 60)], seed=seed)
    pairs, rounds = set(), 0
    for t in range(601, 2_001):
        k = int(search.find(t).argmax())
        notes = search.notes[0]
        if notes["slope"] > 0:
            if undrawn(search):
                pairs.add((int(notes["one"]), int(notes["other"])))
                rounds += 1
                seen = search.seen[[notes["one"], notes["other"]], 0]
                laws = np.stack([seen["ones"] + 1, seen["plays"] - seen["ones"] + 1], axis=1)
                assert notes["laws"].tolist() == laws.ravel().tolist()
            fresh = chance_larger(*notes["laws"])
            assert (notes["chance"], notes["slope"]) == pytest.approx(fresh, rel=1e-10, abs=1e-13)
        search.learn(k, float(random.random() < (0.5, 0.5, 0.3)[k]), 0.0)
        if t == 1_200:
            # Others become rivals; only the arm that was found last may learn before the next find.
            for _ in range(600):
                search.learn(k, 0.0 if k != 2 else 1.0, 0.0)
    assert rounds > 300
    assert len(pairs) >= 1


@pytest.mark.parametrize("late", [1, SOON - 2, 3 * SOON])
def test_the_chance_is_followed_over_many_plays_at_once(late):
    search, rounds = searching([(200, 100), (200, 99)], seed=4), 0
    for t in range(401, 460):
        k = int(search.find(t).argmax())
        for i in range(late):
            search.learn(k, float(i % 2), 0.0)
        notes = search.notes[0]
        if notes["slope"] > 0:
            fresh = chance_larger(*notes["laws"])
            assert (notes["chance"], notes["slope"]) == pytest.approx(fresh, rel=1e-10, abs=1e-13)
            rounds += 1
    assert rounds > 2


@pytest.mark.parametrize("rounds", [REFRESH_EVERY - 500, 2 * REFRESH_EVERY + 70_000])
def test_rounding_does_not_add_up(rounds):
    # Near-equal arms: nearly every play is followed by itself, most of 65,536 of them without computing afresh.
    instance = Instance.bernoulli([0.469, 0.465], [0.1, 0.1], 0.5)
    _, memory, _, (notes,) = driving.simulated("tsbu", instance, rounds, 4)
    laws = notes["laws"]
    assert laws.sum() - 4 > 0.99 * rounds
    assert (memory.arms["asked"] > 1_000).all()
    assert notes["chance"] == pytest.approx(by_quadrature(*laws[:2], laws[2:]), abs=1e-10)
    assert notes["chance"] == pytest.approx(chance_larger(*laws)[0], abs=1e-11)
    assert notes["slope"] == pytest.approx(chance_larger(*laws)[1], rel=1e-10)


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_win_as_often_as_if_all_arms_were_drawn(name):
    search = searching(RIVALS[name], seed=5)
    wins = search.find(100, 20_000)[:-2]
    assert undrawn(search) > 4_000
    driving.assert_frequencies(wins, plain.chances_to_win(RIVALS[name]))


@pytest.mark.parametrize("both", [0.51, 0.7, 0.99, 0.999999])
@pytest.mark.parametrize("name", ["two", "few plays", "never a reward", "unequal"])
def test_rivals_win_as_often_whatever_the_bar(name, both):
    # The lower the chance that both exceed the bar, the more often draws below it decide.
    one, other = (stats.beta(ones + 1, plays - ones + 1) for plays, ones in RIVALS[name])
    bar = optimize.brentq(lambda bar: one.sf(bar) * other.sf(bar) - both, 0.0, 1.0)
    search = searching(RIVALS[name], seed=6)
    wins = search.find(100, 10_000, bar=bar)[:-2]
    assert undrawn(search) > 0
    driving.assert_frequencies(wins, plain.chances_to_win(RIVALS[name]))


@pytest.mark.parametrize(
    ("counts", "anew"),
    [([(4_000, 3_600), (60, 42)], True), ([(60, 42), (4_000, 3_600)], True), ([(4_000, 3_600), (4_000, 3_590)], False)],
    ids=["the first leads", "the second leads", "nearly equal"],
)
def test_a_bar_that_one_of_two_rivals_has_left_far_behind_is_set_anew(counts, anew):
    search = searching(counts, seed=9)
    # Far below both, as where nobody led when it was set.
    search.find(100, 2, bar=0.5)
    assert search.notes["rivals"][0]
    wins = search.find(100, 20_000)[:-2]
    assert (search.notes["bar"][0] > 0.8) == anew
    assert bool(search.notes["rivals"][0]) != anew
    driving.assert_frequencies(wins, plain.chances_to_win(counts))


def test_rivals_among_arms_that_are_not_permissible():
    search = searching([(50, 45), (400, 200), (60, 50), (420, 215)], seed=7)
    for k in (0, 2):
        search.jump(k, 1, 200, 200)
    wins = search.find(100, 10_000)
    assert undrawn(search) > 5_000
    assert wins[[0, 2]].tolist() == [0, 0]
    driving.assert_frequencies(wins[[1, 3]], plain.chances_to_win([(400, 200), (420, 215)]))


def test_rivals_win_with_the_right_chance_while_they_learn():
    # Wins less their chances, of which each is given the past, have mean 0: |z| > 4 in 1 case of 15,000.
    random = np.random.default_rng(8)
    search = searching([(30, 15), (30, 14), (30, 8)], seed=8)
    excess, variance, settled = 0.0, 0.0, 0
    for t in range(100, 2_100):
        seen = search.seen[:, 0]
        first, *others = np.stack([seen["ones"] + 1, seen["plays"] - seen["ones"] + 1], axis=1)
        chance = by_quadrature(*first, *others)
        k = int(search.find(t).argmax())
        settled += undrawn(search)
        excess += (k == 0) - chance
        variance += chance * (1.0 - chance)
        search.learn(k, float(random.random() < (0.5, 0.49, 0.3)[k]), 0.0)
    assert settled > 800
    assert abs(excess) < 4.0 * math.sqrt(variance)
