"""What dose-finding designs share: which doses are out, how a step is taken, and words for it.

Doses are arms in order. A dose that is too toxic takes those above it with it, and so does one that was dropped. All
follows from the counts and from the present dose, the last that was given.
"""

from __future__ import annotations

import math
from typing import Any

from safebandit.core.arms import CHANCE, INDEX, PERMISSIBLE, RISKS, Seen, State, at, quantity, write, written
from safebandit.core.bernoulli import beta_quantile, binomial_tail
from safebandit.core.dispatch import both, inlined, shared
from safebandit.core.naming import read_number
from safebandit.core.policies.interface import WAIT, Setup
from safebandit.core.policies.words import Decision
from safebandit.errors import PolicyError

# A dose is too toxic by no fewer known units than these.
LEAST_KNOWN = 3
# What these designs show of every dose, in this order: whether it is the present one, its rate of harms, and for those
# that exclude doses by it, the chance that its risk is above the target.
PRESENT, RATE, ABOVE = "present dose", "rate", "chance above target"
KNOWN = (PRESENT, RATE, ABOVE)
# More units than any trial has: for what is never enough.
NEVER = 2**62


@inlined
def chance_above(plays: int, ones: int, target: float) -> float:
    """P(risk > target) after so many harms of so many units, from a flat prior."""
    return 1.0 - binomial_tail(ones + 1.0, plays + 1.0, target)


@inlined
def too_toxic(seen: Seen, target: float, cutoff: float) -> bool:
    """Whether P(risk > target) is above the cutoff, and enough units are known to say so."""
    plays, ones = seen.plays, seen.ones
    if plays < LEAST_KNOWN:
        return False
    # A binomial number reaches its mean, if that is at least 1, with a chance of 1/4 or more (Greenberg, Mohri 2014):
    # then P(risk > target) is at most 3/4, and need not be computed.
    if cutoff >= 0.75 and ones + 1 <= target * (plays + 1):
        return False
    return chance_above(plays, ones, target) > cutoff


@shared
def write_counts(state: State, doses: int) -> None:
    """Write of every dose whether it is one of the lowest `doses`, which are open, the present one, and its rate."""
    own = RISKS + state.risks
    for k in range(state.size):
        risk = quantity(state, k, 1)
        write(state, k, PERMISSIBLE, 1.0 if k < doses else 0.0)
        if state.watched:
            write(state, k, INDEX, math.nan)
            write(state, k, CHANCE, math.nan)
            write(state, k, RISKS, math.nan)
            write(state, k, own, 1.0 if k == state.course.last else 0.0)
            write(state, k, own + 1, risk.ones / risk.plays if risk.plays > 0 else math.nan)


@shared
def write_doses(state: State, target: float, cutoff: float) -> int:
    """Write what is known of every dose; how many are open, from the lowest on.

    The risk index is the 1 - cutoff quantile of the posterior, which is above the target where the dose is too toxic,
    or that of a lower dose where it is larger.
    """
    doses, bound = 0, 0.0
    while doses < state.size and not (
        at(state.arms, doses).dropped or too_toxic(quantity(state, doses, 1), target, cutoff)
    ):
        doses += 1
    write_counts(state, doses)
    if state.watched:
        for k in range(state.size):
            risk = quantity(state, k, 1)
            if risk.plays >= LEAST_KNOWN:
                bound = max(bound, beta_quantile(risk.ones + 1.0, risk.plays - risk.ones + 1.0, 1.0 - cutoff))
            write(state, k, RISKS, bound)
            write(state, k, RISKS + state.risks + 2, chance_above(risk.plays, risk.ones, target))
    return doses


@inlined
def take_step(state: State, wanted: int) -> int:
    """The dose that is wanted if it may be given now; a step up that may not be taken is not, and others wait."""
    present = state.course.last
    if at(state.arms, wanted).available:
        return wanted
    if wanted > present >= 0 and at(state.arms, present).available and written(state, present, PERMISSIBLE) == 1.0:
        return present
    return WAIT


