"""Comparisons of Beta posteriors: by SciPy on fine panels, by exact sums, by closed forms, and by draws."""

import numpy as np
import pytest

from safebandit.core.posteriors import chance_alike, chances_best, chances_better
from safebandit.studies.validation.posteriors import exactly_larger

from . import posterior_truth as truth

# What is promised.
CLOSE = 1e-6
DIFFERENCES = (0.001, 0.05, 0.2, 0.9)


def random_state(seed):
    """Two to nine arms of up to 10^5 plays: of like sizes and of very different ones, near each other and far apart."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 10))
    plays = np.floor(10.0 ** rng.uniform(-0.3, 5.0, count if seed % 3 else 1)) * np.ones(count)
    middle, spread = rng.choice([rng.uniform(), 0.0, 1.0, 0.5, 0.02]), rng.choice([0.002, 0.02, 0.2])
    means = np.clip(middle + spread * rng.normal(size=count), 0.0, 1.0)
    return plays, rng.binomial(plays.astype(int), means).astype(float)


@pytest.mark.parametrize("seed", range(30))
def test_chances_are_integrals(seed):
    plays, ones = random_state(seed)
    difference = DIFFERENCES[seed % len(DIFFERENCES)]
    assert chances_best(plays, ones) == pytest.approx(truth.best(plays, ones), abs=CLOSE)
    assert chance_alike(plays, ones, difference) == pytest.approx(truth.alike(plays, ones, difference), abs=CLOSE)
    for signed in (0.0, difference, -difference):
        expected = truth.better(plays, ones, 0, signed)
        assert chances_better(plays, ones, 0, signed) == pytest.approx(expected, abs=CLOSE, nan_ok=True)


# States in which a narrow posterior stands beside a wide one, at the edges, and at a place where another is cut off.
@pytest.mark.parametrize(
    ("plays", "ones"),
    [
        ((0, 100_000), (0, 50_000)),
        ((0, 100_000, 0), (0, 0, 0)),
        ((126, 2, 68), (126, 2, 68)),
        ((1, 100_000, 100_000), (1, 99_995, 99_999)),
        ((100_000, 100_000), (25_000, 25_100)),
        ((3, 1_000, 30, 100_000), (1, 300, 9, 30_100)),
    ],
)
def test_chances_are_right_at_the_edges_and_beside_narrow_ones(plays, ones):
    plays, ones = np.array(plays, float), np.array(ones, float)
    assert chances_best(plays, ones) == pytest.approx(truth.best(plays, ones), abs=CLOSE)
    for difference in (0.001, 0.01, 0.5):
        assert chance_alike(plays, ones, difference) == pytest.approx(truth.alike(plays, ones, difference), abs=CLOSE)


@pytest.mark.parametrize(
    ("one", "other"), [((0, 0), (1, 1)), ((7, 3), (12, 4)), ((40, 40), (25, 0)), ((90, 31), (80, 33))]
)
def test_of_two_arms_the_chance_is_an_exact_sum(one, other):
    plays, ones = (np.array(pair, float) for pair in zip(one, other, strict=True))
    expected = float(exactly_larger(one, other))
    assert chances_best(plays, ones) == pytest.approx([expected, 1.0 - expected], abs=CLOSE)
    assert chances_better(plays, ones, 1, 0.0)[0] == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12, 30])
def test_before_any_data_all_arms_are_alike(count):
    plays, ones = np.zeros(count), np.zeros(count)
    assert chances_best(plays, ones) == pytest.approx([1 / count] * count, abs=1e-12)
    for d in (0.1, 0.5, 0.99):
        # The range of so many uniform numbers.
        expected = count * d ** (count - 1) - (count - 1) * d**count
        assert chance_alike(plays, ones, d) == pytest.approx(expected, abs=CLOSE)
    assert chance_alike(plays, ones, 0.0) == 0.0
    assert chance_alike(plays, ones, 1.0) == 1.0


def test_draws_agree():
    plays, ones = np.array([60.0, 45.0, 80.0, 5.0]), np.array([30.0, 24.0, 37.0, 1.0])
    draws = np.random.default_rng(8).beta(ones + 1, plays - ones + 1, (400_000, 4))
    winners = np.bincount(draws.argmax(axis=1), minlength=4) / len(draws)
    best, alike = chances_best(plays, ones), chance_alike(plays, ones, 0.3)
    # Each of the five is 4.5 standard errors off for 1 seed in 150,000.
    assert (np.abs(winners - best) < 4.5 * np.sqrt(best * (1 - best) / len(draws))).all()
    seen = (np.ptp(draws, axis=1) < 0.3).mean()
    assert abs(seen - alike) < 4.5 * np.sqrt(alike * (1 - alike) / len(draws))
