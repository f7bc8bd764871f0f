"""The dose whose risk is nearest to a target, by isotonic regression; and the most useful dose up to that one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import REWARD, Counts, Numbers, Records, State, at, quantity
from safebandit.core.chances import chance_below
from safebandit.core.dispatch import inlined
from safebandit.core.indices.interface import described
from safebandit.core.isotonic import isotonic
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.core.selection.words import check_least_reward, check_one_risk
from safebandit.core.stopping.words import number, quoted, units
from safebandit.errors import PolicyError

# The estimate of a risk is (S + PRIOR) / (N + 2 PRIOR); equal estimates differ by STEP from dose to dose, so that of
# those below the target the higher dose is nearer, and of those above it the lower one.
PRIOR = 0.05
STEP = 1e-10


@described(
    "the dose whose isotonic risk is nearest to the target; (S+.05)/(N+.1), weights the inverse posterior variance, "
    "over doses tried and not excluded by P(risk > target) > confidence at N >= least, nor above one that is",
    "select.mtd of the R package BOIN (Liu and Yuan 2015)",
    not_negative=("target", "least"),
    between=("confidence",),
)
class Isotonic(NamedTuple):
    """Select the dose whose risk is nearest to the target by isotonic regression: the maximum tolerated dose of BOIN.

    A dose that is above the target with a chance of more than `confidence`, with `least` known units, is excluded, and
    so are all above it. A `target` of 0 stands for alpha.
    """

    target: float = 0.0
    confidence: float = 0.95
    least: int = 3

    @property
    def needs(self) -> tuple[str, ...]:
        return ("order",)

    def completed(self, design: Any) -> Isotonic:
        check_one_risk(self, design)
        return self._replace(target=_target(self, design))

    def says(self, design: Any) -> str:
        return (
            f"At the end that arm is selected whose estimated {design.risks[0]} is nearest to "
            f"{number(_target(self, design))}: (harms + 0.05) / (units + 0.1), made to grow with the dose by isotonic "
            f"regression, weighted by the inverse posterior variance; of equal estimates the higher dose below the "
            f"target, the lower one above it. {_excludes(self, design)}"
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        if arm == NONE_SELECTED:
            return "every dose with known units is excluded, or was dropped"
        risk = seen[arm][1]
        return (
            f"the estimated {design.risks[0]} of {quoted(design.arms[arm])} is nearest to "
            f"{number(_target(self, design))} ({number(float(risk['total']))} of {units(int(risk['plays']))} harmed)"
        )


@described(
    "the largest utility up to the dose of Isotonic, over doses with P(reward < least_reward) < reward_confidence; "
    "u = w + (1-w) R/N - w S/N, (1 + N u) / (2 + N), w = neither / 100",
    "BOIN12 (Lin, Zhou, Yan, Li, Yuan 2020)",
    not_negative=("target", "least_reward", "least"),
    between=("confidence", "reward_confidence"),
)
class Utility(NamedTuple):
    """Select the dose of the largest utility among those up to the maximum tolerated one of `Isotonic`.

    A reward without harm is worth 100, a harm without reward 0, `neither` of them that much, and both 100 less that. A
    dose is not selected if its reward is below `least_reward` with a chance of at least `reward_confidence`. A `target`
    or a `least_reward` of 0 stands for the design's.
    """

    target: float = 0.0
    least_reward: float = 0.0
    neither: float = 40.0
    confidence: float = 0.95
    reward_confidence: float = 0.9
    least: int = 3

    @property
    def needs(self) -> tuple[str, ...]:
        return ("order", "reward")

    def completed(self, design: Any) -> Utility:
        check_one_risk(self, design)
        check_least_reward(self)
        if not 0 <= self.neither <= 100:
            raise PolicyError(f"neither of Utility must lie in [0, 100], got {self.neither!r}")
        least = self.least_reward or float(getattr(design, "least_reward", None) or 0.0)
        return self._replace(target=_target(self, design), least_reward=least)

    def says(self, design: Any) -> str:
        own = self.completed(design)
        enough = f"with a chance of less than {number(self.reward_confidence)} that the reward is below"
        return (
            f"At the end the highest tolerated arm is found, whose estimated {design.risks[0]} is nearest to "
            f"{number(own.target)} by isotonic regression. Of the arms up to it, {enough} {number(own.least_reward)}, "
            f"that of the largest utility is selected: a reward without harm is worth 100, neither "
            f"{number(self.neither)}, both {number(100 - self.neither)}, a harm without reward 0. "
            f"{_excludes(own, design)}"
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        if arm == NONE_SELECTED:
            return "no dose that is tolerated has a reward that may be large enough"
        reward, risk = seen[arm][REWARD], seen[arm][1]
        return (
            f"{quoted(design.arms[arm])} has the largest utility of the tolerated doses "
            f"({number(float(reward['total']))} of {units(int(reward['plays']))} rewarded, "
            f"{number(float(risk['total']))} of {units(int(risk['plays']))} harmed)"
        )


def _target(rule: Any, design: Any) -> float:
    return rule.target or float(design.limits[0])


def _excludes(rule: Any, design: Any) -> str:
    return (
        f"An arm that is above {number(_target(rule, design))} with a chance of more than {number(rule.confidence)}, "
        f"with {units(rule.least, 'known unit')} or more, is excluded with all above it. An arm that was dropped, "
        f"or has no known units, is excluded alone. If no arm is left, none is selected."
    )


@inlined
def _tolerated(state: State, target: float, confidence: float, least: int) -> int:
    """The dose whose isotonic risk is nearest to the target, or NONE_SELECTED."""
    tried, count = np.empty(state.size, np.int64), 0
    for k in range(state.size):
        risk = quantity(state, k, 1)
        if risk.plays >= least and 1.0 - chance_below(risk, target, 1.0, 1.0) > confidence:
            break
        if risk.plays > 0 and not at(state.arms, k).dropped:
            tried[count] = k
            count += 1
    if count == 0:
        return NONE_SELECTED
    return tried[_nearest(_estimates(state, tried[:count]), target)]


@inlined
def _estimates(state: State, tried: Counts) -> Numbers:
    """The risks of doses by isotonic regression, the weight of each the inverse of its posterior variance."""
    means, weights = np.empty(len(tried)), np.empty(len(tried))
    for i in range(len(tried)):
        risk = quantity(state, tried[i], 1)
        s, n = risk.ones + PRIOR, risk.plays + 2.0 * PRIOR
        means[i], weights[i] = s / n, n * n * (n + 1.0) / (s * (n - s))
    return isotonic(means, weights)


@inlined
def _nearest(estimates: Numbers, target: float) -> int:
    best, gap = 0, np.inf
    for i in range(len(estimates)):
        away = abs(estimates[i] + (i + 1) * STEP - target)
        if away < gap:
            best, gap = i, away
    return best


@inlined
def _own_target(state: State, target: float) -> float:
    return target if target > 0.0 else quantity(state, 0, 1).limit


@select.register(Isotonic)
def select_isotonic(rule: Isotonic, state: State) -> int:
    return _tolerated(state, _own_target(state, rule.target), rule.confidence, rule.least)


@select.register(Utility)
def select_utility(rule: Utility, state: State) -> int:
    highest = _tolerated(state, _own_target(state, rule.target), rule.confidence, rule.least)
    share = rule.neither / 100.0
    best, top = NONE_SELECTED, 0.0
    for k in range(highest + 1):
        reward, risk = quantity(state, k, REWARD), quantity(state, k, 1)
        if risk.plays == 0 or at(state.arms, k).dropped:
            continue
        if chance_below(reward, rule.least_reward, 1.0, 1.0) >= rule.reward_confidence:
            continue
        mean = share + (1.0 - share) * reward.mean - share * risk.mean
        utility = (1.0 + risk.plays * mean) / (2.0 + risk.plays)
        if utility > top:
            best, top = k, utility
    return best
