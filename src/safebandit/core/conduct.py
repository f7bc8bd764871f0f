"""How a protocol lets units be given arms, around any policy: cohorts, a first arm, steps, a burn-in, looks.

A live trial and a simulated one take the same steps, all here: `bar` says which arms may be given, `next_arm` gives
one, `give` counts that it was given, `settle` what was heard, and whether it is time to look at the data.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from safebandit.core.arms import CHANCE, PERMISSIBLE, REWARD, Counts, Records, State, at, fits, quantity, write, written
from safebandit.core.chances import chance_safe, known_risks
from safebandit.core.dispatch import inlined, piece
from safebandit.core.policies.interface import DONE, HOLD, WAIT, decide, looked
from safebandit.core.streams import go_back, place_of, uniform

# Why an arm may not be given now: nothing speaks against it, too many of its units are pending, it is more steps up
# than are allowed, it was dropped for good, an arm below it is not safe enough to climb above, or the unit that asks
# may not be given it.
FREE, PENDING, STEP, DROPPED, CLIMB, MASKED = 0, 1, 2, 3, 4, 5


# A `Conduct` for compiled code; the looks lie behind one another, as the numbers that an index keeps do.
CONDUCT = np.dtype(
    [
        ("units", "i8"),
        ("cohort", "i8"),
        ("waits", "i8"),
        ("first", "i8"),
        ("burn_in", "i8"),
        ("steps", "i8"),
        ("known_below", "i8"),
        ("upwards", "i8"),
        ("pending_cap", "i8"),
        ("rewarded", "i8"),
        ("lost_is_harm", "i8"),
        ("climb", "f8"),
        ("control", "i8"),
        ("look_count", "i8"),
        ("looks", "i8", (1,)),
    ]
)
# One record of type CONDUCT.
ConductRecord: TypeAlias = Any


class Conduct(NamedTuple):
    """What is fixed of how units are given arms.

    At most so many `units`, in cohorts of `cohort` units of one arm; with `waits`, a cohort begins when all is settled
    of those before. The first cohort gets the arm `first` (-1: by the policy); before `burn_in` units, each gets
    an arm that was given least often. With `steps` above 0 arms are in order: at most so many levels above the highest
    that was given, and an arm is given first when `known_below` risks are known of the one below. With `upwards` an
    arm that is not permissible excludes those above it. The data are looked at when so many units are settled as
    `looks` has, in order. `pending_cap` is how many units of an arm may wait for a risk before any is known.
    With `climb` above 0 an arm is given only if every arm below it of which an outcome of every risk is known is safe
    with at least that chance, from a flat prior.
    `rewarded` says whether a unit has a reward at all; `lost_is_harm` whether a risk that is never heard of counts as
    harm. `control` is the arm that every unit is given while the trial is routed to it (-1: there is none).
    """

    units: int
    cohort: int
    waits: bool
    first: int
    burn_in: int
    steps: int
    known_below: int
    upwards: bool
    looks: Counts
    pending_cap: int
    rewarded: bool
    lost_is_harm: bool = True
    climb: float = 0.0
    control: int = -1

    def packed(self) -> Records:
        """One record of type CONDUCT, as compiled code takes it: a bare pointer, which costs nothing to pass on."""
        size = CONDUCT.itemsize + 8 * max(0, len(self.looks) - 1)
        raw = np.zeros(size, np.uint8)
        record: Records = np.ndarray((1,), CONDUCT, buffer=raw, strides=(size,))
        for name, value in self._asdict().items():
            if name != "looks":
                record[name] = value
        record["look_count"] = len(self.looks)
        raw[CONDUCT.itemsize - 8 :].view(np.int64)[: len(self.looks)] = self.looks
        return record


# More units than any trial has.
NO_LIMIT = 2**62


def plain_conduct(pending_cap: int = 1, control: int = -1) -> Conduct:
    """One unit after the other, for as long as they come, and never a look: as a policy alone decides."""
    looks = np.zeros(0, np.int64)
    return Conduct(NO_LIMIT, 1, False, -1, 0, 0, 0, False, looks, pending_cap, True, control=control)


@inlined
def bar(conduct: ConductRecord, state: State, k: int, top: int) -> int:
    """What speaks against giving arm k now, where `top` is the highest that may be climbed to: FREE, PENDING, ..."""
    if at(state.arms, k).dropped:
        return DROPPED
    if at(state.arms, k).masked:
        return MASKED
    if k > top:
        return CLIMB
    for j in range(1, 1 + state.risks):
        risk = quantity(state, k, j)
        if not fits(risk.pending, risk.plays, conduct.pending_cap):
            return PENDING
    if conduct.steps > 0 and at(state.arms, k).asked == 0 and not _within_steps(conduct, state, k):
        return STEP
    return FREE


@inlined
def _within_steps(conduct: ConductRecord, state: State, k: int) -> bool:
    """Whether an arm that was never given is no more levels up than allowed, and enough is known of the one below."""
    first = max(conduct.first, 0)
    reached = first - conduct.steps
    for i in range(state.size):
        if at(state.arms, i).asked > 0:
            reached = i
    enough = k <= reached + conduct.steps
    if k > first:
        for j in range(1, 1 + state.risks):
            enough = enough and quantity(state, k - 1, j).plays >= conduct.known_below
    return enough


@inlined
def highest(conduct: ConductRecord, state: State) -> int:
    """The highest arm that may be climbed to: the first that is not safe enough, from a flat prior, or the last."""
    if conduct.climb > 0.0:
        for k in range(state.size):
            if known_risks(state, k) > 0 and chance_safe(state, k, 1.0, 1.0) < conduct.climb:
                return k
    return state.size - 1


@inlined
def mark_available(conduct: ConductRecord, state: State) -> None:
    """Note of every arm whether it may be given now."""
    state.course.upwards = conduct.upwards
    top = highest(conduct, state)
    for k in range(state.size):
        at(state.arms, k).available = bar(conduct, state, k, top) == FREE


@piece
def next_arm(policy: Any, conduct: ConductRecord, state: State, t: int) -> tuple[int, bool]:
    """The arm for round t, or HOLD, WAIT or DONE, and whether no arm was permissible; only random numbers change."""
    course = state.course
    mark_available(conduct, state)
    if course.routed:
        return _routed(policy, conduct.control, state, t)
    if 0 < course.cohort < conduct.cohort and not at(state.arms, course.last).dropped:
        return _unless_masked(state, course.last), False
    if conduct.waits and course.settled < course.given:
        return WAIT, False
    if course.given == 0 and conduct.first >= 0:
        return _unless_masked(state, conduct.first), False
    if course.given < conduct.burn_in:
        return _least_given(state), False
    return decide(policy, state, t)


@piece
def _routed(policy: Any, control: int, state: State, t: int) -> tuple[int, bool]:
    """The control, if the policy's gate is open for it; else nothing is given. The policy judges every arm, and the
    random numbers stay where they are: nothing is drawn for.
    """
    stream = state.stream
    before = place_of(stream)
    k, _ = decide(policy, state, t)
    go_back(stream, before)
    for i in range(state.size):
        write(state, i, CHANCE, 1.0 if i == control else 0.0)
    arm = at(state.arms, control)
    if k == DONE:
        return DONE, False
    if written(state, control, PERMISSIBLE) != 1.0 or arm.dropped or arm.masked:
        return HOLD, True
    return (control if arm.available else WAIT), False


@inlined
def _unless_masked(state: State, k: int) -> int:
    """The arm that the protocol fixes; a unit that may not be given it waits until another one was."""
    return WAIT if at(state.arms, k).masked else k


@inlined
def _least_given(state: State) -> int:
    """An arm drawn among those that were given out least often and may be."""
    fewest, ties = 0, 0
    for k in range(state.size):
        arm = at(state.arms, k)
        if arm.available and (ties == 0 or arm.asked < fewest):
            fewest, ties = arm.asked, 1
        elif arm.available and arm.asked == fewest:
            ties += 1
    place = int(uniform(state.stream) * ties) if ties > 1 else 0
    for k in range(state.size):
        arm = at(state.arms, k)
        if arm.available and arm.asked == fewest:
            if place == 0:
                return k
            place -= 1
    return WAIT


@inlined
def give(conduct: ConductRecord, state: State, k: int, t: int) -> int:
    """Count the unit of round t, which is given arm k and of which all is pending; the number of its play, from 0."""
    arm, course = at(state.arms, k), state.course
    play = arm.asked
    arm.asked = play + 1
    for j in range(1 + state.risks):
        if j != REWARD or conduct.rewarded:
            quantity(state, k, j).pending += 1
    if course.cohort == 0 or course.cohort >= conduct.cohort or course.last != k:
        course.cohort, course.cohort_from, course.cohort_harms = 0, t, 0
    course.cohort += 1
    course.given += 1
    course.last = k
    return play


@piece
def settle(policy: Any, conduct: ConductRecord, state: State) -> bool:
    """Count a unit of which nothing is waited for any more; whether it is time to look at the data."""
    course = state.course
    course.settled += 1
    if course.looks >= conduct.look_count or course.settled < conduct.looks[course.looks]:
        return False
    course.looks += 1
    looked(policy, state)
    return True
