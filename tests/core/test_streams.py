"""Random numbers: number for number those of NumPy, or of the right law."""

import numpy as np
import pytest
from scipy import special, stats

from safebandit.core.streams import (
    bernoulli_bit,
    beta,
    beta_above,
    beta_below,
    gamma,
    normal,
    trial_streams,
    uniform,
    wins_tie,
    word,
)

from .plain import reduced_bit

# Each statistical test below fails by chance with probability at most this, were its seed not fixed.
FALSE_ALARM = 1e-4

SEEDS = [(0, 0), (1, 0), (1, 7), (2**63 - 1, 12_345), (2**100, 3)]


def numpys(seed, trial):
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(trial,))))


def policy_stream(seed, trial):
    return trial_streams(seed, trial, 3).policy[0]


@pytest.mark.parametrize(("seed", "trial"), SEEDS)
def test_words_uniforms_and_normals_are_numpys(seed, trial):
    stream, generator = policy_stream(seed, trial), numpys(seed, trial)
    assert [int(word(stream)) for _ in range(200)] == generator.bit_generator.random_raw(200).tolist()
    assert [uniform(stream) for _ in range(200)] == generator.random(200).tolist()
    # The table of layers is computed, NumPy's is written down: they differ in the last digits.
    assert [normal(stream) for _ in range(200)] == pytest.approx(generator.standard_normal(200), rel=1e-14)
    assert stream["a"] == generator.bit_generator.state["state"]["state"][0]


def test_a_hundred_thousand_normals_are_numpys():
    # Enough to pass through every layer of the ziggurat and its tail, about 26 times.
    stream, generator = policy_stream(5, 0), numpys(5, 0)
    drawn = np.array([normal(stream) for _ in range(100_000)])
    expected = generator.standard_normal(100_000)
    assert np.abs(expected).max() > 3.6541528853610088
    assert drawn == pytest.approx(expected, rel=1e-14)
    assert uniform(stream) == generator.random()


@pytest.mark.parametrize("shape", [1.0001, 1.5, 3.0, 40.25, 1e6, 1e9])
def test_gammas_are_numpys(shape):
    stream, generator = policy_stream(2, 1), numpys(2, 1)
    drawn = [gamma(stream, shape) for _ in range(2_000)]
    assert drawn == pytest.approx(generator.standard_gamma(shape, 2_000), rel=1e-12)


@pytest.mark.parametrize(("a", "b"), [(2.0, 3.0), (1.5, 1.25), (2.0, 2000.0), (5e5, 2e5)])
def test_betas_are_numpys(a, b):
    stream, generator = policy_stream(3, 4), numpys(3, 4)
    drawn = [beta(stream, a, b) for _ in range(2_000)]
    assert drawn == pytest.approx(generator.beta(a, b, 2_000), rel=1e-12)


@pytest.mark.parametrize("shape", [0.05, 0.5, 0.999, 1.0])
def test_gammas_of_small_shapes_have_their_law(shape):
    stream = policy_stream(6, 0)
    drawn = [gamma(stream, shape) for _ in range(20_000)]
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 2.0), (7.0, 1.0), (0.5, 0.5), (0.2, 3.0), (1.0, 0.3)])
def test_betas_of_small_shapes_have_their_law(a, b):
    stream = policy_stream(7, 0)
    drawn = np.array([beta(stream, a, b) for _ in range(20_000)])
    assert ((drawn >= 0.0) & (drawn <= 1.0)).all()
    assert stats.kstest(drawn, stats.beta(a, b).cdf).pvalue > FALSE_ALARM


def test_an_arms_stream_does_not_depend_on_the_number_of_arms():
    few, many = trial_streams(9, 2, 2), trial_streams(9, 2, 50)
    assert few.arms.tolist() == many.arms[:2].tolist()
    assert few.keys.tolist() == many.keys[:2].tolist()
    assert few.policy.tolist() == many.policy.tolist()


def test_every_trial_arm_and_seed_has_its_own_stream():
    streams = [trial_streams(seed, trial, 5) for seed in (0, 1) for trial in range(40)]
    states = {tuple(record.tolist()) for one in streams for record in (*one.policy, *one.arms)}
    keys = {int(key) for one in streams for key in one.keys}
    assert len(states) == 2 * 40 * 6
    assert len(keys) == 2 * 40 * 5


