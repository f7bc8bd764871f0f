"""Information-directed sampling on the paper's own cost: little cost for what is learned of the best safe arm.

After Russo and Van Roy (2014). Every arm has an expected cost D, the paper's max(mu* - mu, nu - alpha, 0) under the
posterior, and a lesson v, the variance of its means over who the best safe arm is. Played is the mixture of at most two
arms for which (expected cost)^2 / (expected lesson) is least. `beliefs` computes both without a draw.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arm_beliefs import note_reward, note_risks, row_size
from safebandit.core.arms import CHANCE, INDEX, PERMISSIBLE, REWARD, RISKS, Sizes, State, at, quantity, write, written
from safebandit.core.beliefs import Beliefs, weigh_rows
from safebandit.core.dispatch import apart, both, inlined
from safebandit.core.indices.fixed import PosteriorGate
from safebandit.core.indices.interface import learn, lower, start, width
from safebandit.core.naming import read_number
from safebandit.core.policies.checking import check_index, when_none_code
from safebandit.core.policies.choice import draw_by_chances, may_be_given, may_come, passes_gates, play_when_none
from safebandit.core.policies.interface import WAIT, Setup, begin, decide, learned
from safebandit.core.policies.words import Decision, risk_word_of
from safebandit.errors import PolicyError

# The columns of a decision behind the risks: expected cost, lesson, chance to be the best safe arm.
COST, LESSON, BEST = 0, 1, 2
# Ratios this close, as a share, are equal.
TIE = 1e-9
# No gate closes on fewer known units; and how many are planned where nobody says.
LEAST_KNOWN = 3
USUAL_UNITS = 400
# Less than any lesson that counts.
NO_LESSON = 1e-30


class InformationDirected(NamedTuple):
    """The mixture of at most two arms of the least squared cost for what it teaches, among permissible arms.

    `odds` are the prior odds that a risk is exactly alpha: more of them forgive an arm near alpha more. An arm is
    permissible while the chance that its risk is above alpha is at most `confidence`, or fewer than three units are
    known. What is not given follows from the planned `units`, and those from the trial or the simulation.
    """

    odds: float | None = None
    confidence: float | None = None
    units: int | None = None
    when_none: Any = None

    def sizes(self, arms: int, risks: int) -> Sizes:  # noqa: ARG002
        # Of each arm what is believed of it is kept with its reward; it changes only with the arm's own outcomes.
        return Sizes(row_size(risks), width(_gate(self)), 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every arm besides its chance."""
        return ("expected cost", "lesson", "chance best")

    @property
    def gate(self) -> PosteriorGate:
        """The gate of every risk."""
        return _gate(self)

    @property
    def exact_chances(self) -> bool:
        """That the chances which a decision writes are its exact law."""
        return True

    @property
    def keeps_table(self) -> bool:
        """That what a decision writes from the risk indices on is true until an outcome comes, and is not computed
        again before.
        """
        return True

    def planned(self, units: int | None) -> InformationDirected:
        """The policy with all that was not given, for so many planned units, or as many as are usual."""
        known = units if self.units is None else self.units
        count = int(read_number("units", USUAL_UNITS if known is None else known, int, PolicyError))
        if count < 1:
            raise PolicyError(f"units must be at least 1 (units planned), got {count}")
        odds, confidence = settings_for(count)
        return self._replace(
            odds=odds if self.odds is None else self.odds,
            confidence=confidence if self.confidence is None else self.confidence,
            units=count,
        )

    def prepare(self, setup: Setup) -> InformationDirected:
        """The policy with its parameters checked and chosen, and `when_none` as a number."""
        chosen = self.planned(setup.units)
        gate = check_index(chosen.gate, lower, "safety index")
        return InformationDirected(gate.odds, gate.confidence, chosen.units, when_none_code(self.when_none, setup))

    def why(self, decision: Decision, arm: int) -> str:
        """Why this arm was drawn from the mixture, or why not."""
        chances = decision.probabilities.tolist()
        if chances[arm] == 0.0:
            cost = decision.own["expected cost"][arm]
            return f"permissible; its expected cost of {cost:.4g} is too much for what it would teach"
        mixed = zip(chances, decision.arms, strict=True)
        parts = ", ".join(f'{chance:.4g} "{name}"' for chance, name in mixed if chance > 0.0)
        drawn = "drawn" if arm == decision.k else "another arm was drawn"
        return f"{drawn} from the mixture of least squared cost for what it teaches: {parts}"

    def risk_word(self, arm: int) -> str:  # noqa: ARG002
        """What the risk index is called."""
        return risk_word_of(self.gate)


def settings_for(units: int) -> tuple[float, float]:
    """The odds and the confidence for so many planned units: the longer the trial, the more an arm near alpha pays."""
    return min(0.5, max(0.1, units / 4000)), 0.95 if units < 1000 else 0.99


@both
def _gate(policy: Any) -> PosteriorGate:
    return PosteriorGate(policy.confidence, LEAST_KNOWN, policy.odds)


@begin.register(InformationDirected)
def _begin(policy: InformationDirected, state: State) -> None:
    for k in range(state.size):
        for j in range(1, 1 + state.risks):
            risk = quantity(state, k, j)
            start(_gate(policy), risk.own, risk.limit)
        for j in range(2):
            _note(policy, state, k, j)


