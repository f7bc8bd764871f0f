"""What the bounds come to after T rounds: leading terms, and bounds that are true for every T.

The lemmas behind the theorems have no hidden constants where they concern unsafe arms or KL-UCB: those bounds are true
for every T >= 3, and are optimised here over their free points. They count plays of permissible arms; while no arm is
permissible, which is no more often than the best arm is not, a play may fall on any arm, and counts too (ours).

No number is above what is possible in T rounds. An upper bound that comes to all that is possible says nothing yet; so
does the lower bound about arms whose plays, those of arms sooner told apart included, do not fit into T rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.bernoulli import divergence
from safebandit.problems.instance import Instance

# An upper bound at a horizon, and the most that is possible in one round.
Bound: TypeAlias = tuple[Callable[[float], float], float]
# Nobody plays longer.
LONGEST = 1e18


class FiniteBounds(NamedTuple):
    """Numbers at a horizon. `leading` ones are the first term only; the `explicit` ones are true for every T >= 3.

    `vacuous` names those that say nothing at this horizon, `left_out` the arms of which the lower bound says nothing;
    `Bounds.says_from` tells from which T on they do.
    """

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
    vacuous: list[str]
    left_out: list[str]


class AtHorizon:
    """The bounds of an instance as functions of the horizon, from plays per log T of every arm.

    `slopes` has those of Theorem 1 (""), of Theorem 4 ("tsbu_") and of the lower bound ("lower_").
    """

    def __init__(self, instance: Instance, slopes: Mapping[str, Sequence[float]]) -> None:
        self.instance = instance
        costly = [k for k in np.argsort(slopes["lower_"], kind="stable").tolist() if instance.costs[k] > 0]
        # The arms of the lower bound, those soonest told apart first, and the plays per log T of all up to each.
        self.lower_slopes = {k: slopes["lower_"][k] for k in costly}
        self.together = dict(zip(costly, np.cumsum(list(self.lower_slopes.values())).tolist(), strict=True))
        self.lemma = cache(lambda t: _key_lemma(instance, t))
        self.upper = _upper_bounds(instance, slopes, self.lemma)

    def at(self, horizon: int) -> FiniteBounds:
        """What the bounds come to after so many rounds."""
        found = {name: (bound(horizon), most * horizon) for name, (bound, most) in self.upper.items()}
        fits = [k for k, slope in self.together.items() if slope * math.log(horizon) < horizon]
        lower = {k: self.lower_slopes[k] * math.log(horizon) for k in fits}
        names = ("lower_leading_regret", "lower_leading_unsafe_plays")
        told = (self.together.keys(), [k for k in self.together if self.instance.safety_gaps[k] > 0])
        vacuous = [name for name, (value, possible) in found.items() if _all_of(value, possible)]
        vacuous += [name for name, arms in zip(names, told, strict=True) if arms and not set(arms) & set(fits)]
        totals = {
            names[0]: math.fsum(float(self.instance.costs[k]) * n for k, n in lower.items()),
            names[1]: math.fsum(n for k, n in lower.items() if self.instance.safety_gaps[k] > 0),
        }
        return FiniteBounds(
            horizon=horizon,
            **{name: min(value, possible) for name, (value, possible) in found.items()},
            **totals,
            explicit_docb_plays=[
                min(by_reward, by_gate + rounds_without_arm(horizon), float(horizon))
                for by_reward, by_gate in self.lemma(horizon)
            ],
            vacuous=vacuous,
            left_out=[self.instance.arms[k] for k in self.together if k not in fits],
        )

    def says_from(self, name: str) -> float:
        """The T, rounded up to three digits, from which on a number says something; infinite if beyond 10^18."""
        if name in self.upper:
            bound, most = self.upper[name]
            return _first_horizon(lambda t: not _all_of(bound(t), most * t))
        arms = [k for k in self.together if name == "lower_leading_regret" or self.instance.safety_gaps[k] > 0]
        return min((self.lower_says_from(k) for k in arms), default=math.inf)

    def lower_says_from(self, k: int) -> float:
        """The T from which on the lower bound says something of arm k."""
        return _first_horizon(lambda t: self.together[k] * math.log(t) < t)


def _all_of(value: float, possible: float) -> bool:
    # Sums may fall short of all that is possible by their rounding.
    return value >= possible * (1.0 - 1e-12) > 0.0


def _first_horizon(says: Callable[[float], bool]) -> float:
    """The T, rounded up to three digits, from which on a bound says something: every bound over T falls from 8 on."""
    high = 8.0
    while not says(high):
        high *= 2.0
        if high > LONGEST:
            return math.inf
    low = high / 2.0
    while high - low > 1e-4 * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if says(middle) else (middle, high)
    digit = 10.0 ** max(0, math.floor(math.log10(high)) - 2)
    return math.ceil(high / digit) * digit


def _upper_bounds(
    instance: Instance, slopes: Mapping[str, Sequence[float]], lemma: Callable[[float], list[tuple[float, float]]]
) -> dict[str, Bound]:
    """Every upper bound of a total by its name."""
    dearest, unsafe = float(instance.costs.max()), 1.0 if len(instance.unsafe_arms) > 0 else 0.0
    arms, risks = range(len(instance.arms)), len(instance.limits)

    def leading(whose: str, t: float) -> list[float]:
        return [slope * math.log(t) for slope in slopes[whose]]

    def docb(t: float) -> list[float]:
        return [min(both) for both in lemma(t)]

    def by_gate(level: float, t: float) -> float:
        return _unsafe(instance, [_safety_plays(instance, k, level) for k in arms]) + rounds_without_arm(t)

    return {
        "leading_regret": (lambda t: _regret(instance, leading("", t), t), dearest),
        "leading_unsafe_plays": (lambda t: _unsafe(instance, leading("", t)), unsafe),
        "tsbu_leading_regret": (lambda t: _regret(instance, leading("tsbu_", t), t), dearest),
        "tsbu_leading_unsafe_plays": (lambda t: _unsafe(instance, leading("tsbu_", t)), unsafe),
        "gap_free_regret": (lambda t: gap_free_regret(len(arms), t, risks), dearest),
        "explicit_docb_regret": (lambda t: _regret(instance, docb(t), t, unsafe * rounds_without_arm(t)), dearest),
        "explicit_docb_unsafe_plays": (lambda t: _unsafe(instance, docb(t)) + rounds_without_arm(t), unsafe),
        "explicit_topsi_unsafe_plays": (lambda t: by_gate(kl_level(risks * t), t), unsafe),
        "explicit_tsbu_unsafe_plays": (lambda t: by_gate(bayes_level(t, risks), t), unsafe),
    }


def _regret(instance: Instance, plays: Sequence[float], horizon: float, besides: float = 0.0) -> float:
    """The most regret in `horizon` rounds if no arm has more plays, but for those `besides`, on any arm."""
    most, left, total = np.array(plays), horizon, 0.0
    most[instance.costs.argmax()] += besides
    for k in np.argsort(-instance.costs, kind="stable"):
        count = min(float(most[k]), left)
        total, left = total + float(instance.costs[k]) * count, left - count
    return total


def _unsafe(instance: Instance, plays: Sequence[float]) -> float:
    """Plays of unsafe arms in all."""
    return math.fsum(plays[k] for k in instance.unsafe_arms.tolist())


def kl_level(horizon: float) -> float:
    """The analysed budget of KL-UCB, log T + 3 log log T; a gate with m risks has that of m T."""
    return math.log(horizon) + 3.0 * math.log(math.log(horizon))


def bayes_level(horizon: float, risks: int = 1) -> float:
    """3/2 log T + 3 log log T + 3/2 log 2, what BayesUCB's analysed schedule comes to (lemma on BayesUCB).

    With m risks, log(sqrt(8 T) m T log^3(m T)): the schedule is asked about round m t, plays are still at most T.
    """
    log_mt = math.log(risks * horizon)
    return 1.5 * math.log(horizon) + math.log(risks) + 3.0 * math.log(log_mt) + 1.5 * math.log(2.0)


def gap_free_regret(arms: int, horizon: float, risks: int = 1) -> float:
    """Theorem 2: sqrt(28 K T log T) + 6 K log log T + 32, for any instance with K arms.

    With m risks log(m T) under the root, by the same proof from the gate's level.
    """
    root = math.sqrt(28.0 * arms * horizon * math.log(risks * horizon))
    return root + 6.0 * arms * math.log(math.log(horizon)) + 32.0


def rounds_without_arm(horizon: float) -> float:
    """How often the best arm, and so perhaps every arm, is not permissible: e log log T + 4 e + 2 (both key lemmas).

    With m risks those are no more: m times the proof's summand e (gamma_s log t + 1) / (s log^3 s) for a gate asked
    about s = m t falls with m.
    """
    return math.e * (math.log(math.log(horizon)) + 4.0) + 2.0


def _key_lemma(instance: Instance, horizon: float) -> list[tuple[float, float]]:
    """The key lemma's two bounds on every arm's plays under DOCB, by reward and by gate; infinite where there is none.

    The second one counts plays while the arm is permissible.
    """
    gate = kl_level(len(instance.limits) * horizon)
    arms = range(len(instance.arms))
    return [(_reward_plays(instance, k, horizon), _safety_plays(instance, k, gate)) for k in arms]


def _reward_plays(instance: Instance, k: int, horizon: float) -> float:
    """Equation klucb_reward_bound at its best x in (mu_k, mu*).

    Its 6 log log T + 24 also covers the rounds in which the best arm is not permissible.
    """
    mean, best = float(instance.mu[k]), instance.best_mean
    if instance.efficiency_gaps[k] <= 0.0:
        return math.inf
    rest = 6.0 * math.log(math.log(horizon)) + 24.0
    return rest + _least_plays(kl_level(horizon), best, mean)


def _safety_plays(instance: Instance, k: int, level: float) -> float:
    """Equation klucb_safety_bound (or bayesucb_safety_control) at its best y in (alpha, nu_k), least over risks."""
    pairs = zip(instance.risk_means[:, k].tolist(), instance.limits, strict=True)
    return min((_least_plays(level, limit, mean) for mean, limit in pairs if mean > limit), default=math.inf)


def _least_plays(level: float, limit: float, mean: float) -> float:
    """The least of level/d(y||limit) + 2/(1 ^ d(y||mean)) over y between: a grid, then Brent's method around its best.

    Any point gives a true bound; a better one gives a smaller. Where the two are so near that no number between can be
    told from them, there is none.
    """
    from scipy.optimize import minimize_scalar

    def bound(y: float) -> float:
        far, near = divergence(y, limit), divergence(y, mean)
        return level / far + 2.0 / min(1.0, near) if far > 0.0 and near > 0.0 else math.inf

    low, high = min(limit, mean), max(limit, mean)
    grid: Numbers = low + (high - low) * np.linspace(0.0, 1.0, 101)[1:-1]
    values = [bound(float(point)) for point in grid]
    best = int(np.argmin(values))
    if not math.isfinite(values[best]):
        return math.inf
    left = float(grid[best - 1]) if best > 0 else low
    right = float(grid[best + 1]) if best < len(grid) - 1 else high
    found = minimize_scalar(bound, bounds=(left, right), method="bounded", options={"xatol": 1e-10})
    return float(min(values[best], found.fun))
