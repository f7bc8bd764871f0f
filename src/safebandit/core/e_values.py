"""E-values: how much the outcomes speak against a hypothesis, at any look, however often one looks.

An e-value is never negative, and has a mean of at most 1 where the hypothesis is true, at any stopping time: it is 1/x
or more with a chance of at most x. Those of trials that follow each other multiply, also where one is begun because of
the last; those of several hypotheses at once are judged by `e_bh`.
"""

from __future__ import annotations

import math

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.bernoulli import beta_below, chance_larger, log_beta
from safebandit.core.dispatch import compiled, inlined, shared

# How many ones, and as many zeros, a guess begins with: what Turner, Ly and Gruenwald found best.
GUESS = 0.18


@shared
def log_wealth_above(s: float, n: float, phi: float, a: float, b: float) -> float:
    """The log of an e-process against "the mean is at most phi", after s of n bits were 1.

    It is the likelihood mixed over all means above phi by Beta(a, b), over that of phi:

        E = B(s+a, n-s+b) / (B(a, b) phi^s (1-phi)^(n-s)) * P(Beta(s+a, n-s+b) > phi) / P(Beta(a, b) > phi).

    Where the mean is at most phi, each likelihood ratio of that mixture shrinks in the mean, so E ever reaches x with
    a chance of at most 1/x, over all looks together (Ville's inequality).

    >>> round(log_wealth_above(3, 3, 0.5, 1, 1), 6)
    1.321756
    """
    if phi <= 0.0:
        return math.inf if s > 0 else 0.0
    if phi >= 1.0:
        return 0.0
    after, before = beta_below(b + n - s, a + s, 1.0 - phi), beta_below(b, a, 1.0 - phi)
    if after <= 0.0 or before <= 0.0:
        return -math.inf
    mixed = log_beta(s + a, n - s + b) - log_beta(a, b) - s * math.log(phi) - (n - s) * math.log1p(-phi)
    return mixed + math.log(after) - math.log(before)


@inlined
def _log_most(s: float, n: float) -> float:
    """The log of the likelihood of s ones of n bits at their own share, where it is largest."""
    found = s * math.log(s / n) if s > 0.0 else 0.0
    return found + ((n - s) * math.log((n - s) / n) if s < n else 0.0)


@inlined
def wealth_larger(ones: float, plays: float, other_ones: float, other_plays: float) -> float:
    """An e-process against "the mean of one arm is at most that of the other", p <= q.

    It is the likelihood of both arms' bits mixed over all pairs of means in the other order, over its largest value:

        E = 2 P(p > q | bits) B(S+1, N-S+1) B(S'+1, N'-S'+1) / max over p <= q of p^S (1-p)^(N-S) q^S' (1-q)^(N'-S').

    That is at both shares where they are in that order, and otherwise at the pooled share for both. So what is divided
    by is at least the likelihood of the truth, if that is such a pair, and the quotient is below a martingale,
    whatever rule gives the arms (universal inference, Wasserman, Ramdas, Balakrishnan 2020).

    >>> round(wealth_larger(9, 10, 2, 10), 4)
    34.811
    """
    if ones * other_plays > other_ones * plays:
        largest = _log_most(ones + other_ones, plays + other_plays)
    else:
        largest = _log_most(ones, plays) + _log_most(other_ones, other_plays)
    missed, others = plays - ones, other_plays - other_ones
    larger = chance_larger(ones + 1.0, missed + 1.0, other_ones + 1.0, others + 1.0)[0]
    mixed = log_beta(ones + 1.0, missed + 1.0) + log_beta(other_ones + 1.0, others + 1.0)
    return 2.0 * larger * math.exp(mixed - largest)


@compiled
def two_by_two(first: Numbers, second: Numbers) -> float:
    """An e-value against "both means are the same", of bits that came in pairs, one of each arm.

    Each pair multiplies it by its likelihood under the means guessed from the pairs before, over that under their
    average (Turner, Ly and Gruenwald 2024). A pair must be complete whatever its first bit was, as in blocks of two;
    where the rule that gives arms looks at single bits, ask `wealth_larger`.

    >>> round(two_by_two(np.array([1.0, 1, 1, 1, 0, 1]), np.array([0.0, 0, 1, 0, 0, 0])), 4)
    1.1283
    """
    wealth, ones, others = 1.0, GUESS, GUESS
    for i in range(first.size):
        p, q = ones / (i + 2.0 * GUESS), others / (i + 2.0 * GUESS)
        middle = 0.5 * (p + q)
        wealth *= p / middle if first[i] == 1.0 else (1.0 - p) / (1.0 - middle)
        wealth *= q / middle if second[i] == 1.0 else (1.0 - q) / (1.0 - middle)
        ones += first[i]
        others += second[i]
    return wealth


def e_bh(values: Numbers, level: float) -> Numbers:
    """Which of several hypotheses are refuted, by their e-values: of those at most a share `level` is true, on average,
    whatever the dependence between them (e-BH, Wang and Ramdas 2022).

    The k hypotheses of the largest e-values are, for the largest k whose least e-value is at least K / (level k).

    >>> e_bh(np.array([70.0, 1.0, 32.0]), 0.05)
    array([ True, False,  True])
    """
    order = np.argsort(-values, kind="stable")
    ranks = np.arange(1, values.size + 1)
    passed = np.flatnonzero(values[order] * ranks * level >= values.size)
    refuted = np.zeros(values.size, bool)
    refuted[order[: passed[-1] + 1 if passed.size else 0]] = True
    return refuted
