"""BOIN12 (Lin et al. 2020): the dose of the best trade of efficacy for harm, by the rank of its utility.

Of one unit, efficacy without harm is worth 1, no efficacy and no harm 1 - w, efficacy with harm w, harm alone 0 (w is
`worth`, 0.6): the mean utility is w (rate of efficacy) + (1 - w) (1 - rate of harms). With x the total utility of n
units its posterior is Beta(1 + x, 1 + n - x), and a dose's desirability is the chance that it is above
u_b = u + (1 - u) / 2, u being the mean utility at the tolerated risk and the wanted efficacy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from safebandit.core.arms import INDEX, PERMISSIBLE, REWARD, RISKS, Seen, State, at, quantity, write, written
from safebandit.core.bernoulli import binomial_tail
from safebandit.core.dispatch import apart, inlined, shared
from safebandit.core.naming import read_number
from safebandit.core.policies.dose.boin import LARGEST_TARGET, rate_words
from safebandit.core.policies.dose.ladder import (
    KNOWN,
    LEAST_KNOWN,
    read_boundaries,
    read_enough,
    read_share,
    read_target,
    take_step,
    why_step,
    why_toxic,
    write_doses,
)
from safebandit.core.policies.interface import DONE, HOLD, Setup, decide
from safebandit.core.policies.words import Decision
from safebandit.core.streams import wins_tie
from safebandit.errors import PolicyError


class Boin12(NamedTuple):
    """The dose of the largest desirability among the present one and its neighbours, as far as harms allow.

    `tolerated` is the largest risk (alpha unless given), `wanted` the least efficacy. A dose is out, with those above
    it, where P(risk > tolerated) > cutoff, and by itself where P(efficacy < wanted) > futile, after three or more
    units. With the present dose's rate of harms at least lambda_d (see `boin`) the next is the nearest open dose below;
    between the boundaries, and with `settled` or more units, the better of that and the present one; else the open
    dose above is compared, too. Ties are drawn. After `explore` units at a rate below lambda_d, an open dose above that
    was never given is given. The design is done with `enough` units on the present dose.
    """

    tolerated: float | None = None
    wanted: float | None = None
    enough: int | None = None
    cutoff: float = 0.95
    futile: float = 0.90
    worth: float = 0.6
    settled: int = 6
    explore: int = 9
    escalate_at: float | None = None
    deescalate_at: float | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """That it decides by efficacy, too."""
        return ("reward",)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a decision shows of every dose; its desirability is its index."""
        return (*KNOWN, "chance below wanted")

    def prepare(self, setup: Setup) -> Boin12:
        """The policy with its parameters checked, and its boundaries."""
        if self.wanted is None:
            raise PolicyError("wanted must be given: the least efficacy, between 0 and 1")
        tolerated = read_target("tolerated", self.tolerated, setup, LARGEST_TARGET)
        low, high = read_boundaries(tolerated, self.escalate_at, self.deescalate_at)
        settled, explore = (
            int(read_number(name, given, int, PolicyError))
            for name, given in (("settled", self.settled), ("explore", self.explore))
        )
        return Boin12(
            tolerated,
            read_share("wanted", self.wanted),
            read_enough(self.enough),
            read_share("cutoff", self.cutoff),
            read_share("futile", self.futile),
            read_share("worth", self.worth),
            settled,
            explore,
            low,
            high,
        )

    def why(self, decision: Decision, arm: int) -> str:
        """Why this dose, or why not."""
        return why_step(decision, arm, f"desirability {decision.indices[arm]:.4g}; {rate_words(self, decision)}")

    def forbids(self, decision: Decision, arm: int) -> str:
        """Why a dose is not permissible."""
        below, tolerated, wanted = decision.own["chance below wanted"], float(self.tolerated or 0), self.wanted
        if below[arm] > self.futile and not (decision.own["chance above target"][: arm + 1] > self.cutoff).any():
            return f"its efficacy is below {wanted:g} with a chance of {below[arm]:.4g}, more than {self.futile:g}"
        return why_toxic(decision, arm, tolerated, self.cutoff)


