"""The formulas once more: slow, plain, from their definitions, with nothing of the package's own arithmetic."""

import functools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from scipy import special, stats

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
    for _ in range(44):
        middle = 0.5 * (low + high)
        inside = divergence(p, middle) <= budget
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    # The bisection cannot reach 1 itself, where an arm of mean 1 belongs.
    return np.where(p >= 1.0, 1.0, 0.5 * (low + high))


def kl_lower(p, budget):
    """min{ q <= p : d(p||q) <= budget } by bisection, for arrays."""
    p, budget = np.broadcast_arrays(np.asarray(p, float), np.asarray(budget, float))
    low, high = np.zeros_like(p), p.copy()
    for _ in range(44):
        middle = 0.5 * (low + high)
        inside = divergence(p, middle) <= budget
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.where(p <= 0.0, 0.0, 0.5 * (low + high))


def exact_binomial(s, n, p):
    """(P(Bin(n, p) >= s), P(Bin(n, p) = s)) in exact fractions."""
    p = Fraction(p)
    mass = [math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)]
    return sum(mass[s:], Fraction(0)), (mass[s] if s <= n else Fraction(0))


# The coefficients of Stirling's series for log n!: beyond n = 2,000 these leave an error of 1e-45.
PI = Decimal("3.14159265358979323846264338327950288419716939937510582")
STIRLING = [
    Fraction(1, 12),
    Fraction(-1, 360),
    Fraction(1, 1260),
    Fraction(-1, 1680),
    Fraction(1, 1188),
    Fraction(-691, 360360),
]


def precise_binomial(s, n, p, digits=50):
    """(P(Bin(n, p) >= s), P(Bin(n, p) = s)) for s above n p, as Decimals of thirty right digits."""
    with localcontext() as context:
        context.prec = digits

        def log_factorial(m):
            if m < 2_000:
                return Decimal(math.factorial(m)).ln()
            series = sum(
                Decimal(c.numerator) / c.denominator / Decimal(m) ** (2 * i + 1) for i, c in enumerate(STIRLING)
            )
            return (m + Decimal("0.5")) * Decimal(m).ln() - m + (2 * PI).ln() / 2 + series

        odds = Decimal(p) / (1 - Decimal(p))
        log_mass = log_factorial(n) - log_factorial(s) - log_factorial(n - s)
        mass = (log_mass + s * Decimal(p).ln() + (n - s) * (1 - Decimal(p)).ln()).exp()
        term = tail = mass
        for i in range(s, n):
            term *= odds * (n - i) / (i + 1)
            tail += term
            if term < tail * Decimal("1e-20"):
                break
        return tail, mass


def budget(level, t, tail=0.0):
    """The KL budget of round t."""
    return (1.0 + tail) * math.log(t) + (3.0 * math.log(max(1.0, math.log(t))) if level == "theory" else 0.0)


def quantile_level(schedule, plays, t, tail=0.0):
    """The posterior quantile of BayesUCB in round t of arms with so many plays, as an array."""
    plays = np.asarray(plays, float)
    if schedule == "practical":
        return np.full(plays.shape, (t + 1.0) ** -(1.0 + tail))
    delta = t ** -(1.0 + tail) / np.sqrt(8.0 * np.maximum(plays, 1))
    return delta / max(1.0, math.log(t)) ** 3 if schedule == "proof" else delta


def risk_level(schedule, plays, t, alpha, tail=0.0):
    """The same for a risk: at most alpha/2 as simulated, where that is not 0."""
    delta = quantile_level(schedule, plays, t, tail)
    return np.minimum(delta, alpha / 2) if alpha > 0 and schedule != "proof" else delta


def kl_upper_index(level, plays, total, t, tail=0.0):
    plays, total = np.asarray(plays, float), np.asarray(total, float)
    n = np.maximum(plays, 1)
    return np.where(plays == 0, 1.0, kl_upper(np.minimum(1.0, total / n), budget(level, t, tail) / n))


def kl_lower_index(level, plays, total, t, tail=0.0):
    plays, total = np.asarray(plays, float), np.asarray(total, float)
    n = np.maximum(plays, 1)
    return np.where(plays == 0, 0.0, kl_lower(np.minimum(1.0, total / n), budget(level, t, tail) / n))


def bayes_upper_index(schedule, plays, ones, t, tail=0.0):
    """The (1 - delta) quantile of Beta(R+1, N-R), by its mirror image; 1 where R = N."""
    plays, ones = np.asarray(plays, float), np.asarray(ones, float)
    failures = np.maximum(plays - ones, 1)
    quantile = special.betaincinv(failures, ones + 1, quantile_level(schedule, plays, t, tail))
    return np.where(plays == ones, 1.0, 1.0 - quantile)


