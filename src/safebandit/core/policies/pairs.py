"""The best mixture of at most two arms, by computing the indices of few.

A mixture takes one arm that is safe by its risk index, and perhaps one that is not, of larger reward index. Of a policy
its reward index and its risk index are asked, and the arm whose mean risk is known, if any.

To find the best is a linear program with one constraint (appendix, policy approaches), solved by the simplex method
from the last round's mixture on. At a mixture's price of risk an arm is worth its reward index less the price of its
excess risk. The best is the mixture whose value no arm exceeds: an arm whose lines stay below it need not be computed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import EVERY, NONE, Seen, State, at
from safebandit.core.dispatch import generic, inlined, woven
from safebandit.core.indices.bayes import BayesUpper
from safebandit.core.indices.contest import can_reach, four_behind
from safebandit.core.indices.interface import line, line_until, lower_near, steady, upper_near
from safebandit.core.indices.kl import KLLower, KLUpper, tangent
from safebandit.core.streams import Stream, wins_tie

# Values this close are equal: they come from iterations that may end a little apart.
TIE = 1e-9
MARGIN = 2e-9
# By so much an arm must exceed a mixture's value to better it.
BETTER = 1e-12
# A line this close to its index is not drawn anew.
LOOSE = 1e-7
# At such a price lines would lose digits.
DEAR = 1e4


class Mixture(NamedTuple):
    """Arm `other` with probability `share`, else arm `safe`; its reward index, and the price of risk.

    A single arm is both, with share 0 and price 0; where there is no mixture they are -1. The price is how much more of
    the reward index a little more risk would bring.
    """

    safe: int
    other: int
    share: float
    value: float
    price: float


NO_MIXTURE = Mixture(-1, -1, 0.0, -np.inf, 0.0)


@generic
def risk_bound(index: object, seen: Seen, t: int, alpha: float, before: float, since: int, stream: Stream) -> float:
    """The bound on a mean risk that an index gives: a lower one, unless it is an upper index.

    `before` is near it: what it was in round `since`, if that is not 0.
    """
    raise NotImplementedError


@risk_bound.register(object)
def _lower_bound(index: object, seen: Seen, t: int, alpha: float, before: float, since: int, stream: Stream) -> float:
    return lower_near(index, seen, t, alpha, before, since, stream)


@risk_bound.register(KLUpper)
@risk_bound.register(BayesUpper)
def _upper_bound(index: object, seen: Seen, t: int, alpha: float, before: float, since: int, stream: Stream) -> float:
    return upper_near(index, seen, t, before, since, stream)


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
    return lower_near(index, seen, until, alpha, before, 0, stream), 0.0


@risk_line.register(KLLower)
def _tangent_below(
    index: KLLower, seen: Seen, t: int, until: int, alpha: float, before: float, stream: Stream
) -> tuple[float, float]:
    bound = lower_near(index, seen, t, alpha, before, 0, stream)
    reach, slope = tangent(index.level, 1.0 - seen.mean, seen.plays, t, 1.0 - bound)
    return 1.0 - reach, -slope


@risk_line.register(KLUpper)
@risk_line.register(BayesUpper)
def _grows(
    index: object, seen: Seen, t: int, until: int, alpha: float, before: float, stream: Stream
) -> tuple[float, float]:
    return upper_near(index, seen, t, before, 0, stream), 0.0


@inlined
def forget_arm(state: State, k: int) -> None:
    """What was noted of an arm no longer holds."""
    place = at(state.front, k)
    place.reach = np.inf
    place.slope = 0.0
    place.mark = 0.0


@woven
def _compute_indices(policy: Any, state: State, k: int, t: int, alpha: float) -> None:
    """An arm's reward index into `ceiling`, its risk index into `risk_bound`; the last ones are near."""
    arm, place = at(state.first, k), at(state.front, k)
    since = int(place.mark)
    arm.ceiling = upper_near(policy.reward, arm.reward, t, arm.ceiling, since, state.stream)
    if k == policy.safe_arm:
        arm.risk_bound = policy.safe_risk
    else:
        arm.risk_bound = risk_bound(policy.risk, arm.risk, t, alpha, arm.risk_bound, since, state.stream)
    place.mark = t


@woven
def _compute_every_index(policy: Any, state: State, t: int, alpha: float) -> None:
    for k in range(state.size):
        if at(state.front, k).mark != t:
            _compute_indices(policy, state, k, t, alpha)


