"""The design that finds doses by Thompson sampling. `designs` has it by name."""

from __future__ import annotations

from typing import Any

from safebandit.core.policies import DoseTs, RiskModel, policy_to_text
from safebandit.errors import DesignError
from safebandit.trials.design import Design


def dose_ts(
    arms: Any, *, target: float | None = None, model: RiskModel = RiskModel.logistic, cohort: int = 3, units: int = 36,
    cutoff: float = 0.95, skips: bool = False, halfwidth: float = 0.05, guess: int | None = None, skeleton: Any = None,
    alpha: Any = None, title: str = "", rewarded: bool = False,
) -> Design:  # fmt: skip
    """Thompson sampling for dose finding (Aziz, Kaufmann and Riviere 2021): risks are drawn from the posterior, and the
    dose whose drawn risk is nearest to the target is given; `model` is `logistic` or `independent`.

    Doses whose risk is above the target with a chance of more than `cutoff` are out (1: none is), and unless it `skips`
    no dose above the lowest that was never given. The logistic model takes guessed risks as a CRM does. Selected is the
    dose whose posterior mean is nearest to the target, among those that were given.
    """
    aim = alpha if target is None else target
    if aim is None:
        raise DesignError('design "dose-ts" needs target, the risk that is tolerated; add target=0.3, for example')
    policy = DoseTs(aim, model, cutoff, skips, skeleton, halfwidth, guess)
    return Design(
        arms, aim if alpha is None else alpha, policy_to_text(policy), units, title=title, rewarded=rewarded,
        ordered=True, waits=True, cohort=cohort, select="ts-dose",
    )  # fmt: skip
