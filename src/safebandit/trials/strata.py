"""Strata of a trial: what units are told apart by before they get an arm, each part with a policy state of its own.

Declared as factors with their levels; a stratum is one level of each. It is named by them, factors in the order of the
alphabet, and its random numbers are made of the trial's seed and that name: what is given in one stratum says nothing
of what comes in another.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

from safebandit.errors import SafebanditError, TrialError, suggest
from safebandit.names import find_name, read_name
from safebandit.problems.limits import is_listed

# The factors, each with its levels, in the order of the alphabet.
Factors: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
# What may be told of a unit's stratum: the level of each factor, or the stratum's name.
AnyStratum: TypeAlias = Mapping[str, str] | str

# Each has all numbers of a policy, and every event writes them.
MOST_STRATA = 32


def read_factors(declared: Any, error: type[SafebanditError] = TrialError) -> Factors:
    """The factors of a trial's strata; none where nothing is declared.

    >>> read_factors({"site": ["a", "b"], "age": ["<65", "65+"]})
    (('age', ('<65', '65+')), ('site', ('a', 'b')))
    """
    if declared is None or declared == ():
        return ()
    if isinstance(declared, tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in declared):
        # As they were read before.
        declared = dict(declared)
    if not isinstance(declared, Mapping):
        raise error(f'strata must be factors with their levels, such as {{"site": ["a", "b"]}}, got {declared!r}')
    factors = []
    for name, levels in sorted(declared.items(), key=lambda item: str(item[0])):
        factor = _read_part("the name of a factor of the strata", name, error)
        if isinstance(levels, str) or not is_listed(levels) or len(levels) < 2:
            raise error(f"a factor of the strata has two levels or more, got {factor}: {levels!r}")
        factors.append((factor, tuple(_read_part(f"a level of {factor}", each, error) for each in levels)))
    for what, names in (("factors of the strata", [name for name, _ in factors]), *((n, ls) for n, ls in factors)):
        if len({each.casefold() for each in names}) < len(names):
            raise error(f"{what} must have names that differ, got {', '.join(names)}")
    count = math.prod(len(levels) for _, levels in factors)
    if count > MOST_STRATA:
        raise error(f"a trial has at most {MOST_STRATA} strata, got {count}; take fewer factors, or fewer levels")
    return tuple(factors)


def _read_part(what: str, text: Any, error: type[SafebanditError]) -> str:
    name = read_name(what, text, error)
    if "=" in name or "," in name:
        raise error(f"{what} must not have = or a comma, with which strata are named, got {name!r}")
    return name


def written(factors: Factors) -> dict[str, list[str]]:
    """As a log has them."""
    return {name: list(levels) for name, levels in factors}


def stratum_names(factors: Factors) -> list[str]:
    """Every stratum by its name.

    >>> stratum_names(read_factors({"site": ["a", "b"]}))
    ['site=a', 'site=b']
    """
    if not factors:
        return []
    return [_name(factors, levels) for levels in product(*(levels for _, levels in factors))]


def _name(factors: Factors, levels: Sequence[str]) -> str:
    return name_of({factor: level for (factor, _), level in zip(factors, levels, strict=True)})


def read_stratum(what: str, stratum: AnyStratum | None, factors: Factors) -> str:
    """The name of a stratum, by the level of each factor or by its name; nothing in a trial without strata.

    >>> read_stratum("unit 'p1'", {"site": "A"}, read_factors({"site": ["a", "b"]}))
    Traceback (most recent call last):
    safebandit.errors.TrialError: unit 'p1': site has no level "A"; known: a, b
    """
    if stratum is None:
        if not factors:
            return ""
        raise TrialError(f"{what} needs a stratum: {', '.join(name for name, _ in factors)}; give stratum=")
    if not factors:
        raise TrialError(f"this trial has no strata, got {stratum!r} for {what}; leave it out")
    told: Any = _parts(stratum) if isinstance(stratum, str) else stratum
    if not isinstance(told, Mapping):
        raise TrialError(f"{what}: a stratum is the level of each factor, such as site=a, got {stratum!r}")
    names = [name for name, _ in factors]
    levels: dict[str, str] = {}
    for name, level in told.items():
        factor = find_name(str(name), names)
        if factor is None:
            raise TrialError(f'{what}: the strata have no factor "{name}"; {suggest(str(name), names)}')
        known = dict(factors)[factor]
        found = find_name(level, known) if isinstance(level, str) else None
        if found is None:
            raise TrialError(f'{what}: {factor} has no level "{level}"; {suggest(str(level), known)}')
        levels[factor] = found
    missing = [name for name in names if name not in levels]
    if missing:
        raise TrialError(f"{what}: the stratum lacks {', '.join(missing)}; a unit asks with all of it")
    return _name(factors, [levels[name] for name in names])


def _parts(name: str) -> dict[str, str] | None:
    """The levels in a stratum's name; None where it is none."""
    parts = [part.partition("=") for part in name.split(",")]
    if not all(equals for _, equals, _ in parts):
        return None
    return {factor.strip(): level.strip() for factor, _, level in parts}


def levels_of(stratum: str) -> dict[str, str]:
    """The level of each factor, of a stratum by its name.

    >>> levels_of("age=65+, site=a")
    {'age': '65+', 'site': 'a'}
    """
    return _parts(stratum) or {}


def name_of(levels: Mapping[str, str]) -> str:
    """The name of a stratum, of the level of each factor as a log has them.

    >>> name_of({"age": "65+", "site": "a"})
    'age=65+, site=a'
    """
    return ", ".join(f"{factor}={level}" for factor, level in levels.items())


@functools.lru_cache(maxsize=1024)
def stratum_seed(seed: int, stratum: str) -> int:
    """What fixes the random numbers of a stratum; those of the trial where it has none."""
    if not stratum:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}/{stratum}".encode()).digest()[:8], "big") >> 1
