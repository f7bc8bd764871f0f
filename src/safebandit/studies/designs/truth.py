"""What is true of the arms of a scenario, judged by a design's own limits: which are safe, which is best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers

if TYPE_CHECKING:
    from safebandit.problems import Instance
    from safebandit.problems.scenario import Scenario
    from safebandit.trials.design import Design


@dataclass(frozen=True, eq=False)
class Truth:
    """The arms as they are; `instance` has the design's alpha.

    The best arm is the safe one of the largest mean reward, if that is at least the `least` reward that is wanted.
    Where there is no reward (`rewarded` is false), it is the safe arm whose risk is nearest to its limit: the highest
    dose that is tolerated. Equal arms are all best. Where there is none, selecting none is right.
    """

    instance: Instance
    rewarded: bool = True
    least: float | None = None
    control: int | None = None

    @cached_property
    def unsafe(self) -> NDArray[np.bool_]:
        """Whether each arm has a mean risk above its limit."""
        return np.asarray(self.instance.unsafe_by_risk.any(axis=0))

    @cached_property
    def best(self) -> NDArray[np.bool_]:
        """Whether each arm is best."""
        worth = self.instance.mu
        if not self.rewarded:
            worth = (self.instance.risk_means - np.array(self.instance.limits)[:, None]).max(axis=0)
        wanted = ~self.unsafe
        if self.rewarded and self.least is not None:
            wanted &= self.instance.mu >= self.least
        return wanted & (worth == worth[wanted].max()) if wanted.any() else wanted

    @property
    def marks(self) -> list[str]:
        """What each arm is, for people: "best", "unsafe", or nothing."""
        return ["best" if best else "unsafe" if bad else "" for best, bad in zip(self.best, self.unsafe, strict=True)]

    @cached_property
    def costs(self) -> Numbers:
        """What one unit on each arm costs: the larger of its two gaps; without a reward, how far it is unsafe."""
        return self.instance.costs if self.rewarded else self.instance.safety_gaps

    @cached_property
    def superior(self) -> NDArray[np.bool_]:
        """Whether each arm's mean reward is above the control's; without a control, above every other arm's."""
        mu = self.instance.mu
        if self.control is not None:
            return np.asarray(mu > mu[self.control])
        return np.array([bool((mu[k] > np.delete(mu, k)).all()) for k in range(len(mu))])

    @cached_property
    def ideal(self) -> Numbers:
        """Where each arm's mean reward lies between the smallest (0) and the largest (1); NaN where all are equal."""
        mu = self.instance.mu
        least, most = mu.min(), mu.max()
        return (mu - least) / (most - least) if most > least else np.full(len(mu), np.nan)


def truth_of(design: Design, scenario: Scenario) -> Truth:
    """What is true of a scenario's arms by the limits of a design."""
    instance = scenario.fitted(design.arms, design.alpha, design.risks).instance
    control = None if design.control is None else design.arms.index(design.control)
    return Truth(instance, design.rewarded, design.least_reward, control)
