"""Draws that are tested, by the bar: the arm of the largest draw once tested, without drawing or testing every arm.

What it buys: on the drug trial, where the risk of one of two rivals is nearly alpha, joint-ts plays 1.4 times as many
rounds a second as by the bar alone, and joint-dirichlet 1.25 times.

An arm in doubt whose draw fails its test counts as its mean. Of two rivals (`rivals`) let X be in doubt and m its mean,
and p the chance that its draw stands, whatever it is (0 where that depends on the draw). Where m is above the bar, X
exceeds it even if the test fails, and loses to Y only if X > Y > m. So X wins at least with chance rest p (P(X > Y) -
neither), Y with rest (P(Y > X) - neither), and what is left of P(X > Y) is settled by a pair of draws with X > Y. Where
m is below the bar and p is known, X exceeds it only if it stands: Y wins at least with chance
rest (1 - none - p P(X > Y)), with none the chance that neither counts.

Tests of a Dirichlet law pass only with a safe risk, of chance s in each. Let v be the chance that a reward is larger
than the draw: a test given such rewards passes at most with chance s / v, and one of n at most with min(1, n s / v). As
v is uniform up to x, the chance to exceed the bar, a draw does so and may pass with chance n s (1 + log(x / (n s))).
Where that is far below x, it stands for x: an arm whose tests are hopeless is hardly ever drawn.
"""

from __future__ import annotations

import math
from typing import Any

from safebandit.core.arms import REWARD, Seen, State, at, quantity
from safebandit.core.bernoulli import beta_quantile, binomial_tail
from safebandit.core.dispatch import generic, inlined, piece, rare, shared
from safebandit.core.indices.joint_sampling import (
    ALPHA,
    CHANCE,
    TABLE,
    JointDirichlet,
    JointThompson,
    in_doubt,
    risk_passes,
)
from safebandit.core.searches.bar import (
    counts_about,
    draw_above,
    draw_below,
    largest,
    may_count,
    note_tests,
    settle,
    surely_wins,
)
from safebandit.core.searches.rivals import are_rivals, by_doubtful, in_doubt_now, smaller_below, with_others
from safebandit.core.streams import Stream, beta, beta_below, uniform

# An arm in doubt that has the larger draw of two more seldom than this is drawn only where it exceeds the bar.
OFTEN = 0.02
# Tests whose chance to pass, all together, is below this share of the chance to exceed the bar are made first.
FEW = 0.02


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


@counts_about.register(JointThompson)
def _about_its_evidence(index: JointThompson, seen: Seen, bar: float) -> float:
    # A draw that fails its test is as the mean, which may be above the bar, too.
    return 1.0 if seen.mean > bar else seen.own[CHANCE]


@counts_about.register(JointDirichlet)
def _only_without_doubt(index: JointDirichlet, seen: Seen, bar: float) -> float:
    return 1.0 if seen.mean > bar or not in_doubt(index, seen) else 0.0


@may_count.register(JointThompson)
def _counts_if_it_stands(index: JointThompson, seen: Seen, bar: float, above: float, tests: int) -> float:
    return above * seen.own[CHANCE] if known_to_stand(index, seen, bar) else above


@may_count.register(JointDirichlet)
def _counts_if_a_test_may_pass(index: JointDirichlet, seen: Seen, bar: float, above: float, tests: int) -> float:
    if seen.mean > bar or not in_doubt(index, seen):
        return above
    few = tests * safe_chance(seen)
    return few * (1.0 + math.log(above / few)) if 0.0 < few < FEW * above else above if few > 0.0 else 0.0


@note_tests.register(JointDirichlet)
def _notes_tests(index: JointDirichlet, notes: Any, t: int) -> bool:
    if t < notes.tests_until:
        return False
    more = int(index.soft * math.log(t))
    # The round in which there is one more; a little sooner, because it is rounded.
    last = math.exp(min((more + 1.0) / index.soft, 43.0)) - 2.0 if index.soft > 0.0 else math.exp(43.0)
    before = notes.tests
    notes.tests, notes.tests_until = 1 + more, max(t + 1, int(last))
    return notes.tests != before


@inlined
def safe_chance(seen: Seen) -> float:
    """The chance that a risk drawn from the table is at most alpha, whatever the reward."""
    harmed = seen.own[TABLE + 1] + seen.own[TABLE + 3]
    return binomial_tail(harmed + 1.0, harmed + seen.own[TABLE] + seen.own[TABLE + 2] + 1.0, seen.own[ALPHA])


@generic
def known_to_stand(index: object, seen: Seen, bar: float) -> bool:
    """Whether a draw in doubt that exceeds the bar is only said to do so where it stands."""
    raise NotImplementedError


@known_to_stand.register(JointThompson)
def _is_known(index: JointThompson, seen: Seen, bar: float) -> bool:
    return index.soft == 0.0 and seen.mean <= bar


@known_to_stand.register(JointDirichlet)
def _is_not_known(index: JointDirichlet, seen: Seen, bar: float) -> bool:
    return False


@generic
def draw_pretested(index: object, seen: Seen, notes: Any, t: int, stream: Stream, above: float) -> float:
    """A draw above the bar, of chance `above`, given that a test may pass; the mean, if none does."""
    raise NotImplementedError


