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
GRID, MOST_COARSE, MOST_FULL = 5, 6, 8
_NORMAL = 1.96


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
        found = 1.0 / (1.0 + math.exp(-place)) if self.by_odds else place
        found = min(max(found, self.low), self.high)
        return float(round(found)) if self.whole else found


class Found(NamedTuple):
    """A value that meets the bound, its number, and the interval of the parameter that the number's error leaves."""

    value: float
    measured: Estimate
    low: float
    high: float


class Point(NamedTuple):
    """A place on the scale, and how far its number lies on the wrong side of the bound (0 or less: met)."""

    place: float
    excess: float
    error: float


class Search:
    """One search: what is measured, where, and the bound; `sign` is 1 where the number shall be at most the bound."""

    def __init__(self, measure: Measured, within: Range, sign: float, bound: float, trials: int, what: str) -> None:
        self.measure, self.within, self.sign, self.bound = measure, within, sign, bound
        self.trials, self.what = trials, what
        self.coarse = min(trials, max(FEWEST, trials // COARSE))

    def run(self) -> Found:
        """Look at a grid, narrow it down on few trials, then go to the bound with all of them."""
        place, slope = self._roughly()
        return self._exactly(place, slope)

    def near(self, value: float, slope: float) -> Found:
        """Go to the bound from a value near it, with all trials."""
        return self._exactly(self.within.place(value), slope)

    def _at(self, place: float, trials: int, why: str) -> Point:
        value = self.within.value(place)
        found = self.measure(value, trials, why)
        if math.isnan(found.value):
            raise StudyError(f"{self.what} has no value at {value:g}: no trial has the number that is asked for")
        # A share of 0 has an error, too.
        error = max(found.se, 1.0 / trials)
        return Point(self.within.place(value), self.sign * (found.value - self.bound), error)

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
            new = self._at(_between(met, not_met, 0.0), self.coarse, "narrowing")
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
        numbers = sorted(self.bound + self.sign * point.excess for point in points)
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
            if any(point.place == new.place for point in points):
                break
            points.append(new)
            met = [point for point in points if point.excess <= 0.0]
            # As near as the error of the number lets one tell.
            if met and max(point.excess for point in met) >= -new.error:
                break
            place = self._next(points, slope)
        met = [point for point in points if point.excess <= 0.0]
        if not met:
            raise StudyError(f"{self.what} was not reached in {MOST_FULL} steps; search a narrower range")
        return self._found(max(met, key=lambda point: point.excess), points, slope)

    def _next(self, points: Sequence[Point], slope: float) -> float:
        """Where to look next: half an error inside the bound."""
        met = max((one for one in points if one.excess <= 0.0), key=lambda one: one.excess, default=None)
        above = min((one for one in points if one.excess > 0.0), key=lambda one: one.excess, default=None)
        last = points[-1]
        if met is not None and above is not None:
            return self._whole_between(met, above, _between(met, above, -last.error / 2))
        step = (-last.error / 2 - last.excess) / slope if slope else 0.0
        place = last.place + (step * 2 ** (len(points) - 1))
        low, high = self.within.place(self.within.low), self.within.place(self.within.high)
        return min(max(place, low), high)

    def _whole_between(self, met: Point, above: Point, place: float) -> float:
        """Between two whole numbers: not one of them, while there is another."""
        if not self.within.whole or round(place) not in (met.place, above.place):
            return place
        return float(round((met.place + above.place) / 2))

    def _close(self, met: Point, not_met: Point) -> bool:
        return self.within.whole and abs(met.place - not_met.place) <= 1.0

    def _found(self, best: Point, points: Sequence[Point], slope: float) -> Found:
        value = self.within.value(best.place)
        measured = self.measure(value, self.trials, "result")
        told = [point for point in points if abs(point.excess - best.excess) > best.error]
        local = _slope([best, min(told, key=lambda one: abs(one.excess - best.excess))]) if told else slope
        reach = _NORMAL * best.error / abs(local) if local else math.inf
        ends = sorted((self.within.value(best.place - reach), self.within.value(best.place + reach)))
        return Found(value, measured, ends[0], ends[1])


def _between(met: Point, above: Point, aim: float) -> float:
    """Where the line through two points comes to `aim`, but not within a tenth of either end."""
    share = (aim - met.excess) / (above.excess - met.excess)
    return met.place + min(max(share, 0.1), 0.9) * (above.place - met.place)


def _slope(points: Sequence[Point]) -> float:
    first, second = points
    return (second.excess - first.excess) / (second.place - first.place)
