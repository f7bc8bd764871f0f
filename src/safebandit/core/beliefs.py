"""What Beta posteriors say of the best safe arm: who it is, what each arm costs, and what each would teach.

Priors are flat, and a risk also has a point of mass at its limit, which is safe; given the data all means are
independent. Write P_k for the chance that arm k is safe, G_k for the law of its mean reward, F_k = 1 - P_k (1 - G_k)
for that of its reward where 0 stands for an unsafe arm, M for the largest reward of the safe arms other than k, 0 if
there are none, and Y for the largest excess of a risk of k over its limit, 0 if there is none. Then, for arm k:

    its chance to be the best safe arm   P_k * integral of g_k * product of F_j over j other than k
    its cost, max(best - reward, Y, 0)   Y + (M - reward - Y)_+, because Y is never negative
    what it teaches                      the variance of its mean reward and risks over who the best safe arm is

All are integrals over one variable of products of the laws of single arms, and no draw is needed. A law is a table on
an even grid of logits as wide as the posterior; all laws meet on a common grid that steps as finely as the narrowest
posterior there. On logits Beta densities fade on both sides, so that the trapezoid rule is nearly exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.bernoulli import binomial_pmf, binomial_tail, point_mass
from safebandit.core.dispatch import compiled, inlined

# How many points a table has, and how many deviations, or powers of e in a tail that fades as slowly, it reaches.
POINTS = 24
REACH = 5.0
TAIL = 9.0
# Where an integral over the excess of a risk is computed, on [-1, 1], and its weights: Gauss and Legendre's.
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# Excesses of a smaller chance cost nothing; answers of a smaller one are not asked what they would mean.
NEGLIGIBLE = 1e-9
UNHEARD_OF = 1e-12
LEAST = 1e-300


class Laws(NamedTuple):
    """Tables of Beta laws, one per row: the first logit, the step, and at each point its value, the chance to lie below
    it and the density per step.
    """

    first: Numbers
    step: Numbers
    value: Numbers
    below: Numbers
    density: Numbers


class Beliefs(NamedTuple):
    """Of each arm: the chance to be safe and to be the best safe arm, its expected cost, and what a play teaches."""

    safe: Numbers
    best: Numbers
    cost: Numbers
    lesson: Numbers


class Risks(NamedTuple):
    """Of each arm: the chance to be safe; per risk its mean, and its mean over truths in which the arm is safe, and no
    more than its chance there; and the excess over the limits, as places with weights that add up to 1 - safe.
    """

    safe: Numbers
    mean: Numbers
    mean_safe: Numbers
    excess: Numbers
    weight: Numbers


class Places(NamedTuple):
    """The common grid: logits and their values; and per place and arm the chance to lie below, the density, the chance
    F not to be better and safe, and the mean reward and risks given that.
    """

    logit: Numbers
    value: Numbers
    below: Numbers
    density: Numbers
    not_better: Numbers
    reward: Numbers
    risk: Numbers


@compiled
def new_laws(rows: int) -> Laws:
    """Room for so many tables."""
    shape = (rows, POINTS)
    return Laws(np.empty(rows), np.empty(rows), np.empty(shape), np.empty(shape), np.empty(shape))


@compiled
def tabulate(laws: Laws, row: int, a: float, b: float) -> None:
    """Write the table of Beta(a, b). Its density on logits is x^a (1-x)^b / B(a, b), of slope a - (a+b) x per density.

    The chance to lie below is summed up by the trapezoid rule with its correction by slopes, of the fourth order.
    """
    deviation, middle = math.sqrt(1.0 / a + 1.0 / b), math.log(a / b)
    first = middle - max(REACH * deviation, TAIL / a)
    step = (middle + max(REACH * deviation, TAIL / b) - first) / (POINTS - 1)
    highest = -a * math.log1p(b / a) - b * math.log1p(a / b)
    total, before, slope_before = 0.0, 0.0, 0.0
    for i in range(POINTS):
        logit = first + i * step
        odds_against = math.exp(-logit)
        value, log_value = 1.0 / (1.0 + odds_against), -math.log1p(odds_against)
        density = step * math.exp(a * log_value + b * (log_value - logit) - highest)
        slope = density * (a - (a + b) * value) * step
        if i > 0:
            total += 0.5 * (before + density) + (slope_before - slope) / 12.0
        laws.value[row, i], laws.below[row, i], laws.density[row, i] = value, total, density
        before, slope_before = density, slope
    for i in range(POINTS):
        laws.below[row, i] /= total
        laws.density[row, i] /= total
    laws.first[row], laws.step[row] = first, step


@inlined
def look_up(laws: Laws, row: int, logit: float) -> tuple[float, float]:
    """The chance to lie below a logit and the density there, by the cubic that has the table's values and slopes."""
    place = (logit - laws.first[row]) / laws.step[row]
    if not place > 0.0:
        return 0.0, 0.0
    if place >= POINTS - 1:
        return 1.0, 0.0
    i = int(place)
    x = place - i
    rise = laws.below[row, i + 1] - laws.below[row, i]
    left, right = laws.density[row, i], laws.density[row, i + 1]
    cubic, square = left + right - 2.0 * rise, 3.0 * rise - 2.0 * left - right
    below = laws.below[row, i] + x * (left + x * (square + x * cubic))
    return below, (left + x * (2.0 * square + 3.0 * x * cubic)) / laws.step[row]


