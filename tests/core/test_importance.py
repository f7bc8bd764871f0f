"""Means over decisions by recorded chances: a plain transcription, unbiased estimates, coverage at every look."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from safebandit.core.importance import _LOG_WEIGHTS, _RATES, Points, bounds, estimate, margin

MU = np.array([0.2, 0.5, 0.8])


def simulated(seed, units=200, missing=0.0):
    """A trial of three arms that draws by what it has seen, with a floor; and the greedy policy's chances beside it."""
    rng, plays, total = np.random.default_rng(seed), np.zeros(3), np.zeros(3)
    arm, value = np.zeros(units, int), np.zeros(units)
    chances, greedy, before = (np.zeros((units, 3)) for _ in range(3))
    for t in range(units):
        before[t] = (total + 0.5) / (plays + 1.0)
        softly = np.exp(5.0 * before[t])
        chances[t] = 0.05 + 0.85 * softly / softly.sum()
        greedy[t, before[t].argmax()] = 1.0
        arm[t] = np.searchsorted(chances[t].cumsum(), rng.random() * (1 - 1e-12))
        value[t] = rng.random() < MU[arm[t]]
        plays[arm[t]] += 1
        total[arm[t]] += value[t]
    value[rng.random(units) < missing] = np.nan
    return Points(arm, value, chances, before), greedy


def plain_lower(points, coefficients, confidence):
    """The lower end, unit by unit."""
    total, squares = 0.0, 0.0
    for arm, value, chances, before, c in zip(*points, coefficients, strict=True):
        held = []
        for k in range(len(c)):
            v = c[k] / chances[k]
            room = 1.0 / abs(v) if v != 0.0 else math.inf
            held.append(min(before[k], room) if v > 0.0 else max(before[k], 1.0 - room))
        v = c[arm] / chances[arm]
        outward = 0.0 if v > 0.0 else 1.0
        x = v * ((outward if math.isnan(value) else value) - held[arm])
        assert x >= -1.0 - 1e-12
        total += sum(c[k] * held[k] for k in range(len(c))) + x
        squares += x * x
    return (total - margin(squares, confidence)) / len(points.arm)


def test_the_margin_is_where_the_mixture_reaches_its_level():
    assert np.exp(_LOG_WEIGHTS).sum() <= 1.0
    for squares in (0.0, 3.0, 250.0, 1e5):

        def wealth(s, squares=squares):
            costs = [-math.log(1.0 - rate) - rate for rate in _RATES]
            parts = zip(_LOG_WEIGHTS, _RATES, costs, strict=True)
            return math.log(sum(math.exp(w + rate * s - cost * squares) for w, rate, cost in parts)) - math.log(40.0)

        root = optimize.brentq(wealth, 0.0, 50.0 + 10.0 * math.sqrt(squares))
        assert margin(squares, 0.975) == pytest.approx(root, rel=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_bounds_are_those_of_the_definition(missing):
    points, greedy = simulated(3, units=60, missing=missing)
    for coefficients in (greedy, points.chances, greedy - points.chances):
        low, high = bounds(points, coefficients, 0.95)
        assert low == pytest.approx(plain_lower(points, coefficients, 0.975), abs=1e-12)
        assert high == pytest.approx(-plain_lower(points, -coefficients, 0.975), abs=1e-12)
        assert low < estimate(points, coefficients) < high


def test_the_mean_over_decisions_is_estimated_without_bias_and_covered_at_every_look():
    errors, missed, trials = [], 0, 80
    for seed in range(trials):
        points, greedy = simulated(seed)
        for n in (10, 50, 100, 200):
            so_far = Points(*(part[:n] for part in points))
            low, high = bounds(so_far, greedy[:n], 0.9)
            if not low <= (greedy[:n] @ MU).mean() <= high:
                missed += 1
                break
        errors.append(estimate(points, greedy) - (greedy @ MU).mean())
    # An unbiased estimate is this far off in 7 of a million cases; a sequence that errs in 10 % of trials misses more
    # often in one of ten thousand.
    assert abs(np.mean(errors)) < 4.5 * np.std(errors) / math.sqrt(trials)
    assert missed <= stats.binom.ppf(1 - 1e-4, trials, 0.1)
    assert high - low < 0.3  # and it says something
