"""The arm that is most likely best, by the posteriors of all arms that are left."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import REWARD, Records, State
from safebandit.core.indices.interface import described
from safebandit.core.posteriors import arms_left, chances_best
from safebandit.core.selection.interface import NONE_SELECTED, select
from safebandit.core.stopping.words import number, quoted


@described(
    "the largest P(arm is best of those left), if that is >= least; ties to the lower arm",
    "as the R package adaptr selects the best arm that is left",
    not_negative=("least",),
)
class BestProbability(NamedTuple):
    """Select the arm that is most likely the best of those that are left: of largest reward, or of `lowest` first risk.

    It needs a chance of at least `least`. Arms that were dropped are out.
    """

    least: float = 0.0
    lowest: bool = False

    def completed(self, design: Any) -> BestProbability:
        return self._replace(lowest=bool(self.lowest or not getattr(design, "rewarded", True)))

    def says(self, design: Any) -> str:
        what = f"lowest {design.risks[0]}" if self.completed(design).lowest else "largest reward"
        least = f", if that chance is at least {number(self.least)}" if self.least > 0 else ""
        return (
            f"At the end that arm is selected which most likely has the {what} of those that were not dropped{least} "
            f"(prior Beta(1, 1)); of equal ones the lower one."
        )

    def why(self, arm: int, seen: Records, design: Any) -> str:
        if arm == NONE_SELECTED:
            return f"no arm that is left has a chance to be best of at least {number(self.least)}"
        lowest = self.completed(design).lowest
        known = seen[arm][1 if lowest else REWARD]
        what = design.risks[0] if lowest else "reward"
        return (
            f"{quoted(design.arms[arm])} is most likely the best of the arms that are left: "
            f"mean {what} {number(float(known['mean']))} of {int(known['plays'])} known"
        )


@select.register(BestProbability)
def select_best_probability(rule: BestProbability, state: State) -> int:
    left = arms_left(state, rule.lowest)
    if left.arms.size == 0:
        return NONE_SELECTED
    best = chances_best(left.plays, left.ones)
    top = int(np.argmax(best))
    # The same chances may differ by what is rounded: then the lower arm is selected.
    for i in range(top):
        if best[i] >= best[top] - 1e-9:
            top = i
            break
    return left.arms[top] if best[top] >= rule.least else NONE_SELECTED
