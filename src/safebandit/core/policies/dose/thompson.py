"""Dose finding by Thompson sampling (Aziz, Kaufmann and Riviere 2021): risks are drawn, and the dose whose drawn risk
is nearest to the target is given.

Risks are independent, theta_k ~ Beta(1 + S_k, 1 + N_k - S_k), or follow a logistic model (see `logistic`), where u_k is
the logit of the risk that is guessed of dose k. Admissible are doses whose risk is not above the target with a chance
of more than `cutoff`, and of those never given, the lowest alone. It learns which dose is nearest to the target; it
does not promise that few units are given a dose above it: that comes from the admissible set.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import RISKS, Numbers, Sizes, State, at, quantity, write
from safebandit.core.dispatch import compiled
from safebandit.core.naming import read_choice, read_number, read_value
from safebandit.core.policies.dose.crm import doses_not_dropped, read_guesses
from safebandit.core.policies.dose.ladder import (
    KNOWN,
    LEAST_KNOWN,
    chance_above,
    read_positive,
    read_target,
    take_step,
    why_step,
    why_toxic,
    write_counts,
)
from safebandit.core.policies.dose.logistic import draw, grid_of, outcomes_of, sum_up
from safebandit.core.policies.interface import HOLD, Setup, begin, decide
from safebandit.core.policies.words import Decision
from safebandit.core.streams import beta
from safebandit.errors import PolicyError

# What a decision shows of every dose beside what is known of it.
MEAN, DRAWN = "posterior mean", "drawn risk"
# Where the numbers of the model are among the policy's own.
TARGET, CUTOFF, LOGISTIC, VARIANCE, LOGITS = 0, 1, 2, 3, 4


class RiskModel(IntEnum):
    """How risks of doses hang together. `independent`: not at all. `logistic`: they rise along a logistic curve."""

    independent = 0
    logistic = 1


class DoseTs(NamedTuple):
    """The dose whose risk, drawn from the posterior, is nearest to the target, among those that are admissible.

    The target is alpha unless given. With `cutoff` = 1 no dose is too toxic, and with `skips` any dose may be given,
    tried or not: both together are Thompson sampling without an admissible set. The logistic model takes the risks that
    are guessed before as a CRM does: `skeleton`, or `halfwidth` and `guess`; `variance` is that of b0.
    """

    target: float | None = None
    model: RiskModel = RiskModel.logistic
    cutoff: float = 0.95
    skips: bool = False
    skeleton: Any = None
    halfwidth: float = 0.05
    guess: int | None = None
    variance: float = 100.0

    def sizes(self, arms: int, risks: int) -> Sizes:  # noqa: ARG002
        """The model, which does not change, so that what a trial selects at its end comes from the one that decided."""
        return Sizes(0, 0, LOGITS + arms)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every dose."""
        return (*KNOWN, MEAN, DRAWN)

    def prepare(self, setup: Setup) -> DoseTs:
        """The policy with its parameters checked, its skeleton, and its model as a number."""
        target = read_target("target", self.target, setup)
        model = read_choice("model", self.model, RiskModel, PolicyError)
        cutoff = float(read_number("cutoff", self.cutoff, float, PolicyError))
        if not 0 < cutoff <= 1:
            raise PolicyError(f"cutoff must be above 0 and at most 1 (1: no dose is too toxic), got {cutoff:g}")
        skeleton, halfwidth, guess = read_guesses(self, target, len(setup.arms))
        return DoseTs(
            target, int(model), cutoff, read_value("skips", self.skips, bool, PolicyError),  # type: ignore[arg-type]
            skeleton, halfwidth, guess, read_positive("variance", self.variance),
        )  # fmt: skip

    def why(self, decision: Decision, arm: int) -> str:
        """Why this dose, or why not."""
        drawn, target = decision.own[DRAWN], float(self.target or 0)
        nearest = int(np.abs(drawn - target).argmin())
        because = f'the risk drawn of "{decision.arms[nearest]}", {drawn[nearest]:.4g}, is nearest to the target'
        if nearest != arm and arm == decision.k:
            because += f'; of the doses that are admissible, that of "{decision.arms[arm]}", {drawn[arm]:.4g}'
        return why_step(decision, arm, because)

    def forbids(self, decision: Decision, arm: int) -> str:
        """Why a dose is not permissible."""
        return why_toxic(decision, arm, float(self.target or 0), self.cutoff)


@begin.register(DoseTs)
def _begin(policy: DoseTs, state: State) -> None:
    own = state.numbers.own
    own[TARGET], own[CUTOFF], own[LOGISTIC], own[VARIANCE] = policy.target, policy.cutoff, policy.model, policy.variance
    for k in range(state.size):
        own[LOGITS + k] = math.log(policy.skeleton[k] / (1.0 - policy.skeleton[k]))


@compiled
def learn_risks(state: State, chances: Numbers, means: Numbers, drawn: Numbers) -> None:
    """Write of each dose the chance that its risk is above the target, its posterior mean, and a draw. `means` and
    `drawn` may be empty: then they are not written.
    """
    own = state.numbers.own
    if own[LOGISTIC] == 1.0:
        known = outcomes_of(state, LOGITS, own[VARIANCE])
        rows = grid_of(known)
        sum_up(known, rows, own[TARGET], chances, means)
        b0, b1 = draw(known, rows, state.stream) if drawn.size > 0 else (0.0, 0.0)
        for k in range(drawn.size):
            drawn[k] = 1.0 / (1.0 + math.exp(-b0 - b1 * known.u[k]))
        return
    for k in range(state.size):
        risk = quantity(state, k, 1)
        chances[k] = chance_above(risk.plays, risk.ones, own[TARGET])
        if k < means.size:
            means[k] = (1.0 + risk.ones) / (2.0 + risk.plays)
        if k < drawn.size:
            drawn[k] = beta(state.stream, 1.0 + risk.ones, 1.0 + risk.plays - risk.ones)


@compiled
def doses_not_toxic(state: State, chances: Numbers) -> int:
    """How many doses, from the lowest on, are neither dropped nor too toxic.

    A dose is too toxic by no fewer known units than the other designs ask for: of its own where risks are independent,
    of all doses where they follow a model.
    """
    own, all_known = state.numbers.own, 0
    for k in range(state.size):
        all_known += quantity(state, k, 1).plays
    left = doses_not_dropped(state)
    for k in range(left):
        known = all_known if own[LOGISTIC] == 1.0 else quantity(state, k, 1).plays
        # NaN compares False, so a dose of which nothing can be said is too toxic.
        if known >= LEAST_KNOWN and not chances[k] <= own[CUTOFF]:
            return k
    return left


@decide.register(DoseTs)
def _decide(policy: DoseTs, state: State, t: int) -> tuple[int, bool]:
    chances, drawn = np.empty(state.size), np.empty(state.size)
    means = np.empty(state.size if state.watched else 0)
    learn_risks(state, chances, means, drawn)
    doses = doses_not_toxic(state, chances)
    write_counts(state, doses)
    if state.watched:
        own = RISKS + state.risks + len(KNOWN)
        for k in range(state.size):
            write(state, k, own - 1, chances[k])
            write(state, k, own, means[k])
            write(state, k, own + 1, drawn[k])
    if doses == 0:
        return HOLD, True
    wanted, least = -1, math.inf
    for k in range(doses):
        distance = abs(drawn[k] - policy.target)
        if distance < least:
            wanted, least = k, distance
        if not policy.skips and at(state.arms, k).asked == 0:
            break
    return take_step(state, wanted), False
