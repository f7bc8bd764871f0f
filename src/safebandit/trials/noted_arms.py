"""What a decision saw of every arm, as its event notes it: by name, and written already."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson

from safebandit.core.arms import INDEX, PERMISSIBLE, RISKS
from safebandit.trials.events import canonical


class NotedArms(NamedTuple):
    """The parts of an event that say what was seen of the arms, and the texts of these parts."""

    parts: dict[str, Any]
    written: dict[str, orjson.Fragment]


# While nothing is told, as among many who ask together, every decision sees what the one before it saw.
@functools.lru_cache(maxsize=64)
def note_arms(
    arms: Sequence[str], columns: Sequence[str], saw: bytes, chances: bytes, free: tuple[int, ...]
) -> NotedArms:  # fmt: skip
    """What the table of a decision says of these arms, with their chances, and whether each may be given.

    `saw` are the numbers of the table row by row, with the policy's own `columns` behind the others. Nobody may change
    what is given back.
    """
    # As lists, for numbers are taken from them many times faster than from arrays.
    table = np.frombuffer(saw).reshape(len(arms), -1).tolist()
    rows = [[each if math.isfinite(each) else plain_number(each) for each in row] for row in table]
    last = len(rows[0]) - len(columns)
    seen = {
        name: {
            "permissible": row[PERMISSIBLE] == 1.0,
            "available": bool(may),
            "reward_index": row[INDEX],
            "risk_index": row[RISKS:last],
            "propensity": chance,
        }
        for name, row, chance, may in zip(arms, rows, np.frombuffer(chances).tolist(), free, strict=True)
    }
    own = {
        column: {name: row[place] for name, row in zip(arms, rows, strict=True)}
        for place, column in enumerate(columns, last)
    }
    parts = {"arms": seen, **({"own": own} if own else {})}
    return NotedArms(parts, {name: orjson.Fragment(canonical(part, finite=True)) for name, part in parts.items()})


def plain_number(value: float) -> float | str | None:
    """A number as JSON can hold it: nothing for what does not exist, a word for infinity."""
    if math.isfinite(value):
        return float(value)
    return None if math.isnan(value) else "infinity" if value > 0 else "-infinity"
