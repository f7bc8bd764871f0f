"""Random numbers: one small stream per arm and per policy, all derived from one seed.

A stream is a record of four 64-bit words, the state of SFC64. `word` and `uniform` give, bit for bit, and `normal`,
`gamma` and `beta`, up to rounding, what `numpy.random.Generator(numpy.random.SFC64(...))` gives from the same state.

Written by hand because NumPy's generators cannot live in an array, one per arm and trial, that compiled
code reads without the interpreter. The tests hold every draw to NumPy's own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safebandit.core.dispatch import compiled, inlined, shared

Stream: TypeAlias = Any  # one record of a `Streams` array, which compiled code passes as a bare pointer
Streams: TypeAlias = NDArray[np.void]

STATE = np.dtype([("a", "u8"), ("b", "u8"), ("c", "u8"), ("counter", "u8")])
WORDS = 4
MIXING_ROUNDS = 12

_ZIGGURAT_LAYERS = 256
_ZIGGURAT_EDGE = 3.6541528853610088


def _ziggurat() -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64]]:
    """The 256 layers of equal area under exp(-x^2/2): sure-accept limits, widths, heights."""
    edge = np.empty(_ZIGGURAT_LAYERS)
    edge[-1] = _ZIGGURAT_EDGE
    height = math.exp(-0.5 * _ZIGGURAT_EDGE**2)
    # The area of one layer: its rectangle, and for the lowest layer also the tail.
    area = _ZIGGURAT_EDGE * height + math.sqrt(math.pi / 2) * math.erfc(_ZIGGURAT_EDGE / math.sqrt(2))
    for layer in range(_ZIGGURAT_LAYERS - 2, 0, -1):
        height = area / edge[layer + 1] + math.exp(-0.5 * edge[layer + 1] ** 2)
        edge[layer] = math.sqrt(-2.0 * math.log(height))
    edge[0] = area / math.exp(-0.5 * _ZIGGURAT_EDGE**2)
    scale = 2.0**52
    inner = np.empty(_ZIGGURAT_LAYERS)
    inner[0] = _ZIGGURAT_EDGE / edge[0]
    inner[1] = 0.0
    inner[2:] = edge[1:-1] / edge[2:]
    heights = np.exp(-0.5 * edge**2)
    heights[0] = 1.0
    return (inner * scale).astype(np.uint64), edge / scale, heights


_SURE, _WIDTH, _HEIGHT = _ziggurat()


class TrialStreams(NamedTuple):
    """The random numbers of one trial: the policy's stream, and per arm a stream of outcomes and a key."""

    policy: Streams
    arms: Streams
    keys: NDArray[np.uint64]


