"""Ridge regression, one outcome at a time: the coefficients of a linear model, and how well they are known.

Of units with features x and outcomes y so far, V = ridge I + sum x x' and b = sum y x. The coefficients are V^-1 b, and
a unit of features x is known up to ||x|| = sqrt(x' V^-1 x). Kept is the Cholesky factor, V = L L', which one outcome
changes by rotations: no matrix is ever inverted, and no error grows, as it does in an inverse that is updated. What is
computed with it begins at the first feature that is not 0, and skips what stays 0.

All numbers of a regression lie behind one another: the factor column by column, 1 / its diagonal, b, the coefficients,
those of a draw, log det(V / ridge), and how many outcomes there are. `first` is where they begin. They are passed as a
bare pointer, as records of arms are.
"""

from __future__ import annotations

import math
from typing import Any

from safebandit.core.arms import at
from safebandit.core.dispatch import inlined


@inlined
def number(own: Any, i: int) -> float:
    """One of the numbers that a policy keeps."""
    return at(own, i).own[0]


@inlined
def keep(own: Any, i: int, value: float) -> None:
    """Change one of the numbers that a policy keeps."""
    at(own, i).own[0] = value


def ridge_size(dimension: int) -> int:
    """How many numbers a regression keeps."""
    return dimension * dimension + 4 * dimension + 2


@inlined
def ridge_place(j: int, dimension: int) -> int:
    """Where the numbers of regression j begin."""
    return j * (dimension * dimension + 4 * dimension + 2)


@inlined
def _inverse(first: int, d: int) -> int:
    return first + d * d


@inlined
def _sums(first: int, d: int) -> int:
    return first + d * d + d


@inlined
def _coefficients(first: int, d: int) -> int:
    return first + d * d + 2 * d


@inlined
def _drawn(first: int, d: int) -> int:
    return first + d * d + 3 * d


@inlined
def log_growth(own: Any, first: int, d: int) -> float:
    """Log det(V / ridge)."""
    return number(own, first + d * d + 4 * d)


@inlined
def outcomes_known(own: Any, first: int, d: int) -> float:
    """How many outcomes the regression knows."""
    return number(own, first + d * d + 4 * d + 1)


@inlined
def start_ridge(own: Any, first: int, d: int, ridge: float) -> None:
    """Nothing is known: V = ridge I."""
    for i in range(d * d + 4 * d + 2):
        keep(own, first + i, 0.0)
    root = math.sqrt(ridge)
    for i in range(d):
        keep(own, first + i * d + i, root)
        keep(own, _inverse(first, d) + i, 1.0 / root)


@inlined
def add_outcome(own: Any, first: int, d: int, features: Any, row: int, value: float, work: int) -> None:
    """Learn the outcome of a unit whose features lie in a row; `work` is where d numbers may be written."""
    for i in range(d):
        x = at(features, row * d + i).value
        keep(own, work + i, x)
        if x != 0.0:
            keep(own, _sums(first, d) + i, number(own, _sums(first, d) + i) + x * value)
    growth = 1.0
    for i in range(d):
        x = number(own, work + i)
        if x == 0.0:
            continue
        before = number(own, first + i * d + i)
        root = math.sqrt(before * before + x * x)
        c, s = before / root, x / root
        growth *= root / before
        keep(own, first + i * d + i, root)
        keep(own, _inverse(first, d) + i, 1.0 / root)
        for k in range(i + 1, d):
            below, rest = number(own, first + i * d + k), number(own, work + k)
            keep(own, first + i * d + k, c * below + s * rest)
            keep(own, work + k, c * rest - s * below)
    more = first + d * d + 4 * d
    keep(own, more, number(own, more) + 2.0 * math.log(growth))
    keep(own, more + 1, number(own, more + 1) + 1.0)
    _solve(own, first, d, work)


@inlined
def _solve(own: Any, first: int, d: int, work: int) -> None:
    """The coefficients: L z = b, then L' theta = z."""
    sums, inverse = _sums(first, d), _inverse(first, d)
    for i in range(d):
        keep(own, work + i, number(own, sums + i))
    for i in range(d):
        z = number(own, work + i) * number(own, inverse + i)
        keep(own, work + i, z)
        if z != 0.0:
            for k in range(i + 1, d):
                keep(own, work + k, number(own, work + k) - number(own, first + i * d + k) * z)
    _solve_back(own, first, d, work, _coefficients(first, d))


@inlined
def _solve_back(own: Any, first: int, d: int, right: int, to: int) -> None:
    """Solve L' v = the numbers at `right`, and write v."""
    for i in range(d - 1, -1, -1):
        rest = number(own, right + i)
        for k in range(i + 1, d):
            rest -= number(own, first + i * d + k) * number(own, to + k)
        keep(own, to + i, rest * number(own, _inverse(first, d) + i))


@inlined
def predicted(own: Any, first: int, d: int, features: Any, row: int) -> float:
    """The product x' theta: the mean outcome of a unit by the coefficients."""
    total = 0.0
    for i in range(d):
        total += at(features, row * d + i).value * number(own, _coefficients(first, d) + i)
    return total


@inlined
def predicted_by_draw(own: Any, first: int, d: int, features: Any, row: int) -> float:
    """The product x' theta~: the mean outcome of a unit by the coefficients of the last draw."""
    total = 0.0
    for i in range(d):
        total += at(features, row * d + i).value * number(own, _drawn(first, d) + i)
    return total


@inlined
def spread(own: Any, first: int, d: int, features: Any, row: int, work: int) -> float:
    """||x|| = sqrt(x' V^-1 x), by L y = x."""
    for i in range(d):
        keep(own, work + i, at(features, row * d + i).value)
    total = 0.0
    for i in range(d):
        y = number(own, work + i)
        if y == 0.0:
            continue
        y *= number(own, _inverse(first, d) + i)
        total += y * y
        for k in range(i + 1, d):
            keep(own, work + k, number(own, work + k) - number(own, first + i * d + k) * y)
    return math.sqrt(total)


@inlined
def draw_coefficients(own: Any, first: int, d: int, noise: int, scale: float) -> None:
    """theta~ = theta + scale L'^-1 eta, of covariance scale^2 V^-1 where eta, the numbers at `noise`, is standard."""
    drawn = _drawn(first, d)
    _solve_back(own, first, d, noise, drawn)
    for i in range(d):
        keep(own, drawn + i, number(own, _coefficients(first, d) + i) + scale * number(own, drawn + i))
