"""Gates of fixed confidence: by SciPy and exact fractions; and how often they are ever wrong, exactly."""

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import optimize, special

from safebandit import Trial
from safebandit.core.indices import BayesUpper, BettingGate, KLUpper, MixtureGate, PosteriorGate, Thompson, evidence
from safebandit.core.indices.interface import learn, permits, start

from .. import driving, plain

limits = st.sampled_from([0.0, 0.05, 0.25, 0.35, 0.5, 0.9, 1.0])
bits = st.lists(st.sampled_from([0.0, 1.0]), max_size=40)
rounds = st.sampled_from([1, 30, 10**9])


@given(alpha=limits, risks=bits, t=rounds, gate=st.sampled_from([PosteriorGate(), PosteriorGate(0.6, 0)]))
@example(alpha=0.35, risks=[1.0] * 2, t=3, gate=PosteriorGate())
@example(alpha=0.35, risks=[1.0] * 3, t=4, gate=PosteriorGate())
@example(alpha=0.0, risks=[0.0] * 3, t=4, gate=PosteriorGate())
def test_the_posterior_gate_is_its_definition(alpha, risks, t, gate):
    one = driving.pair(BayesUpper(), gate, alpha).tell(risks)
    lower, permitted = one.gate(t)
    n, s = len(risks), int(sum(risks))
    above = float(special.betaincc(s + 1, n - s + 1, alpha))
    if n < gate.least:
        assert (lower, permitted) == (0.0, True)
    else:
        assert lower == pytest.approx(float(special.betaincinv(s + 1, n - s + 1, 1.0 - gate.confidence)), abs=1e-10)
        if abs(above - gate.confidence) > 1e-9:
            assert permitted == (above <= gate.confidence) == (lower <= alpha)
    against = -math.log(1.0 - above) if s > alpha * n and above < 1.0 else math.inf if s > alpha * n else 0.0
    assert evidence(gate, one.python(0, 1), alpha) == pytest.approx(against, rel=1e-6)


@given(
    alpha=limits,
    risks=bits,
    gate=st.builds(PosteriorGate, st.sampled_from([0.05, 0.5, 0.95]), st.just(3), st.sampled_from([0.05, 0.5, 3.0])),
)
@example(alpha=0.35, risks=[1.0] * 3, gate=PosteriorGate(odds=0.15))
@example(alpha=0.0, risks=[0.0] * 40, gate=PosteriorGate(odds=0.15))
@example(alpha=1.0, risks=[1.0] * 40, gate=PosteriorGate(0.05, odds=0.15))
def test_the_posterior_gate_with_a_point_at_alpha_is_its_definition(alpha, risks, gate):
    lower, permitted = driving.pair(BayesUpper(), gate, alpha).tell(risks).gate(1)
    n, s = len(risks), int(sum(risks))
    if n < gate.least:
        assert (lower, permitted) == (0.0, True)
        return
    # The odds of the point after s of n, in exact fractions, and the law of the mixture.
    after = Fraction(gate.odds) * Fraction(alpha) ** s * (1 - Fraction(alpha)) ** (n - s) * (n + 1) * math.comb(n, s)
    point = float(after / (1 + after))

    def chance_at_most(r):
        return (1 - point) * float(special.betainc(s + 1, n - s + 1, r)) + point * (r >= alpha)

    above = 1.0 - chance_at_most(alpha)
    if abs(above - gate.confidence) > 1e-9:
        assert permitted == (above <= gate.confidence) == (lower <= alpha)
    # The quantile: less than its level lies below it, and not less at it or below.
    level = 1.0 - gate.confidence
    assert chance_at_most(min(1.0, lower + 1e-8)) >= level - 1e-9
    assert chance_at_most(max(0.0, lower - 1e-8)) <= level + 1e-9 or lower == 0.0


def exact_wealth(s, n, r, a=1, b=1):
    """B(s+a, n-s+b) / (B(a, b) r^s (1-r)^(n-s)) in fractions, for whole a and b."""

    def beta(x, y):
        return Fraction(math.factorial(x - 1) * math.factorial(y - 1), math.factorial(x + y - 1))

    r = Fraction(r)
    return beta(s + a, n - s + b) / (beta(a, b) * r**s * (1 - r) ** (n - s))


@given(alpha=limits, risks=bits, t=rounds, prior=st.sampled_from([(1, 1), (2, 5)]))
@example(alpha=0.35, risks=[1.0] * 5, t=6, prior=(1, 1))
@example(alpha=0.5, risks=[0.0] * 40, t=6, prior=(1, 1))
def test_the_mixture_gate_is_its_definition(alpha, risks, t, prior):
    gate = MixtureGate(0.05, *map(float, prior))
    one = driving.pair(KLUpper(), gate, alpha).tell(risks)
    lower, permitted = one.gate(t)
    n, s = len(risks), int(sum(risks))
    if alpha in (0.0, 1.0):
        assert permitted == (s == 0 or alpha == 1.0) == (lower <= alpha)
        return
    wealth = exact_wealth(s, n, alpha, *prior)
    assert one.own(0, 1, 1)[0] == pytest.approx(math.log(wealth), abs=1e-11)
    assert permitted == (s <= alpha * n or wealth < 20)
    assert evidence(gate, one.python(0, 1), alpha) == pytest.approx(
        math.log(wealth) if s > alpha * n and wealth > 1 else 0.0, abs=1e-11
    )
    assert (lower <= alpha) == permitted or abs(lower - alpha) < 1e-12
    if s == 0:
        assert lower == 0.0
    elif n < 10**3:
        # The root of W(r) = 1/delta below the mean, by bisection.
        def excess(r):
            return math.log(exact_wealth(s, n, r, *prior)) - math.log(20)

        assert lower == pytest.approx(
            optimize.brentq(excess, 1e-9, s / n, xtol=1e-13) if excess(1e-9) > 0 else 0, abs=1e-8
        )


