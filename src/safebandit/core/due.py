"""What is due in a simulated trial, as a heap: what will be told of its units, and when."""

from __future__ import annotations

from typing import Any

from safebandit.core.arms import at
from safebandit.core.book import Desk
from safebandit.core.dispatch import inlined

# What is due of a unit.
TELL_REWARD, TELL_RISKS, TELL_BOTH, GIVE_UP = 0, 1, 2, 3
KINDS = 4


@inlined
def _sooner(one: Any, other: Any) -> bool:
    return one.time < other.time or (one.time == other.time and one.event < other.event)


@inlined
def _swap(one: Any, other: Any) -> None:
    time, event = one.time, one.event
    one.time, one.event = other.time, other.event
    other.time, other.event = time, event


@inlined
def put_due(desk: Desk, time: float, event: int) -> None:
    """Put an event into the heap of what is due."""
    place = desk.clock.due
    desk.clock.due = place + 1
    last = at(desk.due, place)
    last.time, last.event = time, event
    while place > 0 and _sooner(at(desk.due, place), at(desk.due, (place - 1) // 2)):
        _swap(at(desk.due, place), at(desk.due, (place - 1) // 2))
        place = (place - 1) // 2


@inlined
def take_due(desk: Desk) -> int:
    """Take the soonest event from the heap of what is due; of several at one time, the one of the first unit."""
    size, place, event = desk.clock.due - 1, 0, desk.due.event
    desk.clock.due = size
    _swap(desk.due, at(desk.due, size))
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _sooner(at(desk.due, child + 1), at(desk.due, child)):
            child += 1
        if not _sooner(at(desk.due, child), at(desk.due, place)):
            break
        _swap(at(desk.due, place), at(desk.due, child))
        place = child
    return event
