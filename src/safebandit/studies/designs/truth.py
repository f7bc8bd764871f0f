"""What is true of the arms of a scenario, judged by a design's own limits: which are safe, which is best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Counts, Numbers
from safebandit.trials.strata import stratum_names

if TYPE_CHECKING:
    from safebandit.problems import Instance
    from safebandit.problems.scenario import Scenario
    from safebandit.trials.design import Design


@dataclass(frozen=True, eq=False)
class Truth:
    """The arms as they are, to units of all strata together; `instance` has the design's alpha.

    The best arm is the safe one of the largest mean reward, if that is at least the `least` reward that is wanted; in a
    design that compares first risks (`lowest`), the safe one of the smallest. Where there is neither, it is the safe
    arm whose risk is nearest to its limit: the highest dose that is tolerated. Equal arms are all best. Where there is
    no such arm, selecting none is right.
    """

    instance: Instance
    rewarded: bool = True
    lowest: bool = False
    least: float | None = None
    control: int | None = None
    # Of every stratum, where the scenario tells some apart.
    in_strata: tuple[Truth, ...] = ()

    @cached_property
    def unsafe(self) -> NDArray[np.bool_]:
        """Whether each arm has a mean risk above its limit, in some stratum: what is selected is for units of all."""
        return np.any([self.instance.unsafe, *(each.unsafe for each in self.in_strata)], axis=0)

    @property
    def compared(self) -> bool:
        """Whether arms are better or worse, and not only safe or unsafe."""
        return self.rewarded or self.lowest

    @cached_property
    def worth(self) -> Numbers:
        """How good each arm is, besides being safe: its mean reward, or minus its first mean risk."""
        return -self.instance.risk_means[0] if self.lowest else self.instance.mu

    @cached_property
    def best(self) -> NDArray[np.bool_]:
        """Whether each arm is best."""
        wanted = ~self.unsafe
        if self.least is not None and not self.lowest:
            wanted &= self.instance.mu >= self.least
        near = (self.instance.risk_means - np.array(self.instance.limits)[:, None]).max(axis=0)
        worth = self.worth if self.compared else near
        return wanted & (worth == worth[wanted].max()) if wanted.any() else wanted

    @property
    def marks(self) -> list[str]:
        """What each arm is, for people: "best", "unsafe", or nothing."""
        return ["best" if best else "unsafe" if bad else "" for best, bad in zip(self.best, self.unsafe, strict=True)]

    @cached_property
    def costs(self) -> Numbers:
        """What one unit on each arm costs: the larger of how far it falls short of the best safe arm, and how far its
        risk lies above its limit; the second alone where arms are not compared.
        """
        safe = ~self.unsafe
        if not self.compared or not safe.any():
            return self.instance.safety_gaps
        return np.maximum(self.worth[safe].max() - self.worth, self.instance.safety_gaps)

    def over_strata(self, plays_in: Counts, what: Callable[[Truth], Any]) -> Numbers:
        """The sum over a trial's units of a number of the arm that each got, to units of its own stratum; `plays_in`
        are plays by trial, stratum and arm.
        """
        numbers = np.concatenate([what(each) for each in self.in_strata or (self,)])
        return np.asarray(plays_in.reshape(len(plays_in), -1) @ numbers, float)

    @cached_property
    def superior(self) -> NDArray[np.bool_]:
        """Whether each arm is better than the control; without a control, better than every other."""
        if self.control is not None:
            return np.asarray(self.worth > self.worth[self.control])
        return np.array([bool((one > np.delete(self.worth, k)).all()) for k, one in enumerate(self.worth)])

    @cached_property
    def ideal(self) -> Numbers:
        """Where each arm lies between the worst (0) and the best (1), safe or not; NaN where all are equal."""
        least, most = self.worth.min(), self.worth.max()
        return (self.worth - least) / (most - least) if most > least else np.full(len(self.worth), np.nan)


def truth_of(design: Design, scenario: Scenario) -> Truth:
    """What is true of a scenario's arms, in all strata together, by the limits of a design."""
    strata = stratum_names(design.strata)
    fitted = scenario.fitted(design.arms, design.alpha, design.risks, strata)
    control = None if design.control is None else design.arms.index(design.control)
    lowest = any(getattr(rule, "lowest", False) for rule in (*design.stop, design.select))
    judged = (design.rewarded, lowest, design.least_reward, control)
    apart = tuple(Truth(part.truth, *judged) for part in fitted.parts(strata))
    return Truth(fitted.pooled(strata), *judged, in_strata=apart)
