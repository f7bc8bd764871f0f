"""CRM, the continual reassessment method (O'Quigley et al. 1990), with the power model, as the R package dfcrm has it.

The risk of dose i is skeleton_i^exp(b), b normal with mean 0 and a variance of 1.34. The next dose is the one whose
risk, at the posterior mean of b, is nearest to the target; but no dose above the next higher one, and none above the
present one where the rate of harms in the last cohort was the target or more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import CHANCE, INDEX, PERMISSIBLE, RISKS, Numbers, State, at, quantity, write
from safebandit.core.dispatch import inlined
from safebandit.core.naming import read_number
from safebandit.core.policies.dose.ladder import COLUMNS, PRESENT, RATE, read_share, read_target, take_step, why_step
from safebandit.core.policies.interface import HOLD, Setup, decide
from safebandit.core.policies.words import Decision
from safebandit.errors import PolicyError

# The posterior of b is summed where its density is more than exp(-FALL) of the highest, in steps of its width there
# over STEPS: the sum of a smooth density at equal steps errs far less than its last digits.
FALL, STEPS = 34.0, 4.0


class Crm(NamedTuple):
    """The dose whose risk by the model is nearest to the target, one step up at most.

    The target is alpha unless given. The skeleton, the risks that are guessed before, follows from the dose that is
    guessed to be the right one (from 1; the middle one unless given) and from `halfwidth` (see `skeleton_of`) unless it
    is given: a list, or a text such as "0.1 0.2 0.35".
    """

    target: float | None = None
    skeleton: Any = None
    halfwidth: float = 0.05
    guess: int | None = None
    variance: float = 1.34

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every dose."""
        return (COLUMNS[PRESENT], COLUMNS[RATE], "skeleton", "risk by the model")

    def prepare(self, setup: Setup) -> Crm:
        """The policy with its parameters checked, and its skeleton."""
        target, doses = read_target("target", self.target, setup), len(setup.arms)
        halfwidth = read_share("halfwidth", self.halfwidth, min(target, 1 - target))
        middle = (doses + 1) // 2
        guess = int(read_number("guess", middle if self.guess is None else self.guess, int, PolicyError))
        if not 1 <= guess <= doses:
            raise PolicyError(f"guess must be a dose from 1 to {doses}, got {guess}")
        given = self.skeleton
        skeleton = skeleton_of(halfwidth, target, guess, doses) if given is None else _read_skeleton(given, doses)
        variance = float(read_number("variance", self.variance, float, PolicyError))
        if not variance > 0:
            raise PolicyError(f"variance must be above 0, got {self.variance!r}")
        return Crm(target, skeleton, halfwidth, guess, variance)

    def why(self, decision: Decision, arm: int) -> str:
        """Why this dose, or why not."""
        risks = decision.own["risk by the model"]
        nearest = int(np.abs(risks - float(self.target or 0)).argmin())
        because = f'by the model the risk of "{decision.arms[nearest]}", {risks[nearest]:.4g}, is nearest to the target'
        if nearest != arm and arm == decision.k:
            because += "; one step up at most, and none after a cohort with harms at the target's rate or more"
        return why_step(decision, arm, because)

    def forbids(self, decision: Decision, arm: int) -> str:  # noqa: ARG002
        """Why a dose is not permissible."""
        return "it, or a dose below it, was dropped"


def skeleton_of(halfwidth: float, target: float, guess: int, doses: int) -> Numbers:
    """The risks that are guessed of so many doses, with the target at dose `guess`, from 1 (Lee and Cheung 2009).

    Where the risk of a dose is the target, the risks of its neighbours by the model lie just `halfwidth` off it:
    log skeleton_(i+1) / log skeleton_i is log(target + halfwidth) / log(target - halfwidth).

    >>> skeleton_of(0.05, 0.3, 3, 6).round(4).tolist()
    [0.1225, 0.204, 0.3, 0.4018, 0.5013, 0.5928]
    """
    ratio = math.log(target + halfwidth) / math.log(target - halfwidth)
    skeleton: Numbers = np.exp(math.log(target) * ratio ** (np.arange(1, doses + 1) - guess))
    return skeleton


