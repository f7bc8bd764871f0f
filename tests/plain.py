"""The formulas once more: slow, plain, from their definitions, with nothing of the package's own arithmetic.

`tests` compare the package with these. The helpers at the end drive the package itself.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numba
import numpy as np
from scipy import special

from safebandit.arms import NOTES, new_arms
from safebandit.indices.interface import exceeds, upper, upper_near
from safebandit.kernel import Costs, empty_trials, kernels_for
from safebandit.policies import prepare, widths
from safebandit.streams import STATE, trial_streams

MASK = (1 << 64) - 1


def precise_divergence(p, q, digits=60):
    """d(p||q) to many digits, as a Decimal; p and q are taken as the exact numbers that the floats stand for."""
    with localcontext() as context:
        context.prec = digits
        p, q = Decimal(p), Decimal(q)
        total = Decimal(0)
        for x, y in ((p, q), (1 - p, 1 - q)):
            if x == 0:
                continue
            if y <= 0:
                return Decimal("Infinity")
            total += x * (x / y).ln()
        return total


def divergence(p, q):
    """d(p||q) by SciPy, for arrays."""
    return special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q)


def kl_upper(p, budget):
    """max{ q >= p : d(p||q) <= budget } by bisection, for arrays."""
    p, budget = np.broadcast_arrays(np.asarray(p, float), np.asarray(budget, float))
    low, high = p.copy(), np.ones_like(p)
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = divergence(p, middle) <= budget
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    # The bisection cannot reach 1 itself, where an arm of mean 1 belongs.
    return np.where(p >= 1.0, 1.0, 0.5 * (low + high))


def kl_lower(p, budget):
    """min{ q <= p : d(p||q) <= budget } by bisection, for arrays."""
    p, budget = np.broadcast_arrays(np.asarray(p, float), np.asarray(budget, float))
    low, high = np.zeros_like(p), p.copy()
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = divergence(p, middle) <= budget
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.where(p <= 0.0, 0.0, 0.5 * (low + high))


def exact_binomial(s, n, p):
    """(P(Bin(n, p) >= s), P(Bin(n, p) = s)) in exact fractions."""
    p = Fraction(p)
    mass = [math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)]
    return sum(mass[s:], Fraction(0)), (mass[s] if s <= n else Fraction(0))


def budget(level, t):
    """The KL budget of round t."""
    return math.log(t) + (3.0 * math.log(max(1.0, math.log(t))) if level == "theory" else 0.0)


def quantile_level(schedule, plays, t):
    """The posterior quantile of BayesUCB in round t of arms with so many plays, as an array."""
    plays = np.asarray(plays, float)
    if schedule == "practical":
        return np.full(plays.shape, 1.0 / (t + 1.0))
    delta = 1.0 / (np.sqrt(8.0 * np.maximum(plays, 1)) * t)
    return delta / max(1.0, math.log(t)) ** 3 if schedule == "proof" else delta


def risk_level(schedule, plays, t, alpha):
    """The same for a risk: at most alpha/2 as simulated, where that is not 0."""
    delta = quantile_level(schedule, plays, t)
    return np.minimum(delta, alpha / 2) if alpha > 0 and schedule != "proof" else delta


def kl_upper_index(level, plays, total, t):
    plays, total = np.asarray(plays, float), np.asarray(total, float)
    n = np.maximum(plays, 1)
    return np.where(plays == 0, 1.0, kl_upper(np.minimum(1.0, total / n), budget(level, t) / n))


def kl_lower_index(level, plays, total, t):
    plays, total = np.asarray(plays, float), np.asarray(total, float)
    n = np.maximum(plays, 1)
    return np.where(plays == 0, 0.0, kl_lower(np.minimum(1.0, total / n), budget(level, t) / n))


def bayes_upper_index(schedule, plays, ones, t):
    """The (1 - delta) quantile of Beta(R+1, N-R), by its mirror image; 1 where R = N."""
    plays, ones = np.asarray(plays, float), np.asarray(ones, float)
    failures = np.maximum(plays - ones, 1)
    quantile = special.betaincinv(failures, ones + 1, quantile_level(schedule, plays, t))
    return np.where(plays == ones, 1.0, 1.0 - quantile)


def bayes_lower_index(schedule, plays, ones, t, alpha):
    """The delta quantile of Beta(S, N-S+1); 0 where S = 0."""
    plays, ones = np.asarray(plays, float), np.asarray(ones, float)
    quantile = special.betaincinv(np.maximum(ones, 1), plays - ones + 1, risk_level(schedule, plays, t, alpha))
    return np.where(ones == 0, 0.0, quantile)


def reduced_bit(key, play, value):
    """The bit that stands for an outcome between 0 and 1: SplitMix64's finaliser, in whole numbers of Python."""
    if value in (0, 1):
        return int(value)
    z = (int(key) + play * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    return int((z >> 11) / 2**53 < value)


class Bench:
    """A policy with arms whose counts a test sets, so that its compiled formulas can be asked."""

    def __init__(self, policy, count, alpha, seed=0):
        self.policy = prepare(policy, [f"arm {k}" for k in range(count)], "least_risky", limits=(alpha,))
        self.kernels = kernels_for(self.policy)
        streams = trial_streams(seed, 0, count)
        self.stream = streams.policy.copy()
        self.arms = new_arms(streams.keys, widths(self.policy))
        self.known = (self.policy, self.arms, self.stream, np.zeros(1, NOTES), (alpha,))
        self.kernels.begin(*self.known)

    def learn(self, k, reward, risk):
        """One play of arm k; NaN for what is not known."""
        play = int(self.arms["asked"][k])
        self.arms["asked"][k] += 1
        self.kernels.learn(*self.known, k, play, reward, (risk,))

    def jump(self, k, name, plays, ones):
        """Arm k as it is after so many plays: all but the last are set, the last is learnt."""
        last = 1 if ones == plays else 0
        self.arms[name]["plays"][k] = plays - 1
        self.arms[name]["ones"][k] = ones - last
        self.arms[name]["total"][k] = ones - last
        unknown = {"reward": math.nan, "risk": math.nan}
        self.learn(k, **(unknown | {name: float(last)}))

    def look(self, t):
        """Per arm: the lower risk index, whether it permits, the upper reward index."""
        table = np.full((len(self.arms), 4), np.nan)
        self.kernels.look(*self.known, t, table)
        return table[:, [3, 0, 1]]

    def decide(self, t):
        return self.kernels.decide(*self.known, t)


def decisions(policy, instance, horizon, seed, trial=0):
    """The arms that the simulator plays, round by round, and -1 where it holds: read off costs that name the arm."""
    count = len(instance.mu)
    ready = prepare(policy, instance.arms, "least_risky", limits=instance.limits, risks=instance.nu)
    random = trial_streams(seed, trial, count)
    arms = new_arms(random.keys, widths(ready), len(instance.limits))[None, :].copy()
    outcomes = np.zeros((1, count), STATE)
    outcomes[0] = random.arms
    out = empty_trials(1, horizon, count, len(instance.limits))
    costs = Costs(np.arange(1.0, count + 1.0), np.zeros(count, bool), 0.0)
    kernels_for(ready, instance.law).run_trials(
        ready, instance.law, instance.limits, costs, np.arange(1, horizon + 1),
        arms, random.policy.copy(), np.zeros(1, NOTES), outcomes, out, np.zeros(1, np.int64),
    )  # fmt: skip
    return np.diff(out.regret[0], prepend=0.0).astype(int) - 1


@numba.njit
def ask(index, arms, t, bar, before, stream):
    """The upper index of the first arm, whether it exceeds `bar`, and the index again, sought from `before`."""
    seen = arms[0].reward
    return (
        upper(index, seen, t, stream[0]),
        exceeds(index, seen, t, bar, stream[0]),
        upper_near(index, seen, t, before, stream[0]),
    )


class Asked:
    """One arm whose reward counts a test sets, to ask `ask` about."""

    def __init__(self, index):
        # Plain numbers, as compiled code takes them.
        self.index = type(index)(*(int(value) if isinstance(value, int) else value for value in index))
        streams = trial_streams(0, 0, 1)
        self.stream = streams.policy.copy()
        self.arms = new_arms(streams.keys, (2, 2))

    def __call__(self, plays, ones, t, *, total=None, pending=0, bar=0.5, before=0.0):
        reward = self.arms["reward"]
        reward["plays"], reward["ones"], reward["pending"] = plays, ones, pending
        reward["total"] = ones if total is None else total
        reward["mean"] = np.minimum(1.0, reward["total"] / plays) if plays > 0 else 0.0
        return ask(self.index, self.arms, t, bar, before, self.stream)
