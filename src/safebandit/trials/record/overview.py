"""A trial at a glance, for the command line, the interface and the page: what is known of each arm, who is permissible
and why, what theory expects; never which arm the next unit gets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.conduct import FREE
from safebandit.core.policies import Decision
from safebandit.errors import InstanceError
from safebandit.trials.allocator import Allocator
from safebandit.trials.concealment import without_numbers
from safebandit.trials.conduct_words import BARS
from safebandit.trials.contexts import AnyContext
from safebandit.trials.design_words import FLAT
from safebandit.trials.drafts import ENDED
from safebandit.trials.eligibility import Mask
from safebandit.trials.explanation import gate_words
from safebandit.trials.progress import progress
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.past import state_before
from safebandit.trials.state import TrialState
from safebandit.trials.strata import AnyStratum, stratum_names, written

if TYPE_CHECKING:
    from safebandit.problems.theory import Bounds

# Of the credible intervals, and how often the chance below one is halved: enough for seven digits.
CONFIDENCE = 0.95
HALVINGS = 20
# Why chances are not told.
NOT_TOLD = "not told: one is 1, that of the next arm"
NO_NEXT = "the trial has stopped: no arm comes next"
BY_CONTEXT = "depends on the unit's context"
BY_STRATUM = "depends on the unit's stratum"
# Theory speaks of rounds from here on.
FIRST_HORIZON = 3


@dataclass(frozen=True)
class ArmOverview:
    """One arm. Means and intervals that do not exist are None; risks are listed in the trial's order.

    An arm that was withdrawn has its number of plays only. Intervals are credible: the shortest that hold 95 % of the
    posterior from the trial's prior, by default Beta(1, 1), by which the mean lies in its interval. Propensities
    are None where one of them is 1: it would tell which arm comes next. Where the policy goes by the unit's context,
    and none is supposed, nothing is said of who is permissible: that is decided when a unit asks.
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
    permissible: bool | None
    propensity: float | None
    why: str


@dataclass(frozen=True)
class StratumOverview:
    """One stratum: its units, why it gives no arm now, if it does not, and of every arm the plays, the means of what is
    known, and whether it is permissible and why.
    """

    stratum: str
    units: int
    holding: str | None
    arms: list[dict[str, Any]]


@dataclass(frozen=True)
class Expectation:
    """What theory expects after `horizon` units if the means were as they look now.

    Leading terms of Theorem 1 and of the lower bound (`least`); None where they say nothing yet, because they count on
    more plays than there are units.
    """

    horizon: int
    regret: float | None
    unsafe_plays: float | None
    least_regret: float | None
    least_unsafe_plays: float | None