def trial_streams(seed: int, trial: int, arms: int) -> TrialStreams:
    """The streams of trial number `trial`, from one `numpy.random.SeedSequence`.

    An arm's stream depends on the seed, the trial and the arm alone: not on how many arms or trials there
    are, nor on who computes them. The policy's stream is that of `SFC64(SeedSequence(seed, spawn_key=(trial,)))`.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(trial,))
    words = sequence.generate_state(WORDS * (arms + 1), np.uint64).reshape(arms + 1, WORDS)
    keys: NDArray[np.uint64] = words[1:, -1].astype(np.uint64)
    words[:, -1] = 1
    states = words.view(STATE)[:, 0]
    mix(states)
    return TrialStreams(states[:1], states[1:], keys)


def streams_of(seed: int, trials: range, arms: int) -> tuple[Streams, NDArray[np.uint64]]:
    """The streams of many trials, a row each: the policy's, then those of the arms, and the arms' keys.

    Bit for bit those of `trial_streams`, in a twentieth of the time: what NumPy's SeedSequence does (M. E. O'Neill's
    seed_seq_fe), for all trials at once. Thousands of short trials would wait for their seeds.
    """
    pool = _pool_of(_words_of(seed), np.arange(trials.start, trials.stop, dtype=np.uint64))
    halves = np.empty((len(trials), 2 * WORDS * (arms + 1)), np.uint32)
    constant = 0x8B51F9DD
    for place in range(halves.shape[1]):
        halves[:, place], constant = _hashed(pool[place % _POOL], constant, 0x58F38DED)
    words = halves.astype("<u4").view("<u8").astype(np.uint64).reshape(len(trials), arms + 1, WORDS)
    keys: NDArray[np.uint64] = words[:, 1:, -1].copy()
    words[:, :, -1] = 1
    states = np.ascontiguousarray(words).view(STATE)[:, :, 0]
    mix(states.reshape(-1))
    return states, keys


_POOL = 4
_HALF = np.uint32(16)
_LOW = 0xFFFFFFFF


def _words_of(number: int) -> list[int]:
    """A number in words of 32 bits, the lowest first."""
    return [number & _LOW, *(_words_of(number >> 32) if number >> 32 else [])]


def _hashed(value: Any, constant: int, times: int) -> tuple[Any, int]:
    """Scrambled words, and the constant for the next."""
    following = constant * times & _LOW
    scrambled = (value ^ np.uint32(constant)) * np.uint32(following)
    return scrambled ^ (scrambled >> _HALF), following


def _pool_of(seed: list[int], trials: NDArray[np.uint64]) -> list[Any]:
    """The pool of every trial: its entropy is the seed, filled up to the pool's size, then the trial's number."""
    padded = [*seed, *[0] * (_POOL - len(seed))]
    entropy: list[Any] = [np.full(len(trials), word, np.uint32) for word in padded]
    entropy.append((trials & np.uint64(_LOW)).astype(np.uint32))
    pool, constant = [], 0x43B0D7E5
    for source in entropy[:_POOL]:
        word, constant = _hashed(source, constant, 0x931E8875)
        pool.append(word)
    for place in range(_POOL):
        constant = _mix_in(pool, pool[place], constant, leaving=place)
    constant = _mix_in(pool, entropy[_POOL], constant)
    if len(trials) and int(trials[-1]) > _LOW:
        high = (trials >> np.uint64(32)).astype(np.uint32)
        with_high = [word.copy() for word in pool]
        _mix_in(with_high, high, constant)
        pool = [np.where(high > 0, more, word) for more, word in zip(with_high, pool, strict=True)]
    return pool


def _mix_in(pool: list[Any], source: Any, constant: int, leaving: int = -1) -> int:
    """Mix a word into every place of the pool but its own; the constant for the next."""
    for place in range(_POOL):
        if place != leaving:
            word, constant = _hashed(source, constant, 0x931E8875)
            mixed = np.uint32(0xCA01F9DD) * pool[place] - np.uint32(0x4973F715) * word
            pool[place] = mixed ^ (mixed >> _HALF)
    return constant


@compiled
def mix(states: Streams) -> None:
    """Advance every fresh stream by twelve words, as SFC64 asks."""
    for i in range(states.shape[0]):
        for _ in range(MIXING_ROUNDS):
            word(states[i])


@inlined
def word(stream: Stream) -> np.uint64:
    """The next 64 random bits."""
    out = stream.a + stream.b + stream.counter
    c = stream.c
    stream.a = stream.b ^ (stream.b >> np.uint64(11))
    stream.b = c + (c << np.uint64(3))
    stream.c = ((c << np.uint64(24)) | (c >> np.uint64(40))) + out
    stream.counter += np.uint64(1)
    return out


@inlined
def place_of(stream: Stream) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Where a stream stands, to `go_back` there."""
    return stream.a, stream.b, stream.c, stream.counter


@inlined
def go_back(stream: Stream, place: tuple[np.uint64, np.uint64, np.uint64, np.uint64]) -> None:
    """Let a stream give again what it gave since it stood at a place."""
    stream.a, stream.b, stream.c, stream.counter = place


