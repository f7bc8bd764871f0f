"""Scalar formulas: the Bernoulli divergence and its inverses, the binomial tail, the Beta law.

Nothing here knows of arms. Every function is compiled, is called alike from Python and from the
simulator, and is sound at the edges: means of 0 and 1, no plays, 10^9 plays, tiny and huge budgets.
"""

from __future__ import annotations

import math

from safebandit.core.dispatch import inlined, shared

SERIES_BELOW = 0.01
NEWTON_STEPS = 60
HALF_LOG_TWO_PI = 0.9189385332046727
TINY = 1e-300
# Below this the carried tail has lost digits to rounding, and is computed afresh.
TAIL_REFRESH_BELOW = 1e-7
TAIL_REFRESH_EVERY = 65_536


@inlined
def _phi(x: float) -> float:
    """(1 + x) log(1 + x) - x, without cancellation near 0."""
    if x <= -1.0:
        return 1.0
    if abs(x) >= SERIES_BELOW:
        return (1.0 + x) * math.log(1.0 + x) - x
    # sum over j >= 2 of (-x)^j / (j (j - 1))
    y = -x
    s = 1.0 / 90.0
    for j in range(9, 1, -1):
        s = s * y + 1.0 / (j * (j - 1.0))
    return s * y * y


@inlined
def divergence(p: float, q: float) -> float:
    """d(p||q) = p log(p/q) + (1-p) log((1-p)/(1-q)), between Bernoulli laws of means p and q (setup section).

    Both terms of the form used are non-negative, so that nothing cancels when p is near q.

    >>> round(divergence(0.5, 0.25), 6)
    0.143841
    """
    if p == q:
        return 0.0
    if q <= TINY or q >= 1.0:
        return _divergence_at_edge(p, q)
    return q * _phi((p - q) / q) + (1.0 - q) * _phi((q - p) / (1.0 - q))


@shared
def _divergence_at_edge(p: float, q: float) -> float:
    """d(p||q) where q is 0 or 1, or so near 0 that dividing by it may overflow; p is another number."""
    if q <= 0.0 or q >= 1.0:
        return math.inf
    first = p * (math.log(p) - math.log(q)) if p > 0.0 else 0.0
    rest = (1.0 - p) * (math.log1p(-p) + q) if p < 1.0 else 0.0
    return max(0.0, first + rest)


@inlined
def divergence_below(p: float, q: float) -> float:
    """d_<(p||q): the divergence where p < q, else 0 (setup section)."""
    return divergence(p, q) if p < q else 0.0


@inlined
def divergence_above(p: float, q: float) -> float:
    """d_>(p||q): the divergence where p > q, else 0 (setup section)."""
    return divergence(p, q) if p > q else 0.0


@inlined
def kl_upper(p: float, budget: float) -> float:
    """max{ q >= p : d(p||q) <= budget } (section on doubly optimistic confidence bounds).

    >>> round(kl_upper(0.5, 0.1), 4)
    0.7129
    """
    return kl_upper_from(p, budget, 0.0, 1e-8)


@shared
def kl_upper_from(p: float, budget: float, start: float, close: float) -> float:  # noqa: C901, PLR0911
    """kl_upper(p, budget), sooner where `start` is near it: an index of a round ago, or of a play ago.

    The error is about the square of `close`, a share of the distance to p or to 1.

    d is convex in q: a Newton step from anywhere lands right of the root, and from there they descend to it. From far
    left the first step may land far right, so it is held below a bound that is known to lie right of the root.
    """
    if p >= 1.0:
        return 1.0
    if budget <= 0.0:
        return p
    if p <= 0.0:
        return -math.expm1(-budget)
    step = 0.0
    if p < start < 1.0:
        step = (divergence(p, start) - budget) * start * (1.0 - start) / (start - p)
        if abs(step) <= close * (start - p) and abs(step) <= close * (1.0 - start):
            return start - step
    # Right of the root, by Pinsker's inequality and, for small p, by Bernstein's.
    highest = p + math.sqrt(0.5 * budget)
    other = p + budget + math.sqrt(budget * (budget + 2.0 * p))
    highest = min(highest, other)
    near = p < start < highest
    # Else from the root's expansion for a small budget.
    q = start if near else p + math.sqrt(2.0 * p * (1.0 - p) * budget) + (1.0 - 2.0 * p) * budget * (2.0 / 3.0)
    if not p < q < highest or highest >= 1.0:
        entropy = -p * math.log(p) - (1.0 - p) * math.log1p(-p)
        other = -math.expm1(-(budget + entropy) / (1.0 - p))
        highest = other if other < highest else highest
        q = q if near and q < highest else highest
    for i in range(NEWTON_STEPS):
        if q >= 1.0:
            return 1.0
        if q <= p:
            return p
        before = q
        # The step from the start is known already.
        if i > 0 or q != start:
            step = (divergence(p, q) - budget) * q * (1.0 - q) / (q - p)
        q -= step
        if i == 0 and q > highest:
            q = highest
        # The error after a step is about its square over the distance to p or 1.
        if abs(before - q) <= close * (q - p) and abs(before - q) <= close * (1.0 - q):
            break
    return q if q > p else p


