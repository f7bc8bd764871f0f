"""Confidence sequences: intervals for a mean that hold at all looks at once, whatever rule gave the arms and stopped.

Each number r in [0, 1] is a hypothesis, "the mean is r", and has a wealth W(r) that bets against it would have made.
If it is true, W(r) is a martingale or shrinks, so it ever reaches 1/delta with a chance of at most delta (Ville's
inequality). The sequence at any time is what has not been refuted: { r : W(r) < 1/delta }. Nothing is asked of the rule
by which arms are given, only that the mean of an arm's next outcome, given the past, is always the same.

    mixture   W(r) = B(S+a, N-S+b) / (B(a, b) r^S (1-r)^(N-S)): the likelihood of bits mixed by Beta(a, b)
    planned   W(r) mixes two bets that pay most at a planned N with the one above
    betting   W(r) = product of 1 + lambda (y - r), with stakes lambda from past outcomes, for any law on [0, 1]

The first two hold for any law on [0, 1], too, with S the sum of the outcomes: a likelihood ratio is convex in y, so its
mean is largest for bits. Gates of policies (`MixtureGate`, `BettingGate`) and rules that stop (`HarmE`) ask these very
wealths.
"""

from __future__ import annotations

import math

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.core.bernoulli import divergence, kl_lower, kl_upper, log_beta
from safebandit.core.bets import LOG_TWO, bet_on_grid, grid_lower, next_betting_wealth, next_moments
from safebandit.core.dispatch import compiled, inlined
from safebandit.core.e_values import log_wealth_above

# The share of the wealth that `planned_bounds` bets on the planned number of outcomes.
PLANNED_SHARE = 0.9
HALVINGS = 50
GOLDEN = 0.6180339887498949
GOLDEN_STEPS = 40
# How many means the bets of `betting_bounds` are against.
GRID = 128


# Mixtures


@inlined
def next_mixture_wealth(log_wealth: float, ones: int, plays: int, bit: int, r: float, a: float, b: float) -> float:
    """Give log W(r) after one more bit, behind `ones` of `plays`: its chance under the mixture so far multiplies W,
    over that under r. A bit that r makes impossible refutes it for good; against r = 1 nothing is kept.
    """
    hits = ones + a if bit == 1 else plays - ones + b
    under_r = r if bit == 1 else 1.0 - r
    if under_r > 0.0:
        return log_wealth + math.log(hits / ((plays + a + b) * under_r))
    return math.inf if bit == 1 else log_wealth


@inlined
def unrefuted_divergence(log_wealth: float, mean: float, plays: float, r: float, delta: float) -> float:
    """How large d(mean||r') may be for an r' that is not refuted, from log W(r) of a mixture at some r.

    Against another r', log W is less by N (d(mean||r) - d(mean||r')): no other wealth need be kept.
    """
    return divergence(mean, r) - (log_wealth + math.log(delta)) / plays


@compiled
def log_mixture(plays: float, total: float, r: float, a: float, b: float) -> float:
    """The log of W(r) of the mixture: log B(S+a, N-S+b) - log B(a, b) - S log r - (N-S) log(1-r).

    >>> round(log_mixture(3, 3, 0.5, 1, 1), 6)
    0.693147
    """
    missed = plays - total
    if (r <= 0.0 and total > 0.0) or (r >= 1.0 and missed > 0.0):
        return math.inf
    mixed = log_beta(total + a, missed + b) - log_beta(a, b)
    return mixed - (total * math.log(r) if total > 0.0 else 0.0) - (missed * math.log1p(-r) if missed > 0.0 else 0.0)


@compiled
def mixture_bounds(
    plays: float, total: float, confidence: float, a: float = 1.0, b: float = 1.0
) -> tuple[float, float]:
    """The ends of the mixture's sequence after `plays` outcomes of this sum; both sides together err by 1 - confidence.

    N d(mean||r) is what log W(r) is above log W(mean), so the ends are inverses of the divergence.

    >>> low, high = mixture_bounds(100, 20, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.0928, 0.3482)
    """
    if plays <= 0.0:
        return 0.0, 1.0
    mean = total / plays
    room = unrefuted_divergence(log_mixture(plays, total, mean, a, b), mean, plays, mean, 1.0 - confidence)
    return kl_lower(mean, room), kl_upper(mean, room)


