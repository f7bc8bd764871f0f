"""The best of the safe arms: the largest mean reward among arms that are safe with a chance that is large enough."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import REWARD, Numbers, Records, State, at, quantity
from safebandit.core.bernoulli import beta_below
from safebandit.core.chances import chance_below, chance_safe, known_risks
from safebandit.core.dispatch import inlined
from safebandit.core.indices.interface import described
from safebandit.core.isotonic import pool
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.core.selection.words import check_least_reward, safe_chance
from safebandit.core.stopping.words import chance, number, prior, quoted, tolerated, units
from safebandit.errors import PolicyError


@described(
    "the largest mean reward where P(every risk <= its alpha) >= confidence, N >= least, and mean reward >= "
    "least_reward (or P(reward >= least_reward) >= reward_confidence); ties to the larger chance to be safe, then to "
    "the lower arm",
    positive=("prior_a", "prior_b"),
    not_negative=("least", "least_reward", "reward_confidence"),
    between=("confidence",),
)
class BestSafe(NamedTuple):
    """Select the largest mean reward among arms that are safe with a chance of at least `confidence`.

    An arm needs `least` known risks, and a mean reward of `least_reward`; or, where `reward_confidence` is above 0, a
    chance of that much that its reward is. A `least_reward` of 0 stands for the design's, if it has one. With
    `isotonic`, arms are in order of their dose, and neighbours whose mean risk falls are pooled before chances are
    computed. Arms that were dropped are out.
    """

    confidence: float = 0.5
    least: int = 1
    least_reward: float = 0.0
    reward_confidence: float = 0.0
    isotonic: bool = False
    prior_a: float = 1.0
    prior_b: float = 1.0

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    def completed(self, design: Any) -> BestSafe:
        check_least_reward(self)
        if self.reward_confidence >= 1:
            raise PolicyError(f"reward_confidence of BestSafe must lie below 1, got {self.reward_confidence!r}")
        if self.isotonic and not getattr(design, "ordered", True):
            raise PolicyError("isotonic of BestSafe needs arms in order of their dose, got ordered = false")
        return self._replace(least_reward=self.least_reward or float(getattr(design, "least_reward", None) or 0.0))

    def says(self, design: Any) -> str:
        own = self.completed(design)
        rewards = f" and a mean reward of at least {number(own.least_reward)}" if own.least_reward > 0 else ""
        if own.least_reward > 0 and self.reward_confidence > 0:
            least = f"a chance of at least {number(self.reward_confidence)}"
            rewards = f", and {least} that its reward is at least {number(own.least_reward)}"
        pooled = "; neighbouring arms whose mean risk falls are pooled" if self.isotonic else ""
        return (
            f"At the end that arm is selected which has the largest mean reward of those with "
            f"{units(self.least, 'known unit')} or more, a chance of at least {number(self.confidence)} that "
            f"{tolerated(design)}{rewards} ({prior(self.prior_a, self.prior_b)}{pooled}); of equal ones the one that "
            f"is more likely safe, then the lower one. Arms that were dropped are not selected. If there is no such "
            f"arm, none is selected."
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        if arm == NONE_SELECTED:
            return f"no arm is safe with a chance of at least {number(self.confidence)} and meets all other conditions"
        reward, risks = seen[arm][REWARD], seen[arm][1:]
        own = safe_chance(seen, arm, self.prior_a, self.prior_b)
        told = f"from its own outcomes it is safe with a chance of {chance(own)}"
        harms = " and ".join(f"{number(float(risk['total']))} of {risk['plays']}" for risk in risks)
        return (
            f"{quoted(design.arms[arm])} has the largest mean reward of the arms that meet all conditions, "
            f"{number(float(reward['mean']))} of {units(int(reward['plays']))}; {told} (harms: {harms})"
        )


@inlined
def _pooled_chances(state: State, a: float, b: float, chances: Numbers) -> None:
    """The chance of every arm to be safe after neighbours whose mean risk falls are pooled, risk by risk."""
    chances[:] = 1.0
    tried = np.empty(state.size, np.int64)
    for j in range(1, 1 + state.risks):
        count = 0
        for k in range(state.size):
            if quantity(state, k, j).plays > 0:
                tried[count] = k
                count += 1
            else:
                chances[k] = 0.0
        harms, known, blocks = np.empty(count), np.empty(count), np.empty(count, np.int64)
        for i in range(count):
            harms[i], known[i] = quantity(state, tried[i], j).ones, quantity(state, tried[i], j).plays
        pool(harms, known, blocks)
        for i in range(count):
            s, n = harms[blocks[i]], known[blocks[i]]
            chances[tried[i]] *= beta_below(a + s, b + n - s, quantity(state, tried[i], j).limit)


@inlined
def _rewards(rule: BestSafe, state: State, k: int) -> bool:
    """Whether the reward of arm k is large enough."""
    if rule.least_reward <= 0.0:
        return True
    reward = quantity(state, k, REWARD)
    if rule.reward_confidence > 0.0:
        return 1.0 - chance_below(reward, rule.least_reward, rule.prior_a, rule.prior_b) >= rule.reward_confidence
    return reward.mean >= rule.least_reward


@select.register(BestSafe)
def select_best_safe(rule: BestSafe, state: State) -> int:
    chances = np.empty(state.size)
    if rule.isotonic:
        _pooled_chances(state, rule.prior_a, rule.prior_b, chances)
    else:
        for k in range(state.size):
            chances[k] = chance_safe(state, k, rule.prior_a, rule.prior_b)
    best = NONE_SELECTED
    for k in range(state.size):
        known = known_risks(state, k) >= rule.least and not at(state.arms, k).dropped
        if known and chances[k] >= rule.confidence and _rewards(rule, state, k):
            mean = quantity(state, k, REWARD).mean
            top = quantity(state, best, REWARD).mean if best >= 0 else -1.0
            if mean > top or (mean == top and chances[k] > chances[best]):
                best = k
    return best