@inlined
def kl_exceeds(p: float, n: float, budget: float, bar: float) -> bool:
    """Whether kl_upper(p, budget / n) > bar, without inverting: n d(p||bar) < budget.

    Where p is near the bar, the first terms of the divergence's series bound it from both sides, and mostly decide.

    >>> kl_exceeds(0.5, 100, 10.0, 0.71), kl_exceeds(0.5, 100, 10.0, 0.72)
    (True, False)
    """
    if p > bar:
        return True
    width = bar * (1.0 - bar)
    gap = bar - p
    if gap < 0.25 * width and width > 1e-60:
        # The terms times 6 width^3, which must not underflow: a division would take longer than all else here.
        part, spent = n * gap * gap, 6.0 * width * width * width * budget
        first = width * (3.0 * width + gap * (1.0 - 2.0 * bar))
        if part * (first + gap * gap) < spent:
            return True
        if part * first >= spent:
            return False
    return n * divergence(p, bar) < budget


@inlined
def kl_lower(p: float, budget: float) -> float:
    """min{ q <= p : d(p||q) <= budget }, by symmetry.

    >>> round(kl_lower(0.5, 0.1), 4)
    0.2871
    """
    return 1.0 - kl_upper(1.0 - p, budget)


@inlined
def _stirling_error(n: float) -> float:
    """The error of Stirling's formula: log n! - log( sqrt(2 pi n) (n/e)^n )."""
    if n < 16.0:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - HALF_LOG_TWO_PI
    m = 1.0 / (n * n)
    return (1.0 / 12.0 - m * (1.0 / 360.0 - m * (1.0 / 1260.0 - m * (1.0 / 1680.0 - m / 1188.0)))) / n


@inlined
def binomial_pmf(s: float, n: float, p: float) -> float:
    """P(Bin(n, p) = s), by the divergence and Stirling's series.

    Its relative error, and that of `binomial_tail`, is at most 1e-12 up to n = 1,000, and 1e-8 up to n = 10^9.

    >>> round(binomial_pmf(2, 4, 0.5), 6)
    0.375
    """
    if s < 0 or s > n:
        return 0.0
    if p <= 0.0 or p >= 1.0:
        return 1.0 if s == (0 if p <= 0.0 else n) else 0.0
    if s == 0:
        return math.exp(n * math.log1p(-p))
    if s == n:
        return math.exp(n * math.log(p))
    shape = _stirling_error(n) - _stirling_error(s) - _stirling_error(n - s)
    # Of the two shares the smaller one has the more digits.
    away = divergence(s / n, p) if p <= 0.5 else divergence((n - s) / n, 1.0 - p)
    return math.exp(shape - n * away) * math.sqrt(n / (2.0 * math.pi * s * (n - s)))


@inlined
def point_mass(s: float, n: float, p: float, odds: float) -> float:
    """The posterior chance that a mean is exactly p, where s of n bits were 1.

    The prior puts odds / (1 + odds) on p and the rest flat on [0, 1]. The posterior odds of the point are
    odds p^s (1-p)^(n-s) / B(s+1, n-s+1), which is odds (n + 1) P(Bin(n, p) = s).

    >>> round(point_mass(1, 2, 0.5, 1.0), 6)
    0.6
    """
    after = odds * (n + 1.0) * binomial_pmf(float(s), float(n), p)
    return after / (1.0 + after)


@shared
def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete Beta function, by Lentz's method, for x < (a+1)/(a+b+2)."""
    c = 1.0
    d = 1.0 / max(TINY, 1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, 1_000_000):
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        fraction *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        change = d * c
        fraction *= change
        if abs(change - 1.0) < 1e-15:
            break
    return fraction


@shared
def binomial_tail(s: float, n: float, p: float) -> float:
    """P(Bin(n, p) >= s), which is I_p(s, n-s+1), for any real s >= 1 and n too; 1 where s = 0.

    >>> round(binomial_tail(2, 4, 0.5), 6)
    0.6875
    """
    if s <= 0:
        return 1.0
    if s > n or p <= 0.0:
        return 0.0
    if p >= 1.0:
        return 1.0
    a, b = float(s), n - s + 1.0
    if p < (a + 1.0) / (a + b + 2.0):
        return min(1.0, binomial_pmf(s, n, p) * (1.0 - p) * _beta_fraction(a, b, p))
    return max(0.0, 1.0 - binomial_pmf(s - 1, n, p) * p * _beta_fraction(b, a, 1.0 - p))