@learned.register(InformationDirected)
def _learned(policy: InformationDirected, state: State, k: int, j: int, value: float, bit: int) -> None:
    if j != REWARD:
        risk = quantity(state, k, j)
        learn(_gate(policy), risk, value, bit, risk.limit)
    _note(policy, state, k, j)


@decide.register(InformationDirected)
def _decide(policy: InformationDirected, state: State, t: int) -> tuple[int, bool]:
    # While no outcome comes, what a table says that somebody keeps stays true: many may ask together.
    if not state.watched or math.isnan(_own(state, 0, BEST)):
        _write_beliefs(state)
    safe_arms, open_arms = 0, 0
    for k in range(state.size):
        noting = state.watched and math.isnan(written(state, k, RISKS))
        # NaN compares False, so an arm of which nothing can be said is never permissible.
        safe = passes_gates(_gate(policy), state, k, t, False, noting) and _is_known(state, k)
        write(state, k, PERMISSIBLE, 1.0 if safe else 0.0)
        write(state, k, INDEX, math.nan)
        write(state, k, CHANCE, 0.0)
        safe_arms += safe and may_come(state, k)
        open_arms += safe and at(state.arms, k).available != 0
    if open_arms > 0:
        _write_chances(state)
        return draw_by_chances(state), False
    if safe_arms > 0:
        return WAIT, False
    return play_when_none(policy.when_none, _gate(policy), state, t, False), True


@apart
def _note(policy: Any, state: State, k: int, j: int) -> None:
    """Note what is believed of an arm's reward (j = 0) or of its risks, by outcomes after the Bernoulli reduction."""
    seen, row = quantity(state, k, REWARD), np.empty(row_size(state.risks))
    for i in range(row.size):
        row[i] = seen.own[i]
    if j == REWARD:
        note_reward(row, seen.plays, seen.ones)
    else:
        counts, limits = np.empty((state.risks, 2)), np.empty(state.risks)
        for i in range(state.risks):
            risk = quantity(state, k, 1 + i)
            counts[i, 0], counts[i, 1], limits[i] = risk.plays, risk.ones, risk.limit
        note_risks(row, counts, limits, policy.odds)
        for i in range(state.risks):
            write(state, k, RISKS + i, math.nan)
    for i in range(row.size):
        seen.own[i] = row[i]
    # What the table of a decision says is of before.
    write(state, 0, RISKS + state.risks + BEST, math.nan)


@apart
def _write_beliefs(state: State) -> None:
    """Write what every arm costs and teaches, and its chance to be the best."""
    believed, own = _weigh(state), RISKS + state.risks
    for k in range(state.size):
        write(state, k, own + COST, believed.cost[k])
        write(state, k, own + LESSON, believed.lesson[k])
        write(state, k, own + BEST, believed.best[k])


@inlined
def _is_known(state: State, k: int) -> bool:
    return _own(state, k, COST) >= 0.0 and _own(state, k, LESSON) >= 0.0


@apart
def _weigh(state: State) -> Beliefs:
    """What is believed of every arm."""
    rows = np.empty((state.size, row_size(state.risks)))
    for k in range(state.size):
        seen = quantity(state, k, REWARD)
        for i in range(rows.shape[1]):
            rows[k, i] = seen.own[i]
    return weigh_rows(rows, state.risks)


@inlined
def _clear_chances(state: State) -> None:
    for k in range(state.size):
        write(state, k, CHANCE, 0.0)


@inlined
def _write_chances(state: State) -> None:
    """Write the chance of every arm: that of the best mixture, or the mean of those that are equally good.

    Where no arm teaches anything, the least cost wins.
    """
    least, ties = math.inf, 0
    for i in range(state.size):
        for j in range(i, state.size if may_be_given(state, i) else i):
            if not may_be_given(state, j):
                continue
            share, ratio = _mix(state, i, j)
            if not ratio <= least * (1.0 + TIE):
                continue
            if ratio < least * (1.0 - TIE):
                least, ties = ratio, 0
                _clear_chances(state)
            ties += 1
            write(state, i, CHANCE, written(state, i, CHANCE) + 1.0 - share)
            write(state, j, CHANCE, written(state, j, CHANCE) + share)
    for k in range(state.size):
        write(state, k, CHANCE, written(state, k, CHANCE) / ties)


@inlined
def _mix(state: State, i: int, j: int) -> tuple[float, float]:
    """The best share of arm j beside arm i, and the ratio then; NaN where one of them alone is better.

    From arm i to arm j cost and lesson change by dD and dv; (D + s dD)^2 / (v + s dv) is convex in the share s of j,
    and least at s = D / dD - 2 v / dv.
    """
    cost, lesson = _own(state, i, COST), _own(state, i, LESSON)
    more, teaches = _own(state, j, COST) - cost, _own(state, j, LESSON) - lesson
    share = 0.0 if i == j else cost / more - 2.0 * lesson / teaches
    if i != j and not 0.0 < share < 1.0:
        return math.nan, math.nan
    return share, (cost + share * more) ** 2 / (lesson + share * teaches + NO_LESSON)


@inlined
def _own(state: State, k: int, column: int) -> float:
    return written(state, k, RISKS + state.risks + column)
