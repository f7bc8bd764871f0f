"""The chance to pass a test of joint draws: by SciPy on very fine panels, by closed forms, and by draws."""

import numpy as np
import pytest
from scipy import special

from safebandit.core.draws import ERROR, Draws, DrawTests, chances_largest
from safebandit.core.joint_draws import FIRST, share_at, shares_above

from . import plain

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_LEVELS = np.array([1e-15, 1e-9, 1e-5, 0.01, 0.1, 0.3, 0.5])
_NEAR = np.concatenate([[0.0], 10.0 ** np.arange(-9, -0.4, 0.75)])


def angle(x):
    return np.arcsin(np.sqrt(np.clip(x, 0.0, 1.0)))


def panels(ends, low, high):
    """Places and weights between all of these ends that lie in between."""
    ends = np.unique(np.concatenate([[low, high], np.clip(ends, low, high)]))
    middle, half = (ends[1:] + ends[:-1]) / 2, (ends[1:] - ends[:-1]) / 2
    return (middle[:, None] + half[:, None] * _NODES).ravel(), (half[:, None] * _WEIGHTS).ravel()


def quantiles(a, b):
    return angle(np.concatenate([special.betaincinv(a, b, _LEVELS), 1.0 - special.betaincinv(b, a, _LEVELS)]))


def density(u, a, b):
    """The density of Beta(a, b) over the angle."""
    return 2.0 * np.exp((2 * a - 1) * np.log(np.sin(u)) + (2 * b - 1) * np.log(np.cos(u)) - special.betaln(a, b))


def chance_safe(x, alpha, counts):
    """G: over W, what V may be, on panels that are very narrow where V reaches 0 or 1."""
    neither, risk_only, reward_only, both = counts + 0.5
    low, high = angle((alpha - x) / (1 - x)), angle(alpha / (1 - x))
    below = special.betainc(risk_only, neither, np.sin(low) ** 2)
    if high <= low:
        return below
    v_ends = np.sin(quantiles(both, reward_only)) ** 2
    ends = [quantiles(risk_only, neither), angle((alpha - x * v_ends) / (1 - x))]
    ends += [low + _NEAR * (high - low), high - _NEAR * (high - low)]
    u, weight = panels(np.concatenate(ends), low, high)
    v = np.clip((alpha - (1 - x) * np.sin(u) ** 2) / x, 0.0, 1.0)
    return below + (weight * density(u, risk_only, neither) * special.betainc(both, reward_only, v)).sum()


def safe_above(a, b, alpha, counts, bars):
    """H at each of these bars, in rising order."""
    spots = np.concatenate([angle(np.array([alpha, 1.0 - alpha]))[:, None] + s * _NEAR for s in (-1, 1)]).ravel()
    found, total = [], 0.0
    for low, high in zip(bars[::-1], [1.0, *bars[:0:-1]], strict=True):
        u, weight = panels(np.concatenate([quantiles(a, b), spots]), angle(low), angle(high))
        mass = weight * density(u, a, b)
        part = mass > 1e-13
        total += sum(
            m * chance_safe(np.sin(each) ** 2, alpha, counts) for m, each in zip(mass[part], u[part], strict=True)
        )
        found.append(total)
    return np.array(found[::-1])


def share(rows, x):
    """q at x, above the cap."""
    u = angle(x)
    return share_at(rows, max(0, int(np.searchsorted(rows[:, FIRST], u, side="right")) - 1), u)