@inlined
def uniform(stream: Stream) -> float:
    """A uniform number in [0, 1), a multiple of 2^-53."""
    return np.int64(word(stream) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def wins_tie(ties: int, stream: Stream) -> bool:
    """Whether the latest of `ties` equal candidates takes the lead: each ends up with the same chance."""
    return uniform(stream) * ties < 1.0


@inlined
def normal(stream: Stream) -> float:
    """A standard normal number, by the ziggurat of 256 layers."""
    bits = word(stream)
    layer, sign, magnitude = _ziggurat_parts(bits)
    x = sign * np.int64(magnitude) * _WIDTH[layer]
    # Split here so that the common case, 99 draws in 100, is small enough to be inlined.
    if magnitude < _SURE[layer]:
        return x
    return _normal_edge(stream, bits)


@inlined
def _ziggurat_parts(bits: np.uint64) -> tuple[np.uint64, float, np.uint64]:
    sign = -1.0 if bits & np.uint64(0x100) else 1.0
    return bits & np.uint64(0xFF), sign, (bits >> np.uint64(9)) & np.uint64(0x000FFFFFFFFFFFFF)


@shared
def _normal_edge(stream: Stream, bits: np.uint64) -> float:
    """The rest of `normal`: a point in the edge of its layer, or in the tail, or another try."""
    while True:
        layer, sign, magnitude = _ziggurat_parts(bits)
        x = sign * np.int64(magnitude) * _WIDTH[layer]
        if magnitude < _SURE[layer]:
            return x
        if layer == 0:
            return _normal_tail(stream, magnitude)
        height = (_HEIGHT[layer - np.uint64(1)] - _HEIGHT[layer]) * uniform(stream) + _HEIGHT[layer]
        if height < math.exp(-0.5 * x * x):
            return x
        bits = word(stream)


@shared
def _normal_tail(stream: Stream, magnitude: np.uint64) -> float:
    while True:
        x = -math.log1p(-uniform(stream)) / _ZIGGURAT_EDGE
        y = -math.log1p(-uniform(stream))
        if y + y > x * x:
            return -(_ZIGGURAT_EDGE + x) if (magnitude >> np.uint64(8)) & np.uint64(1) else _ZIGGURAT_EDGE + x


@inlined
def gamma(stream: Stream, shape: float) -> float:
    """A Gamma(shape, 1) number by Marsaglia and Tsang's method; shapes below 1 by their power rule."""
    drawn = gamma_from_one(stream, shape + 1.0 if shape < 1.0 else shape)
    return drawn * (1.0 - uniform(stream)) ** (1.0 / shape) if shape < 1.0 else drawn


@inlined
def gamma_from_one(stream: Stream, shape: float) -> float:
    """A Gamma(shape, 1) number for a shape of at least 1."""
    b = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * b)
    while True:
        x = normal(stream)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = uniform(stream)
        if u < 1.0 - 0.0331 * x * x * x * x or math.log(u) < 0.5 * x * x + b * (1.0 - v + math.log(v)):
            return b * v


# Called, not inlined: callers have several, and copies of two gammas each would take longer to compile and to run.
@shared
def beta(stream: Stream, a: float, b: float) -> float:
    """A Beta(a, b) number, as the share of one of two gammas; uniform where a = b = 1."""
    if a == 1.0 and b == 1.0:
        return uniform(stream)
    x = gamma(stream, a)
    return x / (x + gamma(stream, b))


@shared
def beta_above(stream: Stream, a: float, b: float, bar: float) -> float:
    """A Beta(a, b) number, a and b at least 1, given that it exceeds `bar`: by trying, where that succeeds soon."""
    n = a + b
    gap = n * bar - a
    # Not far above the mean: by less than a standard deviation.
    if gap <= 0.0 or gap * gap * (n + 1.0) <= a * b:
        while True:
            x = beta(stream, a, b)
            if x > bar:
                return x
    return _beta_far_above(stream, a, b, bar)


@shared
def _beta_far_above(stream: Stream, a: float, b: float, bar: float) -> float:
    """A Beta(a, b) number above a bar far above the mean: the density is log-concave, so an exponential law covers it.

    Where the density still grows there, which it does with a few b only, by its quantile or by trying.
    """
    if bar >= 1.0:
        return 1.0
    if b == 1.0:
        below = bar**a
        return min(1.0, (below + (1.0 - below) * (1.0 - uniform(stream))) ** (1.0 / a))
    rate = (b - 1.0) / (1.0 - bar) - (a - 1.0) / bar
    while rate <= 0.0:
        x = beta(stream, a, b)
        if x > bar:
            return x
    while True:
        step = -math.log1p(-uniform(stream)) / rate
        if step < 1.0 - bar:
            height = (a - 1.0) * math.log1p(step / bar) + (b - 1.0) * math.log1p(-step / (1.0 - bar)) + rate * step
            if math.log1p(-uniform(stream)) <= height:
                return bar + step


@inlined
def beta_below(stream: Stream, a: float, b: float, bar: float) -> float:
    """A Beta(a, b) number, a and b at least 1, given that it is at most `bar`."""
    return 1.0 - beta_above(stream, b, a, 1.0 - bar)


@inlined
def bernoulli_bit(key: np.uint64, play: int, value: float) -> int:
    """A bit of mean `value`, fixed by the arm's key and the number of the play (not by the order of telling).

    A value of 0 or 1 is its own bit. Otherwise SplitMix64's finaliser scrambles (key, play) to a uniform.
    """
    bit = int(value)
    if value == bit:
        return bit
    z = key + np.uint64(play) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return 1 if np.int64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0) < value else 0
