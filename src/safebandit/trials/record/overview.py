"""A trial at a glance, for the command line, the interface and the page: what is known of each arm, who is permissible
and why, what theory expects; never which arm the next unit gets.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from safebandit.errors import InstanceError
from safebandit.trials.explanation import Decision, gate_words
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.state import TrialState

# Of the credible intervals.
CONFIDENCE = 0.95
# Theory speaks of rounds from here on.
FIRST_HORIZON = 3


@dataclass(frozen=True)
class ArmOverview:
    """One arm. Means and intervals that do not exist are None; risks are listed in the trial's order.

    An arm that was withdrawn has its number of plays only. Intervals hold 95 % of the Beta posterior. Propensities are
    None where one of them is 1: it would tell which arm comes next.
    """

    arm: str
    active: bool
    plays: int
    pending: int
    mean_reward: float | None
    reward_interval: tuple[float, float] | None
    mean_risk: list[float | None]
    risk_interval: list[tuple[float, float] | None]
    risk_index: list[float | None]
    permissible: bool
    propensity: float | None
    why: str


@dataclass(frozen=True)
class Expectation:
    """What theory expects after `horizon` units if the means were as they look now: Theorem 1's leading terms, and what
    no policy beats.
    """

    horizon: int
    regret: float
    unsafe_plays: float
    least_regret: float
    least_unsafe_plays: float


@dataclass(frozen=True)
class Overview:
    """A trial at a glance; `holding` says why no arm is permissible at present, `waiting` that those which are wait for
    outcomes. Units that were voided are none of `units`; `voided` is how many there were.
    """

    name: str
    title: str
    status: str
    holding: str | None
    waiting: str | None
    version: int
    policy: str
    alpha: list[float]
    risks: list[str]
    pending_cap: int
    lost: str
    ids: str
    units: int
    voided: int
    pending: int
    events: int
    time: str
    hash: str
    propensities: str
    arms: list[ArmOverview]
    expected: list[Expectation]

    @property
    def rounds(self) -> int:
        """How many rounds there were: a unit that is voided keeps its round."""
        return self.units + self.voided

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def overview(ledger: Ledger, name: str) -> Overview:
    """What can be said of a trial now."""
    state = ledger.state(name)
    plays = ledger.plays(name)
    settings, allocator = state.settings, state.allocator
    chances = allocator.chances(state.round, state.decisions + 1)
    decision = allocator.consider(state.round)
    told = 1.0 not in chances.arms
    shares = chances.arms if told else (None,) * len(chances.arms)
    arms = [_arm(state, arm, plays.get(arm, 0), decision, shares) for arm in settings.arms]
    why = None if state.stands_at is None else ledger.event(name, state.stands_at).content["why"]
    stands = why if state.status == "open" else None
    return Overview(
        name=name,
        title=settings.title,
        status=state.status,
        holding=stands if state.waits_at is None else None,
        waiting=None if state.waits_at is None else stands,
        version=state.version,
        policy=settings.policy,
        alpha=list(settings.limits),
        risks=list(settings.risks),
        pending_cap=settings.pending_cap,
        lost=settings.lost,
        ids=settings.ids,
        units=state.units,
        voided=sum(state.voided.values()),
        pending=state.waiting,
        events=state.number,
        time=state.time,
        hash=state.hash,
        propensities=f"estimated from {chances.draws} draws" if told else "not told: one is 1, that of the next arm",
        arms=arms,
        expected=_expected(state, arms),
    )


def _arm(state: TrialState, arm: str, plays: int, decision: Decision, shares: tuple[float | None, ...]) -> ArmOverview:
    allocator = state.allocator
    nothing: list[Any] = [None] * len(state.settings.risks)
    if arm not in allocator.arms:
        return ArmOverview(arm, False, plays, 0, None, None, nothing, nothing, nothing, False, None, "withdrawn")
    k = allocator.arms.index(arm)
    seen = allocator.memory.quantities[0, k]
    reward, risks = seen[0], seen[1:]
    return ArmOverview(
        arm,
        True,
        plays,
        int(risks["pending"].max()),
        _mean(reward),
        _interval(reward),
        [_mean(risk) for risk in risks],
        [_interval(risk) for risk in risks],
        [None if math.isnan(bound) else float(bound) for bound in decision.bounds[k]],
        bool(decision.permissible[k]),
        shares[k],
        gate_words(k, decision, allocator.limits, allocator.risks, available=allocator.available(k)),
    )


def _mean(seen: Any) -> float | None:
    return float(seen["total"] / seen["plays"]) if seen["plays"] > 0 else None


def _interval(seen: Any) -> tuple[float, float] | None:
    """The middle 95 % of the posterior under a uniform prior; outcomes between 0 and 1 count by their sum."""
    from scipy.special import betaincinv

    if seen["plays"] == 0:
        return None
    a, b = 1.0 + float(seen["total"]), 1.0 + float(seen["plays"] - seen["total"])
    tail = (1.0 - CONFIDENCE) / 2.0
    return float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1.0 - tail))


def _expected(state: TrialState, arms: list[ArmOverview]) -> list[Expectation]:
    """Now, and at ten times as many units; nothing while an arm has no outcomes, or none looks safe."""
    from safebandit.problems import Instance
    from safebandit.problems.theory import bounds_of

    seen = [arm for arm in arms if arm.active]
    if state.units < FIRST_HORIZON or any(arm.mean_reward is None or None in arm.mean_risk for arm in seen):
        return []
    mu: list[Any] = [arm.mean_reward for arm in seen]
    nu: list[Any] = [[arm.mean_risk[j] for arm in seen] for j in range(len(state.settings.risks))]
    try:
        instance = Instance.bernoulli(mu=mu, nu=nu if len(nu) > 1 else nu[0], alpha=state.settings.limits)
    except InstanceError:
        return []
    bounds = bounds_of(instance)
    at = [bounds.at(horizon) for horizon in (state.units, 10 * state.units)]
    return [
        Expectation(
            each.horizon,
            each.leading_regret,
            each.leading_unsafe_plays,
            each.lower_leading_regret,
            each.lower_leading_unsafe_plays,
        )
        for each in at
    ]
