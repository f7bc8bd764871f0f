"""What happened in simulated trials, event by event, as their log would have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from safebandit.trials.simulated import Plan, Room


class Happening(NamedTuple):
    """One event of a simulated trial: on which day, to which unit (from 1), of which arm; what is then told of it.

    `kind` is "given" (nothing is told), "told" or "given up". `outcome` has the reward and the risks that are new, None
    for the rest.
    """

    event: int
    day: float
    unit: int
    arm: int
    kind: str
    outcome: tuple[float | None, ...]


def histories(plan: Plan, trials: range) -> list[list[Happening]]:
    """The history of each of these trials, outcomes that came after its end included."""
    room = Room(plan, trials)
    room.play()
    return [sorted(_happenings(plan, room, i), key=lambda each: each.event) for i in range(len(trials))]


def _happenings(plan: Plan, room: Room, i: int) -> Iterator[Happening]:
    for number in range(int(room.memory.courses["given"][i])):
        unit, arm = room.book.units[i, number], int(room.book.units["arm"][i, number])
        day, values = float(unit["given_at"]), room.book.outcomes["value"][i, number, 0]
        nothing: tuple[float | None, ...] = (None,) * len(values)
        yield Happening(int(unit["given_event"]), day, 1 + number, arm, "given", nothing)
        reward, risks = int(unit["reward_event"]), int(unit["risk_event"])
        heard = plan.conduct.rewarded and bool(unit["reward_heard"])
        if heard and not (reward == risks and unit["risk_heard"]):
            yield Happening(
                reward, day + float(unit["reward_delay"]), 1 + number, arm, "told", _told(values, True, False)
            )
        if unit["risk_heard"]:
            both = heard and reward == risks
            yield Happening(risks, day + float(unit["risk_delay"]), 1 + number, arm, "told", _told(values, both, True))
        else:
            yield Happening(risks, day + plan.timing.give_up_after, 1 + number, arm, "given up", nothing)


def _told(values: Any, reward: bool, risks: bool) -> tuple[float | None, ...]:
    return tuple(float(value) if (reward if j == 0 else risks) else None for j, value in enumerate(np.asarray(values)))