@compiled
def weigh(rewards: Numbers, risks: Numbers, limits: Numbers, odds: float) -> Beliefs:
    """What is believed of every arm. `rewards` has the plays and the ones of each arm, `risks` those of each of its
    risks; `odds` are the prior odds that a risk is exactly at its limit.
    """
    arms = rewards.shape[0]
    beliefs = Beliefs(np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms))
    side = _weigh_risks(risks, limits, odds)
    laws = new_laws(arms)
    for k in range(arms):
        tabulate(laws, k, rewards[k, 1] + 1.0, rewards[k, 0] - rewards[k, 1] + 1.0)
    places = _meet(laws, rewards, side)
    _weigh_arms(laws, rewards, side, places, beliefs)
    return beliefs


@compiled
def _weigh_risks(risks: Numbers, limits: Numbers, odds: float) -> Risks:
    arms, count = risks.shape[:2]
    side = Risks(
        np.ones(arms),
        np.empty((arms, count)),
        np.empty((arms, count)),
        np.zeros((arms, _PLACES.size)),
        np.zeros((arms, _PLACES.size)),
    )
    laws, points, safe = new_laws(count), np.empty(count), np.empty(count)
    for k in range(arms):
        for j in range(count):
            plays, harms, limit = risks[k, j, 0], risks[k, j, 1], limits[j]
            mean = (harms + 1.0) / (plays + 2.0)
            point = point_mass(harms, plays, limit, odds)
            below = binomial_tail(harms + 1.0, plays + 1.0, limit)
            # E[X ; X <= limit] of X ~ Beta(a, b) is mean * P(X <= limit) - limit^a (1 - limit)^b / (B(a, b) (a + b)).
            edge = limit * (1.0 - limit) * (plays + 1.0) * binomial_pmf(harms, plays, limit)
            safe[j] = point + (1.0 - point) * below
            points[j] = point
            side.mean[k, j] = point * limit + (1.0 - point) * mean
            side.mean_safe[k, j] = point * limit + (1.0 - point) * max(0.0, mean * below - edge / (plays + 2.0))
            side.safe[k] *= safe[j]
            tabulate(laws, j, harms + 1.0, plays - harms + 1.0)
        for j in range(count):
            side.mean_safe[k, j] *= side.safe[k] / max(safe[j], LEAST)
        if 1.0 - side.safe[k] > NEGLIGIBLE:
            _spread_excess(laws, points, limits, 1.0 - side.safe[k], side.excess[k], side.weight[k])
    return side


@compiled
def _spread_excess(
    laws: Laws, points: Numbers, limits: Numbers, total: float, excess: Numbers, weight: Numbers
) -> None:
    """Places and weights of the largest excess of an arm's risks over their limits, where there is one."""
    low, high = 0.0, 0.0
    for j in range(limits.size):
        low = max(low, laws.value[j, 0] - limits[j])
        high = max(high, laws.value[j, POINTS - 1] - limits[j])
    added = 0.0
    for i in range(_PLACES.size):
        y = low + 0.5 * (1.0 + _PLACES[i]) * (high - low)
        product, hazard = 1.0, 0.0
        for j in range(limits.size):
            x = limits[j] + y
            if x < 1.0:
                below, density = look_up(laws, j, math.log(x / (1.0 - x)))
                within = points[j] + (1.0 - points[j]) * below
                product *= within
                hazard += (1.0 - points[j]) * density / (x * (1.0 - x) * max(within, LEAST))
        excess[i], weight[i] = y, _WEIGHTS[i] * 0.5 * (high - low) * product * max(0.0, hazard)
        added += weight[i]
    # Beyond the reach of the tables there is next to nothing.
    scale = total / added if 2.0 * added > total else 0.0
    for i in range(_PLACES.size):
        weight[i] *= scale