def bayes_lower_index(schedule, plays, ones, t, alpha, tail=0.0):
    """The delta quantile of Beta(S, N-S+1); 0 where S = 0."""
    plays, ones = np.asarray(plays, float), np.asarray(ones, float)
    quantile = special.betaincinv(np.maximum(ones, 1), plays - ones + 1, risk_level(schedule, plays, t, alpha, tail))
    return np.where(ones == 0, 0.0, quantile)


def hoeffding_width(level, plays, t, tail=0.0):
    return np.sqrt(budget(level, t, tail) / (2.0 * np.maximum(plays, 1)))


def hoeffding_upper_index(level, plays, total, t, tail=0.0):
    plays, total = np.asarray(plays, float), np.asarray(total, float)
    mean = total / np.maximum(plays, 1)
    return np.where(plays == 0, 1.0, np.minimum(1.0, mean + hoeffding_width(level, plays, t, tail)))


def hoeffding_lower_index(level, plays, total, t, tail=0.0):
    plays, total = np.asarray(plays, float), np.asarray(total, float)
    mean = total / np.maximum(plays, 1)
    return np.where(plays == 0, 0.0, np.maximum(0.0, mean - hoeffding_width(level, plays, t, tail)))


def variance_width(zeta, c, values, t):
    """The width of UCB-V for one arm's outcomes."""
    share = zeta * math.log(t) / len(values)
    return math.sqrt(2.0 * np.var(values) * share) + 3.0 * c * share


def variance_upper_index(zeta, c, values, t):
    return min(1.0, np.mean(values) + variance_width(zeta, c, values, t)) if len(values) else 1.0


def variance_lower_index(zeta, c, values, t):
    return max(0.0, np.mean(values) - variance_width(zeta, c, values, t)) if len(values) else 0.0


def split(values, bins):
    """The weights that outcomes have on 0, 1/bins, ..., 1: each goes to its two neighbours, and keeps its mean."""
    places = np.asarray(values, float).reshape(-1, 1) * bins
    return np.maximum(0.0, 1.0 - np.abs(places - np.arange(bins + 1))).sum(axis=0)


def k_inf_below(points, weights, r):
    """The least divergence from a law to one on [0, 1] of mean at most r: mean log(1 - u + u y/r), largest over u.

    The maximum of a concave function, by bisection of its slope; u = 1 is a candidate too. For arrays of r.
    """
    points, weights, r = np.asarray(points, float), np.asarray(weights, float), np.asarray(r, float)
    points, share = points[weights > 0.0], weights[weights > 0.0] / weights.sum()
    far = points / np.maximum(r, 1e-300)[..., None] - 1.0
    low, high = np.zeros(r.shape), np.ones(r.shape)
    with np.errstate(divide="ignore"):
        for _ in range(60):
            u = 0.5 * (low + high)
            rises = (far / (1.0 + u[..., None] * far)) @ share > 0.0
            low, high = np.where(rises, u, low), np.where(rises, high, u)
        largest = np.maximum(*(np.log(1.0 + u[..., None] * far) @ share for u in (low, high)))
    return np.where(share @ points <= r, 0.0, np.where(r <= 1e-300, np.inf, largest))


def empirical_lower_bound(points, weights, budget):
    """min{ r <= mean : K_inf <= budget }: K_inf falls as r grows, so the place where it meets the budget is looked for
    between ever nearer numbers, 64 at a time.
    """
    low, high = 0.0, float(np.dot(points, weights) / np.sum(weights))
    for _ in range(7):
        between = np.linspace(low, high, 65)
        # At the last of them it is within the budget: at the mean it is 0.
        inside = np.append(k_inf_below(points, weights, between[1:-1]) <= budget, True)
        first = 1 + int(np.argmax(inside))
        low, high = between[first - 1], between[first]
    return high


def empirical_lower_index(level, bins, values, t):
    if len(values) == 0:
        return 0.0
    return empirical_lower_bound(np.arange(bins + 1) / bins, split(values, bins), budget(level, t) / len(values))


def empirical_upper_index(level, bins, values, t):
    return 1.0 - empirical_lower_index(level, bins, 1.0 - np.asarray(values, float), t)


