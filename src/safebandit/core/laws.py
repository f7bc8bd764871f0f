"""Laws of outcomes: how an arm's reward and risks are drawn, as values that compiled code can read.

All laws are one type, `Laws`, so that a policy is compiled once for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.core.dispatch import both
from safebandit.core.streams import Stream, beta, uniform

# How the rows of a table are read.
BITS, BETA, POINTS = 0, 1, 2


class Laws(NamedTuple):
    """The laws of all arms as the rows of a table, read as `kind` says; `first` is where each arm's rows begin.

    BITS: a row per arm has P(R=1), then for every risk P(S=1) where R = 0 and where R = 1; given the reward, risks are
    independent. BETA: a row per arm has the two shapes of the reward's law, then those of every risk's; all are
    independent. POINTS: every row is one possible outcome, with the chance of it and those before it, its reward and
    its risks.
    """

    kind: int
    first: Counts
    table: Numbers

    @property
    def risks(self) -> int:
        """How many risks a play has."""
        return self.table.shape[1] - 2 if self.kind == POINTS else (self.table.shape[1] - 1) // 2


def bit_laws(reward: Numbers, risk_after_none: Numbers, risk_after_reward: Numbers) -> Laws:
    """Bits: P(R=1) per arm, and P(S=1) given either value of R, per risk (rows) and arm (columns)."""
    table = np.empty((len(reward), 1 + 2 * len(risk_after_none)))
    table[:, 0], table[:, 1::2], table[:, 2::2] = reward, risk_after_none.T, risk_after_reward.T
    return Laws(BITS, np.arange(len(reward) + 1), table)


def beta_laws(reward_a: Numbers, reward_b: Numbers, risk_a: Numbers, risk_b: Numbers) -> Laws:
    """Independent Beta laws by their shapes; those of the risks per risk (rows) and arm (columns)."""
    table = np.empty((len(reward_a), 2 + 2 * len(risk_a)))
    table[:, 0], table[:, 1], table[:, 2::2], table[:, 3::2] = reward_a, reward_b, risk_a.T, risk_b.T
    return Laws(BETA, np.arange(len(reward_a) + 1), table)


def point_laws(first: Counts, cumulative: Numbers, reward: Numbers, risk: Numbers) -> Laws:
    """Finitely many outcomes: places `first[k]` to `first[k+1]` belong to arm k; `risk` has a row per risk."""
    return Laws(POINTS, first, np.column_stack([cumulative, reward, risk.T]))


@both
def draw_reward(law: Laws, k: int, stream: Stream) -> tuple[float, int]:
    """The reward of one play of arm k, from that arm's own stream, and a place that its risks are drawn by."""
    if law.kind == BITS:
        # Written without branches: the processor cannot guess them.
        reward = uniform(stream) < law.table[k, 0]
        return 1.0 * reward, 1 * reward
    if law.kind == BETA:
        return beta(stream, law.table[k, 0], law.table[k, 1]), 0
    low, high = law.first[k], law.first[k + 1] - 1
    u = uniform(stream)
    while low < high:
        middle = (low + high) // 2
        if u < law.table[middle, 0]:
            high = middle
        else:
            low = middle + 1
    return law.table[low, 1], low


@both
def draw_risk(law: Laws, k: int, j: int, place: int, stream: Stream) -> float:
    """Risk j of the same play, from 0; risks are drawn in order, each once."""
    if law.kind == BITS:
        return 1.0 * (uniform(stream) < law.table[k, 1 + 2 * j + place])
    if law.kind == BETA:
        return beta(stream, law.table[k, 2 + 2 * j], law.table[k, 3 + 2 * j])
    return law.table[place, 2 + j]


def draw(law: Laws, k: int, stream: Stream) -> tuple[float, ...]:
    """The reward and the risks of one play of arm k."""
    reward, place = draw_reward(law, k, stream)
    return (reward, *(draw_risk(law, k, j, place, stream) for j in range(law.risks)))