def test_streams_of_two_arms_are_unrelated():
    arms = trial_streams(10, 0, 2).arms
    first, second = ([uniform(arms[k]) for _ in range(20_000)] for k in (0, 1))
    assert stats.pearsonr(first, second).pvalue > FALSE_ALARM


def test_drawing_from_one_stream_leaves_the_others_alone():
    streams = trial_streams(11, 0, 2)
    before = streams.arms[1].tolist()
    word(streams.arms[0])
    assert streams.arms[1].tolist() == before


@pytest.mark.parametrize("value", [0.001, 0.3, 0.5, 0.97])
def test_bits_have_the_mean_of_their_value(value):
    key = trial_streams(12, 0, 1).keys[0]
    bits = [bernoulli_bit(key, play, value) for play in range(50_000)]
    assert set(bits) == {0, 1}
    assert stats.binomtest(sum(bits), len(bits), value).pvalue > FALSE_ALARM
    # Neighbouring plays, which share all but a bit of their number, are unrelated.
    together = sum(a & b for a, b in zip(bits[::2], bits[1::2], strict=True))
    assert stats.binomtest(together, len(bits) // 2, value**2).pvalue > FALSE_ALARM


def test_bits_depend_on_key_and_play_alone():
    keys = trial_streams(13, 0, 3).keys
    for key in keys:
        for play in (0, 1, 2, 999, 2**40):
            for value in (0.2, 0.5, 0.8):
                assert bernoulli_bit(key, play, value) == reduced_bit(key, play, value)
    rows = [[bernoulli_bit(key, play, 0.5) for play in range(64)] for key in keys]
    assert rows[0] != rows[1] != rows[2] != rows[0]


def test_bits_grow_with_their_value():
    key = trial_streams(14, 0, 1).keys[0]
    for play in range(200):
        bits = [bernoulli_bit(key, play, value) for value in np.linspace(0.0, 1.0, 21)]
        assert bits == sorted(bits)


@pytest.mark.parametrize("bit", [0, 1])
def test_a_bit_is_its_own_bit(bit):
    key = trial_streams(15, 0, 1).keys[0]
    assert {bernoulli_bit(key, play, float(bit)) for play in range(1_000)} == {bit}


def test_ties_are_broken_evenly():
    stream = policy_stream(16, 0)
    wins = np.zeros(5, int)
    for _ in range(20_000):
        leader = 0
        for candidate in range(1, 5):
            if wins_tie(candidate + 1, stream):
                leader = candidate
        wins[leader] += 1
    assert stats.chisquare(wins).pvalue > FALSE_ALARM


# From a bar that nearly all draws exceed to one that hardly any does; a density without a peak, too.
@pytest.mark.parametrize(
    ("a", "b", "bar"),
    [
        (20.0, 81.0, 0.05), (57.0, 44.0, 0.6), (65.0, 36.0, 0.8), (1.0, 1.0, 0.999), (1.0, 40.0, 0.2), (7.0, 1.0, 0.99),
        (3.0, 2.0, 0.95), (30.0, 2.0, 0.97), (301.0, 401.0, 0.5), (20_001.0, 20_001.0, 0.52), (1.0, 2_000.0, 0.01),
    ],
)  # fmt: skip
def test_a_beta_number_beyond_a_bar_is_of_the_law_that_is_cut_off(a, b, bar):
    stream = policy_stream(17, 0)
    above = np.array([beta_above(stream, a, b, bar) for _ in range(20_000)])
    assert ((above > bar) & (above <= 1.0)).all()
    share = special.betaincc(a, b, bar)
    assert stats.kstest(special.betaincc(a, b, above) / share, "uniform").pvalue > FALSE_ALARM
    if share < 0.9:
        assert stats.kstest(above, stats.beta(a, b).cdf).pvalue < 1e-9
    below = np.array([beta_below(stream, b, a, 1.0 - bar) for _ in range(20_000)])
    assert ((below >= 0.0) & (below < 1.0 - bar)).all()
    assert stats.ks_2samp(1.0 - below, above).pvalue > FALSE_ALARM


def test_nothing_lies_beyond_the_ends():
    stream = policy_stream(18, 0)
    assert [beta_above(stream, 2.0, 5.0, 1.0), beta_below(stream, 2.0, 5.0, 0.0)] == [1.0, 0.0]
