"""How late an outcome is heard of, in days: laws of delays as people write them, and as compiled code takes them."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from safebandit.core.delays import EXPONENTIAL, FIXED, UNIFORM, WEIBULL
from safebandit.core.naming import read_number, split_call
from safebandit.errors import InstanceError, suggest

# How each law is written, by its code.
FORMS = {
    "fixed": "a number of days",
    "uniform": "uniform:0..30",
    "exponential": "exponential:10",
    "weibull": "weibull:shape=2,scale=20",
}
# Below this a few delays would be longer than any number of days.
LEAST_SHAPE = 0.1
_RANGE = re.compile(r"(.+?)\.\.(.+)")


class Delay(NamedTuple):
    """A law of delays: its kind and two numbers, as `core/delays.py` has them."""

    kind: int
    a: float
    b: float = 0.0

    @property
    def longest(self) -> float:
        """No delay is longer than this."""
        return {FIXED: self.a, UNIFORM: self.b}.get(self.kind, math.inf)

    @property
    def mean(self) -> float:
        """How long it takes on average."""
        if self.kind == UNIFORM:
            return (self.a + self.b) / 2
        return self.b * math.gamma(1 + 1 / self.a) if self.kind == WEIBULL else self.a

    def words(self) -> str:
        """The law as people read it."""
        if self.kind == FIXED:
            return f"{self.a:g} days"
        if self.kind == UNIFORM:
            return f"{self.a:g} to {self.b:g} days"
        return f"{self.mean:.3g} days on average ({self.written()})"

    def written(self) -> float | str:
        """A number of days, or the text that `read_delay` reads back."""
        if self.kind == FIXED:
            return self.a
        if self.kind == UNIFORM:
            return f"uniform:{self.a!r}..{self.b!r}"
        return f"exponential:{self.a!r}" if self.kind == EXPONENTIAL else f"weibull:shape={self.a!r},scale={self.b!r}"


def read_delay(key: str, given: Any) -> Delay:
    """A law of delays from a number of days or a text.

    >>> read_delay("risk_delay", 7), read_delay("risk_delay", "uniform:0..30").longest
    (Delay(kind=0, a=7.0, b=0.0), 30.0)
    """
    if isinstance(given, Delay):
        return given
    if not isinstance(given, str):
        return Delay(FIXED, _days(key, given))
    name, _, rest = given.strip().partition(":")
    if not rest and not name[:1].isalpha():
        return Delay(FIXED, _days(key, name))
    if name not in FORMS:
        raise InstanceError(f'unknown law of {key} "{name}"; {suggest(name, FORMS)}')
    if name == "uniform":
        return _uniform(key, given, rest)
    if name == "weibull":
        return _weibull(key, given)
    return Delay(EXPONENTIAL if name == "exponential" else FIXED, _days(key, rest, given))


def _uniform(key: str, given: str, rest: str) -> Delay:
    ends = _RANGE.fullmatch(rest.strip())
    if ends is None:
        raise InstanceError(f"{key} must be written as {FORMS['uniform']}, got {given!r}")
    low, high = _days(key, ends[1], given), _days(key, ends[2], given)
    if low > high:
        raise InstanceError(f"{key} must run from the shortest delay to the longest, got {given!r}")
    return Delay(UNIFORM, low, high)


def _weibull(key: str, given: str) -> Delay:
    parameters = split_call(given, InstanceError)[1]
    if set(parameters) != {"shape", "scale"}:
        raise InstanceError(f"{key} must be written as {FORMS['weibull']}, got {given!r}")
    shape, scale = (_days(key, parameters[name], given) for name in ("shape", "scale"))
    if shape < LEAST_SHAPE:
        raise InstanceError(f"the shape of {key} must be at least {LEAST_SHAPE:g}, got {given!r}")
    return Delay(WEIBULL, shape, scale)


def _days(key: str, value: Any, shown: Any = None) -> float:
    days = float(read_number(key, value, float, InstanceError))
    if days < 0.0:
        raise InstanceError(f"{key} must be at least 0 days, got {value if shown is None else shown!r}")
    return days + 0.0