def random_state(seed):
    """Outcomes of up to 3,000 units: of any law, with a reward or a risk but never both or none, always both or none,
    or nearly so; some more rewards of which the risk is not known; and an alpha a little below the mean risk.
    """
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9)
    laws = [rng.dirichlet(np.full(4, 0.7)), (0, p, 1 - p, 0), (p, 0, 0, 1 - p), (0.01, 0.97 * p, 0.97 * (1 - p), 0.02)]
    size = int(10 ** rng.uniform(0.3, 3.5))
    counts = rng.multinomial(size, laws[seed % 4]).astype(float)
    late = rng.binomial(rng.integers(0, 1 + size // 4), p, size=2)
    a, b = counts[2:].sum() + late[0] + 1.0, counts[:2].sum() + late[1] + 1.0
    harmed = (counts[1] + counts[3]) / size
    alpha = float(np.clip(harmed - rng.uniform(0.0, 0.8) / np.sqrt(size), 0.01, 0.99))
    return float(a), float(b), float((a - 1.0) / max(1.0, a + b - 2.0)), alpha, counts


@pytest.mark.parametrize("seed", range(16))
def test_the_chance_to_pass_is_an_integral(seed):
    a, b, cap, alpha, counts = random_state(seed)
    rows = shares_above(a, b, cap, alpha, counts)
    levels = special.betaincinv(a, b, np.array([0.3, 0.6, 0.9, 0.99, 0.9999]))
    bars = np.unique(np.maximum(cap, levels))
    found = np.array([share(rows, bar) for bar in bars]) * special.betaincc(a, b, bars)
    # A draw is tested at most 1 + 0.7 log t times, and each time the error counts: 10 times in a trial of 10^5.
    assert found == pytest.approx(safe_above(a, b, alpha, counts, bars), abs=ERROR / 50)


def test_at_the_ends_of_alpha_none_and_all_are_safe():
    counts = np.array([3.0, 4.0, 5.0, 2.0])
    for alpha, expected in ((0.0, 0.0), (1.0, 1.0)):
        rows = shares_above(8.0, 8.0, 0.5, alpha, counts)
        assert [share(rows, x) for x in (0.5, 0.6, 0.9)] == pytest.approx([expected] * 3, abs=1e-9)


def test_where_no_draw_lies_above_the_cap_nothing_is_tested():
    assert len(shares_above(2.0, 2000.0, 0.9, 0.3, np.array([1000.0, 900.0, 1.0, 0.0]))) == 0


def in_cells(laws, tests, tries, size=20_000):
    """The chances with each law in cells of the angle, which end at caps: what stands in a cell, and what is held down.

    Within a cell two draws are each the larger half of the time.
    """
    edges = np.unique(np.concatenate([np.linspace(0.0, np.pi / 2, size), angle(np.array([law[2] for law in laws]))]))
    middle = np.sin((edges[1:] + edges[:-1]) / 2) ** 2
    masses, caps = [], []
    for (a, b, cap), rows in zip(laws, tests, strict=True):
        mass = np.diff(special.betainc(a, b, np.sin(edges) ** 2))
        passes = np.ones(len(middle))
        above = np.flatnonzero(middle > cap)
        if rows is not None:
            passes[above] = 1.0 - (1.0 - np.array([share(rows, x) for x in middle[above]])) ** tries
        masses.append(mass * passes)
        caps.append((mass * (1.0 - passes)).sum())
    wins = []
    for k, (_, _, cap) in enumerate(laws):
        others = [j for j in range(len(laws)) if j != k]
        below = [np.cumsum(masses[j]) - masses[j] / 2 + caps[j] * (middle > laws[j][2]) for j in others]
        at_cap = [masses[j][middle < cap].sum() + caps[j] * (laws[j][2] < cap) for j in others]
        wins.append((masses[k] * np.prod(below, axis=0)).sum() + caps[k] * np.prod(at_cap))
    return wins


@pytest.mark.parametrize("seed", range(12))
def test_chances_of_tested_draws_are_integrals(seed):
    rng = np.random.default_rng(seed)
    count, tries, alpha = int(rng.integers(2, 6)), int(rng.integers(1, 10)), rng.uniform(0.1, 0.6)
    size = 10 ** rng.uniform(0.5, 3.5, count)
    counts = np.array([rng.multinomial(int(n), rng.dirichlet(np.full(4, 2.0))) for n in size], float)
    a, b = counts[:, 2:].sum(axis=1) + 1.0, counts[:, :2].sum(axis=1) + 1.0
    # No two caps are the same, so that none ties.
    cap = np.clip((a - 1.0) / (a + b - 2.0) + rng.uniform(0.0, 0.01, count), 0.01, 0.99)
    doubt = counts[:, [1, 3]].sum(axis=1) > alpha * counts.sum(axis=1)
    rows = [shares_above(a[k], b[k], cap[k], alpha, counts[k]) if doubt[k] else None for k in range(count)]
    one = np.ones(count)
    found = chances_largest(Draws(a, b, cap, one, one), DrawTests(doubt, tries, rows.__getitem__))
    assert found == pytest.approx(in_cells(list(zip(a, b, cap, strict=True)), rows, tries), abs=ERROR)


def drawn(rng, a, b, cap, tested, size):
    """Indices by the definition: alpha, the table and how often a draw is tested; None where it is not."""
    rho = rng.beta(a, b, size)
    if tested is None:
        return rho
    alpha, counts, tries = tested
    stands = rho <= cap
    points, chances = plain.chances_above(a, b)
    above = np.interp(rho, points, chances)
    for _ in range(tries):
        open_ = np.flatnonzero(~stands)
        neither, risk_only, reward_only, both = counts + 0.5
        v, w = rng.beta(both, reward_only, open_.size), rng.beta(risk_only, neither, open_.size)
        # Draws above rho by the inverse of what lies above: not as the policy draws them.
        x = np.interp(above[open_] * rng.uniform(size=open_.size), chances[::-1], points[::-1])
        stands[open_] = w + x * (v - w) <= alpha
    return np.where(stands, rho, cap)


@pytest.mark.parametrize("case", ["some units", "a reward or a risk", "two alike", "alpha 0"])
def test_chances_of_tested_draws_are_shares_of_draws(case):
    # Three shares of 200,000 draws in each of four cases: one is more than 4.5 standard errors off in 8 of 100,000.
    tables = {
        "some units": [(9, 4, 8, 5), (14, 2, 3, 9), (30, 9, 40, 11)],
        "a reward or a risk": [(0, 6, 9, 0), (1, 20, 30, 1), (4, 4, 3, 3)],
        "two alike": [(3, 4, 4, 3), (3, 4, 4, 3), (2, 3, 3, 2)],
        "alpha 0": [(3, 4, 4, 3), (3, 1, 6, 0), (5, 0, 3, 0)],
    }[case]
    alpha, tries, size = 0.0 if case == "alpha 0" else 0.3, 3, 200_000
    counts = np.array(tables, float)
    a, b = counts[:, 2:].sum(axis=1) + 1.0, counts[:, :2].sum(axis=1) + 1.0
    cap = (a - 1.0) / (a + b - 2.0)
    doubt = counts[:, [1, 3]].sum(axis=1) > alpha * counts.sum(axis=1)
    tests = DrawTests(doubt, tries, lambda k: shares_above(a[k], b[k], cap[k], alpha, counts[k]))
    one = np.ones(3)
    found = chances_largest(Draws(a, b, cap, one, one), tests)
    rng = np.random.default_rng(7)
    indices = np.array(
        [drawn(rng, a[k], b[k], cap[k], (alpha, counts[k], tries) if doubt[k] else None, size) for k in range(3)]
    )
    best = indices == indices.max(axis=0)
    shares = (best / best.sum(axis=0)).mean(axis=1)
    assert doubt.any()
    assert (np.abs(shares - found) <= 4.5 * np.sqrt(found * (1 - found) / size)).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
