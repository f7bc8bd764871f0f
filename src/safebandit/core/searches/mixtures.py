"""Mixtures of arms by KL indices, each on a curve over the budget, drawn anew when its arm has learnt, or far on.

Between two plays of an arm its index v depends on the budget g alone: N d(mean||v) = g. With d' and d'' the derivatives
of d in v, it grows by 1 / (N d'), and that changes by -d'' / (N^2 d'^3). Two terms are near enough for a while.

What it buys: bwcr and pess play four times as many rounds a second on the drug trial.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import INDEX, REWARD, RISKS, Seen, State, at, quantity, write
from safebandit.core.dispatch import piece
from safebandit.core.policies.mixture import decide_by_bounds
from safebandit.core.searches.bounds import clock, near
from safebandit.core.searches.interface import NOTES, Notes, find
from safebandit.core.streams import Stream


class ByCurves(NamedTuple):
    """The search for a mixture of arms by KL indices."""


# Of an index: the plays and the budget for which it was computed, its value there, the first two terms of its growth,
# and up to which budget they serve.
CURVE = np.dtype([("plays", "i8"), ("budget", "f8"), ("value", "f8"), ("slope", "f8"), ("bend", "f8"), ("until", "f8")])
# Of each arm its two indices.
NOTES[ByCurves] = Notes(work=np.dtype([("reward", CURVE), ("risk", CURVE)]))

# A curve serves while the index moves by less than this share of its distance to the mean, to 0 and to 1: its error is
# about half of the cube of it, as a share of that.
FAR = 5e-4


@find.register(ByCurves)
def find_by_curves(search: ByCurves, policy: Any, state: State, work: Any, notes: Any, t: int) -> tuple[int, bool]:
    rewards_at, risks_at = clock(policy.reward, t), clock(policy.risk, t)
    for k in range(state.size):
        arm = at(work, k)
        reward = on_curve(policy.reward, arm.reward, quantity(state, k, REWARD), t, rewards_at, state.stream)
        risk = on_curve(policy.risk, arm.risk, quantity(state, k, 1), t, risks_at, state.stream)
        write(state, k, INDEX, reward)
        write(state, k, RISKS, risk)
    return decide_by_bounds(policy, state, t)


@piece
def on_curve(index: Any, curve: Any, seen: Seen, t: int, budget: float, stream: Stream) -> float:
    """The index in round t, which has this budget."""
    if seen.plays == 0 or seen.plays != curve.plays or budget > curve.until:
        curve.value = near(index, seen, t, curve.value, stream)
        curve.plays, curve.budget, curve.until = seen.plays, budget, budget
        curve.slope, curve.bend = 0.0, 0.0
        v, mean = curve.value, seen.mean
        room = min(abs(v - mean), v, 1.0 - v)
        # Else before the first play, or at 0 or 1: computed in every round, which takes no time there.
        if room > 0.0:
            slope = v * (1.0 - v) / (v - mean)
            bend = mean / (v * v) + (1.0 - mean) / ((1.0 - v) * (1.0 - v))
            curve.slope = slope / seen.plays
            curve.bend = -0.5 * bend * slope * curve.slope * curve.slope
            curve.until = budget + FAR * room / abs(curve.slope)
    ahead = budget - curve.budget
    return curve.value + ahead * (curve.slope + ahead * curve.bend)
