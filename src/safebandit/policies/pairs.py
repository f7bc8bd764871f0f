"""The best mixture of at most two arms, by computing the indices of few.

A mixture takes one arm that is safe by its risk index, and perhaps one that is not, of larger reward index. Of a policy
its reward index and its risk index are asked, and the arm whose mean risk is known, if any.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.arms import EVERY, NONE, Seen, State, at, set_reach
from safebandit.dispatch import generic, inlined, woven
from safebandit.indices.bayes import BayesUpper
from safebandit.indices.interface import line, line_until, lower_near, steady, upper_near
from safebandit.indices.kl import KLLower, KLUpper, tangent
from safebandit.streams import Stream, wins_tie

# Values this close are equal: they come from iterations that may end a little apart.
TIE = 1e-9
MARGIN = 2e-9


class Pair(NamedTuple):
    """A mixture: arm `other` with probability `share`, else arm `safe`. A single arm has share 0."""

    safe: int
    other: int
    share: float


class Offer(NamedTuple):
    """A mixture, its reward index, the price of risk (how much more of it a little more risk would bring), and the
    reward index of the next best.
    """

    pair: Pair
    value: float
    price: float
    second: float


@generic
def risk_bound(index: object, seen: Seen, t: int, alpha: float, before: float, stream: Stream) -> float:
    """The bound on a mean risk that an index gives: a lower one, unless it is an upper index."""
    raise NotImplementedError


@risk_bound.register(object)
def _lower_bound(index: object, seen: Seen, t: int, alpha: float, before: float, stream: Stream) -> float:
    return lower_near(index, seen, t, alpha, before, stream)


@risk_bound.register(KLUpper)
@risk_bound.register(BayesUpper)
def _upper_bound(index: object, seen: Seen, t: int, alpha: float, before: float, stream: Stream) -> float:
    return upper_near(index, seen, t, before, stream)


@generic
def risk_line(
    index: object, seen: Seen, t: int, until: int, alpha: float, before: float, stream: Stream
) -> tuple[float, float]:
    """A reach and a slope such that the bound is at least reach + slope log s in rounds s from t to `until`."""
    raise NotImplementedError


@risk_line.register(object)
def _flat_below(
    index: object, seen: Seen, t: int, until: int, alpha: float, before: float, stream: Stream
) -> tuple[float, float]:
    return lower_near(index, seen, until, alpha, before, stream), 0.0


@risk_line.register(KLLower)
def _tangent_below(
    index: KLLower, seen: Seen, t: int, until: int, alpha: float, before: float, stream: Stream
) -> tuple[float, float]:
    bound = lower_near(index, seen, t, alpha, before, stream)
    reach, slope = tangent(index.level, 1.0 - seen.mean, seen.plays, t, 1.0 - bound)
    return 1.0 - reach, -slope


@risk_line.register(KLUpper)
@risk_line.register(BayesUpper)
def _grows(
    index: object, seen: Seen, t: int, until: int, alpha: float, before: float, stream: Stream
) -> tuple[float, float]:
    return upper_near(index, seen, t, before, stream), 0.0


@woven
def _compute_indices(policy: Any, state: State, k: int, t: int, alpha: float) -> None:
    """An arm's reward index into `ceiling`, its risk index into `risk_bound`; the last ones are near."""
    arm = at(state.first, k)
    arm.ceiling = upper_near(policy.reward, arm.reward, t, arm.ceiling, state.stream)
    if k == policy.safe_arm:
        arm.risk_bound = policy.safe_risk
    else:
        arm.risk_bound = risk_bound(policy.risk, arm.risk, t, alpha, arm.risk_bound, state.stream)
    at(state.front, k).mark = t


@woven
def _compute_every_index(policy: Any, state: State, t: int, alpha: float) -> None:
    for k in range(state.size):
        if at(state.front, k).mark != t:
            _compute_indices(policy, state, k, t, alpha)


@woven
def _draw_lines(policy: Any, state: State, k: int, t: int, alpha: float) -> None:
    """A line above an arm's reward index, and one below its risk index, over log t."""
    arm, place, until = at(state.first, k), at(state.front, k), state.notes.until
    place.reach, place.slope = line(policy.reward, arm.reward, t, until, arm.ceiling, state.stream)
    if k == policy.safe_arm:
        arm.risk_reach, arm.risk_slope = policy.safe_risk, 0.0
    else:
        arm.risk_reach, arm.risk_slope = risk_line(policy.risk, arm.risk, t, until, alpha, arm.risk_bound, state.stream)