@woven
def _draw_lines(policy: Any, state: State, k: int, t: int, x: float, alpha: float) -> None:
    """A line above a computed arm's reward index, and one below its risk index, over log t; unless they are close."""
    arm, place, until = at(state.first, k), at(state.front, k), state.notes.until
    reward, risk = arm.reward_reach + arm.reward_slope * x, arm.risk_reach + arm.risk_slope * x
    if place.reach < np.inf and reward < arm.ceiling + LOOSE and risk > arm.risk_bound - LOOSE:
        return
    arm.reward_reach, arm.reward_slope = line(policy.reward, arm.reward, t, until, arm.ceiling, state.stream)
    if k == policy.safe_arm:
        arm.risk_reach, arm.risk_slope = policy.safe_risk, 0.0
    else:
        arm.risk_reach, arm.risk_slope = risk_line(policy.risk, arm.risk, t, until, alpha, arm.risk_bound, state.stream)
    _set_front(state, k, alpha)


@inlined
def _set_front(state: State, k: int, alpha: float) -> None:
    """The line above what an arm is worth, at the price that was noted."""
    arm, place, price = at(state.first, k), at(state.front, k), state.notes.price
    place.reach = arm.reward_reach - price * (arm.risk_reach - alpha)
    place.slope = arm.reward_slope - price * arm.risk_slope


@inlined
def _note_price(state: State, price: float, alpha: float) -> None:
    state.notes.price = price
    state.notes.work = 0
    for k in range(state.size):
        if at(state.front, k).reach < np.inf:
            _set_front(state, k, alpha)


@inlined
def _bar(state: State, mixture: Mixture, alpha: float) -> float:
    """What the line in front must reach for the arm to be worth the mixture's value; risk indices lie in [0, 1]."""
    dearer = mixture.price - state.notes.price
    return mixture.value - MARGIN - max(dearer * alpha, dearer * (alpha - 1.0))


@woven
def best_mixture(policy: Any, state: State, t: int, alpha: float) -> Mixture:
    """The mixture of largest reward index with risk index <= alpha, ties at random.

    Where there is none, every arm's indices are computed.
    """
    notes = state.notes
    if notes.changed == EVERY or t > notes.until or not (steady(policy.reward) and steady(policy.risk)):
        notes.changed = NONE
        notes.until = min(line_until(policy.reward, t), line_until(policy.risk, t))
        for k in range(state.size):
            forget_arm(state, k)
        _compute_every_index(policy, state, t, alpha)
        mixture = NO_MIXTURE
    else:
        _compute_indices(policy, state, notes.leader, t, alpha)
        if notes.top != notes.leader:
            _compute_indices(policy, state, notes.top, t, alpha)
        mixture = _best_of_two(state, notes.leader, notes.top, alpha)
    if mixture.safe < 0:
        mixture = _best_safe_arm(policy, state, t, alpha)
    if mixture.safe >= 0:
        mixture, tied = _improve(policy, state, t, alpha, mixture)
        if tied:
            mixture = _one_of_the_tied(state, t, alpha, mixture)
        notes.leader, notes.top = mixture.safe, mixture.other
        # So often the front did not tell that an arm is worth less.
        if notes.work > state.size and mixture.price < DEAR:
            _note_price(state, mixture.price, alpha)
    return mixture


@inlined
def _is_safe(arm: Any, alpha: float) -> bool:
    """Whether an arm may be the safe part of a mixture, by the indices last computed; one that is NaN is not."""
    return arm.risk_bound <= alpha and arm.available != 0 and not math.isnan(arm.ceiling)


@inlined
def _alone(state: State, k: int) -> Mixture:
    return Mixture(k, k, 0.0, at(state.first, k).ceiling, 0.0)


@inlined
def _mixed(state: State, i: int, j: int, alpha: float) -> Mixture:
    """A safe arm mixed with one of larger reward index that is not safe, up to a risk index of alpha; else alone."""
    one, two = at(state.first, i), at(state.first, j)
    if not (two.risk_bound > alpha and two.ceiling > one.ceiling + TIE and two.available):
        return _alone(state, i)
    rise, run = two.ceiling - one.ceiling, two.risk_bound - one.risk_bound
    share = (alpha - one.risk_bound) / run
    # Of an infinite index no share is no part.
    return Mixture(i, j, share, one.ceiling + share * rise if share > 0.0 else one.ceiling, rise / run)


