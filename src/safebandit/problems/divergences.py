"""How hard an arm is to tell from one that is safe and better: the divergence in the lower bound, for the law at hand.

A consistent policy plays an arm of law P at least log T / D times in the long run, where D is the least divergence from
P to a law of the class for which the policy is consistent, with mean reward above mu* and every mean risk within its
alpha. Over all laws on [0, 1]^(1+m) with q = mu*,

    D = max over u >= 0 with u_0 + ... + u_(1+m) = 1 of E log(u_0 + u_1 (1 - R)/(1 - q) + sum_j u_(1+j) S_j/alpha_j),

a bet on the outcomes. Where the class has the reward and the risks independent, D is the sum of that for each alone:
for bits d_<(mu||q) + d_>(nu||alpha), the paper's (last proposition). What is given for other laws is ours.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.core.bernoulli import divergence_above, divergence_below
from safebandit.core.laws import BETA, BITS, POINTS, Laws
from safebandit.problems.instance import Instance

# A joint law of so many bits has 2^(1+m) outcomes; beyond, no bound is computed.
MOST_RISKS = 12
# Points that stand for a Beta law: exact for polynomials of degree 255.
NODES = 128
# The maximum is found to within so much times the number of bets.
CLOSE = 1e-14


def law_class(instance: Instance) -> str | None:
    """The laws for which a policy must be consistent for the lower bound to hold; None where none is computed.

    >>> law_class(Instance.bernoulli([0.3, 0.5], [0.1, 0.2], alpha=0.25))
    'independent bits'
    """
    law = instance.law
    if not isinstance(law, Laws):
        return None
    if law.kind == BITS:
        if _independent_bits(law):
            return "independent bits"
        return "bits that may depend on each other" if law.risks <= MOST_RISKS else None
    return "independent outcomes in [0, 1]" if law.kind == BETA else "outcomes in [0, 1] that may depend on each other"


def least_divergence(instance: Instance, k: int) -> float:
    """D for arm k, rounded up: infinite where no law of the class makes it safe and better, or where none is known."""
    law, best = instance.law, instance.best_mean
    limits = list(instance.limits)
    # Nothing has a mean above 1.
    if law_class(instance) is None or best >= 1.0:
        return math.inf
    mean, risks = float(instance.mu[k]), instance.risk_means[:, k].tolist()
    if law.kind == BITS and _independent_bits(law):
        return divergence_below(mean, best) + math.fsum(map(divergence_above, risks, limits))
    if law.kind == BETA:
        row = law.table[k].reshape(-1, 2)
        chances, rewards = beta_points(*row[0])
        found = [most_growth(chances, (1.0 - rewards) / (1.0 - best))]
        for shapes, limit in zip(row[1:], limits, strict=True):
            chances, values = beta_points(*shapes)
            found.append(most_growth(chances, values / limit) if limit > 0.0 else math.inf)
        return math.fsum(found)
    # Where no risk is tolerated, every law that shares the outcomes of an arm with some is unsafe.
    if any(mean > limit == 0.0 for mean, limit in zip(risks, limits, strict=True)):
        return math.inf
    chances, outcomes = joint_points(law, k)
    ratios = [outcomes[:, 1 + j] / limit for j, limit in enumerate(limits) if limit > 0.0]
    return most_growth(chances, (1.0 - outcomes[:, 0]) / (1.0 - best), *ratios)


def _independent_bits(law: Laws) -> bool:
    return bool(np.array_equal(law.table[:, 1::2], law.table[:, 2::2]))


def joint_points(law: Laws, k: int) -> tuple[Numbers, Numbers]:
    """The outcomes (rows: reward, risks) of one arm that can occur, of bits or of a finite law, and their chances."""
    if law.kind == POINTS:
        rows = law.table[law.first[k] : law.first[k + 1]]
        chances, outcomes = np.diff(rows[:, 0], prepend=0.0), rows[:, 1:]
    else:
        outcomes = np.array(np.meshgrid(*[[0.0, 1.0]] * (1 + law.risks), indexing="ij")).reshape(1 + law.risks, -1).T
        rewarded: NDArray[np.bool_] = outcomes[:, 0] == 1.0
        after = np.where(rewarded[:, None], law.table[k, 2::2], law.table[k, 1::2])
        risks = np.where(outcomes[:, 1:] == 1.0, after, 1.0 - after).prod(axis=1)
        chances = np.where(rewarded, law.table[k, 0], 1.0 - law.table[k, 0]) * risks
    return chances[chances > 0.0], outcomes[chances > 0.0]


def beta_points(a: float, b: float) -> tuple[Numbers, Numbers]:
    """Chances and points whose means are those of a Beta law: Gauss's quadrature, by the Jacobi recurrence.

    scipy.special.roots_jacobi overflows for the large shapes of narrow laws.
    """
    from scipy.linalg import eigh_tridiagonal

    n = np.arange(1.0, NODES)
    total = 2.0 * n + a + b - 2.0
    middle = (a - b) * (a + b - 2.0) / (total * (total + 2.0))
    n, total = n[1:], total[1:]
    beside = 4.0 * n * (n + a - 1.0) * (n + b - 1.0) * (n + a + b - 2.0) / (total**2 * (total**2 - 1.0))
    # The first of each has a form of its own: the general one may be 0/0 there.
    middle = np.append((a - b) / (a + b), middle)
    beside = np.append(4.0 * a * b / ((a + b) ** 2 * (a + b + 1.0)), beside)
    nodes, vectors = eigh_tridiagonal(middle, np.sqrt(beside))
    return vectors[0] ** 2, np.clip((1.0 + nodes) / 2.0, 0.0, 1.0)


def most_growth(chances: Numbers, *ratios: Numbers) -> float:
    """The largest mean of log(u_0 + u_1 y_1 + ... + u_n y_n), over shares u that sum to 1, rounded up.

    Newton's method with a barrier that fades. At any u the logarithm of the largest mean of y_i / (u . y) bounds what
    is left to gain; it is added, so that a lower bound that divides by the result stays true.
    """
    bets = np.column_stack([np.ones(len(chances)), *ratios])
    # Bets that must lose, and would make the barrier's matrix singular.
    bets = bets[:, [0, *(i for i in range(1, bets.shape[1]) if bets[:, i].any())]]
    shares = np.full(bets.shape[1], 1.0 / bets.shape[1])
    barrier = 1.0
    while barrier > CLOSE:
        barrier *= 0.1
        for _ in range(50):
            shares, moved = _newton_step(chances, bets, shares, barrier)
            if moved <= 1e-3 * barrier:
                break
    wealth = bets @ shares
    gain = chances @ np.log(wealth)
    left = math.log(max(chances @ (bets / wealth[:, None])))
    return max(0.0, float(gain) + max(0.0, left))


def _newton_step(chances: Numbers, bets: Numbers, shares: Numbers, barrier: float) -> tuple[Numbers, float]:
    """One step of the barrier's problem that gains something, and how much it was expected to gain."""
    size = len(shares)
    scaled = bets / (bets @ shares)[:, None]
    slope = chances @ scaled + barrier / shares
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = (scaled.T * chances) @ scaled + np.diag(barrier / shares**2)
    system[size, size] = 0.0
    step = np.linalg.solve(system, np.append(slope, 0.0))[:size]
    expected = float(step @ slope)
    length = min(1.0, 0.99 / max(1e-300, float((-step / shares).max())))

    def value(at: Numbers) -> float:
        return float(chances @ np.log(bets @ at) + barrier * np.log(at).sum())

    before = value(shares)
    while length > 1e-6 and value(shares + length * step) < before:
        length *= 0.5
    after = shares + length * step
    return (after / after.sum(), expected) if length > 1e-6 else (shares, 0.0)
