"""Confidence sequences over the looks at one arm, or at two: running intersections, by the kind that was chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.core.naming import read_number
from safebandit.core.sequences import betting_bounds, difference_bounds, mixture_bounds, planned_bounds
from safebandit.errors import TrialError

KINDS = ("mixture", "betting")
# Looks are at each of the first outcomes, and then at so many more in every step; each costs time, and few are lost.
EVERY_LOOK = 20
STEP = 1.1


@dataclass(frozen=True)
class Sequence:
    """Which sequence: its kind, how sure, and for how many outcomes of an arm a mixture was `planned`, if for any."""

    confidence: float = 0.95
    kind: str = "mixture"
    planned: int | None = None

    @property
    def words(self) -> str:
        """What it is, for people."""
        if self.kind == "betting":
            return "betting"
        if self.planned is None:
            return "mixture, Beta(1, 1)"
        return f"mixture, planned for {self.planned:,} outcomes of an arm"

    def bounds(self, plays: float, total: float) -> tuple[float, float]:
        """The ends after so many outcomes of this sum, by a mixture."""
        if self.planned is None:
            return mixture_bounds(float(plays), float(total), self.confidence)
        return planned_bounds(float(plays), float(total), self.confidence, float(self.planned))


@dataclass(frozen=True)
class Path:
    """The plain mean and the ends of a sequence after so many `known` outcomes, look by look.

    An end never moves back: at each look it is the best so far, which holds too, as all looks hold at once.
    """

    known: Counts
    mean: Numbers
    low: Numbers
    high: Numbers

    @property
    def ends(self) -> tuple[float, float]:
        """The ends at the last look; before any outcome all of the scale."""
        return float(self.low[-1]), float(self.high[-1])


def read_sequence(confidence: float, kind: str, planned: int | None) -> Sequence:
    """A sequence as people ask for it, checked."""
    sure = float(read_number("confidence", confidence, float, TrialError))
    if not 0.0 < sure < 1.0:
        raise TrialError(f"confidence must lie between 0 and 1, got {confidence}")
    if kind not in KINDS:
        raise TrialError(f'the kind of a sequence must be one of {", ".join(KINDS)}, got "{kind}"')
    if planned is None:
        return Sequence(sure, kind)
    if kind != "mixture":
        raise TrialError(f'planned is for the kind "mixture"; "{kind}" has no plan: leave it out')
    count = int(read_number("planned", planned, int, TrialError))
    if count < 1:
        raise TrialError(f"planned must be at least 1 outcome of an arm, got {planned}")
    return Sequence(sure, kind, count)


def looks_at(known: int) -> Counts:
    """After how many outcomes one looks: each at first, then ever more seldom, and now.

    >>> looks_at(24).tolist()[-6:]
    [17, 18, 19, 20, 22, 24]
    """
    looks = list(range(1, min(known, EVERY_LOOK) + 1))
    while looks and looks[-1] < known:
        looks.append(min(known, int(looks[-1] * STEP)))
    return np.array(looks, np.int64)


def mean_path(values: Numbers, sequence: Sequence) -> Path:
    """The sequence of one arm's outcomes, which are in order."""
    looks = looks_at(len(values))
    if not len(looks):
        return Path(np.zeros(1, np.int64), np.full(1, np.nan), np.zeros(1), np.ones(1))
    totals = np.cumsum(values)[looks - 1]
    if sequence.kind == "betting":
        low, high = betting_bounds(np.ascontiguousarray(values), looks, sequence.confidence)
    else:
        low, high = np.array([sequence.bounds(n, s) for n, s in zip(looks, totals, strict=True)]).T
    return Path(looks, totals / looks, np.maximum.accumulate(low), np.minimum.accumulate(high))


def difference_path(one: Numbers, when: Counts, other: Numbers, other_when: Counts, sequence: Sequence) -> Path:
    """The sequence of the mean of one arm less that of another; `when` says in which order outcomes were known."""
    order = np.argsort(np.concatenate([when, other_when]), kind="stable")
    mine = order < len(one)
    looks = looks_at(len(order))
    if not len(one) or not len(other):
        return Path(np.array([len(order)]), np.full(1, np.nan), np.full(1, -1.0), np.ones(1))
    n = np.cumsum(mine, dtype=np.int64)[looks - 1]
    m = looks - n
    both = (n > 0) & (m > 0)
    looks, n, m = looks[both], n[both], m[both]
    s, r = np.cumsum(one)[n - 1], np.cumsum(other)[m - 1]
    if sequence.kind == "betting":
        half = 0.5 * (1.0 + sequence.confidence)
        (low, high), (below, above) = (betting_bounds(np.ascontiguousarray(values), counts, half)
                                       for values, counts in ((one, n), (other, m)))  # fmt: skip
        low, high = low - above, high - below
    else:
        four = np.column_stack([n, s, m, r]).tolist()
        low, high = np.array([difference_bounds(a, b, c, d, sequence.confidence) for a, b, c, d in four]).T
    return Path(looks, s / n - r / m, np.maximum.accumulate(low), np.minimum.accumulate(high))