@compiled
def _common_grid(laws: Laws) -> Numbers:
    """Logits from the least to the greatest of all tables, each step as fine as the finest table there."""
    rows = laws.first.size
    grid = np.empty(rows * (POINTS + 1) + 1)
    logit, size = laws.first.min(), 0
    while logit < math.inf:
        grid[size] = logit
        size += 1
        after = math.inf
        for k in range(rows):
            first, step = laws.first[k], laws.step[k]
            if first > logit:
                after = min(after, first)
            elif logit < first + (POINTS - 1.001) * step:
                after = min(after, logit + step)
        logit = after
    return grid[:size]


@compiled
def _meet(laws: Laws, rewards: Numbers, side: Risks) -> Places:
    logit = _common_grid(laws)
    size, arms, count = logit.size, rewards.shape[0], side.mean.shape[1]
    shape = (size, arms)
    places = Places(
        logit, np.empty(size), np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape),
        np.empty((size, arms, count)),
    )  # fmt: skip
    for i in range(size):
        places.value[i] = 1.0 / (1.0 + math.exp(-logit[i]))
        for k in range(arms):
            below, density = look_up(laws, k, logit[i])
            n, safe = rewards[k, 0] + 2.0, side.safe[k]
            mean = (rewards[k, 1] + 1.0) / n
            rest = max(1.0 - safe * (1.0 - below), LEAST)
            places.below[i, k], places.density[i, k], places.not_better[i, k] = below, density, rest
            # E[X ; X <= x] of X ~ Beta is mean * P(X <= x) less the density on logits over a + b.
            places.reward[i, k] = mean - safe * density / (n * rest)
            for j in range(count):
                places.risk[i, k, j] = (side.mean[k, j] - (1.0 - below) * side.mean_safe[k, j]) / rest
    return places


@compiled
def _weigh_arms(laws: Laws, rewards: Numbers, side: Risks, places: Places, beliefs: Beliefs) -> None:
    size, arms = places.below.shape
    count = side.mean.shape[1]
    everyone, hazard = np.ones(size), np.zeros(size)
    for i in range(size):
        for k in range(arms):
            everyone[i] *= places.not_better[i, k]
            hazard[i] += side.safe[k] * places.density[i, k] / places.not_better[i, k]
    others, slope, ahead = np.empty(size), np.empty(size), np.empty(size)
    reward, risk = np.empty(arms), np.empty((arms, count))
    beliefs.lesson[:] = 0.0
    for k in range(arms):
        for i in range(size):
            others[i] = everyone[i] / places.not_better[i, k]
            slope[i] = others[i] * (hazard[i] - side.safe[k] * places.density[i, k] / places.not_better[i, k])
        beliefs.safe[k] = side.safe[k]
        beliefs.best[k] = _condition(k, rewards, side, places, others, slope, reward, risk)
        _add_lessons(beliefs.best[k], reward, risk, rewards, side, beliefs.lesson)
        direct = _run_ahead(k, places, others, slope, ahead)
        beliefs.cost[k] = side.safe[k] * direct + _cost_of_excess(k, laws, side, places, others, ahead)
    none = 1.0
    for k in range(arms):
        none *= 1.0 - side.safe[k]
    for k in range(arms):
        reward[k] = (rewards[k, 1] + 1.0) / (rewards[k, 0] + 2.0)
        for j in range(count):
            risk[k, j] = (side.mean[k, j] - side.mean_safe[k, j]) / max(1.0 - side.safe[k], LEAST)
    _add_lessons(none, reward, risk, rewards, side, beliefs.lesson)


