"""Checks of confidence sequences and e-values: how often they are ever wrong, exactly, and confseq's numbers."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import special

from safebandit.core.arms import Numbers
from safebandit.core.e_values import two_by_two
from safebandit.core.sequences import betting_bounds, betting_wealth, log_mixture, mixture_bounds, planned_bounds
from safebandit.studies.validation import numbers
from safebandit.studies.validation.check import AT_LEAST, AT_MOST, Check, Extent, Obtained

GROUP = "sequences"
DELTA, LOOKS = 0.2, 60
_KINDS: dict[str, Callable[[float, float], tuple[float, float]]] = {
    "mixture": lambda n, s: mixture_bounds(n, s, 1.0 - DELTA),
    "planned": lambda n, s: planned_bounds(n, s, 1.0 - DELTA, 40.0),
}


@functools.cache
def ever_missed(kind: str, mean: float) -> float:
    """The chance that a sequence ever misses the mean of bits, at the worst of sixty looks: exact, by the counts."""
    bounds, alive, ever = _KINDS[kind], np.ones(1), 0.0
    for n in range(1, LOOKS + 1):
        alive = np.append(alive, 0.0) * (1.0 - mean) + np.append(0.0, alive) * mean
        ends = np.array([bounds(float(n), float(s)) for s in range(n + 1)])
        missed = (ends[:, 0] > mean) | (ends[:, 1] < mean)
        ever += float(alive[missed].sum())
        alive[missed] = 0.0
    return ever


def _missed(kind: str, mean: float) -> Callable[[Extent], Obtained]:
    return lambda _: Obtained(ever_missed(kind, mean))


def _mixture(_: Extent) -> Obtained:
    """The log of the likelihood mixed by Beta(a, b) over that of r, by its definition."""
    worst = 0.0
    for n, s in ((1.0, 0.0), (5.0, 2.0), (100.0, 20.0), (40.0, 12.5)):
        for r, a, b in ((0.3, 1.0, 1.0), (0.05, 0.5, 2.0)):
            exact = special.betaln(s + a, n - s + b) - special.betaln(a, b)
            exact -= special.xlogy(s, r) + special.xlog1py(n - s, -r)
            worst = max(worst, abs(log_mixture(n, s, r, a, b) - float(exact)))
    return Obtained(worst)


def outcomes() -> Numbers:
    """The eighty outcomes that confseq was given."""
    return np.asarray(np.round(np.random.default_rng(20).beta(2, 6, 80), 2))


def _wealth(place: int) -> Callable[[Extent], Obtained]:
    return lambda _: Obtained(float(betting_wealth(outcomes(), np.array(numbers.CONFSEQ_LOOKS), 0.2)[place]))


def _bound(side: int, place: int) -> Callable[[Extent], Obtained]:
    return lambda _: Obtained(float(betting_bounds(outcomes(), np.array(numbers.CONFSEQ_LOOKS), 0.95)[side][place]))


def _by_chance(_: Extent) -> Obtained:
    """The mean of the e-value of pairs where both means are the same, over all bits of ten units."""
    bits, worst = list(itertools.product((0.0, 1.0), repeat=5)), 0.0
    for mean in (0.1, 0.5, 0.8):
        total = math.fsum(
            mean ** (sum(one) + sum(other)) * (1.0 - mean) ** (10 - sum(one) - sum(other))
            * two_by_two(np.array(one), np.array(other))
            for one, other in itertools.product(bits, bits)
        )  # fmt: skip
        worst = max(worst, total)
    return Obtained(worst)


def _checks() -> Iterator[Check]:
    for kind in _KINDS:
        for mean in (0.05, 0.2, 0.5):
            yield Check(
                f"{kind} sequence, mean {mean:g}: chance to ever miss it in {LOOKS} looks",
                GROUP,
                "its promise (Ville's inequality), by exact enumeration",
                DELTA,
                _missed(kind, mean),
                "at most what is promised",
                1e-12,
                sense=AT_MOST,
            )
        yield Check(
            f"{kind} sequence, mean 0.5: it is not so wide as never to miss",
            GROUP,
            "exact enumeration",
            0.1 * DELTA,
            _missed(kind, 0.5),
            "at least a tenth of what is promised",
            sense=AT_LEAST,
        )
    yield Check(
        "mixture of likelihoods: the largest difference",
        GROUP,
        "SciPy, special.betaln",
        0.0,
        _mixture,
        "digits that both promise: 9",
        1e-9,
    )
    for place, n in enumerate(numbers.CONFSEQ_LOOKS):
        yield Check(
            f"log wealth of bets against 0.2 after {n} outcomes",
            GROUP,
            "the package confseq 0.0.11",
            numbers.CONFSEQ_WEALTH[place],
            _wealth(place),
            "12 digits: the same sum",
            1e-12,
        )
        for side, word in enumerate(("lower", "upper")):
            printed = (numbers.CONFSEQ_LOW, numbers.CONFSEQ_HIGH)[side][place]
            yield Check(
                f"{word} bound by bets after {n} outcomes",
                GROUP,
                "the package confseq 0.0.11",
                printed,
                _bound(side, place),
                "a step of our grid of means, 1/128",
                1 / 128,
            )
    yield Check(
        "e-value of pairs with equal means: its mean, ten units",
        GROUP,
        "its promise, by exact enumeration",
        1.0,
        _by_chance,
        "at most 1",
        1e-12,
        sense=AT_MOST,
    )


CHECKS = tuple(_checks())
