"""When units of a scenario arrive, and when what happened to them is heard, as compiled code takes it."""

from __future__ import annotations

from typing import NamedTuple


class Timing(NamedTuple):
    """How units arrive and when they are heard of; times are in days.

    `accrual` units arrive per day, evenly or, with `poisson`, at exponential intervals. The delays of the reward and of
    the risks are laws of `delays`. `missing` is the chance that nothing is ever heard of a unit, `missing_risk` that
    its reward is but none of its risks; such a unit is given up `give_up_after` days after it got its arm. What has a
    delay of 0 is known before the next unit arrives.
    """

    accrual: float
    poisson: bool
    reward_kind: int
    reward_a: float
    reward_b: float
    risk_kind: int
    risk_a: float
    risk_b: float
    missing: float
    missing_risk: float
    give_up_after: float
