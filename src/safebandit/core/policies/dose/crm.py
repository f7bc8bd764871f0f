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

from safebandit.core.arms import RISKS, Numbers, Sizes, State, at, quantity, write
from safebandit.core.dispatch import inlined
from safebandit.core.naming import read_number
from safebandit.core.policies.dose.ladder import (
    PRESENT,
    RATE,
    read_positive,
    read_share,
    read_target,
    take_step,
    why_step,
    write_counts,
)
from safebandit.core.policies.interface import HOLD, Setup, begin, decide
from safebandit.core.policies.words import Decision
from safebandit.errors import PolicyError

# The posterior of b is summed where its density is more than exp(-FALL) of the highest, in steps of its width there
# over STEPS: the sum of a smooth density at equal steps errs far less than its last digits.
FALL, STEPS = 34.0, 4.0
# A step of Newton's that no longer matters.
NO_STEP = 1e-9
# What a decision shows of every dose.
COLUMNS = (PRESENT, RATE, "skeleton", "risk by the model")
# Where the numbers of the model are among the policy's own.
TARGET, VARIANCE, SKELETON = 0, 1, 2


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

    def sizes(self, arms: int, risks: int) -> Sizes:  # noqa: ARG002
        """The model, which does not change: the target, the variance, and the logarithm of the skeleton of every dose.

        So what a trial selects at its end, and what is decided in it, come from one model.
        """
        return Sizes(0, 0, SKELETON + arms)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every dose."""
        return COLUMNS

    def prepare(self, setup: Setup) -> Crm:
        """The policy with its parameters checked, and its skeleton."""
        target = read_target("target", self.target, setup)
        skeleton, halfwidth, guess = read_guesses(self, target, len(setup.arms))
        return Crm(target, skeleton, halfwidth, guess, read_positive("variance", self.variance))

    def why(self, decision: Decision, arm: int) -> str:
        """Why this dose, or why not."""
        risks = decision.own[COLUMNS[-1]]
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


def read_guesses(policy: Any, target: float, doses: int) -> tuple[Numbers, float, int]:
    """The skeleton, the half-width and the guessed dose of a policy that has such fields, checked."""
    halfwidth = read_share("halfwidth", policy.halfwidth, min(target, 1 - target))
    middle = (doses + 1) // 2
    guess = int(read_number("guess", middle if policy.guess is None else policy.guess, int, PolicyError))
    if not 1 <= guess <= doses:
        raise PolicyError(f"guess must be a dose from 1 to {doses}, got {guess}")
    given = policy.skeleton
    skeleton = skeleton_of(halfwidth, target, guess, doses) if given is None else _read_skeleton(given, doses)
    return skeleton, halfwidth, guess


def _read_skeleton(given: Any, doses: int) -> Numbers:
    parts: Sequence[Any] = given.replace(",", " ").split() if isinstance(given, str) else given
    skeleton = np.array([read_share("skeleton", part) for part in parts])
    if len(skeleton) != doses:
        raise PolicyError(f"skeleton must have a risk for each of {doses} doses, got {len(skeleton)}")
    if not (np.diff(skeleton) > 0).all():
        raise PolicyError(f"skeleton must rise from dose to dose, got {given!r}")
    return skeleton


@begin.register(Crm)
def _begin(policy: Crm, state: State) -> None:
    own = state.numbers.own
    own[TARGET], own[VARIANCE] = policy.target, policy.variance
    for k in range(state.size):
        own[SKELETON + k] = math.log(policy.skeleton[k])


@inlined
def _log_density(state: State, b: float) -> tuple[float, float, float]:
    """The logarithm of the posterior density of b, but for a constant, and its first two derivatives.

    With p = skeleton^exp(b): d log p / db = log p, and d log(1-p) / db = -p log p / (1-p). It is concave.
    """
    own, power = state.numbers.own, math.exp(b)
    variance = own[VARIANCE]
    value, slope, bend = -b * b / (2.0 * variance), -b / variance, -1.0 / variance
    for k in range(state.size):
        risk = quantity(state, k, 1)
        if risk.plays > 0:
            ones, zeros = risk.ones, risk.plays - risk.ones
            log_p = power * own[SKELETON + k]
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
def _peak(state: State) -> tuple[float, float, float]:
    """Where the density is highest, by Newton's steps; its logarithm there, and the second derivative."""
    peak = 0.0
    top, slope, bend = _log_density(state, peak)
    for _ in range(100):
        step = -slope / bend
        value, slope_there, bend_there = _log_density(state, peak + step)
        # The logarithm is concave: a step that leads too far, where it is lower or no number, is halved.
        while not value >= top and abs(step) > NO_STEP:
            step /= 2.0
            value, slope_there, bend_there = _log_density(state, peak + step)
        if abs(step) <= NO_STEP:
            break
        peak, top, slope, bend = peak + step, value, slope_there, bend_there
    return peak, top, bend


@inlined
def mean_exponent(state: State) -> float:
    """The posterior mean of b: summed from the highest density outwards, in equal steps."""
    peak, top, bend = _peak(state)
    width = 1.0 / (STEPS * math.sqrt(-bend))
    total, weighted = 1.0, 0.0
    for side in (-1.0, 1.0):
        away = side * width
        fall = _log_density(state, peak + away)[0] - top
        while fall > -FALL:
            density = math.exp(fall)
            total += density
            weighted += density * away
            away += side * width
            fall = _log_density(state, peak + away)[0] - top
    return peak + weighted / total


@inlined
def dose_by_model(state: State, doses: int) -> int:
    """The dose whose risk by the model is nearest to the target, of so many from the lowest on; -1 if there is none.

    Of two that are as near it is the lower one. All risks are written where somebody reads them.
    """
    power, own = math.exp(mean_exponent(state)), state.numbers.own
    nearest, least = -1, math.inf
    for k in range(state.size):
        risk = math.exp(power * own[SKELETON + k])
        distance = abs(risk - own[TARGET])
        if k < doses and distance < least:
            nearest, least = k, distance
        if state.watched:
            write(state, k, RISKS + state.risks + len(COLUMNS) - 1, risk)
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
    write_counts(state, doses)
    if state.watched:
        for k in range(state.size):
            write(state, k, RISKS + state.risks + len(COLUMNS) - 2, policy.skeleton[k])
    wanted = dose_by_model(state, doses)
    if wanted < 0:
        return HOLD, True
    harmed = course.cohort_harms > 0 and course.cohort_harms >= policy.target * course.cohort
    highest = max(course.last, 0) if harmed else course.last + 1
    return take_step(state, min(wanted, highest)), False
