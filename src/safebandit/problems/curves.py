"""Mean outcomes by dose: lists of numbers, or curves by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.naming import call_by_name, read_number
from safebandit.errors import InstanceError
from safebandit.problems.limits import check_unit, is_listed

# From doses to their means, of a range from the lowest dose to the highest.
Curve = Callable[[Any, float, float], Any]


def flat(value: float) -> Curve:
    """Every dose has the same mean."""
    level = check_unit("value", value)
    return lambda doses, *_: level + 0.0 * doses


def linear(low: float, high: float) -> Curve:
    """A straight line from `low` at the lowest dose to `high` at the highest."""
    first, last = check_unit("low", low), check_unit("high", high)
    return lambda doses, lowest, highest: first + (last - first) * _shares(doses, lowest, highest)


def logistic(low: float, high: float) -> Curve:
    """log(p / (1 - p)) is a straight line in the dose: p is `low` at the lowest dose and `high` at the highest."""
    first, last = _logit("low", low), _logit("high", high)
    return lambda doses, lowest, highest: (
        1.0 / (1.0 + np.exp(-first - (last - first) * _shares(doses, lowest, highest)))
    )


def emax(bottom: float, top: float, half: float) -> Curve:
    """From `bottom` towards `top`: bottom + (top - bottom) dose / (dose + half), half of the way at the dose `half`."""
    base, most = check_unit("bottom", bottom), check_unit("top", top)
    if not half > 0.0:
        raise InstanceError(f"half must be a dose above 0, got {half}")
    return lambda doses, *_: base + (most - base) * doses / (doses + half)


CURVES: dict[str, Callable[..., Curve]] = {"flat": flat, "linear": linear, "logistic": logistic, "emax": emax}


def read_curve(key: str, given: Any, arms: int, doses: Sequence[float] | None = None) -> list[float]:
    """The mean of every arm: from a list, or from a curve at the `doses`, which are 1, 2, ... unless given.

    >>> read_curve("nu", "linear:low=0.1,high=0.4", 4)
    [0.1, 0.2, 0.3, 0.4]
    """
    if not isinstance(given, str):
        if not is_listed(given):
            raise InstanceError(f"{key} must be a list of numbers, one per arm, or a curve by name, got {given!r}")
        return list(given)
    curve: Curve = call_by_name(given, CURVES, "curve", InstanceError)
    # Rounded, so that 0.1 + (0.4 - 0.1) / 3 is 0.2.
    read = _read_doses(doses, arms)
    means: list[float] = curve(read, read[0], read[-1]).round(12).tolist()
    return means


def _read_doses(doses: Any, arms: int) -> Numbers:
    if doses is None:
        return np.arange(1.0, arms + 1)
    read = [float(read_number("a dose", dose, float, InstanceError)) for dose in doses]
    if len(read) != arms:
        raise InstanceError(f"there must be one dose per arm ({arms}), got {len(read)}")
    if min(read) < 0.0 or any(np.diff(read) <= 0.0):
        raise InstanceError(f"doses must ascend from 0 or above, got {', '.join(f'{dose:g}' for dose in read)}")
    return np.array(read)


def _shares(doses: Any, lowest: float, highest: float) -> Any:
    """How far each dose lies on the way from the lowest to the highest."""
    return (doses - lowest) / max(highest - lowest, 1e-300)


def _logit(key: str, value: Any) -> float:
    p = check_unit(key, value)
    if not 0.0 < p < 1.0:
        raise InstanceError(f"{key} of a logistic curve must lie inside (0, 1), got {value}")
    return math.log(p / (1.0 - p))