@both
def optimal_boundaries(target: float, safe: float, toxic: float) -> tuple[float, float]:
    """The rates at which to escalate and to de-escalate, so that wrong decisions are fewest where the risk is
    `target`, `safe` or `toxic` with equal chance (Liu and Yuan 2015).

    >>> [round(rate, 3) for rate in optimal_boundaries(0.3, 0.18, 0.42)]
    [0.236, 0.359]
    """
    escalate = math.log((1 - safe) / (1 - target)) / math.log(target * (1 - safe) / (safe * (1 - target)))
    deescalate = math.log((1 - target) / (1 - toxic)) / math.log(toxic * (1 - target) / (target * (1 - toxic)))
    return escalate, deescalate


def read_target(name: str, given: Any, setup: Setup, below: float = 1.0) -> float:
    """The target of the one risk: alpha where none is given."""
    check_one_risk(setup)
    return read_share(name, setup.limits[0] if given is None else given, below)


def check_one_risk(setup: Setup) -> None:
    """Refuse several risks: which dose is too toxic is asked of one."""
    if len(setup.limits) != 1:
        raise PolicyError(f"a dose-finding design asks about one risk, got {len(setup.limits)}; take safe-ids")


def read_share(name: str, given: Any, below: float = 1.0) -> float:
    """A number above 0 and below 1, or below what is said."""
    share = float(read_number(name, given, float, PolicyError))
    if not 0 < share < below:
        raise PolicyError(f"{name} must lie between 0 and {below:.4g}, got {given!r}")
    return share


def read_positive(name: str, given: Any) -> float:
    """A number above 0."""
    number = float(read_number(name, given, float, PolicyError))
    if not number > 0:
        raise PolicyError(f"{name} must be above 0, got {given!r}")
    return number


def read_boundaries(target: float, escalate_at: Any, deescalate_at: Any) -> tuple[float, float]:
    """The rates at which to escalate and to de-escalate, the optimal ones where they are not given."""
    low, high = optimal_boundaries(target, 0.6 * target, 1.4 * target)
    low = low if escalate_at is None else read_share("escalate_at", escalate_at)
    high = high if deescalate_at is None else read_share("deescalate_at", deescalate_at)
    if not low < high:
        raise PolicyError(f"escalate_at must be below deescalate_at, got {low:.4g} and {high:.4g}")
    return low, high


def read_enough(given: Any) -> int:
    """After how many units on one dose the design may end: never where none is given."""
    if given is None or given == NEVER:
        return NEVER
    enough = int(read_number("enough", given, int, PolicyError))
    if enough < 1:
        raise PolicyError(f"enough must be at least 1 (units on one dose), got {enough}")
    return enough


def present_dose(decision: Decision) -> int:
    """The dose that was given last; -1 before the first."""
    here = decision.own[PRESENT]
    return int(here.argmax()) if here.max() == 1.0 else -1


def why_step(decision: Decision, arm: int, because: str) -> str:
    """Why this dose is given, or why not: the step from the present dose, and what it follows from."""
    present = present_dose(decision)
    if arm != decision.k:
        return "permissible; the next step leads to another dose"
    if present < 0:
        return "the first dose"
    step = "stay" if arm == present else "escalate" if arm > present else "de-escalate"
    return f'{step} from "{decision.arms[present]}": {because}'


def why_toxic(decision: Decision, arm: int, target: float, cutoff: float) -> str:
    """Why a dose is not permissible: its own chance to be above the target, or a lower dose's."""
    above = decision.own[ABOVE]
    for k in range(arm + 1):
        if above[k] > cutoff and not decision.permissible[k]:
            which = "its risk" if k == arm else f'the risk of "{decision.arms[k]}", below it,'
            return f"{which} is above {target:g} with a chance of {above[k]:.4g}, more than {cutoff:g}"
    return "it, or a dose below it, was dropped"
