"""What theory promises for a problem, before anything is simulated: the paper's upper and lower bounds, in numbers.

Theorems 1, 3 and 4 bound regret and unsafe plays by (1 + eps) slope log T plus terms that do not depend on the leading
order; the slopes are exact, the hidden constants are not known. The lemmas behind them have no hidden constants where
they concern unsafe arms or KL-UCB: those bounds are true for every T, and are optimised here over their free points.

The paper has one risk. With m of them, whose gates are asked about round m t, the same proofs go through, and what is
given for several is ours: an arm is permissible only if every risk is, so each risk's bound holds and the least is
taken, with m T for T in the gate's level; the best arm is refuted in round t no more often than with one risk, because
each of m gates asked about m t errs with at most an m-th of the chance; and to tell an arm from one that is safe and
better takes a change of its reward and of each unsafe risk, so the lower bound adds all divergences, where outcomes are
independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.bernoulli import divergence, divergence_above, divergence_below
from safebandit.core.naming import read_number
from safebandit.errors import SimulationError
from safebandit.problems import Instance, as_instance
from safebandit.problems.limits import write_alpha

# The price of BayesUCB's analysed schedule, in Theorem 4.
BAYES_FACTOR = 2.0 / 3.0


class ArmBounds(NamedTuple):
    """One arm: its gaps, its divergences, and plays per log T as promised and as unavoidable (inf: not bounded so).

    With several risks `nu` and `risk_divergence` are lists, one number per risk.
    """

    arm: str
    mu: float
    nu: float | list[float]
    efficiency_gap: float
    safety_gap: float
    cost: float
    reward_divergence: float
    risk_divergence: float | list[float]
    plays_slope: float
    tsbu_plays_slope: float
    lower_plays_slope: float


class FiniteBounds(NamedTuple):
    """Numbers at a horizon. `leading` ones are the first term only; the `explicit` ones are true for every T >= 3."""

    horizon: int
    leading_regret: float
    leading_unsafe_plays: float
    tsbu_leading_regret: float
    tsbu_leading_unsafe_plays: float
    lower_leading_regret: float
    lower_leading_unsafe_plays: float
    gap_free_regret: float
    explicit_docb_regret: float
    explicit_docb_unsafe_plays: float
    explicit_topsi_unsafe_plays: float
    explicit_tsbu_unsafe_plays: float
    explicit_docb_plays: list[float]


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
        """The sum of (Delta v Gamma) / (d_< + d_>), which no consistent policy beats (last proposition).

        Of several risks, independent of each other and of the reward, all d_> are added (ours).
        """
        return self._sum("lower_plays_slope", costs=True)

    @property
    def lower_unsafe_slope(self) -> float:
        """The sum over unsafe arms of 1 / (d_< + d_>)."""
        return self._sum("lower_plays_slope", costs=False)

    def _sum(self, slope: str, *, costs: bool) -> float:
        if costs:
            return math.fsum(arm.cost * getattr(arm, slope) for arm in self.arms if arm.cost > 0)
        return math.fsum(getattr(arm, slope) for arm in self.arms if arm.safety_gap > 0)

    def at(self, horizon: int) -> FiniteBounds:
        """What the bounds come to after `horizon` rounds."""
        number = read_number("horizon", horizon, int, SimulationError)
        if number < 3:
            raise SimulationError(f"horizon must be at least 3 for the bounds to speak of, got {horizon}")
        rounds = int(number)
        log_t = math.log(rounds)
        risks = len(self.instance.limits)
        plays = [min(_explicit_plays(self.instance, k, rounds), rounds) for k in range(len(self.arms))]
        return FiniteBounds(
            rounds,
            self.regret_slope * log_t,
            self.unsafe_slope * log_t,
            self.tsbu_regret_slope * log_t,
            self.tsbu_unsafe_slope * log_t,
            self.lower_regret_slope * log_t,
            self.lower_unsafe_slope * log_t,
            gap_free_regret(len(self.arms), rounds, risks),
            math.fsum(arm.cost * n for arm, n in zip(self.arms, plays, strict=True) if arm.cost > 0),
            self._unsafe(plays, rounds),
            self._unsafe_by_gate(kl_level(risks * rounds), rounds),
            self._unsafe_by_gate(bayes_level(rounds, risks), rounds),
            plays,
        )

    def _unsafe_by_gate(self, level: float, rounds: int) -> float:
        """Plays of unsafe arms, by what the gate alone promises."""
        return self._unsafe(
            [min(_safety_plays(self.instance, k, level), rounds) for k in range(len(self.arms))], rounds
        )

    def _unsafe(self, plays: list[float], rounds: int) -> float:
        return min(rounds, math.fsum(n for arm, n in zip(self.arms, plays, strict=True) if arm.safety_gap > 0))

    def to_dict(self, horizon: int) -> dict[str, Any]:
        """The bounds as the command line prints them in JSON."""
        names = [f"{whose}{what}_slope" for whose in ("", "tsbu_", "lower_") for what in ("regret", "unsafe")]
        return {
            "instance": self.instance.to_dict(),
            "alpha": write_alpha(self.instance.alpha),
            **{name: getattr(self, name) for name in names},
            "arms": [arm._asdict() for arm in self.arms],
            "at_horizon": self.at(horizon)._asdict(),
        }


def bounds_of(instance: Instance | str) -> Bounds:
    """The bounds of an instance, or of the one of a name.

    >>> bounds = bounds_of("drug-trial")
    >>> round(bounds.regret_slope), round(bounds.unsafe_slope, 1)
    (137, 81.6)
    """
    instance = as_instance(instance)
    return Bounds(instance, tuple(_arm(instance, k) for k in range(len(instance.mu))))


def _arm(instance: Instance, k: int) -> ArmBounds:
    mu, nu = float(instance.mu[k]), instance.risk_means[:, k].tolist()
    reward = divergence_below(mu, instance.best_mean)
    risks = [divergence_above(mean, limit) for mean, limit in zip(nu, instance.limits, strict=True)]
    cost, largest = float(instance.costs[k]), max(risks)
    slopes = (max(reward, largest), max(reward, BAYES_FACTOR * largest), reward + math.fsum(risks))
    one = len(risks) == 1
    return ArmBounds(
        instance.arms[k], mu, nu[0] if one else nu, float(instance.efficiency_gaps[k]), float(instance.safety_gaps[k]),
        cost, reward, risks[0] if one else risks, *(1.0 / slope if slope > 0 else math.inf for slope in slopes),
    )  # fmt: skip


def kl_level(horizon: int) -> float:
    """The analysed budget of KL-UCB, log T + 3 log log T; a gate with m risks has that of m T."""
    return math.log(horizon) + 3.0 * math.log(math.log(horizon))


def bayes_level(horizon: int, risks: int = 1) -> float:
    """3/2 log T + 3 log log T + 3/2 log 2, what BayesUCB's analysed schedule comes to (lemma on BayesUCB).

    With m risks, log(sqrt(8 T) m T log^3(m T)): the schedule is asked about round m t, plays are still at most T.
    """
    log_mt = math.log(risks * horizon)
    return 1.5 * math.log(horizon) + math.log(risks) + 3.0 * math.log(log_mt) + 1.5 * math.log(2.0)


def gap_free_regret(arms: int, horizon: int, risks: int = 1) -> float:
    """Theorem 2: sqrt(28 K T log T) + 6 K log log T + 32, for any instance with K arms.

    With m risks log(m T) under the root, by the same proof from the gate's level.
    """
    root = math.sqrt(28.0 * arms * horizon * math.log(risks * horizon))
    return root + 6.0 * arms * math.log(math.log(horizon)) + 32.0


def _explicit_plays(instance: Instance, k: int, horizon: int) -> float:
    """The smaller of the key lemma's two bounds on an arm's plays under DOCB; infinite for the best arm."""
    gate = kl_level(len(instance.limits) * horizon)
    return min(_reward_plays(instance, k, horizon), _safety_plays(instance, k, gate))


def _reward_plays(instance: Instance, k: int, horizon: int) -> float:
    """Equation klucb_reward_bound at its best x in (mu_k, mu*).

    Its 6 log log T + 24 also covers the rounds in which the best arm is not permissible. With m risks those are no
    more: m times the proof's summand e (gamma_s log t + 1) / (s log^3 s) for a gate asked about s = m t falls with m.
    """
    mean, best = float(instance.mu[k]), instance.best_mean
    if instance.efficiency_gaps[k] <= 0.0:
        return math.inf
    level, rest = kl_level(horizon), 6.0 * math.log(math.log(horizon)) + 24.0
    return rest + _least(lambda x: level / divergence(x, best) + 2.0 / min(1.0, divergence(x, mean)), mean, best)


def _safety_plays(instance: Instance, k: int, level: float) -> float:
    """Equation klucb_safety_bound (or bayesucb_safety_control) at its best y in (alpha, nu_k), least over risks."""
    pairs = zip(instance.risk_means[:, k].tolist(), instance.limits, strict=True)
    return min((_gate_plays(mean, limit, level) for mean, limit in pairs if mean > limit), default=math.inf)


def _gate_plays(mean: float, limit: float, level: float) -> float:
    return _least(lambda y: level / divergence(y, limit) + 2.0 / min(1.0, divergence(y, mean)), limit, mean)


def _least(bound: Callable[[float], float], low: float, high: float) -> float:
    """The least value of `bound` inside (low, high): a grid, then Brent's method around its best point.

    Any point gives a true bound; a better one gives a smaller.
    """
    from scipy.optimize import minimize_scalar

    grid: Numbers = low + (high - low) * np.linspace(0.0, 1.0, 101)[1:-1]
    values = [bound(float(point)) for point in grid]
    best = int(np.argmin(values))
    left = float(grid[best - 1]) if best > 0 else low
    right = float(grid[best + 1]) if best < len(grid) - 1 else high
    found = minimize_scalar(bound, bounds=(left, right), method="bounded", options={"xatol": 1e-10})
    return float(min(values[best], found.fun))