@dataclass(frozen=True)
class Overview:
    """A trial at a glance; `holding` says why no arm is permissible at present, `waiting` that those which are wait for
    outcomes; where what is decided depends on the unit's context (`by_context`), they say that of the last unit that
    asked. Units that were voided are none of `units`; `voided` is how many there were. Of a trial by a design,
    `progress` says how far it is, and `stopped` and `selected` what it came to. `intervals` says what those of the arms
    are. `routed` says since when every unit is given the `control`, and `paused_by` which rule paused the trial.
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
    intervals: str = ""
    design: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    stopped: dict[str, Any] | None = None
    selected: str | None = None
    context: list[str] = field(default_factory=list)
    features: dict[str, list[float]] | None = None
    by_context: bool = False
    control: str | None = None
    control_floor: float = 0.0
    routed: dict[str, Any] | None = None
    paused_by: dict[str, Any] | None = None
    factors: dict[str, list[str]] = field(default_factory=dict)
    strata: list[StratumOverview] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """How many rounds there were: a unit that is voided keeps its round."""
        return self.units + self.voided

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def overview(
    ledger: Ledger,
    name: str,
    *,
    delay: int = 0,
    context: AnyContext | None = None,
    eligible: Sequence[str] | None = None,
    stratum: AnyStratum | None = None,
) -> Overview:
    """What can be said of a trial now; with a `delay`, of its sums as they were at least so many units ago; with a
    `context`, a `stratum` or `eligible` arms, of a unit that would ask with these.
    """
    state = ledger.state(name)
    plays = ledger.plays(name)
    settings = state.settings
    seen = settings.scaled(() if context is None else settings.read_context("an explanation", context))
    mask = settings.read_eligible("an explanation", eligible)
    part = "" if stratum is None else settings.read_stratum("an explanation", stratum)
    now = _overview(ledger, state, plays, Supposed(seen, mask, part))
    # Of a trial that has stopped no arm comes next that sums could tell.
    if delay == 0 or state.status in ENDED:
        return now
    past = state_before(ledger, name, delay=delay)
    then = _overview(ledger, *past)
    # That no arm is given is known to all who ask; the numbers behind it are not.
    why = None if now.holding is None else without_numbers(now.holding)
    # Its cohort is not of the past: units are counted in whole blocks there.
    so_far = then.progress and {**then.progress, "cohort": None}
    return replace(then, holding=why, waiting=now.waiting, progress=so_far)


class Supposed(NamedTuple):
    """What a unit that might ask would ask with: its context as the policy sees it, the arms that it may be given, and
    its stratum.
    """

    context: Numbers | None = None
    eligible: Mask = None
    stratum: str = ""


def _overview(
    ledger: Ledger, state: TrialState, plays: dict[str, int], supposed: Supposed | None = None
) -> Overview:  # fmt: skip
    name = state.name
    settings, allocator = state.settings, state.allocator
    asked = supposed or Supposed()
    decision, shares, how = _judged(state, asked)
    prior = FLAT if settings.design is None else settings.design.prior
    intervals = credible_intervals(allocator.memory.quantities[0], prior)
    with state.decider(asked.stratum).only(asked.eligible):
        arms = [_arm(state, asked, arm, plays.get(arm, 0), decision, shares, intervals) for arm in settings.arms]
    why = None if state.holds.at is None else ledger.event(name, state.holds.at).content["why"]
    stands = why if state.status == "open" else None
    return Overview(
        name=name,
        title=settings.title,
        status=state.status,
        holding=stands if state.holds.waits_at is None else None,
        waiting=None if state.holds.waits_at is None else stands,
        version=state.version,
        policy=settings.policy,
        alpha=list(settings.limits),
        risks=list(settings.risks),
        pending_cap=settings.pending_cap,
        lost=settings.lost,
        ids=settings.ids,
        context=list(settings.context),
        features=dict(zip(settings.arms, map(list, settings.features), strict=True)) if settings.features else None,
        by_context=allocator.context_size > 0,
        control=settings.control_arm,
        control_floor=settings.floor_of_control,
        routed=state.routed,
        paused_by=state.paused_by,
        factors=written(settings.factors),
        strata=[_stratum(ledger, state, each) for each in stratum_names(settings.factors)],
        units=state.units,
        voided=sum(state.voided.values()),
        pending=state.waiting,
        events=state.number,
        time=state.time,
        hash=state.hash,
        propensities=how,
        arms=arms,
        expected=_expected(state, arms),
        intervals=f"{100 * CONFIDENCE:g} % credible, the shortest, from the prior Beta({prior[0]:g}, {prior[1]:g})",
        design=None if settings.design is None else settings.design.to_dict(),
        progress=progress(state),
        stopped=None if state.stop is None else dict(state.stop),
        selected=None if state.stop is None else state.stop["selected"],
    )


def _stratum(ledger: Ledger, state: TrialState, stratum: str) -> StratumOverview:
    allocator, stands_at = state.decider(stratum), state.stands_for((), None, stratum)
    decision = None if allocator.context_size else _judged(state, Supposed(stratum=stratum))[0]
    arms = []
    for k, arm in enumerate(allocator.arms):
        reward, *risks = allocator.memory.quantities[0, k]
        arms.append({
            "arm": arm, "plays": int(allocator.memory.arms["asked"][0, k]), "mean_reward": _mean(reward),
            "mean_risk": [_mean(risk) for risk in risks],
            "permissible": None if decision is None else bool(decision.permissible[k]),
            "why": _why(allocator, k, decision, BY_CONTEXT),
        })  # fmt: skip
    why = None if stands_at is None else ledger.event(state.name, stands_at).content["why"]
    return StratumOverview(stratum, allocator.course["given"], why, arms)


def _judged(
    state: TrialState, supposed: Supposed
) -> tuple[Decision | None, tuple[float | None, ...], str]:  # fmt: skip
    """What the policy says of every arm, the chances as far as they are told, and how those are known."""
    allocator, clock, context = state.decider(supposed.stratum), state.clock(supposed.stratum), supposed.context
    nothing: tuple[float | None, ...] = (None,) * len(allocator.arms)
    if state.settings.factors and not supposed.stratum:
        return None, nothing, BY_STRATUM
    if allocator.context_size and context is None:
        return None, nothing, BY_CONTEXT
    with allocator.only(supposed.eligible):
        chances = allocator.chances(clock, state.decisions + 1, context=context)
        decision = allocator.judge(clock, aside=state.decisions + 1, context=context)
    if state.stop is not None:
        return decision, nothing, NO_NEXT
    told = 1.0 not in chances.arms
    return decision, chances.arms if told else nothing, chances.how if told else NOT_TOLD


def _arm(
    state: TrialState,
    asked: Supposed,
    arm: str,
    plays: int,
    decision: Decision | None,
    shares: tuple[float | None, ...],
    intervals: list[list[tuple[float, float] | None]],
) -> ArmOverview:
    allocator = state.allocator
    nothing: list[Any] = [None] * len(state.settings.risks)
    if arm not in allocator.arms:
        return ArmOverview(arm, False, plays, 0, None, None, nothing, nothing, nothing, False, None, "withdrawn")
    k = allocator.arms.index(arm)
    active = arm not in state.settings.withdrawn
    unknown = BY_STRATUM if state.settings.factors and not asked.stratum else BY_CONTEXT
    seen = allocator.memory.quantities[0, k]
    reward, risks = seen[0], seen[1:]
    return ArmOverview(
        arm,
        active,
        plays,
        int(risks["pending"].max()),
        _mean(reward),
        intervals[k][0],
        [_mean(risk) for risk in risks],
        intervals[k][1:],
        nothing if decision is None else [None if math.isnan(bound) else float(bound) for bound in decision.bounds[k]],
        None if decision is None else bool(decision.permissible[k]),
        shares[k],
        _why(state.decider(asked.stratum), k, decision, unknown) if active else "withdrawn",
    )


def _why(allocator: Allocator, k: int, decision: Decision | None, unknown: str) -> str:
    """Whether an arm may be given, and why; where there is no decision, that it is `unknown` before a unit asks."""
    bar = allocator.bars()[k]
    if decision is None:
        return unknown if bar == FREE else f"{unknown}; {BARS[bar]}"
    return gate_words(allocator.policy, k, decision, allocator.limits, allocator.risks, bar=bar)


def _mean(seen: Any) -> float | None:
    return float(seen["total"] / seen["plays"]) if seen["plays"] > 0 else None


def credible_intervals(
    seen: Any, prior: tuple[float, float] = FLAT
) -> list[list[tuple[float, float] | None]]:  # fmt: skip
    """The shortest interval that holds 95 % of the posterior from a Beta prior, for each quantity of each arm.

    None without an outcome; outcomes between 0 and 1 count by their sum. The ends of the shortest interval are equally
    plausible, or one of them is 0 or 1: the chance below it is searched for.
    """
    from scipy.special import betaincinv, xlog1py, xlogy

    a, b = prior[0] + seen["total"], prior[1] + seen["plays"] - seen["total"]
    least, most = np.zeros(seen.shape), np.full(seen.shape, 1.0 - CONFIDENCE)
    for _ in range(HALVINGS):
        below = (least + most) / 2.0
        ends = (betaincinv(a, b, chance) for chance in (below, below + CONFIDENCE))
        left, right = (xlogy(a - 1.0, end) + xlog1py(b - 1.0, -end) for end in ends)
        least, most = np.where(left < right, below, least), np.where(left < right, most, below)
    lower, upper = (betaincinv(a, b, end) for end in (least, most + CONFIDENCE))
    return [
        [(float(low), float(high)) if known else None for known, low, high in zip(*arm, strict=True)]
        for arm in zip(seen["plays"] > 0, lower, upper, strict=True)
    ]


def _expected(state: TrialState, arms: list[ArmOverview]) -> list[Expectation]:
    """Now, and at ten times as many units; nothing while an arm has no outcomes, or none looks safe."""
    from safebandit.problems import Instance
    from safebandit.problems.theory import bounds_of

    seen = [arm for arm in arms if arm.active]
    # Theory speaks of one best arm for all units.
    if (
        state.allocator.context_size
        or state.settings.factors
        or state.units < FIRST_HORIZON
        or any(arm.mean_reward is None or None in arm.mean_risk for arm in seen)
    ):
        return []
    mu: list[Any] = [arm.mean_reward for arm in seen]
    nu: list[Any] = [[arm.mean_risk[j] for arm in seen] for j in range(len(state.settings.risks))]
    try:
        instance = Instance.bernoulli(mu=mu, nu=nu if len(nu) > 1 else nu[0], alpha=state.settings.limits)
    except InstanceError:
        return []
    bounds = bounds_of(instance)
    return [expectation(bounds, horizon) for horizon in (state.units, 10 * state.units)]


def expectation(bounds: Bounds, horizon: int) -> Expectation:
    """The leading terms at a horizon, as far as the plays of all costly arms that they count on fit into it."""

    def leading(plays: str, regret: float, unsafe: float) -> tuple[float | None, float | None]:
        counted_on = math.fsum(getattr(arm, plays) for arm in bounds.arms if arm.cost > 0) * math.log(horizon)
        return (regret * math.log(horizon), unsafe * math.log(horizon)) if counted_on <= horizon else (None, None)

    promised = leading("plays_slope", bounds.regret_slope, bounds.unsafe_slope)
    least = leading("lower_plays_slope", bounds.lower_regret_slope, bounds.lower_unsafe_slope)
    return Expectation(horizon, *promised, *least)