@apart
def desirability(policy: Any, state: State, k: int) -> float:
    """The chance that the mean utility of a dose is above what is desired; where efficacy and harm are not known of the
    same number of units, each counts by its worth.
    """
    reward, risk = quantity(state, k, REWARD), quantity(state, k, 1)
    low = policy.worth * policy.wanted + (1.0 - policy.worth) * (1.0 - policy.tolerated)
    desired = low + (1.0 - low) / 2.0
    total = policy.worth * reward.ones + (1.0 - policy.worth) * (risk.plays - risk.ones)
    units = policy.worth * reward.plays + (1.0 - policy.worth) * risk.plays
    return 1.0 - binomial_tail(1.0 + total, 1.0 + units, desired)


@inlined
def _chance_below(seen: Seen, wanted: float) -> float:
    """P(efficacy < wanted), from a flat prior."""
    return binomial_tail(seen.ones + 1.0, seen.plays + 1.0, wanted)


@inlined
def _is_futile(seen: Seen, wanted: float, futile: float) -> bool:
    # As for harms (see `too_toxic`): at the mean or above, the chance is at most 3/4.
    if seen.plays < LEAST_KNOWN or (futile >= 0.75 and seen.ones >= wanted * (seen.plays + 1)):
        return False
    return _chance_below(seen, wanted) > futile


@decide.register(Boin12)
def _decide(policy: Any, state: State, t: int) -> tuple[int, bool]:
    doses, present = write_doses(state, policy.tolerated, policy.cutoff), state.course.last
    left = _write_efficacy(state, policy.wanted, policy.futile)
    if state.watched:
        for k in range(state.size):
            write(state, k, INDEX, desirability(policy, state, k))
    if doses == 0 or left == 0:
        return HOLD, True
    below, above = _neighbours(state, present)
    if present < 0:
        return take_step(state, above), False
    risk = quantity(state, present, 1)
    plays, ones = risk.plays, risk.ones
    if plays >= policy.enough:
        return DONE, False
    if ones >= plays * policy.deescalate_at and plays > 0:
        wanted = below if below >= 0 else present
        explores = False
    else:
        up = above if plays < policy.settled or ones <= plays * policy.escalate_at else state.size
        wanted = _most_desirable(policy, state, present, below, up)
        explores = above < state.size and plays >= policy.explore and at(state.arms, above).asked == 0
    if wanted < 0 or written(state, wanted, PERMISSIBLE) != 1.0:
        return HOLD, True
    return take_step(state, above if explores else wanted), False


@shared
def _write_efficacy(state: State, wanted: float, futile: float) -> int:
    """Write what efficacy changes of every dose; how many are left."""
    left = 0
    for k in range(state.size):
        reward = quantity(state, k, REWARD)
        if written(state, k, PERMISSIBLE) == 1.0:
            if _is_futile(reward, wanted, futile):
                write(state, k, PERMISSIBLE, 0.0)
            else:
                left += 1
        if state.watched:
            write(state, k, RISKS + state.risks + len(KNOWN), _chance_below(reward, wanted))
    return left


@shared
def _neighbours(state: State, present: int) -> tuple[int, int]:
    """The nearest open doses below and above; -1 and the number of doses where there is none."""
    below, above = present - 1, present + 1
    while below >= 0 and written(state, below, PERMISSIBLE) != 1.0:
        below -= 1
    while above < state.size and written(state, above, PERMISSIBLE) != 1.0:
        above += 1
    return below, above


@apart
def _most_desirable(policy: Any, state: State, present: int, below: int, above: int) -> int:
    """The open dose of the largest desirability among three, ties drawn; -1 if none is open."""
    best, top, ties = -1, -math.inf, 0
    for k in (present, below, above):
        if 0 <= k < state.size and written(state, k, PERMISSIBLE) == 1.0:
            value = desirability(policy, state, k)
            if value > top:
                best, top, ties = k, value, 1
            elif value == top:
                ties += 1
                if wins_tie(ties, state.stream):
                    best = k
    return best
