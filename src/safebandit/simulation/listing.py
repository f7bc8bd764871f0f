"""What is said of one policy's trials: as JSON, as a row of the summary, and trial by trial."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safebandit.core.kernels import Trials
from safebandit.problems import Instance
from safebandit.simulation.summaries import METRICS, Summary, Whole, fields_of

ROUNDS = ("none_permissible", "held")


def document_of(about: Whole | Summary, instance: Instance) -> dict[str, Any]:
    """Statistics of regret, unsafe plays, reward and risk, and means by arm; with several risks, by their names."""
    totals = {risk: about.describe("total_risk", j) for j, risk in enumerate(instance.risks)}
    by_arm = [row.tolist() for row in about.mean("risk").reshape(instance.risk_means.shape)]
    several = len(instance.risks) > 1
    return {
        **{metric: about.describe(metric) for metric in METRICS},
        # One risk alone is what "unsafe_plays" is about.
        **({"unsafe_by_risk": _unsafe_by_risk(about, instance)} if several and not instance.in_contexts else {}),
        "reward": about.describe("total_reward"),
        "risk": totals if several else totals[instance.risks[0]],
        "plays": about.mean("plays").tolist(),
        "reward_by_arm": about.mean("reward").tolist(),
        "risk_by_arm": by_arm if several else by_arm[0],
        **{name: float(about.mean(name)[0]) for name in ROUNDS},
    }


def unsafe_of(instance: Instance) -> NDArray[np.bool_] | None:
    """Whether each arm (columns) is unsafe in each risk; None where that depends on the context."""
    return None if instance.in_contexts else instance.unsafe_by_risk


def _unsafe_by_risk(about: Whole | Summary, instance: Instance) -> dict[str, Any]:
    return {risk: about.describe("unsafe_by_risk", j) for j, risk in enumerate(instance.risks)}


def row_of(about: Whole | Summary, instance: Instance) -> dict[tuple[str, str], float]:
    """The numbers of `document_of` under pairs such as ("regret", "mean") and ("plays", "placebo")."""
    risks = _titles(instance)
    described = {metric: about.describe(metric) for metric in METRICS}
    if len(risks) > 1 and not instance.in_contexts:
        described |= {f"unsafe_plays {risk}": about.describe("unsafe_by_risk", j) for j, risk in _numbered(instance)}
    described["reward"] = about.describe("total_reward")
    described |= {title: about.describe("total_risk", j) for j, title in enumerate(risks)}
    by_arm = {"plays": about.mean("plays"), "reward by arm": about.mean("reward")}
    of_risks = about.mean("risk").reshape(instance.risk_means.shape)
    by_arm |= {f"{title} by arm": means for title, means in zip(risks, of_risks, strict=True)}
    row = {(title, name): number for title, numbers in described.items() for name, number in numbers.items()}
    for title, means in by_arm.items():
        row |= {(title, arm): float(mean) for arm, mean in zip(instance.arms, means, strict=True)}
    return row | {("rounds", name): float(about.mean(name)[0]) for name in ROUNDS}


def columns_of(trials: Trials, instance: Instance) -> dict[str, NDArray[Any]]:
    """Columns of a table with a row per trial: totals at the horizon, then plays, reward and risk of every arm."""
    fields, risks = fields_of(trials, unsafe_of(instance)), _titles(instance)
    columns = {metric: fields[metric][:, -1] for metric in METRICS}
    if len(risks) > 1 and not instance.in_contexts:
        columns |= {f"unsafe_plays {risk}": fields["unsafe_by_risk"][:, j] for j, risk in _numbered(instance)}
    columns["reward"] = fields["total_reward"][:, 0]
    columns |= {title: fields["total_risk"][:, j] for j, title in enumerate(risks)}
    columns |= {name: fields[name][:, 0] for name in ROUNDS}
    for name in ("plays", "reward"):
        columns |= {f"{name} {arm}": fields[name][:, k] for k, arm in enumerate(instance.arms)}
    for j, title in enumerate(risks):
        begin = title if len(risks) == 1 else f"{title},"
        first = j * len(instance.arms)
        columns |= {f"{begin} {arm}": fields["risk"][:, first + k] for k, arm in enumerate(instance.arms)}
    return columns


def _titles(instance: Instance) -> list[str]:
    return ["risk"] if len(instance.risks) == 1 else [f"risk {name}" for name in instance.risks]


def _numbered(instance: Instance) -> list[tuple[int, str]]:
    return list(enumerate(instance.risks))
