"""The fields of a design as people write them, each read by itself, with the defaults that follow from the others."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from safebandit.core.naming import read_number, read_value
from safebandit.core.policies import policy_from_text, recommended
from safebandit.errors import DesignError, at_key, suggest
from safebandit.names import find_name
from safebandit.problems.limits import check_unit, is_listed, list_risk_names, plain_alpha
from safebandit.trials.control import read_control, read_floor
from safebandit.trials.patterns import read_pattern
from safebandit.trials.reading import (
    MOST_PENDING,
    check_cap,
    check_lost,
    read_alpha,
    read_arms,
    read_ids,
    read_policy,
    read_risks,
    read_units,
)
from safebandit.trials.rules import THENS, read_selection, read_stopping
from safebandit.trials.second_person import read_second_person
from safebandit.trials.strata import read_factors
from safebandit.trials.texts import check_text

_LOOKS = re.compile(r"\s*(\d+)\s*\.\.\s*(\d+)\s*/\s*(\d+)\s*")

# More units than a design that is simulated may have.
MOST_UNITS = 10**7

# The fields that are read so far.
Read = Mapping[str, Any]


def read_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a design from what people give."""
    read: dict[str, Any] = {}
    # A table of limits names the risks, too.
    limits = given["alpha"]
    named = tuple(limits) if given["risks"] is None and isinstance(limits, Mapping) else given["risks"]
    for key, reader in _READERS.items():
        with at_key(key):
            read[key] = reader(named if key == "risks" else given[key], {**read, "named": named})
    return read


def _arms(value: Any, read: Read) -> tuple[str, ...]:
    arms = read_arms(value)
    if not arms:
        raise DesignError("a design needs at least one arm, got none")
    return arms


def _alpha(value: Any, read: Read) -> Any:
    """One number, one per risk, or a table by the risks' names."""
    names = None if read["named"] is None else list_risk_names(read["named"], DesignError)
    if isinstance(value, Mapping):
        names = () if names is None else names
        for name in value:
            if name not in names:
                raise DesignError(f'alpha has a limit for each risk, got "{name}"; {suggest(str(name), names)}')
        missing = [name for name in names if name not in value]
        if missing:
            raise DesignError(f'alpha must have a limit for each risk, none for "{missing[0]}"; add it')
        value = [value[name] for name in names]
    return plain_alpha(read_alpha(value, None if names is None else len(names)))


def _risks(value: Any, read: Read) -> tuple[str, ...]:
    return read_risks(value, len(read["alpha"]) if isinstance(read["alpha"], tuple) else 1)


def _units(value: Any, read: Read) -> int:
    units = read_units(value)
    if units is None:
        raise DesignError("a design needs units, the most that are given an arm; add units = 36, for example")
    if units > MOST_UNITS:
        raise DesignError(f"units of a design must lie between 1 and {MOST_UNITS:,}, got {units}")
    return units


def _policy(value: Any, read: Read) -> str:
    risks = len(read["risks"])
    return read_policy(recommended(read["units"], risks) if value is None else value, read["arms"], read["units"])


def _title(value: Any, read: Read) -> str:
    return check_text("title", value, empty=True)


def _rewarded(value: Any, read: Read) -> bool:
    return bool(read_value("rewarded", value, bool, DesignError))


def _flag_or(key: str, usual: Callable[[Read], bool]) -> Callable[[Any, Read], bool]:
    return lambda value, read: usual(read) if value is None else bool(read_value(key, value, bool, DesignError))


def _count(key: str, least: int, most: str = "units") -> Callable[[Any, Read], int]:
    """A whole number from `least` up to as many as there are units."""

    def reader(value: Any, read: Read) -> int:
        number = int(read_number(key, value, int, DesignError))
        if not least <= number <= read[most]:
            raise DesignError(f"{key} must lie between {least} and {most} ({read[most]}), got {number}")
        return number

    return reader


def _count_or(key: str, least: int, usual: Callable[[Read], int]) -> Callable[[Any, Read], int]:
    counted = _count(key, least)
    return lambda value, read: usual(read) if value is None else counted(value, read)


def _steps(value: Any, read: Read) -> int:
    number = int(read_number("steps", value, int, DesignError))
    if not 0 <= number < len(read["arms"]):
        raise DesignError(
            f"steps must lie between 0 (any arm) and {len(read['arms']) - 1}, the levels above the lowest arm, "
            f"got {number}"
        )
    return number


def _arm(key: str) -> Callable[[Any, Read], str | None]:
    """An arm by its name: a number could mean its place, or a name that is a number."""

    def reader(value: Any, read: Read) -> str | None:
        if value is None:
            return None
        found = find_name(value, read["arms"]) if isinstance(value, str) else None
        if found is None:
            raise DesignError(f"{key} must be the name of an arm, got {value!r}; {suggest(str(value), read['arms'])}")
        return found

    return reader