def empirical_lower_indices(level, weights, t, tail=0.0):
    """The same for many arms, as rows of weights, by the dual form: much sooner, for a replay of many rounds."""
    weights = np.asarray(weights, float)
    plays = weights.sum(axis=1, keepdims=True)
    share = weights / np.maximum(plays, 1.0)
    c = budget(level, t, tail) / np.maximum(plays[:, 0], 1.0)
    points = np.linspace(0.0, 1.0, weights.shape[1])

    def psi(e):
        # A point without weight has no say, not even where e + y is 0.
        away = np.where(weights > 0.0, e[:, None] + points, 1.0)
        tilted = share / away
        total = np.maximum(tilted.sum(axis=1), 1e-300)
        return (share * np.log(away)).sum(axis=1) + np.log(total), (tilted @ points) / total, total

    zeros = np.zeros(len(weights))
    bare = share[:, 0] == 0.0
    at_zero, mean_at_zero, _ = psi(np.where(bare, zeros, 1.0))
    low, high = np.full(len(weights), -300.0), np.full(len(weights), 40.0)
    for _ in range(64):
        middle = 0.5 * (low + high)
        value, mean, _ = psi(np.exp(middle))
        low, high = np.where(value > c, middle, low), np.where(value > c, high, middle)
    tilted = np.where(bare & (at_zero <= c), np.exp(np.minimum(0.0, at_zero - c)) * mean_at_zero, mean)
    return np.where(plays[:, 0] == 0.0, 0.0, tilted if budget(level, t, tail) > 0.0 else share @ points)


def stakes(values, r):
    """What a gambler stakes on each outcome being above r: from the mean and variance of those before it."""
    values = np.asarray(values, float)
    n = np.maximum(np.arange(len(values)), 1)
    mean = np.concatenate([[0.0], np.cumsum(values)[:-1]])[: len(values)] / n
    variance = np.maximum(0.0, np.concatenate([[0.0], np.cumsum(values**2)[:-1]])[: len(values)] / n - mean**2)
    gap = np.maximum(mean - r, 0.0)
    gap[:1] = 0.0
    return np.clip(np.where(gap > 0.0, gap / np.maximum(variance + gap**2, 1e-300), 0.0), 0.0, 1.0 / (2.0 * r))


def log_wealth(values, stakes, r):
    """The log of the wealth of one who stakes so much on each outcome being above r."""
    return float(np.log1p(stakes * (np.asarray(values, float) - r)).sum())


def betting_lower_bound(values, r, limit):
    """The smallest mean that the stakes against r show by the bound in the module's docstring; at most 2 r."""
    staked = stakes(values, r)
    kappas = (staked / (1.0 + staked * (np.asarray(values, float) - r))).sum()
    excess = log_wealth(values, staked, r) - limit
    if kappas == 0.0:
        return 0.0
    return max(0.0, r * (2.0 - math.exp(min(700.0, -excess / (r * kappas)))))


def betting_lower_index(level, values, t, alpha, tail=0.0):
    if alpha == 0.0:
        return 1e-300 if np.sum(values) > 0.0 else 0.0
    return min(1.0, betting_lower_bound(values, alpha, budget(level, t, tail)))


def betting_upper_index(level, grid, values, t, tail=0.0):
    if len(values) == 0:
        return 1.0
    values, limit = 1.0 - np.asarray(values, float), budget(level, t, tail)
    for j in range(1, grid):
        r = j / grid
        if log_wealth(values, stakes(values, r), r) <= limit:
            return 1.0 - max((j - 1) / grid, betting_lower_bound(values, r, limit))
    return 1.0 - (grid - 1) / grid


def kl_evidence(plays, total, alpha):
    """N d_>(mean||alpha) of arms, in nats."""
    plays, total = np.asarray(plays, float), np.asarray(total, float)
    mean = np.minimum(1.0, total / np.maximum(plays, 1))
    return np.where(mean > alpha, plays * divergence(mean, alpha), 0.0)


def tail_evidence(plays, ones, alpha):
    """-log P(Bin(N, alpha) >= S) of arms whose S is above N alpha, else 0."""
    plays, ones = np.asarray(plays, float), np.asarray(ones, float)
    with np.errstate(divide="ignore"):
        return np.where(ones > alpha * plays, -stats.binom.logsf(ones - 1, plays, alpha), 0.0)


def joint_upper_index(level, plays, total, t, against, tail=0.0):
    """KL-UCB with what the evidence against an arm's safety leaves of the budget; the mean where it leaves nothing."""
    plays, total = np.asarray(plays, float), np.asarray(total, float)
    n = np.maximum(plays, 1)
    mean = np.minimum(1.0, total / n)
    left = np.maximum(0.0, budget(level, t, tail) - against)
    return np.where(plays == 0, 1.0, np.where(left > 0.0, kl_upper(mean, left / n), mean))


