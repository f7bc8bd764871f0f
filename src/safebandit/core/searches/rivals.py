"""Two arms that decide round after round between them: one uniform number tells who wins, and no arm is drawn.

Let X and Y be their draws, x and y the chances that these exceed the bar, and `rest` the chance that no other does. If
no other does, and X or Y does, the larger of the two wins: X with chance

    rest ( P(X > Y) - P(X > Y, neither exceeds the bar) ).

P(X > Y) is carried from play to play in O(1). The last term is not known, but lies between 0 and neither = (1-x)(1-y).
So X wins at least with chance rest (P(X > Y) - neither), and Y with rest (P(Y > X) - neither). What a uniform number
leaves open is then settled by draws: that neither exceeds the bar, with chance rest neither; that another arm does,
with chance 1 - rest; or, again with chance rest neither, Y wins where X is the larger of two draws below the bar, and
else X: so each wins with its very chance.

A draw that is tested (`tested`) and fails counts as its mean. Let X be in doubt, and p the chance that its draw stands
(0 where that depends on the draw). With chance p it stands, and all is as above. Else it exceeds the bar only where its
mean does so, too: then X wins where X alone exceeds the bar, Y where Y alone does, and where both do they are drawn.
Where p does not last and X's mean is below the bar, or where both are in doubt, rivals do not tell.

What it buys: on the drug trial, where two doses are nearly equal, 19 in 20 rounds of Thompson sampling draw no arm and
look at two: it plays a third more rounds a second.
"""

from __future__ import annotations

from typing import Any

from safebandit.core.arms import REWARD, State, at, quantity
from safebandit.core.bernoulli import TINY, chance_larger
from safebandit.core.dispatch import apart, inlined, piece
from safebandit.core.indices.joint_sampling import draw_stands
from safebandit.core.searches.bar import SURE
from safebandit.core.searches.tested import chance_to_stand, draw_above, draw_below, in_doubt_at, settle
from safebandit.core.streams import uniform

# Of the trial: whether two arms are rivals now, and the chance that no other exceeds the bar (0: not known); two arms
# that are or were rivals, the chance that the draw of the first is the larger, the slope by which a play changes it,
# the parameters of the laws for which both hold, the plays of both, and the ones of each, that these count.
RIVAL_FIELDS = [
    ("rivals", "i8"), ("rest", "f8"), ("one", "i8"), ("other", "i8"), ("chance", "f8"), ("slope", "f8"),
    ("laws", "f8", (4,)), ("followed", "i8"), ("ones", "i8", (2,)),
]  # fmt: skip

# Rivals leave no more than this open.
OPEN = 0.5
# One that wins so seldom is a rival no more, once the other has left the bar far behind: a bar is set anew.
HARDLY = 0.01
# Over so many plays the chance is carried one by one; after so many it is computed afresh, lest rounding add up.
SOON = 64
REFRESH_EVERY = 65_536


@apart
def note_rivals(state: State, work: Any, notes: Any, one: int, rest: float) -> None:
    """Note the first two arms of a chain as rivals, if they would decide most rounds; `rest` is that of the others."""
    other = at(work, one).next
    if 1.0 - rest * (1.0 - 2.0 * at(work, one).below * at(work, other).below) < OPEN:
        if notes.one != one or notes.other != other:
            notes.one, notes.other, notes.slope, notes.followed = one, other, 0.0, -1
        notes.rivals, notes.rest = 1, rest


@inlined
def is_rival(notes: Any, k: int) -> bool:
    """Whether an arm is one of the two."""
    return (k == notes.one) | (k == notes.other)


@piece
def by_rivals(index: Any, state: State, work: Any, notes: Any, t: int) -> int:
    """The arm that wins, where two are rivals; -1 where they do not tell."""
    swapped = in_doubt_at(index, quantity(state, notes.other, REWARD), t)
    if swapped and in_doubt_at(index, quantity(state, notes.one, REWARD), t):
        return -1
    x, y = (notes.other, notes.one) if swapped else (notes.one, notes.other)
    seen = quantity(state, x, REWARD)
    stands, lasting = chance_to_stand(index, seen, t)
    mean_above = seen.mean > notes.bar
    if not (mean_above or lasting) or not _are_rivals(state, work, notes):
        return -1
    larger, neither = 1.0 - notes.chance if swapped else notes.chance, at(work, x).below * at(work, y).below
    none = (1.0 - at(work, x).above) * (1.0 - at(work, y).above)
    first, second, both = stands * (larger - neither), 1.0 - none - stands * larger, 0.0
    if stands < 1.0:
        # A draw that fails and exceeds the bar all the same: alone, or with that of y.
        failed = (1.0 - stands) * (1.0 - at(work, x).below) if mean_above else 0.0
        first += failed * at(work, y).below
        both = failed * at(work, y).above
        second -= failed
    u, rest = uniform(state.stream), notes.rest
    if u < rest * first:
        return x
    if u < rest * (first + second):
        return y
    u -= rest * (first + second)
    if u < rest * both:
        return _settled_by_both(index, state, notes, t, x, y, stands > 0.0)
    return _settled(index, state, work, notes, t, x, y, none, stands * neither, u - rest * both)


