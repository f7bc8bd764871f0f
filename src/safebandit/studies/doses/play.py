"""One trial of a system on an instance: what it asked for, what that cost, and what it answered."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from safebandit.core.dosing import Ask
from safebandit.problems.dosed import DosedInstance

# A risk above a limit by less than this is rounding.
ROUNDING = 1e-12


class Played(NamedTuple):
    """A trial: what was asked for, in order; of each the mean reward and the mean risk in truth; what is answered in
    the end, and whether it ended by itself.
    """

    asks: list[Ask]
    rewards: list[float]
    risks: list[float]
    answer: tuple[int, float]
    ended: bool


def play(system: Any, instance: DosedInstance, units: int, rng: np.random.Generator) -> Played:
    """Play a system until it ends, or until it asks for more units than there are."""
    asks: list[Ask] = []
    rewards: list[float] = []
    risks: list[float] = []
    conduct, left = system.conduct(instance.known()), units
    ask = next(conduct)
    while ask.units <= left:
        reward, risk = float(instance.reward_at[ask.arm](ask.dose)), float(instance.risk_at[ask.arm](ask.dose))
        asks.append(ask)
        rewards.append(reward)
        risks.append(risk)
        left -= ask.units
        seen = rng.binomial(ask.units, reward) / ask.units, rng.binomial(ask.units, risk) / ask.units
        try:
            ask = conduct.send(seen)
        except StopIteration as end:
            return Played(asks, rewards, risks, end.value, ended=True)
    return Played(asks, rewards, risks, ask.answer, ended=False)


class Course(NamedTuple):
    """A trial cut after so many units: whether its answer is wrong, whether that dose is unsafe, the highest risk that
    any unit got, how many units it used, how many of those got an unsafe dose, regret per unit, and whether it had
    ended by itself.

    Regret of a unit is max(best - reward, risk - alpha, 0), the paper's; best is the largest reward at a safe dose.
    """

    wrong: bool
    unsafe_answer: bool
    highest_risk: float
    used: int
    unsafe_units: int
    regret: float
    ended: bool


def course(played: Played, instance: DosedInstance, units: int) -> Course:
    """The trial as far as so many units go."""
    counts = np.array([ask.units for ask in played.asks], np.int64)
    kept = int(np.searchsorted(np.cumsum(counts), units, side="right"))
    whole = kept == len(counts)
    answer = played.answer if whole else played.asks[kept].answer
    counts, rewards, risks = counts[:kept], np.array(played.rewards[:kept]), np.array(played.risks[:kept])
    used, values, limit = int(counts.sum()), instance.values, instance.alpha + ROUNDING
    costs = np.maximum(np.maximum(values.max() - rewards, risks - instance.alpha), 0.0)
    return Course(
        bool(values[answer[0]] < values.max() - ROUNDING),
        bool(instance.risk_at[answer[0]](answer[1]) > limit),
        float(risks.max(initial=0.0)),
        used,
        int(counts[risks > limit].sum()),
        float(counts @ costs) / max(used, 1),
        whole and played.ended,
    )