def _first(value: Any, read: Read) -> str | None:
    lowest = read["arms"][0] if read["steps"] else None
    return lowest if value is None else _arm("first")(value, read)


# The chance that a dose is safe without which nobody gets a higher one.
CLIMB = 0.5


def _climb(value: Any, read: Read) -> float:
    usual = CLIMB if read["steps"] > 0 else 0.0
    return usual if value is None else check_unit("climb", value, DesignError)


def _least_reward(value: Any, read: Read) -> float | None:
    return None if value is None else check_unit("least_reward", value, DesignError)


def _looks(value: Any, read: Read) -> int | tuple[int, ...] | None:
    """None for every cohort, a number of units, a list of them, or a text such as 300..2000/100 for such a list."""
    if value is None:
        return None
    steps = _LOOKS.fullmatch(value) if isinstance(value, str) else None
    if steps is None and not is_listed(value):
        return _count("looks", 1)(value, read)
    listed = value if steps is None else range(int(steps[1]), int(steps[2]) + 1, max(int(steps[3]), 1))
    if len(listed) == 0:
        raise DesignError("looks must list at least one number of units, got none; leave it out for every cohort")
    before = 0
    for each in listed:
        look = int(read_number("a look", each, int, DesignError))
        if look <= before:
            raise DesignError(f"looks must ascend from 1, got {look} after {before}; put them in order")
        if look > read["units"]:
            raise DesignError(f"a look must not come after the end, at {read['units']} units, got {look}; drop it")
        before = look
    return tuple(int(look) for look in listed)


def _cap(value: Any, read: Read) -> int:
    if value is None:
        return min(int(read["cohort"]), MOST_PENDING)
    return check_cap(int(read_number("pending_cap", value, int, DesignError)))


def _lost(value: Any, read: Read) -> str:
    return check_lost(value)


def _ids(value: Any, read: Read) -> str:
    ids = read_ids(value)
    if ids:
        read_pattern(ids)
    return ids


def _prior(value: Any, read: Read) -> tuple[float, float]:
    numbers = [read_number("prior", each, float, DesignError) for each in value] if is_listed(value) else []
    if len(numbers) != 2 or not all(0.0 < each < math.inf for each in numbers):
        raise DesignError(f"prior must be the two numbers of a Beta law, above 0, such as [1, 1], got {value!r}")
    return float(numbers[0]), float(numbers[1])


def _second_person(value: Any, read: Read) -> tuple[str, ...]:
    return read_second_person(value)


def _stop(value: Any, read: Read) -> tuple[Any, ...]:
    return tuple(rule for rule, _ in read_stopping(value))


def _then(value: Any, read: Read) -> tuple[str, ...]:
    """What happens where each rule is reached: as the rules say it themselves, or as it is listed beside them."""
    stop, listed = value
    found = tuple(then for _, then in read_stopping(stop))
    if listed is None:
        return found
    if len(listed) != len(found) or not set(listed) <= set(THENS):
        raise DesignError(f"then must have one of {', '.join(THENS)} for each rule of stop, got {listed!r}")
    return tuple(listed)


def _select(value: Any, read: Read) -> Any:
    if value is not None:
        return read_selection(value)
    return read_selection("best-safe" if read["rewarded"] else "isotonic" if read["ordered"] else "none")


def _waits(read: Read) -> bool:
    return read["cohort"] > 1 or finds_doses(policy_from_text(read["policy"]))


def finds_doses(policy: Any) -> bool:
    """Whether a policy moves from dose to dose, by what is known of the present one: it shows which that is."""
    return "present dose" in getattr(policy, "columns", ())


# In an order in which each needs only those before it.
_READERS: dict[str, Callable[[Any, Read], Any]] = {
    "arms": _arms,
    "alpha": _alpha,
    "risks": _risks,
    "units": _units,
    "policy": _policy,
    "title": _title,
    "rewarded": _rewarded,
    "ordered": _flag_or("ordered", lambda read: finds_doses(policy_from_text(read["policy"]))),
    "control": lambda value, read: read_control(value, read["arms"], DesignError),
    "strata": lambda value, _: read_factors(value, DesignError),
    "control_floor": lambda value, read: read_floor(value, read["control"], DesignError),
    "least_reward": _least_reward,
    "cohort": _count("cohort", 1),
    "waits": _flag_or("waits", _waits),
    "steps": _steps,
    "first": _first,
    "known_below": _count_or("known_below", 0, lambda read: read["cohort"] if read["steps"] else 0),
    "climb": _climb,
    "upwards": _flag_or("upwards", lambda read: read["steps"] > 0),
    "burn_in": _count("burn_in", 0),
    "looks": _looks,
    "pending_cap": _cap,
    "lost": _lost,
    "stop": _stop,
    "then": _then,
    "select": _select,
    "ids": _ids,
    "prior": _prior,
    "second_person": _second_person,
}