@given(risks=st.lists(st.sampled_from([0.0, 0.3, 1.0]), max_size=30), alpha=st.sampled_from([0.1, 0.35, 0.6]), t=rounds)
@example(risks=[1.0] * 12, alpha=0.35, t=1)
def test_the_betting_gate_is_that_of_betting_with_a_fixed_limit(risks, alpha, t):
    lower, permitted = driving.pair(Thompson(), BettingGate(0.1), alpha).tell(risks).gate(t)
    wealth = plain.log_wealth(risks, plain.stakes(risks, alpha), alpha)
    if abs(wealth - math.log(10)) > 1e-9:
        assert permitted == (wealth < math.log(10)) == (lower <= alpha)
        expected = plain.betting_lower_bound(risks, alpha, math.log(10)) if risks else 0.0
        assert lower == pytest.approx(min(1.0, expected), abs=1e-9)


def chance_ever_excluded(gate, nu, alpha, plays):
    """Over all paths of so many bits of mean nu, the chance that the gate ever closes: exact, by the counts (N, S).

    What the gate keeps depends on the counts alone; a path that was excluded is not followed further.
    """
    kept: list[float] = [0.0, 0.0]
    start(gate, kept, alpha)
    alive, excluded = {0: (1.0, kept)}, 0.0
    for n in range(1, plays + 1):
        after = {}
        for s, (chance, own) in alive.items():
            for bit in (0, 1):
                weight = chance * (nu if bit else 1.0 - nu)
                seen = SimpleNamespace(plays=n, ones=s + bit, own=list(own))
                if s + bit in after:
                    after[s + bit] = (after[s + bit][0] + weight, after[s + bit][1])
                    continue
                learn(gate, seen, float(bit), bit, alpha)
                after[s + bit] = (weight, seen.own)
        alive = {}
        for s, (chance, own) in after.items():
            if permits(gate, SimpleNamespace(plays=n, ones=s, own=own), n + 1, alpha, None):
                alive[s] = (chance, own)
            else:
                excluded += chance
    return excluded


@pytest.mark.parametrize(
    ("alpha", "delta", "prior"), [(0.35, 0.05, (1.0, 1.0)), (0.1, 0.2, (1.0, 1.0)), (0.5, 0.1, (2.0, 1.0))]
)
def test_the_mixture_gate_ever_excludes_a_safe_arm_as_rarely_as_promised(alpha, delta, prior):
    gate = MixtureGate(delta, *prior)
    at_alpha, below, above = (chance_ever_excluded(gate, nu, alpha, 100) for nu in (alpha, 0.8 * alpha, alpha + 0.3))
    # It was put to the test, the promise holds, and an unsafe arm is found out.
    assert 0.2 * delta < at_alpha <= delta
    assert 0.0 < below < at_alpha
    assert above > 0.9
    # Far below alpha W grows, too: without the condition on S the arm would be excluded for its safety.
    assert chance_ever_excluded(gate, 0.0, alpha, 100) == 0.0


def test_the_posterior_gate_promises_nothing_over_all_rounds_together():
    """That the computation can tell: at confidence .95 a risk of exactly alpha is excluded far more often than .05."""
    assert chance_ever_excluded(PosteriorGate(), 0.35, 0.35, 100) > 0.2


def test_the_betting_gate_ever_excludes_a_safe_arm_as_rarely_as_promised():
    """Its wealth depends on the order of the bits: every path of 13 is followed, in the compiled code."""
    delta, alpha = 0.3, 0.3
    one = driving.pair(Thompson(), BettingGate(delta), alpha).begin()

    def excluded(n, chance):
        if not one.gate(n + 1)[1]:
            return chance
        if n == 13:
            return 0.0
        before, total = one.memory.bytes.copy(), 0.0
        for bit in (0.0, 1.0):
            one.memory.bytes[:] = before
            one.learn(0, math.nan, bit)
            total += excluded(n + 1, chance * (alpha if bit else 1.0 - alpha))
        return total

    assert 0.1 * delta < excluded(0, 1.0) <= delta


@pytest.mark.parametrize(
    ("policy", "units"),
    [("bayes-upper+posterior-gate", 3), ("kl-upper+mixture-gate", 5), ("thompson+betting-gate", 6), ("tsbu", 2)],
)
def test_one_arm_on_which_everyone_is_harmed(policy, units):
    trial = Trial(["dose"], 0.35, policy, seed=1)
    for _ in range(units):
        trial.tell(trial.ask().id, reward=1, risk=1)
    assert trial.ask().held
