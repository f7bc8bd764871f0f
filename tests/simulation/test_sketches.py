"""Sketches: quantiles within the accuracy they state, held to NumPy's of the numbers themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safebandit.simulation.sketches import ACCURACY, Sketch

LEVELS = np.array([0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1.0])
NUMBERS = st.one_of(st.just(0.0), st.floats(1e-300, 1e300), st.floats(0.0, 2e9), st.floats(0.0, 1e-12))


def sketch_of(values, *, whole=False, sizes=()):
    """The sketch of a table, counted in parts of these sizes and the rest."""
    sketch = Sketch(values.shape[1], whole=whole)
    for part in np.split(values, np.cumsum(sizes, dtype=int)):
        sketch.add(part)
    return sketch


def assert_close(sketch, values):
    found, wanted = sketch.quantiles(LEVELS), np.quantile(values, LEVELS, axis=0)
    # What NumPy itself rounds, and numbers too small to have all their bits.
    assert (np.abs(found - wanted) <= (ACCURACY + 1e-12) * wanted + 1e-300).all()
    assert np.array_equal(found[0], values.min(axis=0))
    assert np.array_equal(found[-1], values.max(axis=0))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=60))
def test_quantiles_are_within_the_stated_accuracy(rows):
    values = np.array(rows)
    assert_close(sketch_of(values), values)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(0, 2_000_000_000), min_size=1, max_size=60))
def test_counts_are_within_it_too(counts):
    values = np.array(counts, float)[:, None]
    assert_close(sketch_of(values, whole=True), values)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(0, 1_023), min_size=1, max_size=60))
def test_counts_below_1024_lose_nothing(counts):
    values = np.array(counts, float)[:, None]
    found = sketch_of(values, whole=True).quantiles(LEVELS)[:, 0]
    assert found == pytest.approx(np.quantile(counts, LEVELS), rel=1e-12)


@pytest.mark.parametrize("octave", range(-3, 30))
def test_every_bin_keeps_its_promise_at_both_ends(octave):
    # Edges of all bins of an octave, and the numbers just before them, each among two others that are not its ends.
    edges = 2.0**octave * (1.0 + np.arange(512) / 512)
    for values in (edges, np.nextafter(np.append(edges[1:], 2.0 ** (octave + 1)), 0.0)):
        table = np.vstack([np.zeros(512), values, np.full(512, 1e12)])
        found = sketch_of(table).quantiles(np.array([0.5]))[0]
        assert (np.abs(found - values) <= ACCURACY * values).all()


def test_the_accuracy_is_a_tenth_of_a_percent():
    assert 0.0009 < ACCURACY < 0.001


def test_ties_and_a_single_trial_are_exact():
    for values in (np.full((50, 2), 0.1 * 1_237), np.array([[3.3, 0.0]])):
        assert np.array_equal(sketch_of(values).quantiles(LEVELS), np.tile(values[0], (len(LEVELS), 1)))


def test_zeros_are_zeros():
    values = np.append(np.zeros(70), np.full(30, 5.5))[:, None]
    found = sketch_of(values).quantiles(np.array([0.1, 0.5, 0.69]))
    assert found.tolist() == [[0.0]] * 3


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 30), max_size=5), st.permutations(range(40)), st.integers(0, 2**32 - 1))
def test_neither_chunks_nor_order_change_anything(sizes, order, seed):
    values = np.random.default_rng(seed).lognormal(3.0, 4.0, (40, 3))
    one, other = sketch_of(values), sketch_of(values[list(order)], sizes=sizes)
    for mine, yours in zip(
        (*one.counted(), one.least, one.most), (*other.counted(), other.least, other.most), strict=True
    ):
        assert np.array_equal(mine, yours)
    assert np.array_equal(one.quantiles(LEVELS), other.quantiles(LEVELS))


def test_a_sketch_can_be_made_from_what_it_counted_and_counts_on():
    values = np.random.default_rng(4).lognormal(3.0, 4.0, (300, 3))
    half = sketch_of(values[:150])
    again = Sketch.of_counted(*half.counted(), half.least, half.most, whole=False)
    again.add(values[150:])
    for mine, yours in zip(again.counted(), sketch_of(values).counted(), strict=True):
        assert np.array_equal(mine, yours)
    assert np.array_equal(again.quantiles(LEVELS), sketch_of(values).quantiles(LEVELS))


def test_counts_add_up():
    sketch = sketch_of(np.random.default_rng(5).exponential(10, (1_000, 4)))
    bins, counts = sketch.counted()
    assert counts.sum() == 4_000
    assert (np.diff(bins) > 0).all()
    assert (counts > 0).all()
