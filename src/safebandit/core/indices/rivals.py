"""Two arms that exceed the bar together, round after round: one uniform number tells whose draw is the larger.

Let X and Y be their draws, and x and y the chances that these exceed the bar. Given that both do, X is the larger with
chance

    ( P(X > Y) - x (1-y) - P(X > Y, neither exceeds the bar) ) / (x y).

P(X > Y) is carried from play to play in O(1). The last term is not known, but lies between 0 and (1-x)(1-y): where a
uniform number falls so near that it matters, two draws below the bar decide, so that X wins with this very chance.
"""

from __future__ import annotations

import math

from safebandit.core.arms import Seen, State, at
from safebandit.core.bernoulli import TINY, chance_larger
from safebandit.core.dispatch import compiled, inlined
from safebandit.core.indices.bar import draw_above
from safebandit.core.streams import Stream, beta_below, uniform

# Two arms, and no others, exceed the bar with a larger chance than this: so do no other two, and these will again.
MOSTLY = 0.5
# Over so many plays the chance is carried one by one; after so many it is computed afresh, lest rounding add up.
SOON = 64
REFRESH_EVERY = 65_536


@inlined
def larger_of_rivals(state: State, one: int, rest: float) -> int:
    """Which of two arms that exceed the bar, `one` and the next, has the larger draw; -1 where they must be drawn.

    `rest` is the chance that no other arm exceeds the bar. Minus infinity as the loser's index says that its draw, too,
    exceeds the bar.
    """
    other = at(state.first, one).next
    x, y = at(state.front, one).reach, at(state.front, other).reach
    if x * y * rest <= MOSTLY:
        return -1
    _follow(state, one, other)
    high = state.notes.rivals.chance - x * (1.0 - y)
    low = high - (1.0 - x) * (1.0 - y)
    if low < 0.0 or high > x * y:
        return -1
    # Nothing is drawn: not the work of which the bar is guilty.
    state.notes.work -= 1
    u = uniform(state.stream) * (x * y)
    one_wins = u < low
    if low <= u < high:
        one_wins = not _first_is_larger_below(
            at(state.first, one).reward, at(state.first, other).reward, state.notes.bar, state.stream
        )
    winner, loser = (one, other) if one_wins else (other, one)
    at(state.first, loser).index = -math.inf
    return winner


@compiled
def _first_is_larger_below(one: Seen, other: Seen, bar: float, stream: Stream) -> bool:
    """Whether the first of two draws, given that neither exceeds the bar, is the larger; seldom asked."""
    x = beta_below(stream, one.ones + 1.0, one.plays - one.ones + 1.0, bar)
    return x > beta_below(stream, other.ones + 1.0, other.plays - other.ones + 1.0, bar)


@inlined
def _follow(state: State, one: int, other: int) -> None:
    """Carry the chance that `one` has the larger draw over the plays since it was noted, or compute it."""
    rivals, x, y = state.notes.rivals, at(state.first, one).reward, at(state.first, other).reward
    laws, plays = rivals.laws, x.plays + y.plays
    a, b, c, d = x.ones + 1.0, x.plays - x.ones + 1.0, y.ones + 1.0, y.plays - y.ones + 1.0
    before = int(laws[0] + laws[1] + laws[2] + laws[3]) - 4
    known = rivals.one == one and rivals.other == other and rivals.slope > TINY and 0 <= plays - before <= SOON
    if not known or plays // REFRESH_EVERY != before // REFRESH_EVERY:
        laws[0], laws[1], laws[2], laws[3] = a, b, c, d
        rivals.one, rivals.other = one, other
        rivals.chance, rivals.slope = chance_larger(a, b, c, d)
        return
    while before < plays:
        j = 0 if laws[0] < a else 1 if laws[1] < b else 2 if laws[2] < c else 3
        step = rivals.slope / laws[j]
        rivals.chance += -step if 0 < j < 3 else step
        # Beside it in its own law, and in its place in the other one.
        rivals.slope = step * (laws[j] + laws[j ^ 1]) * (laws[j] + laws[j ^ 2]) / (before + 4.0)
        laws[j] += 1.0
        before += 1


@inlined
def reveal_rivals(state: State, winner: int) -> None:
    """For people: if the winner had a rival, draw both above the bar, the winner's the larger."""
    best = at(state.first, winner)
    for k in range(state.size):
        arm = at(state.first, k)
        if arm.permitted and arm.index == -math.inf:
            while not -math.inf < arm.index < best.index:
                arm.index, best.index = draw_above(arm.reward, state), draw_above(best.reward, state)
