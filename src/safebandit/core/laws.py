"""Laws of outcomes: how an arm's reward and risks are drawn, as values that compiled code can read."""

from __future__ import annotations

from typing import NamedTuple

from safebandit.core.arms import Counts, Numbers
from safebandit.core.dispatch import generic
from safebandit.core.streams import Stream, beta, uniform


@generic
def draw_reward(law: object, k: int, stream: Stream) -> tuple[float, int]:
    """The reward of one play of arm k, from that arm's own stream, and a mark that its risks are drawn by."""
    raise NotImplementedError


@generic
def draw_risk(law: object, k: int, j: int, mark: int, stream: Stream) -> float:
    """Risk j of the same play; risks are drawn in order, each once."""
    raise NotImplementedError


@generic
def risk_count(law: object) -> int:
    """How many risks a play has."""
    raise NotImplementedError


def draw(law: Law, k: int, stream: Stream) -> tuple[float, ...]:
    """The reward and the risks of one play of arm k."""
    reward, mark = draw_reward(law, k, stream)
    return (reward, *(draw_risk(law, k, j, mark, stream) for j in range(risk_count(law))))


class BernoulliPairs(NamedTuple):
    """Bits: P(R=1), and P(S=1) given either value of R, per risk (rows) and arm (columns).

    Given the reward, several risks are independent.
    """

    reward: Numbers
    risk_after_reward: Numbers
    risk_after_none: Numbers


class BetaLaws(NamedTuple):
    """Independent Beta laws of reward and risks, by their shapes; those of the risks per risk and arm."""

    reward_a: Numbers
    reward_b: Numbers
    risk_a: Numbers
    risk_b: Numbers


class FiniteLaws(NamedTuple):
    """Finitely many outcomes: places `first[k]` to `first[k+1]` belong to arm k, by cumulative probability.

    `risk` has a row per risk.
    """

    first: Counts
    cumulative: Numbers
    reward: Numbers
    risk: Numbers


Law = BernoulliPairs | BetaLaws | FiniteLaws


@risk_count.register(BernoulliPairs)
def bernoulli_risks(law: BernoulliPairs) -> int:
    return law.risk_after_reward.shape[0]


@risk_count.register(BetaLaws)
def beta_risks(law: BetaLaws) -> int:
    return law.risk_a.shape[0]


@risk_count.register(FiniteLaws)
def finite_risks(law: FiniteLaws) -> int:
    return law.risk.shape[0]


@draw_reward.register(BernoulliPairs)
def bernoulli_reward(law: BernoulliPairs, k: int, stream: Stream) -> tuple[float, int]:
    reward = uniform(stream) < law.reward[k]
    return 1.0 * reward, 1 * reward


@draw_risk.register(BernoulliPairs)
def bernoulli_risk(law: BernoulliPairs, k: int, j: int, mark: int, stream: Stream) -> float:
    # Written without branches: the processor cannot guess them.
    chance = law.risk_after_reward[j, k] if mark else law.risk_after_none[j, k]
    return 1.0 * (uniform(stream) < chance)


@draw_reward.register(BetaLaws)
def beta_reward(law: BetaLaws, k: int, stream: Stream) -> tuple[float, int]:
    return beta(stream, law.reward_a[k], law.reward_b[k]), 0


@draw_risk.register(BetaLaws)
def beta_risk(law: BetaLaws, k: int, j: int, mark: int, stream: Stream) -> float:
    return beta(stream, law.risk_a[j, k], law.risk_b[j, k])


@draw_reward.register(FiniteLaws)
def finite_reward(law: FiniteLaws, k: int, stream: Stream) -> tuple[float, int]:
    low, high = law.first[k], law.first[k + 1] - 1
    u = uniform(stream)
    while low < high:
        middle = (low + high) // 2
        if u < law.cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return law.reward[low], low


@draw_risk.register(FiniteLaws)
def finite_risk(law: FiniteLaws, k: int, j: int, mark: int) -> float:
    return law.risk[j, mark]
