"""Laws of outcomes: how an arm's reward and risk are drawn, as values that compiled code can read."""

from __future__ import annotations

from typing import NamedTuple

from safebandit.arms import Counts, Numbers
from safebandit.dispatch import generic
from safebandit.streams import Stream, beta, uniform


@generic
def draw(law: object, k: int, stream: Stream) -> tuple[float, float]:
    """The reward and the risk of one play of arm k, from that arm's own stream."""
    raise NotImplementedError


class BernoulliPairs(NamedTuple):
    """Bits: P(R=1), and P(S=1) given either value of R."""

    reward: Numbers
    risk_after_reward: Numbers
    risk_after_none: Numbers


class BetaLaws(NamedTuple):
    """Independent Beta laws of reward and risk, by their shapes."""

    reward_a: Numbers
    reward_b: Numbers
    risk_a: Numbers
    risk_b: Numbers


class FiniteLaws(NamedTuple):
    """Finitely many outcomes: rows `first[k]` to `first[k+1]` belong to arm k, by cumulative probability."""

    first: Counts
    cumulative: Numbers
    reward: Numbers
    risk: Numbers


Law = BernoulliPairs | BetaLaws | FiniteLaws


@draw.register(BernoulliPairs)
def draw_bernoulli(law: BernoulliPairs, k: int, stream: Stream) -> tuple[float, float]:
    # Written without branches: the processor cannot guess them.
    reward = uniform(stream) < law.reward[k]
    chance = law.risk_after_reward[k] if reward else law.risk_after_none[k]
    return 1.0 * reward, 1.0 * (uniform(stream) < chance)


@draw.register(BetaLaws)
def draw_beta(law: BetaLaws, k: int, stream: Stream) -> tuple[float, float]:
    return beta(stream, law.reward_a[k], law.reward_b[k]), beta(stream, law.risk_a[k], law.risk_b[k])


@draw.register(FiniteLaws)
def draw_finite(law: FiniteLaws, k: int, stream: Stream) -> tuple[float, float]:
    low, high = law.first[k], law.first[k + 1] - 1
    u = uniform(stream)
    while low < high:
        middle = (low + high) // 2
        if u < law.cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return law.reward[low], law.risk[low]