def _read_skeleton(given: Any, doses: int) -> Numbers:
    parts: Sequence[Any] = given.replace(",", " ").split() if isinstance(given, str) else given
    skeleton = np.array([read_share("skeleton", part) for part in parts])
    if len(skeleton) != doses:
        raise PolicyError(f"skeleton must have a risk for each of {doses} doses, got {len(skeleton)}")
    if not (np.diff(skeleton) > 0).all():
        raise PolicyError(f"skeleton must rise from dose to dose, got {given!r}")
    return skeleton


@inlined
def _log_density(policy: Crm, state: State, b: float) -> tuple[float, float, float]:
    """The logarithm of the posterior density of b, but for a constant, and its first two derivatives.

    With p = skeleton^exp(b): d log p / db = log p, and d log(1-p) / db = -p log p / (1-p). It is concave.
    """
    value, slope, bend = -b * b / (2.0 * policy.variance), -b / policy.variance, -1.0 / policy.variance
    power = math.exp(b)
    for k in range(state.size):
        risk = quantity(state, k, 1)
        if risk.plays > 0:
            ones, zeros = risk.ones, risk.plays - risk.ones
            log_p = power * math.log(policy.skeleton[k])
            p, q = math.exp(log_p), -math.expm1(log_p)
            value += ones * log_p
            slope += ones * log_p
            bend += ones * log_p
            if zeros > 0:
                odds = log_p * p / q
                value += zeros * math.log(q)
                slope -= zeros * odds
                bend -= zeros * odds * (1.0 + log_p / q)
    return value, slope, bend


@inlined
def mean_exponent(policy: Crm, state: State) -> float:
    """The posterior mean of b: from the highest density, found by Newton's steps, outwards in equal steps."""
    mode = 0.0
    top, slope, bend = _log_density(policy, state, mode)
    for _ in range(100):
        # The density is concave: a step that does not lead up is halved.
        step = -slope / bend
        value, slope_there, bend_there = _log_density(policy, state, mode + step)
        while not value >= top and abs(step) > 1e-9:
            step /= 2.0
            value, slope_there, bend_there = _log_density(policy, state, mode + step)
        if abs(step) <= 1e-9:
            break
        mode, top, slope, bend = mode + step, value, slope_there, bend_there
    width = 1.0 / (STEPS * math.sqrt(-bend))
    total, weighted = 1.0, 0.0
    for side in (-1.0, 1.0):
        away = 0.0
        for _ in range(10_000):
            away += side * width
            fall = _log_density(policy, state, mode + away)[0] - top
            # NaN, where a risk is 0 or 1 to the last digit, is no more than nothing.
            if not fall > -FALL:
                break
            density = math.exp(fall)
            total += density
            weighted += density * away
    return mode + weighted / total


@inlined
def dose_by_model(policy: Crm, state: State, doses: int) -> int:
    """The dose whose risk by the model is nearest to the target, of so many from the lowest on; all are written."""
    power = math.exp(mean_exponent(policy, state))
    nearest, least = -1, math.inf
    for k in range(state.size):
        risk = math.exp(power * math.log(policy.skeleton[k]))
        distance = abs(risk - policy.target)
        if k < doses and distance < least:
            nearest, least = k, distance
        if state.watched:
            write(state, k, RISKS + state.risks + 3, risk)
    return nearest


@inlined
def doses_not_dropped(state: State) -> int:
    """How many doses were not dropped, and are not above one that was."""
    for k in range(state.size):
        if at(state.arms, k).dropped:
            return k
    return state.size


@decide.register(Crm)
def _decide(policy: Crm, state: State, t: int) -> tuple[int, bool]:
    doses, course = doses_not_dropped(state), state.course
    own = RISKS + state.risks
    for k in range(state.size):
        risk = quantity(state, k, 1)
        write(state, k, PERMISSIBLE, 1.0 if k < doses else 0.0)
        if state.watched:
            write(state, k, INDEX, math.nan)
            write(state, k, CHANCE, math.nan)
            write(state, k, RISKS, math.nan)
            write(state, k, own, 1.0 if k == course.last else 0.0)
            write(state, k, own + 1, risk.ones / risk.plays if risk.plays > 0 else math.nan)
            write(state, k, own + 2, policy.skeleton[k])
    wanted = dose_by_model(policy, state, doses)
    if wanted < 0:
        return HOLD, True
    harmed = course.cohort > 0 and course.cohort_harms >= policy.target * course.cohort
    highest = course.last if harmed and course.last >= 0 else course.last + 1
    return take_step(state, min(wanted, highest)), False
