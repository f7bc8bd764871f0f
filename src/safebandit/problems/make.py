"""Laws from what people write: checked parameters, and the exact means that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.laws import Laws, beta_laws, bit_laws, point_laws
from safebandit.errors import InstanceError
from safebandit.problems.limits import check_unit, is_listed
from safebandit.problems.linear import linear

# The law, mu, the mean risks (a row per risk), and the parameters as JSON holds them.
Made = tuple[Laws, Numbers, Numbers, dict[str, Any]]


def _vector(what: str, values: Any) -> Numbers:
    if not is_listed(values) or len(values) == 0 or any(is_listed(value) for value in values):
        raise InstanceError(f"{what} must be a list of numbers, one per arm, got {values!r}")
    return np.array([check_unit(f"{what}[{k}]", value) for k, value in enumerate(values)])


def _means(mu: Any, nu: Any) -> tuple[Numbers, Numbers]:
    """mu, and nu with a row per risk."""
    rewards = _vector("mu", mu)
    if not is_listed(nu) or not any(is_listed(row) for row in nu):
        risks = _vector("nu", nu)
        if len(rewards) != len(risks):
            raise InstanceError(
                f"mu and nu must have the same length, got {len(rewards)} and {len(risks)}; give one of each per arm"
            )
        return rewards, risks[None]
    if not all(is_listed(row) for row in nu):
        raise InstanceError(f"nu must be a list of numbers, one per arm, or such a list for every risk, got {nu!r}")
    rows = [_vector(f"nu[{j}]", row) for j, row in enumerate(nu)]
    for j, row in enumerate(rows):
        if len(row) != len(rewards):
            raise InstanceError(
                f"mu and nu[{j}] must have the same length, got {len(rewards)} and {len(row)}; give one of each per arm"
            )
    return rewards, np.array(rows)


def _written(rows: Numbers) -> list[Any]:
    """A row per risk as JSON holds it; that of a single risk by itself."""
    listed: list[Any] = rows.tolist()
    return listed[0] if len(listed) == 1 else listed


def _per_arm(what: str, value: Any, shape: tuple[int, ...]) -> Numbers:
    """One number, one per arm or, where `shape` has rows, one per risk and arm; always of that shape."""
    count = shape[-1]
    rule = f"{what} must be one number or one per arm ({count})"
    if len(shape) > 1 and shape[0] > 1:
        rule += f", or one per risk and arm ({shape[0]} rows of {count})"
    try:
        values = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InstanceError(f"{rule}, got {value!r}") from None
    if values.shape not in ((), (count,), shape):
        raise InstanceError(f"{rule}, got {values.size if values.ndim == 1 else value!r}")
    if not np.isfinite(values).all():
        raise InstanceError(f"{what} must be finite, got {value!r}")
    return np.broadcast_to(values, shape).copy()


def bernoulli(mu: Any, nu: Any, correlation: Any = 0.0) -> Made:
    """Bits with P(R=1) = mu, P(S=1) = nu and the given correlation, through P(R=1, S=1).

    Given the reward, several risks are independent.
    """
    rewards, risks = _means(mu, nu)
    rho = _per_arm("correlation", correlation, risks.shape)
    scale = np.sqrt(rewards * (1 - rewards) * risks * (1 - risks))
    both = rewards * risks + rho * scale
    low, high = np.maximum(0.0, rewards + risks - 1.0), np.minimum(rewards, risks)
    for j, k in np.ndindex(*risks.shape):
        cell = j, k
        if not low[cell] - 1e-12 <= both[cell] <= high[cell] + 1e-12 or (scale[cell] == 0.0 and rho[cell] != 0.0):
            bounds = [
                (limit - rewards[k] * risks[cell]) / scale[cell] if scale[cell] > 0 else 0.0
                for limit in (low[cell], high[cell])
            ]
            what = "correlation" if len(risks) == 1 else f"correlation[{j}]"
            raise InstanceError(
                f"{what} of arm {k} must lie in [{bounds[0]:.4g}, {bounds[1]:.4g}] for mu = {rewards[k]:g} "
                f"and nu = {risks[cell]:g}, got {rho[cell]:g}"
            )
    both = np.clip(both, low, high)
    # Independent arms keep nu itself, untouched by the rounding of a division.
    after_reward = np.where((rho == 0) | (rewards == 0), risks, both / np.where(rewards == 0, 1.0, rewards))
    after_none = np.where((rho == 0) | (rewards == 1), risks, (risks - both) / np.where(rewards == 1, 1.0, 1 - rewards))
    plain = {"mu": rewards.tolist(), "nu": _written(risks)}
    if rho.any():
        plain["correlation"] = _written(rho)
    law = bit_laws(rewards, np.clip(after_none, 0, 1), np.clip(after_reward, 0, 1))
    return law, rewards, risks, plain


def beta(mu: Any, nu: Any, deviation: Any = 0.05) -> Made:
    """Beta laws by mean and standard deviation, which is one for an arm's reward and all of its risks."""
    rewards, risks = _means(mu, nu)
    spread = _per_arm("deviation", deviation, rewards.shape)
    names = ["nu"] if len(risks) == 1 else [f"nu[{j}]" for j in range(len(risks))]
    of_reward = _beta_shapes("mu", rewards, spread)
    of_risks = [_beta_shapes(name, row, spread) for name, row in zip(names, risks, strict=True)]
    law = beta_laws(*of_reward, *(np.array(shapes) for shapes in zip(*of_risks, strict=True)))
    return law, rewards, risks, {"mu": rewards.tolist(), "nu": _written(risks), "deviation": spread.tolist()}


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
    """Finite laws on [0, 1]^(1+m): per arm, rows (reward, risk, probability) with a column per risk."""
    if len(outcomes) == 0:
        raise InstanceError("outcomes must list at least one arm, got none")
    tables = [_finite_table(k, rows) for k, rows in enumerate(outcomes)]
    risks = tables[0].shape[1] - 2
    for k, table in enumerate(tables):
        if table.shape[1] - 2 != risks:
            raise InstanceError(
                f"every arm must have the same number of risks: arm 0 has {risks}, arm {k} has {table.shape[1] - 2}"
            )
    first = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
    every = np.concatenate(tables)
    cumulative = np.concatenate([np.cumsum(table[:, -1]) for table in tables])
    means = np.array([[_mean(table[:, i], table[:, -1]) for table in tables] for i in range(1 + risks)])
    law = point_laws(first, cumulative, every[:, 0], every[:, 1:-1].T)
    return law, means[0], means[1:], {"outcomes": [table.tolist() for table in tables]}