@compiled
def mixture_holds(plays: Numbers, totals: Numbers, means: Numbers, confidence: float) -> Numbers:
    """Whether each of these means lies in the flat mixture's sequence after so many outcomes of this sum: 1 or 0."""
    found = np.empty(plays.size)
    for i in range(plays.size):
        wealth = log_mixture(plays[i], totals[i], means[i], 1.0, 1.0)
        found[i] = 1.0 if wealth < -math.log(1.0 - confidence) else 0.0
    return found


@compiled
def mixture_lower(plays: float, total: float, confidence: float) -> float:
    """A lower sequence alone: the smallest r at which the e-process against "the mean is at most r" is below 1/delta.

    It is `log_wealth_above`, of a flat prior, by which `HarmE` stops: a limit is below this exactly where that
    refutes it. With the flat prior it only falls in r: p = 1 - (1-r) u with u uniform makes every ratio p/r fall.

    >>> round(mixture_lower(100, 20, 0.95), 4)
    0.0935
    """
    if total <= 0.0:
        return 0.0
    low, high = 0.0, total / plays
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if log_wealth_above(total, plays, middle, 1.0, 1.0) >= -math.log(1.0 - confidence):
            low = middle
        else:
            high = middle
    return low


@compiled
def mixture_upper(plays: float, total: float, confidence: float) -> float:
    """An upper sequence alone: that of `mixture_lower` for 1 - y."""
    return 1.0 - mixture_lower(plays, plays - total, confidence)


# Bets on a planned number of outcomes


@compiled
def _mean_at(r: float, budget: float) -> float:
    """The p above r at which d(p||r) is the budget; 1 where there is none."""
    if r <= 0.0 or -math.log(r) <= budget:
        return 1.0
    low, high = r, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if divergence(middle, r) < budget:
            low = middle
        else:
            high = middle
    return low


@compiled
def _log_planned(plays: float, total: float, r: float, confidence: float, planned: float) -> float:
    """The log of the wealth against an r below the mean: of the share on p above r, and of the mixture."""
    p = _mean_at(r, (LOG_TWO - math.log(1.0 - confidence)) / planned)
    missed = plays - total
    bet = total * math.log(p / r)
    if missed > 0.0:
        bet = bet + missed * (math.log1p(-p) - math.log1p(-r)) if p < 1.0 else -math.inf
    bet += math.log(0.5 * PLANNED_SHARE)
    mixed = log_mixture(plays, total, r, 1.0, 1.0) + math.log(1.0 - PLANNED_SHARE)
    most = max(bet, mixed)
    return most + math.log(math.exp(bet - most) + math.exp(mixed - most))


@compiled
def _planned_lower(plays: float, total: float, confidence: float, planned: float) -> float:
    if total <= 0.0:
        return 0.0
    low, high = 0.0, total / plays
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _log_planned(plays, total, middle, confidence, planned) >= -math.log(1.0 - confidence):
            low = middle
        else:
            high = middle
    return low


@compiled
def planned_bounds(plays: float, total: float, confidence: float, planned: float) -> tuple[float, float]:
    """The ends of a sequence that is narrowest near `planned` outcomes; both sides together err by 1 - confidence.

    Against r are bet PLANNED_SHARE of the wealth, in halves, on the two means p with planned * d(p||r) = log(2/delta),
    which just refute r by then, and the rest on the flat mixture, so that the sequence shrinks for ever. Of the half
    on the other side of r nothing is counted: what is left only falls in r below the mean, as p/r and (1-p)/(1-r) do.

    >>> low, high = planned_bounds(100, 20, 0.95, 100)
    >>> round(low, 4), round(high, 4)
    (0.1064, 0.3231)
    """
    if plays <= 0.0:
        return 0.0, 1.0
    missed = plays - total
    return _planned_lower(plays, total, confidence, planned), 1.0 - _planned_lower(plays, missed, confidence, planned)


