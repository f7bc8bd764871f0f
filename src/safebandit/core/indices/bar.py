"""Posterior draws without drawing every arm: one uniform number tells which arms exceed a bar, and mostly one does.

The draw of an arm is that of Beta(R+1, N-R+1). It lies below the bar y with chance P(Bin(N+1, y) > R), which is carried
from play to play in O(1). Arms that exceed the bar are drawn above it, and only where none does all are drawn below it:
who wins has the same law as if all were drawn, whatever the bar, as long as it is set before the round's draws.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from safebandit.core.arms import BLOCK, Numbers, Seen, State, at, set_reach
from safebandit.core.bernoulli import binomial_pmf, binomial_tail, next_tail
from safebandit.core.dispatch import generic, inlined, woven
from safebandit.core.streams import beta_above, beta_below, uniform

# An arm's own numbers: the chance to lie below the bar, that of Bin(N+1, y) = R+1, and the bar that they are about.
BELOW, MASS, BAR, OWN = 0, 1, 2, 3
# Behind them, of a risk that is drawn: its index, NaN where that was not needed.
DRAWN = OWN

# The bar is such that all arms lie below it with a chance of about exp(-7); between these it stands.
RARE, SELDOM = -9.0, -5.5
# It is set anew after so much work per arm since it was set, counted in draws.
ENOUGH_WORK = 64
SURE = 1.0 - 1e-7
STEPS = 40
NORMAL_FROM = 16


@inlined
def start_posterior(own: Numbers) -> None:
    """Of an arm that has not been played nothing is carried."""
    own[BELOW] = 0.0
    own[MASS] = 0.0
    own[BAR] = -1.0


@inlined
def learn_posterior(seen: Seen, bit: int) -> None:
    """Carry the chance to lie below the bar over one play."""
    own = seen.own
    if own[BAR] > 0.0:
        own[BELOW], own[MASS] = next_tail(
            own[BELOW], own[MASS], seen.ones - bit + 1, seen.plays, own[BAR], bit, -math.inf
        )


@inlined
def chance_above(seen: Seen, bar: float) -> float:
    own = seen.own
    if own[BAR] != bar:
        own[BELOW] = binomial_tail(seen.ones + 1.0, seen.plays + 1.0, bar)
        own[MASS] = binomial_pmf(seen.ones + 1.0, seen.plays + 1.0, bar)
        own[BAR] = bar
    return min(1.0, max(0.0, 1.0 - own[BELOW]))


@inlined
def _about_chance_above(seen: Seen, bar: float) -> float:
    """The same, by the normal law where there are many plays of either outcome."""
    if min(seen.ones, seen.plays - seen.ones) < NORMAL_FROM:
        return 1.0 - binomial_tail(seen.ones + 1.0, seen.plays + 1.0, bar)
    a, b = seen.ones + 1.0, seen.plays - seen.ones + 1.0
    return 0.5 * math.erfc(((a + b) * bar - a) * math.sqrt(0.5 * (a + b + 1.0) / (a * b)))


@inlined
def draw_above(seen: Seen, state: State) -> float:
    """A posterior draw, given that it exceeds the bar."""
    return beta_above(state.stream, seen.ones + 1.0, seen.plays - seen.ones + 1.0, state.notes.bar)


@inlined
def draw_below(seen: Seen, state: State) -> float:
    """A posterior draw, given that it does not exceed the bar."""
    return beta_below(state.stream, seen.ones + 1.0, seen.plays - seen.ones + 1.0, state.notes.bar)


@generic
def standing(index: object, arm: Any, bar: float) -> float:
    """The chance that a draw counts if it is above the bar."""
    raise NotImplementedError


@generic
def standing_is_exact(index: object) -> bool:
    """Whether `standing` is that very chance; else it is about so, only the choice of the bar depends on it, and every
    draw above the bar counts.
    """
    raise NotImplementedError


@standing.register(object)
def _always(index: object) -> float:
    return 1.0


@standing_is_exact.register(object)
def _exactly_always(index: object) -> bool:
    return True


@woven
def share_standing(index: Any, arm: Any, bar: float) -> float:
    """The chance that a draw above the bar counts as such."""
    return standing(index, arm, bar) if standing_is_exact(index) else 1.0


@woven
def arms_above_bar(index: Any, state: State) -> tuple[int, int, float]:
    """The first arm whose draw exceeds the bar and counts, how many there are, and the chance that all others do not.

    `next` leads from one arm to the next, -1 ends.

    One uniform number u serves a block of arms: the first to exceed the bar is the one at which the chance that none
    has done so falls to u. Then another number serves the rest.
    """
    notes, stream = state.notes, state.stream
    first, last, count, rest = -1, -1, 0, 1.0
    for start in range(0, state.size, BLOCK):
        head, u = at(state.front, start), uniform(stream)
        if u < head.mark:
            rest *= head.mark
            continue
        none, before = 1.0, count
        for k in range(start, min(start + BLOCK, state.size)):
            place = at(state.front, k)
            if place.reach == np.inf:
                arm = at(state.first, k)
                place.reach = chance_above(arm.reward, notes.bar) * share_standing(index, arm, notes.bar)
            if place.reach > 0.0:
                others = none
                none *= 1.0 - place.reach
                if u >= none:
                    rest *= others
                    if last < 0:
                        first = k
                    else:
                        at(state.first, last).next = k
                    last, count = k, count + 1
                    # So far above the bar is an arm only if the bar is too low.
                    notes.work += place.reach > SURE
                    none, u = 1.0, uniform(stream)
        rest *= none
        if count == before:
            head.mark = none
    if last >= 0:
        at(state.first, last).next = -1
    notes.work += count - 1 if count > 0 else state.size
    return first, count, rest


@inlined
def bar_is_poor(state: State) -> bool:
    """Whether there is no bar yet, or it has made so much work that a better one is worth seeking."""
    return state.notes.bar == 0.0 or state.notes.work > ENOUGH_WORK * state.size


@woven
def set_bar(index: Any, state: State) -> None:
    """Set a bar that seldom lies above all draws: by bisection, which need not be exact."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        bar = 0.5 * (low + high)
        none = 0.0
        for k in range(state.size):
            arm = at(state.first, k)
            if arm.permitted:
                above = _about_chance_above(arm.reward, bar) * standing(index, arm, bar)
                none += math.log(max(1e-12, 1.0 - above))
            if none < 4.0 * RARE:
                break
        if none < RARE:
            low = bar
        elif none > SELDOM:
            high = bar
        else:
            break
    state.notes.bar = bar
    state.notes.work = 0
    for k in range(state.size):
        set_reach(state, k, np.inf if at(state.first, k).permitted else -np.inf)


@inlined
def reveal_draws(state: State, winner: int) -> None:
    """Draw what the decision did not need: the winner above the bar, others below it, where they have no number."""
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.permitted and math.isnan(arm.index):
            arm.index = draw_above(arm.reward, state) if k == winner else draw_below(arm.reward, state)
