"""Draws that are tested, by the bar: the arm of the largest draw once tested, without drawing or testing every arm.

An arm in doubt whose draw fails its test counts as its mean. Of two rivals (`rivals`) let X be in doubt and m its mean,
and p the chance that its draw stands, whatever it is (0 where that depends on the draw). Where m is above the bar, X
exceeds it even if the test fails, and loses to Y only if X > Y > m. So X wins at least with chance rest p (P(X > Y) -
neither), Y with rest (P(Y > X) - neither), and what is left of P(X > Y) is settled by a pair of draws with X > Y. Where
m is below the bar and p is known, X exceeds it only if it stands: Y wins at least with chance
rest (1 - none - p P(X > Y)), with none the chance that neither counts.
"""

from __future__ import annotations

import math
from typing import Any

from safebandit.core.arms import REWARD, Seen, State, at, quantity
from safebandit.core.dispatch import generic, inlined, piece, rare
from safebandit.core.indices.joint_sampling import CHANCE, JointDirichlet, JointThompson, in_doubt, risk_passes
from safebandit.core.searches.bar import (
    carry,
    counts_above,
    draw_above,
    draw_below,
    largest,
    settle,
    surely_wins,
)
from safebandit.core.searches.rivals import by_doubtful, in_doubt_now, smaller_below, with_others
from safebandit.core.streams import beta, uniform

# An arm in doubt that has the larger draw of two more seldom than this is drawn only where it exceeds the bar.
OFTEN = 0.2


@generic
def stands_always(index: object, seen: Seen, t: int) -> float:
    """The chance that a draw in doubt stands, where it is the same for every draw; else 0."""
    raise NotImplementedError


@stands_always.register(JointDirichlet)
def _depends_on_the_draw(index: JointDirichlet, seen: Seen, t: int) -> float:
    return 0.0


@stands_always.register(JointThompson)
def _by_its_evidence(index: JointThompson, seen: Seen, t: int) -> float:
    chance = seen.own[CHANCE] * (1.0 + index.soft * math.log(t)) if index.soft > 0.0 else seen.own[CHANCE]
    return chance if chance < 1.0 else 1.0


@counts_above.register(JointThompson)
def joint_thompson_counts(index: JointThompson, seen: Seen, bar: float) -> tuple[float, bool]:
    # A draw that fails its test is as the mean, which may be above the bar, too.
    return 1.0 if seen.mean > bar else seen.own[CHANCE], index.soft == 0.0


@surely_wins.register(JointThompson)
@surely_wins.register(JointDirichlet)
def _wins_untested(index: JointThompson | JointDirichlet, seen: Seen, bar: float) -> bool:
    return seen.mean > bar or _stands(index, seen, bar)


@in_doubt_now.register(JointThompson)
@in_doubt_now.register(JointDirichlet)
def _may_fail(index: JointThompson | JointDirichlet, seen: Seen) -> bool:
    return in_doubt(index, seen)


@by_doubtful.register(JointThompson)
@by_doubtful.register(JointDirichlet)
def _by_doubtful(index: JointThompson | JointDirichlet, state: State, work: Any, notes: Any, t: int) -> int:
    swapped = in_doubt(index, quantity(state, notes.other, REWARD))
    if swapped and in_doubt(index, quantity(state, notes.one, REWARD)):
        return -1
    x, y = (notes.other, notes.one) if swapped else (notes.one, notes.other)
    return _doubtful_or_not(index, state, work, notes, t, x, y, 1.0 - notes.chance if swapped else notes.chance)


@rare
def _doubtful_or_not(
    index: Any, state: State, work: Any, notes: Any, t: int, x: int, y: int, larger: float
) -> int:  # fmt: skip
    """The arm that wins of two rivals, of which x is in doubt and has the larger draw with a known chance; or -1."""
    seen, rest, neither = quantity(state, x, REWARD), notes.rest, at(work, x).below * at(work, y).below
    share, exact = counts_above(index, seen, notes.bar)
    stands = stands_always(index, seen, t)
    if seen.mean > notes.bar and larger > OFTEN:
        none, failed = neither, (1.0 - stands) * larger
    elif exact and share < 1.0:
        none, failed = (1.0 - at(work, x).above) * (1.0 - at(work, y).above), 0.0
    else:
        return -1
    u, first, second = uniform(state.stream), stands * (larger - neither), 1.0 - none - failed - stands * larger
    if u < rest * first:
        return x
    u -= rest * first
    if u < rest * second:
        return y
    u -= rest * second
    if u < rest * none:
        notes.draws += state.size
        return settle(index, state, work, notes, t, -1)
    u -= rest * none
    if u < rest * stands * neither:
        return smaller_below(state, notes, x, y)
    u -= rest * stands * neither
    if u < rest * failed:
        return _larger_in_doubt(index, state, notes, t, x, y, stands)
    return with_others(index, state, work, notes, t, u - rest * failed)


