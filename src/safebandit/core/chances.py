"""What Beta posteriors say of one arm alone: that it is safe, that its reward is large enough, how much is known of it.

A mean of which S of N bits were 1 has the posterior Beta(a + S, b + N - S), where Beta(a, b) is the prior; those of
several risks are independent. An arm is safe where every risk is at most its limit.
"""

from __future__ import annotations

from safebandit.core.arms import REWARD, Seen, State, at, quantity
from safebandit.core.bernoulli import beta_below, beta_quantile
from safebandit.core.dispatch import inlined, shared


@inlined
def known_risks(state: State, k: int) -> int:
    """How many units of arm k have a known risk: of several risks, that of which fewest are known."""
    fewest = quantity(state, k, 1).plays
    for j in range(2, 1 + state.risks):
        fewest = min(fewest, quantity(state, k, j).plays)
    return fewest


@inlined
def chance_safe(state: State, k: int, a: float, b: float) -> float:
    """The chance that every risk of arm k is at most its limit."""
    chance = 1.0
    for j in range(1, 1 + state.risks):
        risk = quantity(state, k, j)
        chance *= beta_below(a + risk.ones, b + risk.plays - risk.ones, risk.limit)
    return chance


@inlined
def chance_below(seen: Seen, bound: float, a: float, b: float) -> float:
    """The chance that a mean is below a bound."""
    return beta_below(a + seen.ones, b + seen.plays - seen.ones, bound)


@inlined
def leading(state: State) -> int:
    """The arm of the largest mean reward of those left with a known reward, the first of equals; -1 if none has one."""
    best = -1
    for k in range(state.size):
        reward = quantity(state, k, REWARD)
        known = reward.plays > 0 and not at(state.arms, k).dropped
        if known and (best < 0 or reward.mean > quantity(state, best, REWARD).mean):
            best = k
    return best


@shared
def interval_width(a: float, b: float, confidence: float) -> float:
    """The width of the interval that leaves out (1 - confidence) / 2 of Beta(a, b) on either side."""
    outside = 0.5 * (1.0 - confidence)
    return _quantile(a, b, 1.0 - outside) - _quantile(a, b, outside)


@shared
def _quantile(a: float, b: float, level: float) -> float:
    """The quantile of Beta(a, b), for any a and b above 0."""
    if a >= 1.0 and b >= 1.0:
        return beta_quantile(a, b, level)
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        if beta_below(a, b, middle) < level:
            low = middle
        else:
            high = middle
    return high