@inlined
def next_tail(
    tail: float, mass: float, s: int, n: int, p: float, risk: int, refresh_below: float = TAIL_REFRESH_BELOW
) -> tuple[float, float]:
    """(P(Bin >= s), P(Bin = s)) after one more play, in O(1): n -> n + 1, and s -> s + 1 where `risk` is 1.

    `mass` = 0 says that the pair is not carried: the arm lies far below p, its tail is at least 1/2 and stands
    as 1, until s exceeds n p. The pair is computed afresh there, where rounding could matter, and now and then; the
    absolute error stays below 1e-11 also where `refresh_below` is minus infinity.

    >>> next_tail(1.0, 1.0, 0, 0, 0.25, 1)
    (0.25, 0.25)
    """
    if mass <= TINY and risk == 0 and s <= n * p:
        # Further below p than before.
        return 1.0, 0.0
    if mass > TINY:
        # Written without branches: the processor cannot guess them.
        share, ways = p if risk else 1.0 - p, s + 1.0 if risk else n - s + 1.0
        more, less = mass * s * (1.0 - p) / ways, (1.0 - p) * mass
        tail += -less if risk else more
        mass *= share * (n + 1.0) / ways
    s += risk
    n += 1
    if mass > TINY and tail >= refresh_below and n % TAIL_REFRESH_EVERY != 0:
        return min(1.0, tail), mass
    mass = binomial_pmf(float(s), float(n), p)
    if mass <= TINY and s <= n * p:
        return 1.0, 0.0
    return binomial_tail(float(s), float(n), p), mass


@shared
def beta_below(a: float, b: float, x: float) -> float:
    """P(X <= x) of X ~ Beta(a, b), for any a and b above 0.

    Where a or b is below 1, that of a law with one more is computed, and the difference is added, in closed form.

    >>> round(beta_below(0.5, 0.5, 0.25), 6)
    0.333333
    """
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    rest = 0.0
    if a < 1.0:
        rest += _beta_mass(a, b, x) / a
        a += 1.0
    if b < 1.0:
        rest -= _beta_mass(a, b, x) / b
        b += 1.0
    return min(1.0, max(0.0, rest + binomial_tail(a, a + b - 1.0, x)))


@shared
def log_beta(a: float, b: float) -> float:
    """The logarithm of B(a, b)."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@inlined
def _beta_mass(a: float, b: float, x: float) -> float:
    """x^a (1-x)^b / B(a, b)."""
    return math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta(a, b))


@shared
def beta_quantile(a: float, b: float, level: float) -> float:
    """The `level` quantile of Beta(a, b), a >= 1: the p at which P(Bin(a+b-1, p) >= a) is `level`.

    Newton's method on the logarithm of the tail, held between bounds that close in on the root.

    >>> round(beta_quantile(2, 3, 0.5), 6)
    0.385728
    """
    low, high = 0.0, 1.0
    n = a + b - 1
    p = a / (a + b)
    for _ in range(200):
        tail = binomial_tail(a, n, p)
        if tail < level:
            low = p
        else:
            high = p
        slope = binomial_pmf(a, n, p) * a
        step = (math.log(level) - math.log(tail)) * tail / slope if tail > 0.0 and slope > 0.0 else math.nan
        after = p * math.exp(min(1.0, step))
        if abs(step) < 1e-14:
            return p
        if not low < after < high:
            after = 0.5 * (low + high)
            if after <= low or after >= high:
                break
        p = after
    return p


@shared
def chance_larger(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """P(X > Y) of X ~ Beta(a, b) and Y ~ Beta(c, d), whole numbers, and slope = B(a+c, b+d) / (B(a, b) B(c, d)).

    One more of a, b, c or d changes P(X > Y) by slope / a, -slope / b, -slope / c or slope / d. Hence it is the sum of
    slope / i over all i below a, or below d. Of it and of P(Y > X) the smaller is summed, from its largest terms on:
    some standard deviations' worth of them.

    >>> round(chance_larger(1, 1, 2, 1)[0], 6)
    0.333333
    """
    n = a + b + c + d
    p = (a + c) / n
    ways = binomial_pmf(a, a + b, p) * binomial_pmf(c, c + d, p) / binomial_pmf(a + c, n, p)
    slope = ways * (a * b / (a + b)) * (c * d / (c + d)) * (n / ((a + c) * (b + d)))
    if a * d <= b * c:
        return _chance_larger_by_terms(a, b, c, d, slope), slope
    return 1.0 - _chance_larger_by_terms(c, d, a, b, slope), slope


@shared
def _chance_larger_by_terms(a: float, b: float, c: float, d: float, slope: float) -> float:
    if d < a:
        # 1 - Y > 1 - X says the same, in fewer terms.
        a, b, c, d = d, c, b, a
    total, i = 0.0, a
    while i > 0.0:
        i -= 1.0
        # slope / i, from the slope at i + 1.
        term = slope * (i + b + c + d) / ((i + b) * (i + c))
        total += term
        if term <= 1e-17 * total:
            break
        slope = term * i
    return total
