"""What other systems promise, measured in a result: a reward that never falls far behind, a flag of feasibility.

Both are read off what a result keeps anyway, so that the compiled loop measures nothing for one policy alone.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safebandit.core.indices import PlannedLower, lower
from safebandit.core.policies import policy_from_text
from safebandit.core.policies.checking import arm_number
from safebandit.errors import PolicyError, ResultError
from safebandit.simulation.execution import ready_for
from safebandit.simulation.results import Result

# Means are added up over rounds in floating point; a round is violated where it is so by more than this.
ROUNDING = 1e-9


def violations(result: Result, policy: str, *, baseline: Any = 0, loss: float = 0.1) -> NDArray[np.int64]:
    """In how many rounds of each trial the mean rewards so far were less than 1 - `loss` of the baseline arm's.

    Regret is what the best arm's mean reward would have given more, where no arm is unsafe; so the result must have
    every round as a checkpoint, and an instance without unsafe arms.

    >>> from safebandit import Instance, simulate
    >>> instance = Instance.bernoulli(mu=[0.5, 0.4, 0.6], nu=[0, 0, 0], alpha=1)
    >>> result = simulate(instance, ["conservative", "docb"], horizon=500, trials=4, checkpoints=range(1, 501))
    >>> violations(result, "conservative").tolist()
    [0, 0, 0, 0]
    """
    instance, times = result.specification.instance, result.specification.checkpoints
    if instance.unsafe_by_risk.any():
        raise ResultError(
            "violations are read off regret, which is about rewards alone only where no arm is unsafe; raise alpha to 1"
        )
    if len(times) < result.specification.horizon:
        raise ResultError(
            f"violations are counted in every round, and the result has {len(times)} checkpoints of "
            f"{result.specification.horizon}; simulate it with checkpoints=range(1, horizon + 1)"
        )
    if not 0.0 <= loss <= 1.0:
        raise PolicyError(f"loss must lie in [0, 1], got {loss:g}")
    promised = (1.0 - loss) * instance.mu[arm_number("baseline", baseline, instance.arms)] * times
    rewards = instance.best_mean * times - result.of(policy).regret
    return np.asarray((rewards < promised - ROUNDING * times).sum(axis=1))


def says_feasible(result: Result, policy: str) -> NDArray[np.bool_]:
    """Whether con-lcb says, after all units of each trial, that some arm's risks are at most alpha: its flag.

    It does where the lower risk indices of an arm are.

    >>> from safebandit import simulate
    >>> result = simulate("drug-trial", "con-lcb", horizon=500, trials=3)
    >>> says_feasible(result, "con-lcb").tolist()
    [True, True, True]
    """
    instance, kept = result.specification.instance, result.of(policy)
    chosen = policy_from_text(result.specification.policies[policy])
    index = getattr(ready_for(chosen, instance, result.specification.horizon), "safety", None)
    if not isinstance(index, PlannedLower):
        raise ResultError(f'only con-lcb says whether an instance is feasible, got "{policy}"')
    risks = np.reshape(kept.risk, (len(kept.plays), len(instance.limits), len(instance.mu)))
    flags = [
        any(
            all(
                _lower(index, plays, total, alpha) <= alpha
                for total, alpha in zip(totals, instance.limits, strict=True)
            )
            for plays, totals in zip(of_trial, of_risks.T, strict=True)
        )
        for of_trial, of_risks in zip(kept.plays, risks, strict=True)
    ]
    return np.array(flags)


def _lower(index: PlannedLower, plays: int, total: float, alpha: float) -> float:
    seen = SimpleNamespace(plays=plays, mean=total / max(plays, 1))
    return float(lower(index, seen, 1, alpha, None))
