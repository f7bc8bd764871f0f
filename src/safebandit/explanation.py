"""Why this arm, and why not the others: what a policy sees, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from safebandit.arms import NOTES, Arms
from safebandit.kernel import kernels_for
from safebandit.policies import WAIT

if TYPE_CHECKING:
    import pandas as pd

    from safebandit.streams import Streams


class ArmView(NamedTuple):
    """One arm as the policy sees it. Means and indices that do not exist are None."""

    arm: str
    plays: int
    pending: int
    mean_reward: float | None
    mean_risk: float | None
    reward_index: float | None
    risk_index: float | None
    probability: float | None
    permissible: bool
    chosen: bool
    why: str


@dataclass(frozen=True)
class Explanation:
    """The arm that the next `ask` gives (None: it holds), why, and every arm's numbers."""

    round: int
    alpha: float
    chosen: str | None
    why: str
    arms: tuple[ArmView, ...]

    def table(self) -> pd.DataFrame:
        """One row per arm."""
        import pandas as pd

        return pd.DataFrame(self.arms, columns=ArmView._fields).set_index("arm")

    def __str__(self) -> str:
        head = f"round {self.round}, alpha {self.alpha:g}: {self.chosen or 'hold'} ({self.why})"
        return f"{head}\n{self.table().to_string(na_rep='-', float_format=lambda x: f'{x:.4f}')}"

    def _repr_html_(self) -> str:
        return str(
            self.table().style.set_caption(f"round {self.round}: {self.chosen or 'hold'} ({self.why})").to_html()
        )


def explain_state(
    policy: Any, arms: Arms, stream: Streams, t: int, limits: tuple[float, ...], names: tuple[str, ...]
) -> Explanation:
    """Decide on copies, and describe what was decided; nothing of the trial changes."""
    kernels = kernels_for(policy)
    numbers = np.full((len(names), 3 + len(limits)), np.nan)
    (alpha,) = limits
    kernels.look(policy, arms.copy(), stream.copy(), np.zeros(1, NOTES), limits, t, numbers)
    after = arms.copy()
    k, none = kernels.decide(policy, after, stream.copy(), np.zeros(1, NOTES), limits, t)
    permissible = numbers[:, 0] == 1.0
    first_plays = k >= 0 and policy.each_first and t <= len(names) and bool(after["asked"][k] == 0)
    drawn = np.where((after["permitted"] == 1) & ~first_plays, after["index"], np.nan)
    indices = np.where(np.isnan(numbers[:, 1]), drawn, numbers[:, 1])
    why = _why(k, none, names, numbers[:, 3], alpha, bool(first_plays))
    views = tuple(
        ArmView(
            names[i],
            int(arms["asked"][i]),
            int(arms["risk"]["pending"][i]),
            _mean(arms["reward"][i]),
            _mean(arms["risk"][i]),
            _number(indices[i]),
            _number(numbers[i, 3]),
            _number(numbers[i, 2]),
            bool(permissible[i]),
            i == k,
            _why_arm(i, k, why, bool(permissible[i]), bool(arms["available"][i]), numbers[i, 3], indices[i], alpha),
        )
        for i in range(len(names))
    )
    return Explanation(t, alpha, names[k] if k >= 0 else None, why, views)


def _why(k: int, none: bool, names: tuple[str, ...], risks: Any, alpha: float, first_plays: bool) -> str:
    if k == WAIT:
        return "every arm that may be given waits for outcomes of units already given it"
    if none:
        least = int(np.nanargmin(risks)) if not np.isnan(risks).all() else 0
        rule = "the policy holds" if k < 0 else "the policy's when_none rule gives this arm"
        smallest = f'{risks[least]:.4g}, "{names[least]}"'
        return f"no arm is permissible: every lower risk index is above {alpha:g} (smallest: {smallest}); {rule}"
    if first_plays:
        return "every arm is played once before any index is asked"
    return "largest reward index among the permissible arms"


def _why_arm(
    i: int, k: int, why: str, permissible: bool, available: bool, risk: float, index: float, alpha: float
) -> str:
    if i == k:
        return why
    if not permissible:
        return f"not permissible: lower risk index {risk:.4g} is above alpha {alpha:g}"
    if not available:
        return "waits for outcomes of units already given it"
    if np.isnan(index):
        return "permissible; its reward index was not needed"
    return "permissible; another arm's reward index is larger"


def _mean(quantity: Any) -> float | None:
    return float(quantity["total"] / quantity["plays"]) if quantity["plays"] > 0 else None


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