@draw_pretested.register(JointThompson)
def _is_never_pretested(index: JointThompson, seen: Seen, notes: Any, t: int, stream: Stream, above: float) -> float:
    return seen.mean


@draw_pretested.register(JointDirichlet)
def _draw_that_may_pass(index: JointDirichlet, seen: Seen, notes: Any, t: int, stream: Stream, above: float) -> float:
    safe = safe_chance(seen)
    few = notes.tests * safe
    place = uniform(stream) * (1.0 + math.log(above / few))
    # The chance that another draw is larger; its density is as 1 up to `few`, and then falls as 1 over it.
    larger = few * (place if place < 1.0 else math.exp(place - 1.0))
    drawn = 1.0 - beta_quantile(seen.plays - seen.ones + 1.0, seen.ones + 1.0, larger)
    return drawn if _passes(index, seen, t, drawn, notes.tests, safe / larger, stream) else seen.mean


@rare
def _tested(index: Any, seen: Seen, t: int, drawn: float, stream: Stream) -> bool:
    """Whether a draw passes, by as many tests as it is allowed."""
    return risk_passes(index, seen, t, drawn, stream)


@rare
def _passes(index: Any, seen: Seen, t: int, drawn: float, tests: int, safe: float, stream: Stream) -> bool:
    """Whether a test passes, given that one may: with chance min(1, tests * safe) at least one of the tests does.

    A test draws a risk and a reward above `drawn`. So it passes with chance `safe` times the chance that a reward drawn
    with a safe risk is above it.
    """
    if safe >= 1.0:
        return _tested(index, seen, t, drawn, stream)
    u, none = uniform(stream) * min(1.0, tests * safe), 1.0
    for _ in range(tests):
        none *= 1.0 - safe
        if u < 1.0 - none:
            if reward_if_safe(seen, stream) > drawn:
                return True
            u, none = uniform(stream), 1.0
    return False


@shared
def reward_if_safe(seen: Seen, stream: Stream) -> float:
    """A reward drawn from the table, given that its risk is at most alpha.

    Of a Dirichlet law the risk p01 + p11 and the shares of reward with a risk, p11 / (p01 + p11), and without one,
    p10 / (p00 + p10), are independent, each by a Beta law.
    """
    neither, risk_only = seen.own[TABLE] + 0.5, seen.own[TABLE + 1] + 0.5
    reward_only, both = seen.own[TABLE + 2] + 0.5, seen.own[TABLE + 3] + 0.5
    risk = beta_below(stream, risk_only + both, neither + reward_only, seen.own[ALPHA])
    return risk * beta(stream, both, risk_only) + (1.0 - risk) * beta(stream, reward_only, neither)


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
    x = notes.other if swapped else notes.one
    seen = quantity(state, x, REWARD)
    if not (seen.mean > notes.bar or known_to_stand(index, seen, notes.bar)):
        return -1
    return _doubtful_or_not(index, state, work, notes, t, x, notes.one + notes.other - x)


@rare
def _doubtful_or_not(  # noqa: PLR0911
    index: Any, state: State, work: Any, notes: Any, t: int, x: int, y: int
) -> int:
    """The arm that wins of two rivals, of which x is in doubt; -1 where they do not tell."""
    if not are_rivals(state, work, notes):
        return -1
    seen, rest, neither = quantity(state, x, REWARD), notes.rest, at(work, x).below * at(work, y).below
    stands, larger = stands_always(index, seen, t), notes.chance if x == notes.one else 1.0 - notes.chance
    none, failed = (1.0 - at(work, x).above) * (1.0 - at(work, y).above), 0.0
    if seen.mean > notes.bar:
        if larger < OFTEN:
            return -1
        none, failed = neither, (1.0 - stands) * larger
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
    if one.mean > second or (stands == 0.0 and _tested(index, one, t, top, state.stream)):
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
        _draw_one(index, state, arm, notes, t, k)
        k = arm.next
    if first >= 0:
        winner = _largest_tested(index, state, work, t, first, bar)
        if winner >= 0:
            return winner
    notes.draws += state.size
    return _largest_tested(index, state, work, t, _draw_rest(index, state, work, first, bar), -math.inf)


@piece
def _draw_one(index: Any, state: State, arm: Any, notes: Any, t: int, k: int) -> None:
    """Draw an arm that exceeds the bar and may count; where that says that a test may pass, it is made here."""
    seen, above = quantity(state, k, REWARD), 1.0 - arm.below
    if arm.above < above and not known_to_stand(index, seen, notes.bar):
        arm.draw, arm.stands = draw_pretested(index, seen, notes, t, state.stream, above), True
    else:
        arm.draw, arm.stands = draw_above(state, k, notes.bar), _stands(index, seen, notes.bar)


@piece
def _stands(index: Any, seen: Seen, bar: float) -> bool:
    """Whether a draw that exceeds the bar, and may count, needs no test."""
    return known_to_stand(index, seen, bar) or not in_doubt(index, seen)


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
    if uniform(state.stream) * (1.0 - arm.above) < 1.0 - arm.above - arm.below:
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
        if failed > second or _tested(index, seen, t, arm.draw, state.stream):
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