@apart
def _settled_by_both(index: Any, state: State, notes: Any, t: int, x: int, y: int, failed: bool) -> int:
    """The arm that wins where both exceed the bar, and the draw of x failed its test, or is yet to be tested."""
    notes.draws += 1
    seen, other = quantity(state, x, REWARD), draw_above(state, y, notes.bar)
    if failed and other >= seen.mean:
        return y
    drawn = draw_above(state, x, notes.bar)
    if other >= drawn:
        return y
    return x if other < seen.mean or draw_stands(index, seen, t, drawn, state.stream) else y


@inlined
def _are_rivals(state: State, work: Any, notes: Any) -> bool:
    """Whether two that were rivals still are; if so, the chance that the first has the larger draw is up to date."""
    if notes.rest == 0.0:
        _see_others(state, work, notes)
    one, other = at(work, notes.one), at(work, notes.other)
    _follow(state, notes, notes.played - 1)
    neither = one.below * other.below
    if min(notes.chance, 1.0 - notes.chance) < HARDLY:
        # The bar is too low for the other, which mostly wins, by itself.
        notes.draws += (one.above if notes.chance > 0.5 else other.above) > SURE
    if not (notes.chance > neither and 1.0 - notes.chance > neither and one.open and other.open and notes.rivals):
        notes.rivals = 0
    return notes.rivals != 0


@apart
def _see_others(state: State, work: Any, notes: Any) -> None:
    """Find the chance that no arm but the rivals exceeds the bar, and whether they still are."""
    rest = 1.0
    for k in range(state.size):
        if not is_rival(notes, k):
            rest *= 1.0 - at(work, k).above
    neither = at(work, notes.one).below * at(work, notes.other).below
    notes.rivals = 1 if 1.0 - rest * (1.0 - 2.0 * neither) < OPEN else 0
    notes.rest = rest


@apart
def _settled(
    index: Any, state: State, work: Any, notes: Any, t: int, x: int, y: int, none: float, smaller: float, u: float
) -> int:
    """The arm that wins where two rivals leave it open, by a number u that is uniform in all that is open."""
    rest = notes.rest
    if u < rest * none:
        notes.draws += state.size
        return settle(index, state, work, notes, t, -1)
    if u < rest * (none + smaller):
        # Of two draws below the bar the smaller one wins here.
        notes.draws += 2
        return y if draw_below(state, x, notes.bar) > draw_below(state, y, notes.bar) else x
    first = _chain_with_others(state, work, notes, rest + u - rest * (none + smaller))
    return settle(index, state, work, notes, t, first)


@inlined
def _chain_with_others(state: State, work: Any, notes: Any, u: float) -> int:
    """A chain of the arms that exceed the bar, given that others than the rivals do: its first arm.

    The first of the others is the one at which the chance that none has done so falls to u.
    """
    first, last, none = -1, -1, 1.0
    for k in range(state.size):
        arm = at(work, k)
        if is_rival(notes, k):
            exceeds = uniform(state.stream) < arm.above
        else:
            none *= 1.0 - arm.above
            exceeds = arm.above > 0.0 and u >= none
            if exceeds:
                none, u = 1.0, uniform(state.stream)
        if exceeds:
            notes.draws += 1
            if last < 0:
                first = k
            else:
                at(work, last).next = k
            last = k
    if last >= 0:
        at(work, last).next = -1
    return first


@inlined
def _follow(state: State, notes: Any, last: int) -> None:
    """Carry the chance that the first has the larger draw over the play since it was noted, or compute it."""
    x, y = quantity(state, notes.one, REWARD), quantity(state, notes.other, REWARD)
    plays = x.plays + y.plays
    if (
        plays == notes.followed + 1
        and is_rival(notes, last)
        and (plays + 4) % REFRESH_EVERY != 0
        and notes.slope > TINY
    ):
        i = 2 if last == notes.other else 0
        # Written without branches: the processor cannot guess them.
        j = i + 1 - (quantity(state, last, REWARD).ones - notes.ones[i >> 1])
        _step(notes, j, plays + 3.0)
    elif plays != notes.followed:
        _catch_up(notes, x.ones + 1.0, x.plays - x.ones + 1.0, y.ones + 1.0, y.plays - y.ones + 1.0)
    notes.followed = plays
    notes.ones[0], notes.ones[1] = x.ones, y.ones


@inlined
def _step(notes: Any, j: int, n: float) -> None:
    """Carry the chance over one more of parameter j of the laws, which add up to n."""
    laws = notes.laws
    grown = laws[j]
    beside = (grown + laws[j ^ 1]) * (grown + laws[j ^ 2])
    sign = 1.0 - 2.0 * ((j ^ (j >> 1)) & 1)
    notes.chance += sign * (notes.slope / grown)
    # Beside it in its own law, and in its place in the other one.
    notes.slope *= beside / (grown * n)
    laws[j] = grown + 1.0


@apart
def _catch_up(notes: Any, a: float, b: float, c: float, d: float) -> None:
    """Carry the chance over several plays, or compute it afresh."""
    laws, now = notes.laws, a + b + c + d
    n = laws[0] + laws[1] + laws[2] + laws[3]
    if not (notes.slope > TINY and n <= now <= n + SOON) or int(n) // REFRESH_EVERY != int(now) // REFRESH_EVERY:
        laws[0], laws[1], laws[2], laws[3] = a, b, c, d
        notes.chance, notes.slope = chance_larger(a, b, c, d)
        return
    while n < now:
        j = 0 if laws[0] < a else 1 if laws[1] < b else 2 if laws[2] < c else 3
        _step(notes, j, n)
        n += 1.0
