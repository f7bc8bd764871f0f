"""What theory promises for a problem, before anything is simulated: the paper's upper and lower bounds, in numbers.

Theorems 1, 3 and 4 bound regret and unsafe plays by (1 + eps) slope log T plus terms that do not depend on the leading
order; the slopes are exact, the hidden constants are not known. What they come to after T rounds, and which bounds are
true for every T, is in `at_horizon`. All of them take it that some arm is safe.

The paper has one risk. With m of them, whose gates are asked about round m t, the same proofs go through, and what is
given for several is ours: an arm is permissible only if every risk is, so each risk's bound holds and the least is
taken, with m T for T in the gate's level; the best arm is refuted in round t no more often than with one risk, because
each of m gates asked about m t errs with at most an m-th of the chance; and to tell an arm from one that is safe and
better takes a change of its reward and of each unsafe risk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from safebandit.core.bernoulli import divergence_above, divergence_below
from safebandit.core.naming import read_number
from safebandit.errors import InstanceError, SimulationError
from safebandit.problems import Instance, as_instance
from safebandit.problems.at_horizon import LONGEST, AtHorizon, FiniteBounds
from safebandit.problems.divergences import law_class, least_divergence
from safebandit.problems.limits import show_alpha, write_alpha

# The price of BayesUCB's analysed schedule, in Theorem 4.
BAYES_FACTOR = 2.0 / 3.0
# How the names of slopes begin: Theorem 1 (and 3), Theorem 4, the lower bound.
WHOSE = ("", "tsbu_", "lower_")


class ArmBounds(NamedTuple):
    """One arm: its gaps, its divergences, and plays per log T as promised and as unavoidable (inf: not bounded so).

    `lower_divergence` is that of the lower bound, for the law of the arm; the others are those of bits. With several
    risks `nu` and `risk_divergence` are lists, one number per risk.
    """

    arm: str
    mu: float
    nu: float | list[float]
    efficiency_gap: float
    safety_gap: float
    cost: float
    reward_divergence: float
    risk_divergence: float | list[float]
    lower_divergence: float
    plays_slope: float
    tsbu_plays_slope: float
    lower_plays_slope: float


@dataclass(frozen=True)
class Bounds:
    """The bounds of an instance: slopes as multiples of log T, arm by arm and summed."""

    instance: Instance
    arms: tuple[ArmBounds, ...]

    @property
    def regret_slope(self) -> float:
        """The sum of (Delta v Gamma) / (d_< v d_>): Theorem 1 (DOCB), and Theorem 3 (TOPSI).

        Here and below, of several risks the one of largest d_> counts (ours).
        """
        return self._sum("plays_slope", costs=True)

    @property
    def unsafe_slope(self) -> float:
        """The sum over unsafe arms of 1 / (d_< v d_>): Theorem 1."""
        return self._sum("plays_slope", costs=False)

    @property
    def tsbu_regret_slope(self) -> float:
        """The sum of (Delta v Gamma) / (d_< v 2/3 d_>): Theorem 4 (TSBU)."""
        return self._sum("tsbu_plays_slope", costs=True)

    @property
    def tsbu_unsafe_slope(self) -> float:
        """The sum over unsafe arms of 1 / (d_< v 2/3 d_>)."""
        return self._sum("tsbu_plays_slope", costs=False)

    @property
    def lower_regret_slope(self) -> float:
        """The sum of (Delta v Gamma) / D, which no policy beats that is consistent for the laws of `lower_class`.

        For independent bits D is d_< + d_> (last proposition), for other laws what `divergences` says (ours).
        """
        return self._sum("lower_plays_slope", costs=True)

    @property
    def lower_unsafe_slope(self) -> float:
        """The sum over unsafe arms of 1 / D."""
        return self._sum("lower_plays_slope", costs=False)

    @property
    def lower_class(self) -> str | None:
        """The laws for which a policy must be consistent for the lower bound to hold; None where there is no bound."""
        return law_class(self.instance)

    def _sum(self, slope: str, *, costs: bool) -> float:
        if costs:
            return math.fsum(arm.cost * getattr(arm, slope) for arm in self.arms if arm.cost > 0)
        return math.fsum(getattr(arm, slope) for arm in self.arms if arm.safety_gap > 0)

    @property
    def slopes(self) -> dict[str, float]:
        """Every slope by name."""
        names = [f"{whose}{what}_slope" for whose in WHOSE for what in ("regret", "unsafe")]
        return {name: getattr(self, name) for name in names}

    def at(self, horizon: int) -> FiniteBounds:
        """What the bounds come to after `horizon` rounds, never above what is possible in so many."""
        number = read_number("horizon", horizon, int, SimulationError)
        if number < 3:
            raise SimulationError(f"horizon must be at least 3 for the bounds to speak of, got {horizon}")
        return self._at_horizon.at(int(number))

    @cached_property
    def _at_horizon(self) -> AtHorizon:
        slopes = {whose: [getattr(arm, f"{whose}plays_slope") for arm in self.arms] for whose in WHOSE}
        return AtHorizon(self.instance, slopes)

    def remarks(self, at: FiniteBounds) -> dict[str, str]:
        """What to say of every number that says nothing at that horizon, and from which T on it does.

        >>> bounds = bounds_of("drug-trial")
        >>> bounds.remarks(bounds.at(400))["leading_unsafe_plays"]
        'says nothing after 400 rounds, in which more is not possible; it does from T = 509 on'
        """
        return {
            name: f"says nothing after {at.horizon:,} rounds, in which more is not possible; it does {since(start)}"
            for name, start in self.says_from(at).items()
        }

    def lower_remark(self, at: FiniteBounds) -> str:
        """Of which arms the lower bound says nothing at that horizon, and from which T on it does; empty if of none."""
        starts = self.lower_says_from(at)
        if not starts:
            return ""
        arms = "; ".join(f"{arm} ({since(start)})" for arm, start in starts.items())
        return f"after {at.horizon:,} rounds the lower bound says nothing yet of arms that it will speak of: {arms}"

    def says_from(self, at: FiniteBounds) -> dict[str, float]:
        """From which T on (to three digits) those numbers say something that do not at that horizon."""
        return {name: self._at_horizon.says_from(name) for name in at.vacuous}

    def lower_says_from(self, at: FiniteBounds) -> dict[str, float]:
        """From which T on the lower bound says something of those arms of which it does not at that horizon."""
        return {arm: self._at_horizon.lower_says_from(self.instance.arms.index(arm)) for arm in at.left_out}

    def to_dict(self, horizon: int) -> dict[str, Any]:
        """The bounds as the command line prints them in JSON; of what says nothing yet, from which T on it does."""
        at = self.at(horizon)
        return {
            "instance": self.instance.to_dict(),
            "alpha": write_alpha(self.instance.alpha),
            **self.slopes,
            "lower_class": self.lower_class,
            "arms": [arm._asdict() for arm in self.arms],
            "at_horizon": {
                **at._asdict(),
                "vacuous": self.says_from(at),
                "left_out": self.lower_says_from(at),
            },
        }


def since(start: float) -> str:
    """From which T on a bound says something, in words."""
    return f"from T = {start:,.0f} on" if start < LONGEST else "not before T = 10^18"


def bounds_of(instance: Instance | str) -> Bounds:
    """The bounds of an instance, or of the one of a name.

    >>> bounds = bounds_of("drug-trial")
    >>> round(bounds.regret_slope), round(bounds.unsafe_slope, 1)
    (137, 81.6)
    """
    instance = as_instance(instance)
    if instance.safe_set:
        raise InstanceError(
            f'the bounds are about one alpha for each risk, got the safe set "{instance.safe_set}"; leave it out'
        )
    if instance.best_arm is None:
        raise InstanceError(
            f"the bounds are about problems in which some arm is safe, and at alpha {show_alpha(instance.alpha)} "
            "no arm is; raise alpha or add a safe arm"
        )
    return Bounds(instance, tuple(_arm(instance, k) for k in range(len(instance.mu))))


def _arm(instance: Instance, k: int) -> ArmBounds:
    mu, nu = float(instance.mu[k]), instance.risk_means[:, k].tolist()
    reward = divergence_below(mu, instance.best_mean)
    risks = [divergence_above(mean, limit) for mean, limit in zip(nu, instance.limits, strict=True)]
    cost, largest = float(instance.costs[k]), max(risks)
    lower = least_divergence(instance, k) if cost > 0 else 0.0
    slopes = (max(reward, largest), max(reward, BAYES_FACTOR * largest), lower)
    one = len(risks) == 1
    return ArmBounds(
        instance.arms[k], mu, nu[0] if one else nu, float(instance.efficiency_gaps[k]), float(instance.safety_gaps[k]),
        cost, reward, risks[0] if one else risks, lower, *(1.0 / slope if slope > 0 else math.inf for slope in slopes),
    )  # fmt: skip
