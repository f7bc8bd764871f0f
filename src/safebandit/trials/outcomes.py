"""What is told of a unit: its reward and its risks, read and checked in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from safebandit.errors import TrialError, suggest
from safebandit.names import find_name
from safebandit.problems.limits import check_unit, is_listed

# What may be told of a unit's risks: a number, or with several of them one each, or some by name.
AnyRisk: TypeAlias = float | Sequence[float | None] | Mapping[str, float | None]

# Numbers as Python has them, and nothing that only counts as one.
_PLAIN = (int, float)


def outcome_names(risks: Sequence[str]) -> list[str]:
    """The parts of an outcome, in order, as messages name them.

    >>> outcome_names(["risk"]), outcome_names(["toxicity", "nausea"])
    (['reward', 'risk'], ['reward', 'risk "toxicity"', 'risk "nausea"'])
    """
    return ["reward", "risk"] if len(risks) == 1 else ["reward", *(f'risk "{name}"' for name in risks)]


def read_outcome(id: Any, reward: Any, risk: Any, risks: Sequence[str]) -> list[float | None]:
    """The reward, then every risk, each a number in [0, 1], or None where nothing is told.

    >>> read_outcome("p-1", 1, {"nausea": 0}, ["toxicity", "nausea"])
    [1.0, None, 0.0]
    """
    if len(risks) == 1 and type(reward) in _PLAIN and type(risk) in _PLAIN and 0 <= reward <= 1 and 0 <= risk <= 1:
        # As most are: no message need be made. A -0.0 loses its sign, as below.
        return [reward + 0.0, risk + 0.0]
    values = [reward, *_listed_risks(id, risk, risks)]
    if all(value is None for value in values):
        raise TrialError(f"nothing was told of unit {id!r}; give reward=, risk= or both")
    return [read_part(f"unit {id!r}: {name}", part) for name, part in zip(outcome_names(risks), values, strict=True)]


def read_part(what: str, value: Any) -> float | None:
    """A reward or a risk as a plain number in [0, 1]; None where nothing is told. A text is none."""
    if value is None:
        return None
    if isinstance(value, str | bytes):
        raise TrialError(f"{what} must be a number in [0, 1], got {value!r}")
    # Added to 0.0, a -0.0 loses its sign: two texts of one number would be two facts.
    return check_unit(what, value, TrialError) + 0.0


def _listed_risks(id: Any, risk: Any, risks: Sequence[str]) -> list[Any]:
    """What is told of every risk, in order: one number, a list of them, or some by name."""
    count = len(risks)
    if risk is None:
        return [None] * count
    if isinstance(risk, Mapping):
        told: dict[str, Any] = {}
        for name, value in risk.items():
            known = find_name(str(name), risks)
            if known is None:
                raise TrialError(f'unit {id!r}: there is no risk "{name}"; {suggest(str(name), risks)}')
            if known in told:
                raise TrialError(f'unit {id!r}: risk "{known}" is told twice; tell it once')
            told[known] = value
        return [told.get(name) for name in risks]
    if count == 1:
        return [risk]
    if not isinstance(risk, Sequence | np.ndarray) or not is_listed(risk) or len(risk) != count:
        raise TrialError(
            f"unit {id!r}: risk must be {count} numbers ({', '.join(risks)}) or some of them by name, "
            f'as {{"{risks[0]}": 0}}, got {risk!r}'
        )
    return list(risk)