@inlined
def _best_of_two(state: State, i: int, j: int, alpha: float) -> Mixture:
    one, two = at(state.first, i), at(state.first, j)
    if _is_safe(two, alpha) and not (_is_safe(one, alpha) and one.ceiling >= two.ceiling):
        return _mixed(state, j, i, alpha)
    return _mixed(state, i, j, alpha) if _is_safe(one, alpha) else NO_MIXTURE


@woven
def _best_safe_arm(policy: Any, state: State, t: int, alpha: float) -> Mixture:
    """The safe arm of the largest reward index, by the indices last computed; computed now if it was not."""
    while True:
        best, top = -1, -np.inf
        for k in range(state.size):
            arm = at(state.first, k)
            # The first number counts even if it is minus infinity.
            if _is_safe(arm, alpha) and (arm.ceiling > top or best < 0):
                best, top = k, arm.ceiling
        if best < 0:
            _compute_every_index(policy, state, t, alpha)
            for k in range(state.size):
                if _is_safe(at(state.first, k), alpha):
                    best = k
            return _alone(state, best) if best >= 0 else NO_MIXTURE
        if at(state.front, best).mark == t:
            return _alone(state, best)
        _compute_indices(policy, state, best, t, alpha)


@woven
def _improve(policy: Any, state: State, t: int, alpha: float, mixture: Mixture) -> tuple[Mixture, bool]:
    """Let arms in that better a mixture, until none of all does; and whether there may be others of the same value."""
    x, bar, k, last, tied = math.log(t), _bar(state, mixture, alpha), 0, state.size, False
    # Rounding could let two arms in by turns for ever.
    lets = 2 * state.size + 64
    while k < last:
        if k == state.size:
            k, last = 0, last - state.size
        while four_behind(state, k, bar, x):
            k += 4
        place, arm, floor, i = at(state.front, k), at(state.first, k), mixture.value - MARGIN, k
        k += 1
        if not can_reach(state, i, bar, x) or i in (mixture.safe, mixture.other):
            continue
        if place.mark != t:
            reward, risk = arm.reward_reach + arm.reward_slope * x, arm.risk_reach + arm.risk_slope * x
            # An arm whose lines are no numbers is computed too.
            if place.reach < np.inf and reward - mixture.price * (risk - alpha) < floor:
                state.notes.work += 1
                continue
            _compute_indices(policy, state, i, t, alpha)
            _draw_lines(policy, state, i, t, x, alpha)
        worth = arm.ceiling - mixture.price * (arm.risk_bound - alpha)
        if worth < floor or arm.available == 0:
            continue
        tied = True
        if worth > mixture.value + BETTER and lets > 0:
            safe = arm.risk_bound <= alpha
            better = _mixed(state, i, mixture.other, alpha) if safe else _mixed(state, mixture.safe, i, alpha)
            if i in (better.safe, better.other):
                mixture, bar, last, lets, tied = better, _bar(state, better, alpha), i + state.size, lets - 1, False
    return mixture, tied or (mixture.share > 0.0 and at(state.first, mixture.safe).ceiling >= mixture.value - TIE)


@inlined
def _one_of_the_tied(state: State, t: int, alpha: float, best: Mixture) -> Mixture:
    """One of the mixtures whose value is that of the best, each by the same chance: of arms worth as much."""
    safe, other = -1, -1
    for k in range(state.size - 1, -1, -1):
        arm = at(state.first, k)
        if at(state.front, k).mark != t or arm.ceiling - best.price * (arm.risk_bound - alpha) < best.value - MARGIN:
            continue
        if _is_safe(arm, alpha):
            arm.next, safe = safe, k
        elif arm.risk_bound > alpha and arm.available:
            arm.next, other = other, k
    chosen, ties, i = best, 0, safe
    while i >= 0:
        # First the arm alone, then with each other one; without a share it would be alone again.
        mixture, j = _alone(state, i), other
        while True:
            if mixture.value >= best.value - TIE and (mixture.share > 0.0 or mixture.other == i):
                ties += 1
                if ties == 1 or wins_tie(ties, state.stream):
                    chosen = mixture
            if j < 0:
                break
            mixture, j = _mixed(state, i, j, alpha), at(state.first, j).next
        i = at(state.first, i).next
    return chosen
