"""Systems of others that the paper names, in the same catalogue: to compare with, each on its own terms, too."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from safebandit.core.indices import (
    KLLower,
    KLUpper,
    KLUpperRisk,
    Level,
    PlannedLower,
    PlannedUpper,
    RadiusLower,
    RadiusUpper,
    SlackUpper,
    SlackUpperRisk,
)
from safebandit.core.naming import read_choice
from safebandit.core.policies.catalogue import named_policy
from safebandit.core.policies.conservative import Conservative
from safebandit.core.policies.doubly_optimistic import DoublyOptimistic
from safebandit.core.policies.knapsacks import Knapsacks
from safebandit.core.policies.mixture import PolicyMixture
from safebandit.errors import PolicyError


class Bounds(IntEnum):
    """The bounds of a mixture: KL-UCB's, as the paper plays it, or those that its own authors published."""

    kl = 0
    published = 1


@named_policy(
    "play argmax U / (v L) of upper reward and lower cost bounds mean +- rad, rad = sqrt(C mean / N) + C / N, "
    "C = log(d T K); price v_i of a risk, or of time, grows by (1 + sqrt(log d / B))^L_i; stop at B = alpha T harms",
    "section on prior formulations: bandits with knapsacks (Badanidiyuru et al. 2013), primal-dual",
)
def bwk(units: int | None = None) -> Knapsacks:
    """Bandits with knapsacks: at most alpha T harms in T planned units, and no arm for anyone once they are spent.

    The budget is never exceeded, and the reward falls short of the best mixture's by the order of sqrt(T). No unit is
    protected: the budget is spent on purpose, on unsafe arms where these earn more.
    """
    return Knapsacks(units)


@named_policy(
    "play from the mixture of arms that maximises mean U among those with mean L <= alpha; U, L by KL-UCB, or with "
    "bounds=published m +- 2 rad, m = sum / (N+1), rad = sqrt(C m / (N+1)) + C / (N+1), C = log(2 K T / delta)",
    "section on prior formulations: bandits with convex knapsacks (Agrawal and Devanur 2014), doubly optimistic",
)
def bwcr(
    level: Level = Level.practical,
    when_none: Any = None,
    bounds: Bounds = Bounds.kl,
    delta: float = 0.05,
    units: int | None = None,
) -> PolicyMixture:
    """The best mixture of arms by optimistic rewards and optimistic risks; safe in aggregate, not per round.

    Total risk exceeds alpha T, and reward falls short of the best mixture's, by the order of sqrt(T). `delta` and the
    planned `units` T are those of the published bounds.
    """
    if read_choice("bounds", bounds, Bounds, PolicyError) == Bounds.published:
        reward, risk = RadiusUpper(delta, units), RadiusLower(delta, units)
        return PolicyMixture(reward, risk, when_none=when_none, each_first=False)
    return PolicyMixture(KLUpper(level), KLLower(level), when_none=when_none)


@named_policy(
    "as bwcr, with the upper risk index of KL-UCB in the place of L, 1 before the first play, and for the safe arm its "
    "known mean risk; without first plays. With bounds=published the reward index is "
    "mean + (1 + 2 / (alpha - safe_risk)) b, the risk index mean + b, b = sqrt(2 log(4 K T / delta) / N)",
    "section on prior formulations: optimistic rewards, pessimistic risks, a known safe arm: OPB (Pacchiano et al. "
    "2021)",
)
def pess(
    level: Level = Level.practical,
    safe_arm: Any = 0,
    safe_risk: float | None = None,
    when_none: Any = None,
    bounds: Bounds = Bounds.kl,
    delta: float = 0.05,
    units: int | None = None,
) -> PolicyMixture:
    """The best mixture of arms by optimistic rewards and pessimistic risks, around an arm known to be safe.

    `safe_risk` is the safe arm's mean risk; in simulation it is taken from the instance where it is not given. With
    published bounds the mean risk of every mixture is at most alpha with probability 1 - `delta`; that of the arm that
    is drawn from it is not.
    """
    if read_choice("bounds", bounds, Bounds, PolicyError) == Bounds.published:
        reward, risk = SlackUpper(delta, units), SlackUpperRisk(delta, units)
        return PolicyMixture(reward, risk, safe_arm, safe_risk, when_none, each_first=False)
    return PolicyMixture(KLUpper(level), KLUpperRisk(level), safe_arm, safe_risk, when_none, each_first=False)


@named_policy(
    "play J = argmax mean + D, D = sqrt(2 log(K N^3 / delta) / N), where lower bounds max(0, mean - D) of all rewards "
    "so far and of J add up to at least (1 - loss) t baseline_reward; else the baseline arm, of known mean reward",
    "section on prior formulations: conservative bandits (Wu et al. 2016), Conservative UCB",
)
def conservative(
    baseline: Any = 0, baseline_reward: float | None = None, loss: float = 0.1, delta: float = 0.05
) -> Conservative:
    """Conservative UCB: in every round at least 1 - `loss` of the reward that the baseline arm would have given so far.

    The promise is about mean rewards and is kept with probability 1 - `delta`. Risks are not looked at.
    """
    return Conservative(baseline, baseline_reward, loss, delta)


@named_policy(
    "play argmax mean + w among arms with mean risk - w <= alpha, w = sqrt(log(2 T^2) / (2 N)); where there is none, "
    "the least mean risk - w, and the instance is said to be infeasible",
    "con-lcb (Kagrecha, Nair and Jagannathan 2023): the nearest rival by regret",
)
def con_lcb(units: int | None = None, when_none: Any = None, each_first: bool = True) -> DoublyOptimistic:
    """Doubly optimistic with Hoeffding bounds that know the planned `units` T.

    Each arm that is not best is played of the order of log T times, and whether any arm is permissible after T units
    says whether the instance is feasible, rightly with high probability (`says_feasible`). Its bounds know nothing of
    how little a small risk varies.
    """
    return DoublyOptimistic(PlannedUpper(units), PlannedLower(units), when_none, each_first)