def _mean(values: Numbers, probabilities: Numbers) -> float:
    """A mean, rounded to 15 digits: 3 risks in 10 rows are 0.3, which alpha = 0.3 permits."""
    return min(1.0, float(f"{math.fsum(values * probabilities):.15g}"))


def _finite_table(k: int, rows: Any) -> Numbers:
    try:
        table = np.array(rows, float)
    except (TypeError, ValueError):
        raise InstanceError(
            f"outcomes of arm {k} must be rows of three numbers (reward, risk, probability), "
            "or more with several risks, all of the same length"
        ) from None
    if table.ndim != 2 or table.shape[1] < 3 or len(table) == 0:
        raise InstanceError(
            f"outcomes of arm {k} must be rows (reward, risk, probability), got {rows!r}; "
            "several risks have a place each"
        )
    risks = table.shape[1] - 2
    names = ["risk"] if risks == 1 else [f"risk {j}" for j in range(1, risks + 1)]
    for i, column in enumerate(("reward", *names, "probability")):
        for value in table[:, i]:
            check_unit(f"a {column} of arm {k}", value)
    total = math.fsum(table[:, -1])
    if abs(total - 1.0) > 1e-9:
        raise InstanceError(f"probabilities of arm {k} must sum to 1, got {total:.12g}")
    return table


KINDS: dict[str, Callable[..., Any]] = {"bernoulli": bernoulli, "beta": beta, "finite": finite, "linear": linear}
