"""Systems of doses within arms: plain transcriptions ask for the same, bit for bit, on the same outcomes."""

import math

import numpy as np
import pytest

from safebandit.core.dosing import Ask, Doses, SafeLinear, SafeMonotonic, UniformDoses
from safebandit.errors import PolicyError

ALPHA, MOST, FIRST = 0.3, 1.0, 0.1


class Trial:
    """Outcomes of arms at doses, by a stream; every request is written down."""

    def __init__(self, rewards, risks, seed):
        self.rewards, self.risks, self.rng, self.asked = rewards, risks, np.random.default_rng(seed), []

    def give(self, k, dose, units):
        self.asked.append((k, dose, units))
        chances = self.rewards[k](dose), self.risks[k](dose)
        return tuple(self.rng.binomial(units, chance) / units for chance in chances)

    def conduct(self, system, doses):
        conduct = system.conduct(doses)
        try:
            ask = next(conduct)
            while True:
                ask = conduct.send(self.give(ask.arm, ask.dose, ask.units))
        except StopIteration as end:
            return end.value


def line(slope):
    return lambda dose: slope * dose


def safe_linear_plainly(trial, d, delta, parts):
    """Wang, Wagenmaker and Jamieson (2022), as their formulas stand, with whole arrays."""
    safe, active, i = np.full(d, FIRST), np.ones(d, bool), 1
    theta, mu, w = np.zeros(d), np.zeros(d), np.zeros(d)
    while active.sum() > 1:
        n = math.ceil(2 * 0.5**2 * 4 ** (i - 1) * math.log(parts * d * i**2 / delta))
        for k in np.flatnonzero(active):
            reward, risk = trial.give(int(k), float(safe[k]), n)
            theta[k], mu[k], w[k] = reward / safe[k], risk / safe[k], 2.0 ** (1 - i) / safe[k]
        safe = np.where(active, np.minimum(MOST, np.maximum(FIRST, ALPHA / np.maximum(mu + w, 1e-9))), safe)
        uncertain = np.minimum(MOST, ALPHA / np.maximum(mu - w, 1e-3))
        lower = np.where(active, safe * (theta - w), -np.inf)
        active &= uncertain * (theta + w) >= lower.max()
        i += 1
    return int(lower.argmax()), float(safe[lower.argmax()])


LINEAR = ([0.8, 0.6, 0.2], [0.9, 0.4, 0.5])


@pytest.mark.parametrize("parts", [1.0, 8.0])
def test_safe_linear_is_its_transcription(parts):
    for seed in range(5):
        ours, plain = (Trial([*map(line, LINEAR[0])], [*map(line, LINEAR[1])], seed) for _ in range(2))
        found = ours.conduct(SafeLinear(0.1, parts), Doses(3, ALPHA, MOST, (FIRST,) * 3, 0.9))
        assert found == safe_linear_plainly(plain, 3, 0.1, parts)
        assert ours.asked == plain.asked
        assert len(ours.asked) > 10