# Differences


@inlined
def _difference_upper(n: float, mean: float, m: float, other: float, room: float) -> float:
    """The largest p - q with n d(mean||p) + m d(other||q) <= room: concave in how the room is shared out."""
    low, high = 0.0, room
    inner, outer = room * (1.0 - GOLDEN), room * GOLDEN
    at_inner = kl_upper(mean, inner / n) - kl_lower(other, (room - inner) / m)
    at_outer = kl_upper(mean, outer / n) - kl_lower(other, (room - outer) / m)
    for _ in range(GOLDEN_STEPS):
        if at_inner < at_outer:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + GOLDEN * (high - low)
            at_outer = kl_upper(mean, outer / n) - kl_lower(other, (room - outer) / m)
        else:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - GOLDEN * (high - low)
            at_inner = kl_upper(mean, inner / n) - kl_lower(other, (room - inner) / m)
    return max(at_inner, at_outer)


@compiled
def difference_bounds(
    plays: float, total: float, other_plays: float, other_total: float, confidence: float
) -> tuple[float, float]:
    """The ends of a sequence for the mean of one arm less that of another, by flat mixtures; both sides together.

    The product of the wealths W(p) W'(q) of both arms is one against the pair: all pairs that it does not refute
    are projected on p - q. That is narrower than the difference of two intervals, each at half the error.

    >>> low, high = difference_bounds(100, 30, 100, 20, 0.95)
    >>> round(low, 4), round(high, 4)
    (-0.138, 0.3335)
    """
    if plays <= 0.0 or other_plays <= 0.0:
        low, high = mixture_bounds(plays, total, confidence)
        other_low, other_high = mixture_bounds(other_plays, other_total, confidence)
        return low - other_high, high - other_low
    mean, other = total / plays, other_total / other_plays
    wealth = log_mixture(plays, total, mean, 1.0, 1.0) + log_mixture(other_plays, other_total, other, 1.0, 1.0)
    room = -math.log(1.0 - confidence) - wealth
    high = _difference_upper(plays, mean, other_plays, other, room)
    return -_difference_upper(other_plays, other, plays, mean, room), high


# Bets


@compiled
def betting_lower(values: Numbers, looks: Counts, confidence: float) -> Numbers:
    """A lower sequence by bets, for any law on [0, 1], after the first `looks` of the outcomes, which are in order.

    >>> [round(float(low), 4) for low in betting_lower(np.full(50, 0.5), np.array([10, 50]), 0.95)]
    [0.2778, 0.4438]
    """
    own, found, last = np.zeros(2 + 2 * GRID), np.zeros(looks.size), 0
    for i in range(looks.size):
        for n in range(last, looks[i]):
            bet_on_grid(own, n + 1, values[n], GRID)
        last = looks[i]
        found[i] = grid_lower(own, GRID, -math.log(1.0 - confidence))
    return found


def betting_bounds(values: Numbers, looks: Counts, confidence: float) -> tuple[Numbers, Numbers]:
    """The ends of a sequence by bets, for any law on [0, 1]; each side errs by half of 1 - confidence."""
    half = 0.5 * (1.0 + confidence)
    return betting_lower(values, looks, half), 1.0 - betting_lower(1.0 - values, looks, half)


@compiled
def betting_wealth(values: Numbers, looks: Counts, r: float) -> Numbers:
    """The log of the wealth of `BettingGate` against "the mean is at most r", after the first `looks` outcomes."""
    found, mean, squares, log_wealth, kappas, last = np.zeros(looks.size), 0.0, 0.0, 0.0, 0.0, 0
    for i in range(looks.size):
        for n in range(last, looks[i]):
            log_wealth, kappas = next_betting_wealth(log_wealth, kappas, mean, squares, n + 1, values[n], r)
            mean, squares = next_moments(mean, squares, n + 1, values[n])
        last = looks[i]
        found[i] = log_wealth
    return found
