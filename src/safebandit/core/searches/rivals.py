"""Two arms that exceed the bar together, round after round: one uniform number tells whose draw is the larger.

Let X and Y be their draws, and x and y the chances that these exceed the bar. Given that both do, X is the larger with
chance

    ( P(X > Y) - x (1-y) - P(X > Y, neither exceeds the bar) ) / (x y).

P(X > Y) is carried from play to play in O(1). The last term is not known, but lies between 0 and (1-x)(1-y): where a
uniform number falls so near that it matters, two draws below the bar decide, so that X wins with this very chance.

What it buys: on the drug trial, where two doses are nearly equal, most rounds of Thompson sampling draw no arm.
"""

from __future__ import annotations

from typing import Any

from safebandit.core.arms import REWARD, State, at, quantity
from safebandit.core.bernoulli import TINY, chance_larger
from safebandit.core.dispatch import inlined, rare
from safebandit.core.searches.bar import draw_below
from safebandit.core.streams import uniform

# Of the trial: two arms that mostly exceed the bar together (`other` is 0 where none are noted), the chance that the
# draw of the first is the larger, the slope by which a play changes it, and the parameters of the laws for which both
# hold.
RIVAL_FIELDS = [
    ("one", "i8"), ("other", "i8"), ("chance", "f8"), ("slope", "f8"), ("laws", "f8", (4,)),
]  # fmt: skip

# Two arms, and no others, exceed the bar with a larger chance than this: so do no other two, and these will again.
MOSTLY = 0.5
# Over so many plays the chance is carried one by one; after so many it is computed afresh, lest rounding add up.
SOON = 64
REFRESH_EVERY = 65_536


@inlined
def larger_of_rivals(state: State, work: Any, notes: Any, one: int, rest: float) -> int:
    """Which of two arms that exceed the bar, `one` and the next, has the larger draw; -1 where they must be drawn.

    `rest` is the chance that no other arm exceeds the bar.
    """
    other = at(work, one).next
    x, y = at(work, one).above, at(work, other).above
    if x * y * rest <= MOSTLY:
        return -1
    _follow(state, notes, one, other)
    high = notes.chance - x * (1.0 - y)
    low = high - (1.0 - x) * (1.0 - y)
    if low < 0.0 or high > x * y:
        return -1
    # Nothing is drawn: not the work of which the bar is guilty.
    notes.draws -= 1
    u = uniform(state.stream) * (x * y)
    if u < low:
        return one
    return one if u < high and not _first_is_larger_below(state, one, other, notes.bar) else other


@rare
def _first_is_larger_below(state: State, one: int, other: int, bar: float) -> bool:
    """Whether the first of two draws, given that neither exceeds the bar, is the larger; seldom asked."""
    return draw_below(state, one, bar) > draw_below(state, other, bar)


@inlined
def _follow(state: State, notes: Any, one: int, other: int) -> None:
    """Carry the chance that `one` has the larger draw over the plays since it was noted, or compute it."""
    x, y = quantity(state, one, REWARD), quantity(state, other, REWARD)
    laws, plays = notes.laws, x.plays + y.plays
    a, b, c, d = x.ones + 1.0, x.plays - x.ones + 1.0, y.ones + 1.0, y.plays - y.ones + 1.0
    before = int(laws[0] + laws[1] + laws[2] + laws[3]) - 4
    known = notes.one == one and notes.other == other and notes.slope > TINY and 0 <= plays - before <= SOON
    if not known or plays // REFRESH_EVERY != before // REFRESH_EVERY:
        laws[0], laws[1], laws[2], laws[3] = a, b, c, d
        notes.one, notes.other = one, other
        notes.chance, notes.slope = chance_larger(a, b, c, d)
        return
    while before < plays:
        j = 0 if laws[0] < a else 1 if laws[1] < b else 2 if laws[2] < c else 3
        step = notes.slope / laws[j]
        notes.chance += -step if 0 < j < 3 else step
        # Beside it in its own law, and in its place in the other one.
        notes.slope = step * (laws[j] + laws[j ^ 1]) * (laws[j] + laws[j ^ 2]) / (before + 4.0)
        laws[j] += 1.0
        before += 1