@compiled
def _condition(
    k: int,
    rewards: Numbers,
    side: Risks,
    places: Places,
    others: Numbers,
    slope: Numbers,
    reward: Numbers,
    risk: Numbers,
) -> float:
    """The chance that arm k is the best safe arm; every arm's mean reward and risks, given that, are written."""
    size, arms = places.below.shape
    reward[:], risk[:, :] = 0.0, 0.0
    a, n = rewards[k, 1] + 1.0, rewards[k, 0] + 2.0
    total, value = 0.0, 0.0
    for i in range(size):
        left = places.logit[i] - places.logit[i - 1] if i > 0 else 0.0
        right = places.logit[i + 1] - places.logit[i] if i < size - 1 else 0.0
        density = side.safe[k] * places.density[i, k] * others[i]
        change = density * (a - n * places.value[i]) + side.safe[k] * places.density[i, k] * slope[i]
        # The trapezoid rule, and its correction by slopes where steps differ.
        weight = 0.5 * (left + right) * density + change * (right * right - left * left) / 12.0
        if weight != 0.0:
            total += weight
            value += weight * places.value[i]
            for j in range(arms):
                reward[j] += weight * places.reward[i, j]
                for m in range(risk.shape[1]):
                    risk[j, m] += weight * places.risk[i, j, m]
    for j in range(arms):
        reward[j] /= max(total, LEAST)
        for m in range(risk.shape[1]):
            risk[j, m] /= max(total, LEAST)
    reward[k] = value / max(total, LEAST)
    for m in range(risk.shape[1]):
        risk[k, m] = side.mean_safe[k, m] / max(side.safe[k], LEAST)
    return min(1.0, max(0.0, total))


@compiled
def _add_lessons(chance: float, reward: Numbers, risk: Numbers, rewards: Numbers, side: Risks, lesson: Numbers) -> None:
    """Add how far each arm's means lie from what is expected now, given one answer to who is best, by its chance."""
    if chance < UNHEARD_OF:
        return
    for k in range(lesson.size):
        gap = reward[k] - (rewards[k, 1] + 1.0) / (rewards[k, 0] + 2.0)
        square = gap * gap
        for j in range(risk.shape[1]):
            gap = risk[k, j] - side.mean[k, j]
            square += gap * gap
        lesson[k] += chance * square


@compiled
def _run_ahead(k: int, places: Places, others: Numbers, slope: Numbers, ahead: Numbers) -> float:
    """E(M - x)_+ at every place x, by its integral of P(M > z) over z above x; and E(M - reward)_+ of arm k.

    Both integrals are trapezoids with their correction by slopes.
    """
    size = places.logit.size
    ahead[size - 1] = 0.0
    total, last, last_slope, product, product_slope = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(size - 1, -1, -1):
        x, below = places.value[i], places.below[i, k]
        width = x * (1.0 - x)
        now = (1.0 - others[i]) * width
        now_slope = (1.0 - others[i]) * width * (1.0 - 2.0 * x) - slope[i] * width
        both, both_slope = now * below, now_slope * below + now * places.density[i, k]
        if i < size - 1:
            step = places.logit[i + 1] - places.logit[i]
            bend = step * step / 12.0
            ahead[i] = ahead[i + 1] + 0.5 * step * (now + last) + bend * (now_slope - last_slope)
            total += 0.5 * step * (both + product) + bend * (both_slope - product_slope)
        last, last_slope, product, product_slope = now, now_slope, both, both_slope
    return total


@compiled
def _cost_of_excess(k: int, laws: Laws, side: Risks, places: Places, others: Numbers, ahead: Numbers) -> float:
    """E[Y + (M - reward - Y)_+ ; Y > 0] of arm k. Every other point of the reward's table is enough."""
    cost, size = 0.0, places.logit.size
    for q in range(side.excess.shape[1]):
        weight, y = side.weight[k, q], side.excess[k, q]
        if weight < NEGLIGIBLE:
            continue
        gain, chance, i = 0.0, 0.0, 0
        for point in range(0, POINTS, 2):
            x = laws.value[k, point] + y
            chance += laws.density[k, point]
            if x >= places.value[size - 1]:
                continue
            while places.value[i + 1] < x:
                i += 1
            width = places.value[i + 1] - places.value[i]
            u = (x - places.value[i]) / width
            rise, left, right = ahead[i + 1] - ahead[i], (others[i] - 1.0) * width, (others[i + 1] - 1.0) * width
            cubic, square = left + right - 2.0 * rise, 3.0 * rise - 2.0 * left - right
            gain += laws.density[k, point] * (ahead[i] + u * (left + u * (square + u * cubic)))
        cost += weight * (y + gain / chance)
    return cost
