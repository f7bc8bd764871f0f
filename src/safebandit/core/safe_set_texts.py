"""Safe sets as texts: `risk1 + risk2 <= 0.5, reward >= 0.2`; a half-space between commas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from safebandit.core.arms import Numbers
from safebandit.core.safe_sets import SafeSet, half_spaces
from safebandit.errors import PolicyError, suggest

REWARD_NAME = "reward"
# A term: its sign, a number, a name; the number or the name may be left out.
_TERM = re.compile(r"\s*([+-])?\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)?\s*(\*)?\s*([^\W\d]\w*)?\s*")


def coordinate_names(risks: int) -> list[str]:
    """What a text calls the reward and the risks.

    >>> coordinate_names(1), coordinate_names(2)
    (['reward', 'risk'], ['reward', 'risk1', 'risk2'])
    """
    return [REWARD_NAME, *(["risk"] if risks == 1 else [f"risk{j}" for j in range(1, 1 + risks)])]


def read_safe_set(text: Any, risks: int) -> SafeSet:
    """The set that a text describes, for arms with so many risks.

    >>> read_safe_set("3 risk1 + 4 risk2 <= 2.5, reward >= 0.2", risks=2).bounds.tolist()
    [0.5, -0.2]
    """
    if not isinstance(text, str) or not text.strip():
        raise PolicyError(f'safe_set must be half-spaces such as "risk <= 0.3, reward >= 0.2", got {text!r}')
    read = [_half_space(part, risks) for part in text.split(",")]
    return half_spaces([row for row, _ in read], [bound for _, bound in read])


def with_numbers(text: str, names: Sequence[str]) -> str:
    """A text in which risks go by their own names, with the names that every problem has.

    >>> with_numbers("toxicity + nausea <= 0.5", ["toxicity", "nausea"])
    'risk1 + risk2 <= 0.5'
    """
    known = dict(zip(names, coordinate_names(len(names))[1:], strict=True))
    return re.sub(r"[^\W\d]\w*", lambda found: known.get(found[0], found[0]), text)


def _half_space(part: str, risks: int) -> tuple[Numbers, float]:
    """The row and the bound of one half-space."""
    sides = re.split(r"(<=|>=)", part)
    if len(sides) != 3:
        raise PolicyError(
            f'a half-space is written with one <= or >=, such as risk <= 0.3, got "{part.strip()}"; two at once are '
            "two, with a comma between them"
        )
    left, right = _sum(sides[0], part, risks), _sum(sides[2], part, risks)
    sign = 1.0 if sides[1] == "<=" else -1.0
    row = sign * (left[:-1] - right[:-1])
    if not row.any():
        raise PolicyError(f'a half-space must ask about a reward or a risk, got "{part.strip()}"')
    return row, float(sign * (right[-1] - left[-1]))


def _sum(side: str, part: str, risks: int) -> Numbers:
    """The factors of the reward, of every risk and of 1 in one side of a half-space."""
    names, place = coordinate_names(risks), 0
    factors = np.zeros(2 + risks)
    while place < len(side):
        found = _TERM.match(side, place)
        sign, number, times, name = found.groups() if found else (None,) * 4
        if (number is None and name is None) or (place > 0 and sign is None) or (times and not (number and name)):
            break
        if name is not None and name not in names:
            raise PolicyError(f'unknown "{name}" in the half-space "{part.strip()}"; {suggest(name, names)}')
        factor = float(number or 1) * (-1 if sign == "-" else 1)
        factors[names.index(name) if name else -1] += factor
        place = found.end() if found else place
    if place < len(side) or not side.strip():
        raise PolicyError(
            f'a side of a half-space is a sum such as 2 risk1 + risk2 - 0.1, got "{side.strip()}" in "{part.strip()}"'
        )
    return factors
