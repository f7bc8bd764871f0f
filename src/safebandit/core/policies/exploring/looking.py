"""What policies of pure exploration share: their safe set, and how far every arm's means are from its boundary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from safebandit.core.arms import CHANCE, INDEX, PERMISSIBLE, RISKS, State, write
from safebandit.core.dispatch import shared
from safebandit.core.naming import read_number
from safebandit.core.policies.interface import Setup
from safebandit.core.policies.words import FIRST_PLAY, Decision
from safebandit.core.safe_set_texts import REWARD_NAME, read_safe_set
from safebandit.core.safe_sets import SafeSet, box, signed_distance, write_means
from safebandit.errors import PolicyError

# What a decision shows of every arm, in this order: how far its means lie inside of the safe set, below 0 outside; and
# of how many units they are known or awaited.
DISTANCE, UNITS = "distance inside", "units"
LOOKED = (DISTANCE, UNITS)


def set_of(given: Any, setup: Setup) -> SafeSet:
    """The safe set of a policy: by its text, or where none is given, every risk at most its alpha."""
    if isinstance(given, SafeSet):
        return given
    return box(setup.limits) if given is None else read_safe_set(given, len(setup.limits))


def needs_of(given: Any) -> tuple[str, ...]:
    """What a policy with this safe set needs of a design."""
    return ("reward",) if isinstance(given, str) and REWARD_NAME in given else ()


def read_not_negative(name: str, given: Any) -> float:
    """A number of at least 0."""
    number = float(read_number(name, given, float, PolicyError))
    if number < 0:
        raise PolicyError(f"{name} must be at least 0, got {given!r}")
    return number


@shared
def write_looks(safe_set: SafeSet, state: State) -> None:
    """Write of every arm how far its means lie inside of the set, and of how many units they are known or awaited.

    Of an arm of which nothing is known yet the distance is not a number. No arm is kept from anybody.
    """
    own, point = RISKS + state.risks, np.empty(1 + state.risks)
    for k in range(state.size):
        known, coming = write_means(safe_set, state, k, point)
        write(state, k, PERMISSIBLE, 1.0)
        write(state, k, INDEX, math.nan)
        write(state, k, CHANCE, math.nan)
        for j in range(state.risks):
            write(state, k, RISKS + j, math.nan)
        write(state, k, own, signed_distance(safe_set, point) if known > 0 else math.nan)
        write(state, k, own + 1, float(coming))


def why_wanted(decision: Decision, arm: int, rule: str) -> str:
    """The words of a policy that gives the arm of the largest index, after first plays."""
    index, away = decision.indices[arm], decision.own[DISTANCE][arm]
    if np.isnan(index):
        return FIRST_PLAY if arm == decision.k else "another arm that was never given comes first"
    if np.isnan(away):
        where = "nothing is known of its means"
    else:
        where = f"its means lie {abs(away):.4g} {'inside' if away >= 0 else 'outside'} of the safe set"
    return f"{where}; {'it has' if arm == decision.k else 'another arm has'} the {rule}"
