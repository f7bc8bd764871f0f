"""Indexed minimum empirical divergence with risk: the arm against which the least evidence speaks."""

from __future__ import annotations

import math
from typing import NamedTuple

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, Numbers, Seen, State, at, quantity, write, written
from safebandit.core.bernoulli import divergence_below
from safebandit.core.dispatch import inlined
from safebandit.core.indices.interface import described, note_evidence, start, upper, width, write_indices
from safebandit.core.streams import Stream


@described(
    "play argmin N d_<(mean||m) + max(0, evidence - discount log(1 + log t)) + log N, m the largest permissible mean",
    "ours: IMED (Honda and Takemura 2015) with the lower bound's sum",
    not_negative=("discount",),
)
class IMED(NamedTuple):
    """The arm against which the least evidence speaks, of reward and risk together, and of being played already.

    `discount` forgives a little risk evidence, growing like log log t: fewer runs in which an arm whose risk is
    exactly alpha is starved, for more plays of unsafe arms.
    """

    discount: float = 0.0


@width.register(IMED)
def imed_width(index: IMED) -> int:
    return 1


@start.register(IMED)
def imed_start(index: IMED, own: Numbers, alpha: float) -> None:
    own[0] = 0.0


@note_evidence.register(IMED)
def imed_notes_evidence(index: IMED, seen: Seen, against: float) -> None:
    seen.own[0] = against


@upper.register(IMED)
def imed_upper(index: IMED, seen: Seen, t: int, stream: Stream) -> float:
    # There is no number of one arm alone: it is compared with the largest permissible mean.
    return math.nan


@inlined
def imed_cost(seen: Seen, largest: float, forgiven: float) -> float:
    """N d_<(mean||largest) + max(0, evidence - forgiven) + log N; minus infinity for an arm that was never played."""
    plays = seen.plays + seen.pending
    return -math.inf if plays == 0 else imed_evidence(seen, largest, forgiven) + math.log(plays)


@inlined
def imed_evidence(seen: Seen, largest: float, forgiven: float) -> float:
    """The evidence against an arm: the cost without log N."""
    against = divergence_below(seen.mean, largest) if seen.plays > 0 else 0.0
    rest = seen.own[0] - forgiven
    return (seen.plays + seen.pending) * against + (rest if rest > 0.0 else 0.0)


@inlined
def forgiveness(index: IMED, t: int) -> float:
    """How much risk evidence is forgiven in round t."""
    return index.discount * math.log(1.0 + math.log(t)) if index.discount > 0.0 else 0.0


@write_indices.register(IMED)
def imed_write_indices(index: IMED, state: State, t: int) -> None:
    """The index of an arm is its cost with the sign changed; all means of permissible arms count, available or not."""
    largest, forgiven = 0.0, forgiveness(index, t)
    for k in range(state.size):
        seen = quantity(state, k, REWARD)
        if written(state, k, PERMISSIBLE) == 1.0 and seen.plays > 0 and seen.mean > largest:
            largest = seen.mean
    for k in range(state.size):
        cost = math.nan
        if written(state, k, PERMISSIBLE) == 1.0 and at(state.arms, k).available:
            cost = imed_cost(quantity(state, k, REWARD), largest, forgiven)
        write(state, k, INDEX, -cost)
