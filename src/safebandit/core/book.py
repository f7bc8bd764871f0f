"""What is written down of simulated trials: units and outcomes, what is due, clocks, strata and sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import CELL, Records, State, at
from safebandit.core.dispatch import substituted
from safebandit.core.streams import Stream, Streams

# One unit: its stratum; its round, from 1, its arm (-1: none yet) and the number of its play; when it arrived, and got
# its arm; how long its reward and its risks take to be known; whether they are ever heard of; and the numbers of the
# events that gave it its arm and told of it.
UNIT = np.dtype(
    [
        ("stratum", "i8"),
        ("round", "i8"),
        ("arm", "i8"),
        ("play", "i8"),
        ("arrived_at", "f8"),
        ("given_at", "f8"),
        ("reward_delay", "f8"),
        ("risk_delay", "f8"),
        ("reward_heard", "i8"),
        ("risk_heard", "i8"),
        ("given_event", "i8"),
        ("reward_event", "i8"),
        ("risk_event", "i8"),
    ]
)
# How far a trial is, and what it has come to:
#   begun        whether it has begun
#   now, next    the time, and the time of the next arrival
#   arrived      how many units have arrived
#   first        the first of them that has no arm
#   due          how many outcomes are due
#   held         how many deciders gave the last unit that asked no arm, with nothing heard since
#   events       how many events there were
#   waited       how many units did not get an arm when they arrived
#   waits        the days that they waited, in all
#   given_up     how many units were given up
#   held_after   how many units had an arm when first none was permissible; -1 if that never was
CLOCK = np.dtype(
    [
        ("begun", "i8"),
        ("now", "f8"),
        ("next", "f8"),
        ("arrived", "i8"),
        ("first", "i8"),
        ("due", "i8"),
        ("held", "i8"),
        ("events", "i8"),
        ("waited", "i8"),
        ("waits", "f8"),
        ("given_up", "i8"),
        ("held_after", "i8"),
    ]
)
# What an arm came to: the sum of its rewards, heard of or not, and whether it was ever not permissible.
ARM_SUM = np.dtype([("reward", "f8"), ("excluded", "i8")])
# A stratum: up to which number between 0 and 1 units are of it, which arm of the law is its first, and who decides for
# its units; and of each who decides, whether the last unit that asked got no arm and nothing has been heard since.
STRATUM = np.dtype([("until", "f8"), ("first_arm", "i8"), ("decider", "i8"), ("held", "i8")])
DUE = np.dtype([("time", "f8"), ("event", "i8")])


class Book(NamedTuple):
    """What is written down of trials (rows): their units, with outcomes and what is known of them (layers), what is
    due, as a heap, their clocks and strata, the sums of their arms, and those of harms (by arm, then risk, heard of or
    not).
    """

    units: Records
    outcomes: Records
    due: Records
    clocks: Records
    strata: Records
    sums: Records
    harms: Records
    news: Records


def new_book(trials: int, units: int, arms: int, risks: int, strata: Records) -> Book:
    """An empty one; `strata` are those of every trial, of type STRATUM."""
    clocks = np.zeros(trials, CLOCK)
    clocks["held_after"] = -1
    nobody = np.zeros((trials, units), UNIT)
    nobody["arm"] = -1
    return Book(
        nobody,
        np.full((trials, units, 2, 1 + risks), np.nan).view(CELL),
        np.zeros((trials, 2 * units), DUE),
        clocks,
        np.tile(strata, (trials, 1)),
        np.zeros((trials, arms), ARM_SUM),
        np.zeros((trials, arms, risks), CELL),
        np.zeros(1 + risks, CELL),
    )


class Chance(NamedTuple):
    """The random numbers of trials (rows): of every arm's outcomes, of what is heard, of delays, of arrivals, of
    strata.
    """

    outcomes: Streams
    losses: Streams
    delays: Streams
    arrivals: Streams
    strata: Streams


class Desk(NamedTuple):
    """The book and the random numbers of one trial, as bare pointers: arrays would be counted in and out at every
    call.
    """

    units: Any
    outcomes: Any
    due: Any
    clock: Any
    strata: Any
    strata_count: int
    sums: Any
    harms: Any
    news: Any
    streams: Stream
    losses: Stream
    delays: Stream
    arrivals: Stream
    kinds: Stream


@substituted
def desk_of(book: Book, chance: Chance, i: int) -> Desk:
    """The desk of trial i."""
    return Desk(
        book.units[i, 0],
        book.outcomes[i, 0, 0, 0],
        book.due[i, 0],
        book.clocks[i],
        book.strata[i, 0],
        book.strata.shape[1],
        book.sums[i, 0],
        book.harms[i, 0, 0],
        book.news[0],
        chance.outcomes[i, 0],
        chance.losses[i],
        chance.delays[i],
        chance.arrivals[i],
        chance.strata[i],
    )


@substituted
def outcome_of(desk: Desk, state: State, number: int) -> Any:
    """The first number of a unit's outcome: its reward and risks, and behind those what is known of them."""
    return at(desk.outcomes, number * 2 * (1 + state.risks))
