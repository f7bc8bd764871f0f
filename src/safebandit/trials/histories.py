"""What happened in simulated trials, event by event, as their log would have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from safebandit.trials.simulated import Plan, Room


class Happening(NamedTuple):
    """One event of a simulated trial: on which day, to which unit (by its round, from 1), of which arm; what is then
    told of it, and of which stratum it is ("" where none are decided apart).

    `kind` is "given" (nothing is told), "told" or "given up". `outcome` has the reward and the risks that are new, None
    for the rest.
    """

    event: int
    day: float
    unit: int
    arm: int
    kind: str
    outcome: tuple[float | None, ...]
    stratum: str = ""


def histories(plan: Plan, trials: range) -> list[list[Happening]]:
    """The history of each of these trials, outcomes that came after its end included."""
    room = Room(plan, trials)
    room.play()
    return [sorted(_happenings(plan, room, i), key=lambda each: each.event) for i in range(len(trials))]


def _happenings(plan: Plan, room: Room, i: int) -> Iterator[Happening]:
    units = room.book.units[i, : int(room.book.clocks["arrived"][i])]
    for number in np.flatnonzero(units["arm"] >= 0):
        unit, values = units[number], room.book.outcomes["value"][i, number, 0]
        whom = int(unit["round"]), int(unit["arm"])
        stratum = plan.strata[int(unit["stratum"])].name if plan.apart else ""
        day = float(unit["given_at"])
        nothing: tuple[float | None, ...] = (None,) * len(values)
        yield Happening(int(unit["given_event"]), day, *whom, "given", nothing, stratum)
        reward, risks = int(unit["reward_event"]), int(unit["risk_event"])
        heard = plan.conduct.rewarded and bool(unit["reward_heard"])
        if heard and not (reward == risks and unit["risk_heard"]):
            told = _told(values, True, False)
            yield Happening(reward, day + float(unit["reward_delay"]), *whom, "told", told, stratum)
        if unit["risk_heard"]:
            told = _told(values, heard and reward == risks, True)
            yield Happening(risks, day + float(unit["risk_delay"]), *whom, "told", told, stratum)
        else:
            yield Happening(risks, day + plan.timing.give_up_after, *whom, "given up", nothing, stratum)


def _told(values: Any, reward: bool, risks: bool) -> tuple[float | None, ...]:
    return tuple(float(value) if (reward if j == 0 else risks) else None for j, value in enumerate(np.asarray(values)))
