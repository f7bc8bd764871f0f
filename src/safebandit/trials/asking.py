"""What the code that decides says after units of which all is known, for the tables of a protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from safebandit.core.arms import CELL
from safebandit.core.conduct import Conduct
from safebandit.core.kernels import Told, no_contexts
from safebandit.trials.allocator import Allocator, Given
from safebandit.trials.looks import Measured, rules_of

if TYPE_CHECKING:
    from safebandit.core.policies.words import Decision
    from safebandit.trials.design import Design

# It does not matter: of what is drawn, the tables give the chances.
SEED = 0


class Units(NamedTuple):
    """So many units on one arm, all known: how many had a harm of each risk, and how many a reward."""

    arm: int
    size: int
    harms: tuple[int, ...]
    rewards: int = 0


def asked(design: Design, known: Sequence[Units], *, t: int | None = None, arms: Sequence[str] = ()) -> Decision:
    """What the policy decides after these units; in round t, or in the next; of other `arms` than the design's."""
    allocator = _counted(design, known, arms or design.arms)
    return allocator.decide(1 + sum(units.size for units in known) if t is None else t)


def is_reached(design: Design, rule: Any, known: Sequence[Units], arm: int) -> bool:
    """Whether a stopping rule is reached by these units, for the arm or for the trial as a whole."""
    found = _counted(design, known, design.arms).measure(rule)
    return bool(found[arm if rule.drops else 0] >= rule.level)


def after_looks(design: Design, known: Sequence[Units]) -> tuple[Allocator, int, str | None]:
    """The arms after these units, told one by one and looked at as the design says; the round that is next; and the
    rule that has stopped the trial, if one has.
    """
    allocator, number = _allocator(design, design.conduct(), design.arms), 0
    for units in known:
        for i in range(units.size):
            number, looks = number + 1, allocator.looks
            nothing = (None,) * (1 + len(design.risks))
            play = allocator.give(units.arm, number)
            allocator.learn(units.arm, play, number, nothing, _outcome(design, units, i))
            stopped = _look(design, allocator) if allocator.looks > looks else None
            if stopped is not None:
                return allocator, number + 1, stopped
    return allocator, number + 1, None


def _look(design: Design, allocator: Allocator) -> str | None:
    """Drop arms as the rules say, in their order, and route units to the control; the first that stops the trial, or
    pauses it, if one does.
    """
    for name, rule, then in rules_of(design):
        seen = Measured(name, rule, allocator.measure(rule), then)
        if seen.reached and then == "route":
            allocator.route(True)
            continue
        if seen.reached and not seen.drops:
            return name
        for k in seen.reached:
            allocator.drop(k)
    return None


def _counted(design: Design, known: Sequence[Units], arms: Sequence[str]) -> Allocator:
    """The arms after these units, counted at once: for a decision after every unit, not only where a cohort ends."""
    allocator = _allocator(design, design.conduct()._replace(cohort=1, first=-1, burn_in=0, steps=0), arms)
    places = np.repeat([units.arm for units in known], [units.size for units in known])
    # An arm stands once among the units that are asked about, so its plays are numbered from 0 in its place.
    plays = np.concatenate([np.arange(units.size) for units in known])
    outcomes = [_outcome(design, units, i) for units in known for i in range(units.size)]
    news = np.array([[np.nan if value is None else value for value in row] for row in outcomes])
    given = Given(np.bincount(places, minlength=len(arms)), int(places[-1]), 1, len(places))
    nothing, rounds, lost = np.full_like(news, np.nan), np.arange(1, 1 + len(places)), np.zeros(len(places), bool)
    allocator.count(
        given, Told(places, plays, rounds, news.view(CELL), nothing.view(CELL), lost, no_contexts(len(news)))
    )
    return allocator


def _allocator(design: Design, conduct: Conduct, arms: Sequence[str]) -> Allocator:
    return Allocator(
        arms, design.limits, design.floored_policy(), risks=design.risks, seed=SEED, conduct=conduct, units=design.units
    )  # fmt: skip


def _outcome(design: Design, units: Units, i: int) -> tuple[float | None, ...]:
    """What happened to the i-th of these units: harms and rewards come first."""
    return (float(i < units.rewards) if design.rewarded else None, *(float(i < x) for x in units.harms))


def fewest(most: int, near: int, holds: Callable[[int], bool]) -> int | None:
    """The least number up to `most` for which something holds that holds of all above it, too; asked first beside
    `near`, where it mostly is, so that few are asked.

    >>> fewest(10, 3, lambda x: x >= 4), fewest(10, 3, lambda x: False)
    (4, None)
    """
    low, high, guesses = 0, most + 1, [near + 1, near, near - 1]
    while low < high:
        guess = guesses.pop() if guesses else (low + high) // 2
        if low <= guess < high:
            low, high = (low, guess) if guess <= most and holds(guess) else (guess + 1, high)
    return low if low <= most else None
