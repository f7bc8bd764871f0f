"""Posterior draws without drawing every arm: one uniform number tells which arms exceed a bar, and mostly one does.

The draw of an arm is that of Beta(R+1, N-R+1). It lies below the bar y with chance P(Bin(N+1, y) > R), which is carried
from play to play in O(1). Arms that exceed the bar are drawn above it, and only where none does all are drawn below it:
who wins has the same law as if all were drawn, whatever the bar, as long as it is set before the round's draws.
(What speaks against an arm, `conduct.bar`, is another thing.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from safebandit.core.arms import REWARD, Seen, State, at, quantity
from safebandit.core.bernoulli import binomial_pmf, binomial_tail, next_tail
from safebandit.core.dispatch import apart, inlined, piece, substituted
from safebandit.core.searches.gates import ARM_FIELDS, TRIAL_FIELDS
from safebandit.core.searches.tested import chance_to_count, chance_to_stand
from safebandit.core.streams import uniform

# Of each arm: the chance that its draw exceeds the bar and counts (infinity where it is not known, 0 behind a closed
# gate); at the first arm of a block, the chance that none of the block does (0 where it is not known); the chance to
# lie below `carried_bar`, that of Bin(N+1, y) = R+1, and the plays and ones for which both were carried; the next arm
# above the bar, what was drawn of this one, and whether no test can take it.
BAR_ARM_FIELDS = [
    ("above", "f8"), ("none_above", "f8"), ("below", "f8"), ("mass", "f8"), ("carried_bar", "f8"),
    ("plays", "i8"), ("ones", "i8"), ("next", "i8"), ("draw", "f8"), ("stands", "i8"), *ARM_FIELDS,
]  # fmt: skip
# Of the trial: the bar (0: none yet), and the draws made since it was set.
BAR_TRIAL_FIELDS = [("bar", "f8"), ("draws", "i8"), *TRIAL_FIELDS]

BLOCK = 32
# The bar is such that all arms lie below it with a chance of about exp(-7); between these it stands.
RARE, SELDOM = -9.0, -5.5
# It is set anew after so many draws per arm since it was set.
ENOUGH_DRAWS = 64
# An arm that exceeds the bar with a higher chance says that the bar is too low.
SURE = 1.0 - 1e-7
# Halvings, at most, until a bar is found.
STEPS = 40
# With so many ones and so many zeros the normal law is near enough for a bar.
NORMAL_FROM = 16


@substituted
def forget_above(work: Any, k: int) -> None:
    """The chance that arm k exceeds the bar is not known, or is 0 behind a closed gate."""
    at(work, k).above = np.inf if at(work, k).open else 0.0
    at(work, k & -BLOCK).none_above = 0.0


@inlined
def carry(arm: Any, seen: Seen, bar: float) -> float:
    """The chance to lie below the bar, carried over the last play or computed."""
    if arm.carried_bar == bar and seen.plays == arm.plays + 1:
        arm.below, arm.mass = next_tail(
            arm.below, arm.mass, arm.ones + 1, seen.plays, bar, seen.ones - arm.ones, -math.inf
        )  # fmt: skip
    elif arm.carried_bar != bar or seen.plays != arm.plays:
        arm.below = binomial_tail(seen.ones + 1.0, seen.plays + 1.0, bar)
        arm.mass = binomial_pmf(seen.ones + 1.0, seen.plays + 1.0, bar)
    arm.carried_bar, arm.plays, arm.ones = bar, seen.plays, seen.ones
    return arm.below


@piece
def chance_above(index: Any, arm: Any, seen: Seen, bar: float, t: int) -> float:
    """The chance that the draw of an arm exceeds the bar and counts."""
    above = 1.0 - carry(arm, seen, bar)
    above = 0.0 if above < 0.0 else 1.0 if above > 1.0 else above
    return above * chance_to_count(index, seen, bar, t)


@inlined
def _about_chance_above(seen: Seen, bar: float) -> float:
    """P(draw > bar), by the normal law where there are many plays of either outcome."""
    if seen.ones < NORMAL_FROM or seen.plays - seen.ones < NORMAL_FROM:
        return 1.0 - binomial_tail(seen.ones + 1.0, seen.plays + 1.0, bar)
    a, b = seen.ones + 1.0, seen.plays - seen.ones + 1.0
    return 0.5 * math.erfc(((a + b) * bar - a) * math.sqrt(0.5 * (a + b + 1.0) / (a * b)))


@piece
def arms_above_bar(state: State, work: Any, notes: Any) -> tuple[int, int, float]:
    """The first arm whose draw exceeds the bar and counts, how many there are, and the chance that all others do not.

    `next` leads from one arm to the next, -1 ends.

    One uniform number u serves a block of arms: the first to exceed the bar is the one at which the chance that none
    has done so falls to u. Then another number serves the rest. One function, because it runs in most rounds: a call
    for each arm would cost as much as the look.
    """
    first, last, count, rest = -1, -1, 0, 1.0
    for begins in range(0, state.size, BLOCK):
        head, u = at(work, begins), uniform(state.stream)
        if u < head.none_above:
            rest *= head.none_above
            continue
        none, before = 1.0, count
        for k in range(begins, min(begins + BLOCK, state.size)):
            arm = at(work, k)
            if arm.above > 0.0:
                others = none
                none *= 1.0 - arm.above
                if u >= none:
                    rest *= others
                    if last < 0:
                        first = k
                    else:
                        at(work, last).next = k
                    last, count = k, count + 1
                    # So far above the bar is an arm only if the bar is too low.
                    notes.draws += arm.above > SURE
                    none, u = 1.0, uniform(state.stream)
        rest *= none
        if count == before:
            head.none_above = none
    if last >= 0:
        at(work, last).next = -1
    notes.draws += count - 1 if count > 0 else state.size
    return first, count, rest


@piece
def keep_bar(index: Any, state: State, work: Any, notes: Any, t: int, several: bool) -> bool:
    """Set a bar where there is none, or where it has made so much work that a better one is worth seeking; and find
    the chances to exceed it that are not known: of the arm played last, or of several arms. Whether a bar was set.
    """
    renewed = notes.bar == 0.0 or notes.draws > ENOUGH_DRAWS * state.size
    last = notes.played - 1
    if renewed:
        _set_bar(index, state, work, notes, t)
    if renewed or several:
        _see_all(index, state, work, notes, t)
    elif at(work, last).above == np.inf:
        at(work, last).above = chance_above(index, at(work, last), quantity(state, last, REWARD), notes.bar, t)
    return renewed


@apart
def _see_all(index: Any, state: State, work: Any, notes: Any, t: int) -> None:
    for k in range(state.size):
        if at(work, k).above == np.inf:
            at(work, k).above = chance_above(index, at(work, k), quantity(state, k, REWARD), notes.bar, t)


@apart
def _set_bar(index: Any, state: State, work: Any, notes: Any, t: int) -> None:
    """Set a bar that seldom lies above all draws: by bisection, which need not be exact."""
    low, high, bar = 0.0, 1.0, 0.5
    for _ in range(STEPS):
        bar = 0.5 * (low + high)
        none = 0.0
        for k in range(state.size):
            seen = quantity(state, k, REWARD)
            if at(work, k).open:
                # A draw that fails its test is as the mean, which may be above the bar, too.
                share = 1.0 if seen.mean > bar else chance_to_stand(index, seen, t)[0]
                above = _about_chance_above(seen, bar) * share
                none += math.log(1.0 - above if above < 1.0 - 1e-12 else 1e-12)
            if none < 4.0 * RARE:
                break
        if none < RARE:
            low = bar
        elif none > SELDOM:
            high = bar
        else:
            break
    notes.bar, notes.draws = bar, 0
    for k in range(state.size):
        forget_above(work, k)
