"""The largest of drawn indices: by SciPy on very fine panels, by closed forms, and by draws."""

import numpy as np
import pytest
from scipy import special

from safebandit.core.draws import ERROR, Draws, chances_largest

from .posterior_truth import density, places


def expected(draws):
    """The same chances from the definition, place by place: a draw stands, or is held down to its cap."""
    a, b, cap, passes, may_win = (row[:, None] for row in draws)
    x, weight = places(*draws[:2], caps=draws.cap)
    below = special.betainc(a, b, x)
    not_above = 1.0 - may_win * np.where(x < cap, 1.0, passes) * (1.0 - below)
    own = may_win * np.where(x < cap, 1.0, passes) * density(x, a, b)
    wins = [(weight * own[k] * np.delete(not_above, k, axis=0).prod(axis=0)).sum() for k in range(len(a))]
    return np.array(wins) + [at_cap(draws, k) for k in range(len(a))]


def at_cap(draws, k):
    """Over all subsets of the others that are held down to the same cap, what arm k has of its draws there."""
    a, b, cap, passes, may_win = draws
    held = may_win * (1.0 - passes) * special.betaincc(a, b, cap[k])
    others = [j for j in range(len(a)) if j != k]
    total = 0.0
    for chosen in range(2 ** len(others)):
        tied = [j for i, j in enumerate(others) if chosen >> i & 1]
        chance = held[k] / (1 + len(tied))
        for j in others:
            equal = held[j] if cap[j] == cap[k] else 0.0
            stands = 1.0 if cap[k] < cap[j] else passes[j]
            below = 1.0 - may_win[j] * stands * special.betaincc(a[j], b[j], cap[k])
            chance *= equal if j in tied else below - equal
        total += chance
    return total


def random_draws(seed):
    """Two to seven arms of up to 10^5 plays, near each other or not, some held down, some with a part only at times."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 8))
    plays = np.floor(10.0 ** rng.uniform(-0.3, 5.0 if seed % 2 else 2.0, count))
    means = np.clip(rng.uniform() + rng.choice([0.01, 0.2]) * rng.normal(size=count), 0.0, 1.0)
    ones = rng.binomial(plays.astype(int), means).astype(float)
    cap = np.where(plays > 0, ones / np.maximum(plays, 1), 0.5)
    passes = np.where(rng.uniform(size=count) < 0.5, 1.0, rng.uniform(size=count))
    may_win = np.where(rng.uniform(size=count) < 0.5, 1.0, rng.uniform(size=count))
    return Draws(ones + 1.0, plays - ones + 1.0, cap, passes, may_win)


@pytest.mark.parametrize("seed", range(24))
def test_chances_are_integrals(seed):
    draws = random_draws(seed)
    found = chances_largest(draws)
    assert found == pytest.approx(expected(draws), abs=ERROR)
    assert found.sum() == pytest.approx(1.0 - np.prod(1.0 - draws.may_win), abs=1e-12)


def test_arms_that_are_held_down_to_the_same_number_share():
    # No draw ever passes, and both have the same mean: a draw below it is as likely for one as for the other.
    two = np.full(2, 3.0)
    assert chances_largest(Draws(two, two, np.full(2, 0.5), np.zeros(2), np.ones(2))) == pytest.approx([0.5, 0.5])
    # One arm is always held down to 0: it wins only where the other has no part.
    draws = Draws(two, two, np.array([0.0, 0.5]), np.array([0.0, 1.0]), np.array([1.0, 0.75]))
    assert chances_largest(draws) == pytest.approx([0.25, 0.75])


def test_chances_are_shares_of_a_million_draws():
    # Seven shares of 10^6 draws: one is more than 4.5 standard errors off in 5 of 100,000 cases.
    rng, draws = np.random.default_rng(1), random_draws(10)
    size = 1_000_000
    a, b, cap, passes, may_win = (row[:, None] for row in draws)
    index = rng.beta(a, b, (len(a), size))
    index = np.where(rng.uniform(size=index.shape) < passes, index, np.minimum(index, cap))
    index[rng.uniform(size=index.shape) >= may_win] = -1.0
    shares = np.bincount(index.argmax(axis=0)[index.max(axis=0) >= 0.0], minlength=len(a)) / size
    found = chances_largest(draws)
    assert (np.abs(shares - found) <= 4.5 * np.sqrt(found * (1 - found) / size)).all()