@rare
def _larger_in_doubt(index: Any, state: State, notes: Any, t: int, x: int, y: int, stands: float) -> int:
    """The arm that wins, given that x has the larger draw and fails its test, or has yet to be tested."""
    one, other = quantity(state, x, REWARD), quantity(state, y, REWARD)
    while True:
        top = beta(state.stream, one.ones + 1.0, one.plays - one.ones + 1.0)
        second = beta(state.stream, other.ones + 1.0, other.plays - other.ones + 1.0)
        if top > second:
            break
    # What neither exceeds the bar is settled apart: here it makes up for the chance that was taken for it.
    if top <= notes.bar:
        return y
    if one.mean > second or (stands == 0.0 and risk_passes(index, one, t, top, state.stream)):
        return x
    return y


@largest.register(JointThompson)
@largest.register(JointDirichlet)
def _largest_once_tested(
    index: JointThompson | JointDirichlet, state: State, work: Any, notes: Any, t: int, first: int
) -> int:
    bar, k = notes.bar, first
    while k >= 0:
        arm = at(work, k)
        arm.draw, arm.stands = draw_above(state, k, bar), _stands(index, quantity(state, k, REWARD), bar)
        k = arm.next
    if first >= 0:
        winner = _largest_tested(index, state, work, t, first, bar)
        if winner >= 0:
            return winner
    notes.draws += state.size
    return _largest_tested(index, state, work, t, _draw_rest(index, state, work, first, bar), -math.inf)


@piece
def _stands(index: Any, seen: Seen, bar: float) -> bool:
    """Whether a draw that exceeds the bar and counts needs no test."""
    share, exact = counts_above(index, seen, bar)
    return (exact and share < 1.0) or not in_doubt(index, seen)


@rare
def _draw_rest(index: Any, state: State, work: Any, first: int, bar: float) -> int:
    """Draw all other open arms, and chain all of them together; the first is returned."""
    drawn, start, last = first, -1, -1
    for k in range(state.size):
        arm = at(work, k)
        if k == drawn:
            drawn = arm.next
        elif arm.open:
            _draw_other(index, state, arm, k, bar)
        else:
            continue
        if last < 0:
            start = k
        else:
            at(work, last).next = k
        last = k
        arm.next = -1
    return start


@piece
def _draw_other(index: Any, state: State, arm: Any, k: int, bar: float) -> None:
    """Draw an arm that does not exceed the bar, or does so and failed its test."""
    seen = quantity(state, k, REWARD)
    share, exact = counts_above(index, seen, bar)
    below = carry(arm, seen, bar)
    if exact and share < 1.0 and uniform(state.stream) * (1.0 - share + share * below) >= below:
        arm.draw, arm.stands = seen.mean, True
    else:
        arm.draw, arm.stands = draw_below(state, k, bar), not in_doubt(index, seen)


@rare
def _largest_tested(index: Any, state: State, work: Any, t: int, first: int, bar: float) -> int:
    """The arm of a chain of the largest draw once tested, ties at random; -1 if it is not above the bar.

    The largest is tested, until what is the largest would be so even if it failed.
    """
    while True:
        winner, top, second, ties = -1, -math.inf, bar, 0
        k = first
        while k >= 0:
            arm = at(work, k)
            if arm.draw > top:
                winner, top, second, ties = k, arm.draw, (top if top > second else second), 1
            else:
                second = arm.draw if arm.draw > second else second
                ties += arm.draw == top
            k = arm.next
        if not top > bar:
            return -1
        arm, seen = at(work, winner), quantity(state, winner, REWARD)
        failed = arm.draw if arm.draw < seen.mean else seen.mean
        if arm.stands:
            # Arms of equal means that lost their optimism tie.
            return winner if ties == 1 else _tied(state, work, winner, top, ties)
        if failed > second or risk_passes(index, seen, t, arm.draw, state.stream):
            return winner
        arm.draw, arm.stands = failed, True


@inlined
def _tied(state: State, work: Any, first: int, top: float, ties: int) -> int:
    """One of the arms of a chain, from `first` on, whose draw is the largest."""
    place, k = int(uniform(state.stream) * ties), first
    while place > 0:
        k = at(work, k).next
        place -= at(work, k).draw == top
    return k
