"""Where a noisy, mostly monotone function of one parameter meets a bound: coarsely first, then with all trials.

Every value is measured on the same trials (common random numbers), so that neighbours differ by the parameter and not
by chance, and the function that is searched is a fixed one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from safebandit.errors import StudyError
from safebandit.studies.designs.estimates import Estimate

# The measured number at a value of the parameter, over so many trials; the last word says why it is asked for.
Measured: TypeAlias = Callable[[float, int, str], Estimate]
# A first look takes a twentieth of the trials, but not fewer than these.
COARSE, FEWEST = 20, 500
# Values of the grid; steps of narrowing by few trials, and values that all of them are spent on, at most.
GRID, MOST_COARSE, MOST_FULL = 5, 6, 8
_NORMAL = 1.96
# Values that are nearer to each other than this share of the range are neighbours.
NARROW = 0.002


class Range(NamedTuple):
    """Where a parameter is looked for. Numbers inside (0, 1) are searched by their log odds."""

    low: float
    high: float
    whole: bool = False

    @property
    def by_odds(self) -> bool:
        """Whether the parameter is a chance."""
        return not self.whole and self.low > 0.0 and self.high < 1.0

    def place(self, value: float) -> float:
        """The place of a value on the scale on which steps are taken."""
        return math.log(value / (1.0 - value)) if self.by_odds else value

    def value(self, place: float) -> float:
        """The value at a place, inside the range; a whole one where the parameter is."""
        if self.whole:
            found = float(round(place))
        elif self.by_odds:
            # Four digits of the chance or of the rest to 1, whichever is smaller: as a protocol would have it.
            rest = float(f"{1.0 / (1.0 + math.exp(abs(place))):.4g}")
            found = rest if place < 0.0 else round(1.0 - rest, 15)
        else:
            found = float(f"{place:.6g}")
        return min(max(found, self.low), self.high)


class Found(NamedTuple):
    """A value that meets the bound, its number, and the values whose numbers cannot be told from the bound (95 %).

    `jump` is the number on the other side, where the function jumps over the bound.
    """

    value: float
    measured: Estimate
    low: float
    high: float
    jump: float | None = None


class Point(NamedTuple):
    """A place on the scale, its number, and how far that lies on the wrong side of the bound (0 or less: met).

    Of shares, how far and its error are measured by log odds: there they are nearly a line.
    """

    place: float
    value: float
    excess: float
    error: float


class Search:
    """One search: what is measured, where, and the bound; `sign` is 1 where the number shall be at most the bound.

    `share` says whether the number is a share of trials; `what` is how the target is called in an error.
    """

    def __init__(
        self, measure: Measured, within: Range, sign: float, bound: float, trials: int, what: str, *, share: bool = True
    ) -> None:
        self.measure, self.within, self.sign, self.bound = measure, within, sign, bound
        self.trials, self.what, self.share = trials, what, share
        self.coarse = min(trials, max(FEWEST, trials // COARSE))
        # What was seen by few trials, and by all of them, by place.
        self.few: dict[float, Point] = {}
        self.all: dict[float, Point] = {}

    def run(self) -> Found:
        """Look at a grid, narrow it down on few trials, then go to the bound with all of them."""
        place, slope = self._roughly()
        return self._exactly(place, slope)

    def _at(self, place: float, trials: int, why: str) -> Point:
        value = self.within.value(place)
        found = self.measure(value, trials, why)
        if math.isnan(found.value):
            raise StudyError(f"{self.what} has no value at {value:g}: no trial has the number that is asked for")
        # A share of 0 has an error, too.
        error, steepness = max(found.se, 1.0 / trials), 1.0
        if self.share:
            inside = _inside(found.value, trials)
            steepness = 1.0 / (inside * (1.0 - inside))
        excess = self.sign * (self._bent(found.value, trials) - self._bent(self.bound, trials))
        point = Point(self.within.place(value), found.value, excess, error * steepness)
        (self.all if trials == self.trials else self.few)[point.place] = point
        return point

    def _bent(self, value: float, trials: int) -> float:
        """A number on the scale on which it is nearly a line: of a share, its log odds."""
        inside = _inside(value, trials)
        return math.log(inside / (1.0 - inside)) if self.share else value

    def _grid(self, trials: int) -> list[Point]:
        low, high = self.within.place(self.within.low), self.within.place(self.within.high)
        places = [low + i * (high - low) / (GRID - 1) for i in range(GRID)]
        return [self._at(place, trials, "grid") for place in places]

    def _roughly(self) -> tuple[float, float]:
        """A place near the bound, and the slope there, by few trials."""
        met, not_met = self._bracket()
        for _ in range(MOST_COARSE):
            if self._close(met, not_met) or max(met.error, not_met.error) > abs(met.excess - not_met.excess) / 2:
                break
            halfway = _stays([*self.few.values()])
            new = self._at(_between(met, not_met, 0.0, halfway=halfway), self.coarse, "narrowing")
            met, not_met = (new, not_met) if new.excess <= 0.0 else (met, new)
        return _between(met, not_met, 0.0), _slope([met, not_met])

    def _bracket(self) -> tuple[Point, Point]:
        """Two neighbours of the grid between which the bound is crossed; an error says what can be reached."""
        trials = self.coarse
        points = self._grid(trials)
        if len({point.excess <= 0.0 for point in points}) == 1 and trials < self.trials:
            # Few trials may miss what all of them reach.
            points = self._grid(self.trials)
        pairs = [pair for pair in itertools.pairwise(points) if (pair[0].excess <= 0) != (pair[1].excess <= 0)]
        if not pairs:
            raise StudyError(self._unreachable(points))
        first, second = pairs[-1]
        return (first, second) if first.excess <= 0.0 else (second, first)

    def _unreachable(self, points: Sequence[Point]) -> str:
        numbers = sorted(point.value for point in points)
        low, high = self.within.low, self.within.high
        where = f"between {low:g} and {high:g} it goes from {numbers[0]:.4g} to {numbers[-1]:.4g}"
        if points[0].excess <= 0.0:
            return f"{self.what} is met everywhere, {where}: there is nothing to calibrate; tighten it, or search wider"
        return f"{self.what} cannot be reached: {where}; ask for a number in that range, or search wider"

    def _exactly(self, place: float, slope: float) -> Found:
        """Go to the bound by the slope, then between the nearest numbers on both sides of it."""
        points: list[Point] = []
        for _ in range(MOST_FULL):
            new = self._at(place, self.trials, "all trials")
            again = any(point.place == new.place for point in points)
            points += [] if again else [new]
            met, not_met = _nearest(points)
            # As near as the error of the number lets one tell.
            near = met is not None and met.excess >= -met.error
            wanted = self._other_side(points) if again else self._next(points, met, not_met, slope)
            if near or wanted is None or self._are_neighbours(met, not_met):
                break
            place = wanted
        met, not_met = _nearest(points)
        if met is None:
            raise StudyError(
                f"{self.what} was met by {self.coarse:,} trials, but by {self.trials:,} at none of {len(points)} "
                "values; search another range"
            )
        return self._found(met, not_met)

    def _other_side(self, points: Sequence[Point]) -> float | None:
        """The nearest place that lay, by few trials, on the side of the bound on which none of these does; None where
        both sides are known. A slope leads nowhere beside a jump.
        """
        sides, tried = {point.excess <= 0.0 for point in points}, {point.place for point in points}
        there = [one.place for one in self.few.values() if (one.excess <= 0.0) not in sides and one.place not in tried]
        return min(there, key=lambda place: abs(place - points[-1].place), default=None)

    def _next(self, points: Sequence[Point], met: Point | None, not_met: Point | None, slope: float) -> float:
        """Where to look next: half an error inside the bound."""
        last = points[-1]
        if met is not None and not_met is not None:
            place = _between(met, not_met, -last.error / 2, halfway=_stays(points))
            # Between two whole numbers: not one of them, while there is another.
            taken = self.within.whole and round(place) in (met.place, not_met.place)
            return float(round((met.place + not_met.place) / 2)) if taken else place
        low, high = self.within.place(self.within.low), self.within.place(self.within.high)
        now, longer = slope, 2.0 ** (len(points) - 1)
        if len(points) > 1:
            # By all trials, where they agree on the direction.
            seen = _slope(points[-2:])
            now, longer = (seen, 1.0) if seen * slope > 0.0 else (slope, longer)
        return min(max(last.place + longer * (-last.error / 2 - last.excess) / now, low), high)

    def _are_neighbours(self, met: Point | None, not_met: Point | None) -> bool:
        """Whether a value that meets the bound and one that does not are next to each other: none is left between."""
        if met is None or not_met is None:
            return False
        width = self.within.place(self.within.high) - self.within.place(self.within.low)
        return abs(not_met.place - met.place) <= (1.0 if self.within.whole else NARROW * width)

    def _close(self, met: Point, not_met: Point) -> bool:
        return self.within.whole and abs(met.place - not_met.place) <= 1.0

    def _found(self, best: Point, not_met: Point | None) -> Found:
        value = self.within.value(best.place)
        measured = self.measure(value, self.trials, "result")
        points = self._all_seen(best)
        places = [self._end(best, points, side) for side in (-1.0, 1.0)]
        jump = None
        if not_met is not None and best.excess < -best.error:
            jump = not_met.value if self._are_neighbours(best, not_met) else None
            places.append(not_met.place)
        ends = [value, *(self.within.value(place) for place in places)]
        return Found(value, measured, min(ends), max(ends), jump)

    def _end(self, best: Point, points: Sequence[Point], side: float) -> float:
        """Where, on one side of the result, numbers begin that can be told from the bound."""
        last, reach = best, _NORMAL * best.error
        if abs(best.excess) > reach:
            return best.place
        for point in sorted(points, key=lambda one: side * one.place):
            if side * point.place <= side * best.place:
                continue
            if abs(point.excess) > reach:
                edge = math.copysign(reach, point.excess)
                share = (edge - last.excess) / (point.excess - last.excess) if point.excess != last.excess else 1.0
                return last.place + min(max(share, 0.0), 1.0) * (point.place - last.place)
            last = point
        return self.within.place(self.within.high if side > 0 else self.within.low)

    def _all_seen(self, best: Point) -> list[Point]:
        """All that was seen, as all trials would have it: few of them are off by about as much as they are here."""
        if not self.few:
            return list(self.all.values())
        off = best.excess - self._at(best.place, self.coarse, "comparison").excess
        moved = [one._replace(excess=one.excess + off) for one in self.few.values() if one.place not in self.all]
        return [*self.all.values(), *moved]


def _nearest(points: Sequence[Point]) -> tuple[Point | None, Point | None]:
    """Of the points that meet the bound and of the others, the two that are nearest to each other."""
    met = [point for point in points if point.excess <= 0.0]
    not_met = [point for point in points if point.excess > 0.0]
    if met and not_met:
        return min(itertools.product(met, not_met), key=lambda pair: abs(pair[0].place - pair[1].place))
    return max(met, key=lambda one: one.excess, default=None), min(not_met, key=lambda one: one.excess, default=None)


def _stays(points: Sequence[Point]) -> bool:
    """Whether the last two lay on one side of the bound: beside a jump a line would creep along it."""
    return len(points) > 2 and (points[-1].excess <= 0.0) == (points[-2].excess <= 0.0)


def _between(met: Point, not_met: Point, aim: float, *, halfway: bool = False) -> float:
    """Where the line through two points comes to `aim`, but not within a tenth of either end; or halfway."""
    share = 0.5 if halfway else (aim - met.excess) / (not_met.excess - met.excess)
    return met.place + min(max(share, 0.1), 0.9) * (not_met.place - met.place)


def _slope(points: Sequence[Point]) -> float:
    first, second = points
    return (second.excess - first.excess) / (second.place - first.place)


def _inside(share: float, trials: int) -> float:
    """A share that is neither 0 nor 1: half a trial away from them at least."""
    return min(max(share, 0.5 / trials), 1.0 - 0.5 / trials)
