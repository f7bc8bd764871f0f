"""Safe-Monotonic (Wang, Wagenmaker and Jamieson 2022): the best arm where reward and risk rise with the dose.

Nothing is known of the curves but that they rise, and that no risk rises by more than `slope` per unit of dose. In
epoch l means are exact to e = 2^-l: the t-th one of all is that of n = ceil(2 s^2 4^l log(8 t^2 / delta)) units. Then,
for every arm that is left,

    safe dose       as long as its mean risk g is below alpha - 2 e, it grows by (alpha - g - e) / slope, up to M
    unsafe dose     until one is found with g - e >= alpha, it grows in the same way, towards alpha + tolerance;
                    then bisection between the safe dose and it looks for a lower one of that kind

The reward at the safe dose, less e, bounds what the arm is worth from below; that at the unsafe dose (or at M), plus e,
from above. An arm whose upper bound is below the largest lower bound is dropped. It ends with one arm left.

It promises that with a chance of at least 1 - delta no unit gets a dose whose risk is above alpha + tolerance, and the
answer is right: by the union bound, 4 (pi^2/6) delta / 8. Doses between alpha and alpha + tolerance are given on
purpose: from safe doses alone nothing bounds what an arm is worth at the largest of them. It promises nothing where a
risk is steeper than `slope`.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import NamedTuple

from safebandit.core.dosing.interface import Ask, Conduct, Doses, unit_count
from safebandit.core.policies.checking import read_above_0, read_delta


class SafeMonotonic(NamedTuple):
    """Steps up that are safe by the slope, and bisection from above; arms are dropped.

    Without a `slope` it is told that of the steepest risk there is.
    """

    delta: float = 0.1
    tolerance: float = 0.1
    slope: float | None = None

    def checked(self) -> SafeMonotonic:
        """The system with its parameters read."""
        slope = None if self.slope is None else read_above_0("slope", self.slope)
        return SafeMonotonic(read_delta(self.delta), read_above_0("tolerance", self.tolerance), slope)

    def conduct(self, doses: Doses) -> Conduct:
        """One trial."""
        slope = doses.steepest if self.slope is None else self.slope
        trial = _Trial(doses, self.delta, self.tolerance, slope)
        while len(trial.left) > 1:
            for k in trial.left:
                yield from trial.climb(k)
                if trial.safe[k] < doses.most:
                    yield from trial.bound(k) if trial.found[k] else trial.look_above(k)
            trial.drop()
        return trial.answer


class _Trial:
    """How far one trial is: of every arm the safe dose, the unsafe one where it was found, and bounds of its worth."""

    def __init__(self, doses: Doses, delta: float, tolerance: float, slope: float) -> None:
        self.doses, self.delta, self.slope = doses, delta, slope
        self.ceiling = doses.alpha + tolerance
        self.safe, self.unsafe = list(doses.first), list(doses.first)
        self.found = [False] * doses.arms
        self.least, self.most = [-math.inf] * doses.arms, [math.inf] * doses.arms
        self.left = list(range(doses.arms))
        self.epoch, self.means = 1, 0
        self.answer = (0, doses.first[0])

    @property
    def width(self) -> float:
        return 2.0**-self.epoch

    def ask(self, k: int, dose: float) -> Generator[Ask, tuple[float, float], tuple[float, float]]:
        """The mean reward and the mean risk of an arm at a dose, exact to the width of the epoch."""
        self.means += 1
        units = unit_count(self.width, self.delta / (8.0 * self.means**2))
        return (yield Ask(k, dose, units, self.epoch, self.answer))

    def raised(self, dose: float, risk: float, limit: float) -> float:
        """The highest dose that is below the limit for sure, by the slope."""
        return min(self.doses.most, dose + (limit - risk - self.width) / self.slope)

    def climb(self, k: int) -> Generator[Ask, tuple[float, float], None]:
        """Raise the safe dose of an arm as far as it goes."""
        reward, risk = yield from self.ask(k, self.safe[k])
        while self.doses.alpha - risk > 2 * self.width and self.safe[k] < self.doses.most:
            self.safe[k] = self.raised(self.safe[k], risk, self.doses.alpha)
            reward, risk = yield from self.ask(k, self.safe[k])
        self.least[k] = max(self.least[k], reward - self.width)
        if self.safe[k] == self.doses.most:
            self.most[k] = min(self.most[k], reward + self.width)

    def look_above(self, k: int) -> Generator[Ask, tuple[float, float], None]:
        """Raise the dose until it is unsafe for sure, or the highest; it stays below alpha + tolerance."""
        self.unsafe[k] = max(self.unsafe[k], self.safe[k])
        reward, risk = yield from self.ask(k, self.unsafe[k])
        while not self.is_above(k, risk) and self.ceiling - risk > 2 * self.width:
            self.unsafe[k] = self.raised(self.unsafe[k], risk, self.ceiling)
            reward, risk = yield from self.ask(k, self.unsafe[k])
        if self.is_above(k, risk):
            self.found[k], self.most[k] = True, min(self.most[k], reward + self.width)

    def is_above(self, k: int, risk: float) -> bool:
        """Whether the arm is worth no more than at its unsafe dose: that is unsafe for sure, or the highest."""
        return risk - self.width >= self.doses.alpha or self.unsafe[k] == self.doses.most

    def bound(self, k: int) -> Generator[Ask, tuple[float, float], None]:
        """Look for a lower dose that is unsafe for sure, by bisection; else ask again at the one that was found."""
        dose = (self.safe[k] + self.unsafe[k]) / 2
        while (self.unsafe[k] - dose) * self.slope > self.width:
            reward, risk = yield from self.ask(k, dose)
            if risk - self.width >= self.doses.alpha:
                self.unsafe[k], self.most[k] = dose, min(self.most[k], reward + self.width)
                return
            dose = (dose + self.unsafe[k]) / 2
        reward, _ = yield from self.ask(k, self.unsafe[k])
        self.most[k] = min(self.most[k], reward + self.width)

    def drop(self) -> None:
        """Drop arms that are worse for sure, and go on to the next epoch."""
        best = max(self.left, key=self.least.__getitem__)
        self.left = [k for k in self.left if self.most[k] >= self.least[best]]
        self.answer = (best, self.safe[best])
        self.epoch += 1
