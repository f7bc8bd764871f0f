"""What is known of a unit before it gets its arm: a context of named numbers, each in a range that the trial declares;
and the features of arms.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Features, Numbers
from safebandit.core.naming import read_number
from safebandit.errors import TrialError, suggest
from safebandit.names import find_name, read_name
from safebandit.problems.limits import is_listed
from safebandit.problems.linear import LARGEST_FEATURE

# What may be told of a unit's context: its numbers by name, or all in order.
AnyContext: TypeAlias = Mapping[str, float] | Sequence[float] | NDArray[np.float64]
# A context in the order in which its numbers are declared, as it was told.
Context: TypeAlias = tuple[float, ...]

MOST_NUMBERS = 100
# A policy that goes by features keeps matrices of this many rows, and each event writes them.
MOST_COEFFICIENTS = 500


class Range(NamedTuple):
    """One number of a context, and where it lies."""

    name: str
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.name}:{_short(self.low)}..{_short(self.high)}"


def read_declared(declared: Any) -> tuple[str, ...]:
    """The numbers of a context as settings keep them; a bare name means 0..1.

    >>> read_declared(["age:18..90", "smoker"])
    ('age:18..90', 'smoker:0..1')
    """
    if isinstance(declared, str) or not is_listed(declared):
        raise TrialError(f'context must be a list such as ["age:18..90", "smoker"], got {declared!r}')
    ranges = [_read_range(text) for text in declared]
    names = [each.name for each in ranges]
    if len(set(names)) < len(names):
        raise TrialError(f"names of a context must differ, got {', '.join(names)}")
    if len(names) > MOST_NUMBERS:
        raise TrialError(f"a context has at most {MOST_NUMBERS} numbers, got {len(names)}")
    return tuple(map(str, ranges))


def ranges_of(declared: Sequence[str]) -> tuple[Range, ...]:
    """The numbers of a context that settings declare."""
    return _ranges_of(tuple(declared))


@functools.lru_cache(maxsize=256)
def _ranges_of(declared: tuple[str, ...]) -> tuple[Range, ...]:
    return tuple(map(_read_range, declared))


def _read_range(text: Any) -> Range:
    name, colon, ends = text.partition(":") if isinstance(text, str) else (text, "", "")
    known = read_name("the name of a context's number", name, TrialError)
    if not colon:
        return Range(known, 0.0, 1.0)
    low, dots, high = ends.partition("..")
    if not dots:
        raise TrialError(f'a range is written as "age:18..90", got {text!r}')
    # Added to 0.0, a -0.0 loses its sign.
    first, last = (float(read_number(f"the range of {known}", each, float, TrialError)) + 0.0 for each in (low, high))
    if not (first < last and math.isfinite(last - first)):
        raise TrialError(f"the range of {known} must go from a number to a larger one, as age:18..90, got {ends}")
    return Range(known, first, last)


def _short(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def read_context(what: str, context: AnyContext | None, declared: Sequence[str]) -> Context:
    """The numbers of a context in order, each in its range; `what` is whose it is.

    >>> read_context("unit 'p1'", {"smoker": 1, "age": 44}, ["age:18..90", "smoker:0..1"])
    (44.0, 1.0)
    """
    ranges = ranges_of(declared)
    if context is None:
        if not ranges:
            return ()
        raise TrialError(f"{what} needs a context: {', '.join(declared)}; give context=")
    if not ranges:
        raise TrialError(f"units of this trial have no context, got {context!r} for {what}; leave it out")
    return tuple(
        _read_value(what, each, value) for each, value in zip(ranges, _listed(what, context, ranges), strict=True)
    )


def _listed(what: str, context: Any, ranges: Sequence[Range]) -> list[Any]:
    names = [each.name for each in ranges]
    if isinstance(context, Mapping):
        told: dict[str, Any] = {}
        for name, value in context.items():
            known = find_name(str(name), names)
            if known is None:
                raise TrialError(f'{what}: the context has no "{name}"; {suggest(str(name), names)}')
            if known in told:
                raise TrialError(f"{what}: {known} of the context is told twice; tell it once")
            told[known] = value
        missing = [name for name in names if told.get(name) is None]
        if missing:
            raise TrialError(f"{what}: the context lacks {', '.join(missing)}; a unit asks with all of it")
        return [told[name] for name in names]
    if not is_listed(context) or len(context) != len(names):
        raise TrialError(
            f"{what}: context must be {len(names)} numbers ({', '.join(names)}), in order or by name, got {context!r}"
        )
    return list(context)


def _read_value(what: str, range: Range, value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TrialError(f"{what}: {range.name} must be a number, got {value!r}")
    number = float(read_number(f"{what}: {range.name}", value, float, TrialError)) + 0.0
    if not range.low <= number <= range.high:
        raise TrialError(
            f"{what}: {range.name} must lie in {_short(range.low)}..{_short(range.high)}, as the trial declares, got "
            f"{number:g}"
        )
    return number


def scaled(contexts: Any, declared: Sequence[str]) -> Numbers:
    """Contexts as policies see them, each number as its place in its range, from 0 to 1.

    >>> scaled((54.0, 1.0), ["age:18..90", "smoker:0..1"]).tolist()
    [0.5, 1.0]
    """
    ranges = ranges_of(declared)
    low, high = (np.array([getattr(each, end) for each in ranges]) for end in ("low", "high"))
    return np.ascontiguousarray((np.asarray(contexts, float) - low) / (high - low))


def by_name(context: Sequence[float], declared: Sequence[str]) -> dict[str, float]:
    """A context with the names of its numbers."""
    return {each.name: value for each, value in zip(ranges_of(declared), context, strict=True)}


def context_words(context: Mapping[str, float]) -> str:
    """A context for people.

    >>> context_words({"age": 44.0, "smoker": 1.0})
    'age 44, smoker 1'
    """
    return ", ".join(f"{name} {value:g}" for name, value in context.items())


def read_features(features: Any, arms: Sequence[str]) -> tuple[tuple[float, ...], ...]:
    """A row of numbers for each arm, in the order of the arms; by the arms' names, or in order.

    >>> read_features({"high": [1, 4], "low": [1, 2]}, ["low", "high"])
    ((1.0, 2.0), (1.0, 4.0))
    """
    rows = _by_arm(features, arms) if isinstance(features, Mapping) else features
    if not is_listed(rows) or not all(map(is_listed, rows)) or len(rows) != len(arms):
        raise TrialError(f"features must be a row of numbers for each of the {len(arms)} arms, got {features!r}")
    read = tuple(
        tuple(float(read_number(f'a feature of "{arm}"', value, float, TrialError)) + 0.0 for value in row)
        for arm, row in zip(arms, rows, strict=True)
    )
    widths = [len(row) for row in read]
    if min(widths) < 1 or min(widths) < max(widths):
        raise TrialError(f"every arm must have as many features, at least one, got {', '.join(map(str, widths))}")
    if widths[0] > MOST_NUMBERS:
        raise TrialError(f"an arm has at most {MOST_NUMBERS} features, got {widths[0]}")
    return read


def _by_arm(features: Mapping[str, Any], arms: Sequence[str]) -> list[Any]:
    named = {find_name(str(arm), arms): row for arm, row in features.items()}
    unknown = [str(arm) for arm in features if find_name(str(arm), arms) is None]
    if unknown:
        raise TrialError(f'features of "{unknown[0]}", which is no arm; {suggest(unknown[0], arms)}')
    missing = [arm for arm in arms if arm not in named]
    if missing:
        raise TrialError(f"features are missing for {', '.join(missing)}; give each arm a row")
    return [named[arm] for arm in arms]


def features_for(rows: Sequence[Sequence[float]], arms: int, numbers: int) -> Features | None:
    """What compiled code is told of the features of so many arms and of units with so many numbers; None where there
    are neither. Arms without features have the unit vectors.
    """
    if not rows and numbers == 0:
        return None
    return Features(np.array(rows, float) if rows else np.eye(arms), numbers)


def check_coefficients(features: Features | None, arms: int) -> None:
    """Refuse more coefficients than a policy that goes by features can learn here."""
    of_arm, width = (arms, 1) if features is None else (features.arms.shape[1], 1 + features.context)
    if of_arm * width > MOST_COEFFICIENTS:
        raise TrialError(
            f"a policy that goes by features learns at most {MOST_COEFFICIENTS} coefficients, got {of_arm} x {width}; "
            "give arms fewer features, or units a shorter context"
        )


def check_magnitudes(features: Sequence[Sequence[float]], arms: Sequence[str]) -> None:
    """Refuse features of a new trial in which no arm's index could be computed: the trial would hold for ever."""
    for arm, row in zip(arms, features, strict=True):
        for value in row:
            if abs(value) > LARGEST_FEATURE:
                raise TrialError(
                    f'features must lie within {LARGEST_FEATURE:g} of 0, got {value:g} of "{arm}"; scale them'
                )


def check_without_context(context: Any, features: Any) -> None:
    """Refuse a design beside a context or features."""
    for name, given in (("context", context), ("features", features)):
        if given is not None and len(given) > 0:
            raise TrialError(f"a trial by a design has no {name} yet, got {given!r}; create it without a design")


def check_no_features(features: Sequence[Sequence[float]], new: Sequence[str]) -> None:
    """Refuse new arms where arms have features: an amendment says none of theirs."""
    if features and new:
        raise TrialError(f"arms of this trial have features: {new[0]!r} cannot be added; create another trial with it")