def imed_costs(plays, total, permissible, t, against, discount):
    """What speaks against each arm, all of them played; infinity for an arm that is not permissible."""
    mean = np.minimum(1.0, total / plays)
    largest = mean[permissible].max()
    reward = np.where(mean < largest, plays * divergence(mean, largest), 0.0)
    risk = np.maximum(0.0, against - discount * math.log(1.0 + math.log(t)))
    return np.where(permissible, reward + risk + np.log(plays), np.inf)


def passes_independently(table, chance, soft, t, rho, alpha, random):
    """joint-ts: whether each draw keeps its optimism, with the evidence's own chance."""
    return random.random(rho.shape) < chance * (1.0 + soft * math.log(t))


def passes_jointly(table, chance, soft, t, rho, alpha, random):
    """joint-dirichlet: whether one of some draws of both means whose reward is at least rho is safe."""
    passed, above = np.zeros(rho.shape, bool), chance_of_reward(table, rho)
    for _ in range(1 + math.floor(soft * math.log(t))):
        waiting = np.flatnonzero(~passed)
        passed[waiting] = risks_given_reward(table, above[waiting], random) <= alpha
    return passed


@functools.cache
def chances_above(a, b):
    """Points of [0, 1], and the chance of Beta(a, b) to lie above each: between two so near it is a straight line."""
    points = np.linspace(0.0, 1.0, 10_001)
    return points, special.betaincc(a, b, points)


def chance_of_reward(table, least):
    """The chance that the reward p10 + p11 of a draw from Dirichlet(1/2 + table) is at least so much."""
    n00, n01, n10, n11 = np.asarray(table) + 0.5
    return np.interp(least, *chances_above(n10 + n11, n00 + n01))


def risks_given_reward(table, above, random):
    """The risks p01 + p11 of draws from Dirichlet(1/2 + table), each given that p10 + p11 is at least what it is with
    the chance `above`.
    """
    n00, n01, n10, n11 = np.asarray(table) + 0.5
    points, chances = chances_above(n10 + n11, n00 + n01)
    reward = np.interp(random.random(above.shape) * above, chances[::-1], points[::-1])
    return reward * random.beta(n11, n10, above.shape) + (1.0 - reward) * random.beta(n01, n00, above.shape)


def joint_draws(tables, passes, soft, t, alpha, size, random):
    """Who wins how often: every arm drawn, every arm against which there is evidence tested, ties at random."""
    values = np.empty((len(tables), size))
    for k, table in enumerate(tables):
        plays, ones, risks = sum(table), table[2] + table[3], table[1] + table[3]
        rho = random.beta(ones + 1, plays - ones + 1, size)
        against = float(tail_evidence(plays, risks, alpha))
        if against > 0.0:
            kept = passes(table, math.exp(-against), soft, t, rho, alpha, random)
            rho = np.where(kept, rho, np.minimum(rho, ones / plays))
        values[k] = rho
    lots = np.where(values == values.max(axis=0), random.random(values.shape), -1.0)
    return np.bincount(lots.argmax(axis=0), minlength=len(tables))


def same_law(found, others):
    """The p-value of "both counts are of one law", by chi-square; what is rare in both is taken together."""
    table = np.array([found, others])
    rare = table.sum(axis=0) < 40
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return stats.chi2_contingency(table, correction=False).pvalue if table.shape[1] > 1 else 1.0


def reduced_bit(key, play, value):
    """The bit that stands for an outcome between 0 and 1: SplitMix64's finaliser, in whole numbers of Python."""
    if value in (0, 1):
        return int(value)
    z = (int(key) + play * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    return int((z >> 11) / 2**53 < value)


legendre = functools.cache(np.polynomial.legendre.leggauss)


def chances_to_win(counts, prior=(1.0, 1.0)):
    """For each arm (plays, ones) the chance that its posterior draw is the largest, integrated over its quantiles."""
    laws = [stats.beta(ones + prior[0], plays - ones + prior[1]) for plays, ones in counts]
    nodes, weights = legendre(400)
    levels, chances = 0.5 * (nodes + 1.0), []
    for k, law in enumerate(laws):
        points = law.ppf(levels)
        others = np.prod([other.cdf(points) for j, other in enumerate(laws) if j != k], axis=0)
        chances.append(float(0.5 * weights @ others))
    assert abs(sum(chances) - 1.0) < 1e-4
    return np.array(chances) / sum(chances)
