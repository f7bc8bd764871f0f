"""Laws from what people write: checked parameters, and the exact means that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from safebandit.arms import Numbers
from safebandit.errors import InstanceError
from safebandit.instances.laws import BernoulliPairs, BetaLaws, FiniteLaws, Law

Made = tuple[Law, Numbers, Numbers, dict[str, Any]]


def check_unit(what: str, value: Any) -> float:
    """A number in [0, 1], or an error that says which is not."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InstanceError(f"{what} must be a number in [0, 1], got {value!r}") from None
    if not 0.0 <= number <= 1.0:
        raise InstanceError(f"{what} must lie in [0, 1], got {value}")
    return number


def _vector(what: str, values: Any) -> Numbers:
    listed = hasattr(values, "__len__") and not isinstance(values, str) and len(values) > 0
    if not listed or any(isinstance(value, list | tuple | np.ndarray) and np.shape(value) != () for value in values):
        raise InstanceError(f"{what} must be a list of numbers, one per arm, got {values!r}")
    return np.array([check_unit(f"{what}[{k}]", value) for k, value in enumerate(values)])


def _means(mu: Any, nu: Any) -> tuple[Numbers, Numbers]:
    rewards, risks = _vector("mu", mu), _vector("nu", nu)
    if len(rewards) != len(risks):
        raise InstanceError(
            f"mu and nu must have the same length, got {len(rewards)} and {len(risks)}; give one of each per arm"
        )
    return rewards, risks


def _per_arm(what: str, value: Any, count: int) -> Numbers:
    try:
        values = np.full(count, value, float) if np.ndim(value) == 0 else np.asarray(value, float)
    except (TypeError, ValueError):
        raise InstanceError(f"{what} must be one number or one per arm ({count}), got {value!r}") from None
    if values.shape != (count,):
        raise InstanceError(f"{what} must be one number or one per arm ({count}), got {values.size}")
    if not np.isfinite(values).all():
        raise InstanceError(f"{what} must be finite, got {value!r}")
    return values


def bernoulli(mu: Any, nu: Any, correlation: Any = 0.0) -> Made:
    """Bits with P(R=1) = mu, P(S=1) = nu and the given correlation, through P(R=1, S=1)."""
    rewards, risks = _means(mu, nu)
    rho = _per_arm("correlation", correlation, len(rewards))
    scale = np.sqrt(rewards * (1 - rewards) * risks * (1 - risks))
    both = rewards * risks + rho * scale
    low, high = np.maximum(0.0, rewards + risks - 1.0), np.minimum(rewards, risks)
    for k in range(len(rewards)):
        if not low[k] - 1e-12 <= both[k] <= high[k] + 1e-12 or (scale[k] == 0.0 and rho[k] != 0.0):
            bounds = [
                (limit - rewards[k] * risks[k]) / scale[k] if scale[k] > 0 else 0.0 for limit in (low[k], high[k])
            ]
            raise InstanceError(
                f"correlation of arm {k} must lie in [{bounds[0]:.4g}, {bounds[1]:.4g}] for mu = {rewards[k]:g} "
                f"and nu = {risks[k]:g}, got {rho[k]:g}"
            )
    both = np.clip(both, low, high)
    # Independent arms keep nu itself, untouched by the rounding of a division.
    after_reward = np.where((rho == 0) | (rewards == 0), risks, both / np.where(rewards == 0, 1.0, rewards))
    after_none = np.where((rho == 0) | (rewards == 1), risks, (risks - both) / np.where(rewards == 1, 1.0, 1 - rewards))
    plain = {"mu": rewards.tolist(), "nu": risks.tolist()}
    if rho.any():
        plain["correlation"] = rho.tolist()
    return (
        BernoulliPairs(rewards, np.clip(after_reward, 0, 1)[None], np.clip(after_none, 0, 1)[None]),
        rewards,
        risks,
        plain,
    )


def beta(mu: Any, nu: Any, deviation: Any = 0.05) -> Made:
    """Beta laws by mean and standard deviation."""
    rewards, risks = _means(mu, nu)
    spread = _per_arm("deviation", deviation, len(rewards))
    shapes = [_beta_shapes(what, means, spread) for what, means in (("mu", rewards), ("nu", risks))]
    plain = {"mu": rewards.tolist(), "nu": risks.tolist(), "deviation": spread.tolist()}
    return BetaLaws(*shapes[0], *(shape[None] for shape in shapes[1])), rewards, risks, plain


def _beta_shapes(what: str, means: Numbers, spread: Numbers) -> tuple[Numbers, Numbers]:
    for k, (m, sd) in enumerate(zip(means, spread, strict=True)):
        if not 0.0 < m < 1.0:
            raise InstanceError(f"{what}[{k}] of a Beta law must lie inside (0, 1), got {m:g}")
        if not 0.0 < sd < math.sqrt(m * (1 - m)):
            raise InstanceError(
                f"deviation of arm {k} must lie in (0, {math.sqrt(m * (1 - m)):.4g}) for a mean of {m:g}, got {sd:g}"
            )
    total = means * (1 - means) / spread**2 - 1.0
    return means * total, (1 - means) * total


def finite(outcomes: Sequence[Sequence[Sequence[float]]]) -> Made:
    """Finite laws on [0, 1]^2: per arm, rows (reward, risk, probability)."""
    if len(outcomes) == 0:
        raise InstanceError("outcomes must list at least one arm, got none")
    tables = [_finite_table(k, rows) for k, rows in enumerate(outcomes)]
    first = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
    every = np.concatenate(tables)
    cumulative = np.concatenate([np.cumsum(table[:, 2]) for table in tables])
    mu, nu = (np.array([_mean(table[:, i], table[:, 2]) for table in tables]) for i in (0, 1))
    law = FiniteLaws(first, cumulative, every[:, 0].copy(), every[:, 1:2].T.copy())
    return law, mu, nu, {"outcomes": [table.tolist() for table in tables]}


def _mean(values: Numbers, probabilities: Numbers) -> float:
    """A mean, rounded to 15 digits: 3 risks in 10 rows are 0.3, which alpha = 0.3 permits."""
    return min(1.0, float(f"{math.fsum(values * probabilities):.15g}"))


def _finite_table(k: int, rows: Any) -> Numbers:
    try:
        table = np.array(rows, float)
    except (TypeError, ValueError):
        raise InstanceError(f"outcomes of arm {k} must be rows of three numbers (reward, risk, probability)") from None
    if table.ndim != 2 or table.shape[1:] != (3,) or len(table) == 0:
        raise InstanceError(f"outcomes of arm {k} must be rows (reward, risk, probability), got {rows!r}")
    for i, column in enumerate(("reward", "risk", "probability")):
        for value in table[:, i]:
            check_unit(f"a {column} of arm {k}", value)
    total = math.fsum(table[:, 2])
    if abs(total - 1.0) > 1e-9:
        raise InstanceError(f"probabilities of arm {k} must sum to 1, got {total:.12g}")
    return table


KINDS: dict[str, Callable[..., Made]] = {"bernoulli": bernoulli, "beta": beta, "finite": finite}