@woven
def best_pair(policy: Any, state: State, t: int, alpha: float) -> Pair:
    """The best mixture of all arms, with the indices of few: of the last one's arms, and of those that could better it.

    At the best mixture's price of risk, an arm whose lines do not reach its value takes no part in a better one
    (duality of linear programs).
    """
    notes = state.notes
    if notes.changed == EVERY or t > notes.until or not (steady(policy.reward) and steady(policy.risk)):
        notes.changed = NONE
        notes.until = min(line_until(policy.reward, t), line_until(policy.risk, t))
        for k in range(state.size):
            set_reach(state, k, np.inf)
            at(state.front, k).mark = 0
        _compute_every_index(policy, state, t, alpha)
    else:
        _compute_indices(policy, state, notes.leader, t, alpha)
        if notes.top != notes.leader:
            _compute_indices(policy, state, notes.top, t, alpha)
    while True:
        offer = _best_computed(state, t, alpha)
        if offer.pair.safe < 0:
            _compute_every_index(policy, state, t, alpha)
            offer = _best_computed(state, t, alpha)
            break
        if not _compute_rivals(policy, state, t, alpha, offer):
            break
    pair = offer.pair
    if offer.second >= offer.value - TIE:
        pair = _one_of_the_tied(state, t, alpha, offer)
    if pair.safe >= 0:
        notes.leader, notes.top = pair.safe, pair.other
    return pair


@woven
def _compute_rivals(policy: Any, state: State, t: int, alpha: float, offer: Offer) -> bool:
    """Compute the indices of arms that might take part in a better mixture; whether there were any."""
    x, found = math.log(t), False
    for k in range(state.size):
        place = at(state.front, k)
        # Risks are at least 0.
        if place.mark == t or place.reach + place.slope * x + offer.price * alpha < offer.value - MARGIN:
            continue
        if place.reach == np.inf:
            _draw_lines(policy, state, k, t, alpha)
        arm = at(state.first, k)
        excess = arm.risk_reach + arm.risk_slope * x - alpha
        # Not `>=`: an arm whose lines are no numbers is computed too.
        if not place.reach + place.slope * x - offer.price * excess < offer.value - MARGIN:
            _compute_indices(policy, state, k, t, alpha)
            _draw_lines(policy, state, k, t, alpha)
            found = True
    return found


@inlined
def _share(one: Any, two: Any, alpha: float) -> float:
    """How much of an unsafe arm, of larger reward index, a safe one is mixed with; NaN where the two are no mixture."""
    if two.risk_bound > alpha and two.ceiling > one.ceiling and two.available:
        return (alpha - one.risk_bound) / (two.risk_bound - one.risk_bound)
    return math.nan


@inlined
def _value(one: Any, two: Any, share: float) -> float:
    """The reward index of a mixture; of an arm alone its own, which may be infinite."""
    return one.ceiling if share == 0.0 else one.ceiling + share * (two.ceiling - one.ceiling)


@inlined
def _best_computed(state: State, t: int, alpha: float) -> Offer:
    """The mixture of largest reward index with risk index <= alpha, of arms computed in round t; safe = -1 if none.

    The optimum of a linear program with one constraint mixes at most two arms: one safe by its index, and one unsafe of
    larger reward index, in the proportion that makes the mixture's risk index alpha (appendix, policy approaches).
    """
    best, top, second = Pair(-1, -1, 0.0), -np.inf, -np.inf
    for i in range(state.size):
        if not _may_be_safe_part(state, i, t, alpha):
            continue
        one = at(state.first, i)
        for j in range(state.size):
            if at(state.front, j).mark != t:
                continue
            two = at(state.first, j)
            share = 0.0 if i == j else _share(one, two, alpha)
            value = _value(one, two, share)
            # The first number counts even if it is minus infinity.
            if value > top or (best.safe < 0 and value == top):
                best, top, second = Pair(i, j, share), value, top
            elif value > second:
                second = value
    return Offer(best, top, _price(state, t, alpha, best), second)


@inlined
def _may_be_safe_part(state: State, k: int, t: int, alpha: float) -> bool:
    arm = at(state.first, k)
    return at(state.front, k).mark == t and arm.risk_bound <= alpha and arm.available != 0


@inlined
def _price(state: State, t: int, alpha: float, best: Pair) -> float:
    """The price of risk at the best mixture. It is 0 at a single arm, unless its risk index is alpha already.

    The steepest is taken then: what a little more risk would bring at most.
    """
    if best.safe < 0:
        return 0.0
    one = at(state.first, best.safe)
    if best.share > 0.0:
        two = at(state.first, best.other)
        return (two.ceiling - one.ceiling) / (two.risk_bound - one.risk_bound)
    price = 0.0
    for j in range(state.size):
        two = at(state.first, j)
        if at(state.front, j).mark == t and two.risk_bound > alpha and two.available:
            price = max(price, (two.ceiling - one.ceiling) / (two.risk_bound - alpha))
    return price


@inlined
def _one_of_the_tied(state: State, t: int, alpha: float, offer: Offer) -> Pair:
    """One of the mixtures whose value is that of the best: each by the same chance."""
    chosen, ties = offer.pair, 0
    for i in range(state.size):
        if not _may_be_safe_part(state, i, t, alpha):
            continue
        one = at(state.first, i)
        for j in range(state.size):
            two = at(state.first, j)
            if at(state.front, j).mark == t:
                share = 0.0 if i == j else _share(one, two, alpha)
                if _value(one, two, share) >= offer.value - TIE:
                    ties += 1
                    if wins_tie(ties, state.stream):
                        chosen = Pair(i, j, share)
    return chosen
