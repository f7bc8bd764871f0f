"""The best of the feasible arms: the largest mean reward among arms whose sample means lie in a safe set."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import REWARD, Records, State, at, quantity
from safebandit.core.indices.interface import described
from safebandit.core.policies.exploring.looking import set_of
from safebandit.core.policies.interface import Setup
from safebandit.core.policies.texts import policy_from_text
from safebandit.core.safe_sets import ROUNDING, depth, write_means
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.core.stopping.words import number, quoted, units


@described(
    "the largest mean reward among arms whose sample means lie in the safe set; ties to the lower arm",
    "feasible arms (Katz-Samuels and Scott 2018), the top one (2019)",
)
class TopFeasible(NamedTuple):
    """Select the largest mean reward among arms whose sample means lie in the safe set; all of those are named.

    The safe set is a text such as "risk1 + risk2 <= 0.5, reward >= 0.2"; without one it is that of the design's policy,
    if it has one, or else every risk at most its alpha. Arms that were dropped, or of which nothing is known, are out.
    """

    safe_set: str = ""
    half_spaces: Any = None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("reward",)

    def completed(self, design: Any) -> TopFeasible:
        text = self.text_for(design)
        return self._replace(half_spaces=set_of(text or None, Setup(design.arms, design.limits, "hold")))

    def text_for(self, design: Any) -> str:
        """The safe set in words; nothing where every risk must be at most its alpha."""
        policy = getattr(design, "policy", None)
        return str(self.safe_set or (policy and getattr(policy_from_text(policy), "safe_set", None)) or "")

    def says(self, design: Any) -> str:
        inside = self.text_for(design) or ", ".join(
            f"{name} <= {number(limit)}" for name, limit in zip(design.risks, design.limits, strict=True)
        )
        return (
            f"At the end those arms are named as feasible whose sample means lie in the safe set ({inside}), and that "
            f"of the largest mean reward among them is selected; of equal ones the lower one. Arms that were dropped "
            f"are not selected. If there is no such arm, none is selected."
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        if arm == NONE_SELECTED:
            return "no arm that is left has its sample means in the safe set"
        reward, named = seen[arm][REWARD], self.feasible(seen, design)
        return (
            f"{quoted(design.arms[arm])} has the largest mean reward of the feasible arms, "
            f"{number(float(reward['mean']))} of {units(int(reward['plays']))}; feasible: "
            f"{', '.join(quoted(design.arms[k]) for k in named)}"
        )

    def feasible(self, seen: Records, design: Any) -> list[int]:
        """The arms whose sample means lie in the safe set: `seen` has what is known, by arm, reward and risks."""
        own = self.completed(design).half_spaces
        asked = [j for j in range(seen.shape[1]) if own.rows[:, j].any()]
        return [k for k in range(len(seen)) if seen["plays"][k, asked].all() and own.contains(seen["mean"][k])]


@select.register(TopFeasible)
def select_top_feasible(rule: TopFeasible, state: State) -> int:
    best, point = NONE_SELECTED, np.empty(1 + state.risks)
    for k in range(state.size):
        known, _ = write_means(rule.half_spaces, state, k, point)
        left = known > 0 and not at(state.arms, k).dropped
        better = best < 0 or point[REWARD] > quantity(state, best, REWARD).mean
        if left and better and depth(rule.half_spaces, point) >= -ROUNDING:
            best = k
    return best
