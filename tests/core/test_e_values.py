"""E-values: their means under the hypothesis by enumeration, and e-BH by its definition."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special

from safebandit.core.e_values import e_bh, log_wealth_above, two_by_two, wealth_larger


def test_pairs_have_no_evidence_on_average_where_both_means_are_the_same():
    bits = list(itertools.product((0.0, 1.0), repeat=5))
    for mean in (0.1, 0.5, 0.8):
        total = 0.0
        for first, second in itertools.product(bits, bits):
            ones = sum(first) + sum(second)
            chance = mean**ones * (1.0 - mean) ** (10 - ones)
            total += chance * two_by_two(np.array(first), np.array(second))
        assert 0.5 < total <= 1.0 + 1e-12
    # By hand: guesses of a half for the first pair, then 1.18 / 1.36 and 0.18 / 1.36.
    assert two_by_two(np.ones(2), np.zeros(2)) == pytest.approx((1.18 / 1.36 / 0.5) ** 2)


def test_evidence_for_a_larger_mean_is_no_more_than_1_on_average_however_arms_are_given():
    """The second unit of an arm is given where the first went well: exact, over all bits of six units."""
    for p, q in ((0.5, 0.5), (0.2, 0.6), (0.9, 0.9)):
        total = 0.0
        for bits in itertools.product((0, 1), repeat=6):
            seen, chance, arm = {0: [0, 0], 1: [0, 0]}, 1.0, 0
            for bit in bits:
                mean = (p, q)[arm]
                chance *= mean if bit else 1.0 - mean
                seen[arm] = [seen[arm][0] + bit, seen[arm][1] + 1]
                arm = arm if bit else 1 - arm
            total += chance * wealth_larger(*map(float, (*seen[0], *seen[1])))
        assert 0.0 < total <= 1.0


@pytest.mark.parametrize("counts", [(9, 10, 2, 10), (3, 10, 6, 10), (5, 5, 0, 3), (40, 60, 31, 70)])
def test_evidence_for_a_larger_mean_is_its_definition(counts):
    """Twice the integral of the likelihood over p > q, over its largest where p <= q (on a grid, to 1e-5)."""
    ones, plays, other_ones, other_plays = counts

    def log_likelihood(p, q):
        first = special.xlogy(ones, p) + special.xlog1py(plays - ones, -p)
        return first + special.xlogy(other_ones, q) + special.xlog1py(other_plays - other_ones, -q)

    grid = np.linspace(0.0, 1.0, 2_001)
    largest = log_likelihood(*np.meshgrid(grid, grid, indexing="ij"))[np.triu_indices(grid.size)].max()
    integral = integrate.dblquad(
        lambda q, p: math.exp(log_likelihood(p, q) - largest), 0.0, 1.0, 0.0, lambda p: p, epsabs=1e-9
    )[0]
    assert wealth_larger(*map(float, counts)) == pytest.approx(2.0 * integral, rel=1e-4)


def test_e_bh_refutes_at_the_border():
    # 2 / (0.5 k) is 4 for the first and 2 for both, exactly.
    assert e_bh(np.array([4.0, 1.0]), 0.5).tolist() == [True, False]
    assert e_bh(np.array([2.0, 2.0]), 0.5).all()
    assert not e_bh(np.array([np.nextafter(4.0, 0.0), 1.0]), 0.5).any()


def test_e_bh_refutes_by_its_definition():
    rng = np.random.default_rng(3)
    for _ in range(50):
        values = np.exp(rng.normal(1.0, 2.5, 8))
        order = np.sort(values)[::-1]
        most = max((k for k in range(1, 9) if order[k - 1] >= 8 / (0.1 * k)), default=0)
        assert e_bh(values, 0.1).sum() == most
        assert (values[e_bh(values, 0.1)] >= order[most - 1]).all() if most else True
    assert not e_bh(np.ones(4), 0.05).any()


def test_e_bh_makes_few_false_discoveries():
    """20 arms of which half are at the limit: the share of false ones is at most the level, on average.

    After 80 bits of each, in 4,000 trials: the standard error is below 0.002, and the level 0.1 is far from reached.
    """
    rng = np.random.default_rng(11)
    trials, arms, n, limit, other = 4_000, 20, 80, 0.3, 0.6
    means = np.where(np.arange(arms) < 10, limit, other)
    ones = (rng.random((trials, arms, n)) < means[:, None]).sum(axis=2)
    table = np.exp([log_wealth_above(float(s), float(n), limit, 1.0, 1.0) for s in range(n + 1)])
    refuted = np.array([e_bh(values, 0.1) for values in table[ones]])
    share = refuted[:, :10].sum(axis=1) / np.maximum(1, refuted.sum(axis=1))
    assert 0.0 < share.mean() <= 0.1
    assert refuted[:, 10:].mean() > 0.9