def safe_monotonic_plainly(trial, d, delta, tolerance, slope):  # noqa: C901
    """As its formulas stand, one flat loop; bounds of rewards keep the width with which they were made."""
    safe, unsafe, found = [FIRST] * d, [FIRST] * d, [False] * d
    least, most, active, epoch, count = [-math.inf] * d, [math.inf] * d, set(range(d)), 1, 0

    def evaluate(k, dose):
        nonlocal count
        count += 1
        return trial.give(k, dose, math.ceil(2 * 0.5**2 * math.log(8 * count**2 / delta) / eps**2))

    while len(active) > 1:
        eps = 2.0**-epoch
        for k in sorted(active):
            f, g = evaluate(k, safe[k])
            while ALPHA - g > 2 * eps and safe[k] < MOST:
                safe[k] = min(MOST, safe[k] + (ALPHA - g - eps) / slope)
                f, g = evaluate(k, safe[k])
            least[k] = max(least[k], f - eps)
            if safe[k] == MOST:
                most[k] = min(most[k], f + eps)
            elif not found[k]:
                unsafe[k] = max(unsafe[k], safe[k])
                while True:
                    f, g = evaluate(k, unsafe[k])
                    if g - eps >= ALPHA or unsafe[k] == MOST:
                        found[k], most[k] = True, min(most[k], f + eps)
                        break
                    if ALPHA + tolerance - g <= 2 * eps:
                        break
                    unsafe[k] = min(MOST, unsafe[k] + (ALPHA + tolerance - g - eps) / slope)
            else:
                middle = (safe[k] + unsafe[k]) / 2
                lower = None
                while lower is None and (unsafe[k] - middle) * slope > eps:
                    f, g = evaluate(k, middle)
                    if g - eps >= ALPHA:
                        lower = middle
                    middle = (middle + unsafe[k]) / 2
                unsafe[k] = unsafe[k] if lower is None else lower
                f = evaluate(k, unsafe[k])[0] if lower is None else f
                most[k] = min(most[k], f + eps)
        top = max(least[k] for k in active)
        best = next(k for k in sorted(active) if least[k] == top)
        active = {k for k in active if most[k] >= top}
        epoch += 1
    return best, safe[best]


def logistic(low, high):
    first, last = (math.log(p / (1 - p)) for p in (low, high))
    return lambda dose: 1 / (1 + math.exp(-first - (last - first) * dose))


# One arm is limited by its risk, one by the highest dose, one is poor.
CURVES = ([logistic(0.05, 0.95), line(0.25), line(0.1)], [logistic(0.02, 0.9), line(0.25), line(0.8)])


def test_safe_monotonic_is_its_transcription():
    for seed in range(5):
        ours, plain = (Trial(*CURVES, seed) for _ in range(2))
        found = ours.conduct(SafeMonotonic(0.1, 0.1, 1.6), Doses(3, ALPHA, MOST, (FIRST,) * 3, 9.0))
        assert found == safe_monotonic_plainly(plain, 3, 0.1, 0.1, 1.6)
        assert ours.asked == plain.asked
        assert {k for k, dose, _ in ours.asked if dose == MOST} == {1}


def test_equal_shares_answer_the_best_tolerated_dose():
    conduct = UniformDoses(2).conduct(Doses(2, ALPHA, MOST, (FIRST,) * 2, 1.0))
    means = {(0, 0.5): (0.4, 0.2), (0, 1.0): (0.8, 0.4), (1, 0.5): (0.3, 0.1), (1, 1.0): (0.5, 0.3)}
    ask = next(conduct)
    met = []
    for _ in range(8):
        met.append(ask)
        ask = conduct.send(means[ask.arm, ask.dose])
    assert [(each.arm, each.dose, each.units) for each in met] == [(*cell, n) for n in (1, 2) for cell in means]
    assert met[0].answer == (0, 0.5)
    assert ask == Ask(0, 0.5, 4, 3, (1, 1.0))


@pytest.mark.parametrize(
    ("system", "rule"),
    [
        (SafeLinear(delta=0), "delta must lie between 0 and 1, got 0"),
        (SafeMonotonic(delta=1.0), "delta must lie between 0 and 1, got 1.0"),
        (SafeLinear(parts=0), "parts must be above 0, got 0"),
        (SafeMonotonic(tolerance=0), "tolerance must be above 0, got 0"),
        (SafeMonotonic(slope=-1), "slope must be above 0, got -1"),
        (UniformDoses(0), "doses must be 1 to 10000, got 0"),
    ],
)
def test_bad_parameters_are_refused(system, rule):
    with pytest.raises(PolicyError, match=rule):
        system.checked()


@pytest.mark.parametrize("doses", [0, 10_001, 10**12])
def test_a_ladder_without_end_is_refused_at_the_door(doses):
    with pytest.raises(PolicyError, match="doses must be 1 to 10000"):
        UniformDoses(doses).checked()
