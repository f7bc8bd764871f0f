"""Contexts of units, from what people write: laws of their numbers, or a table of past ones to resample."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.arms import Counts, Numbers
from safebandit.core.contexts import BETA, BIT, UNIFORM
from safebandit.core.naming import read_number
from safebandit.errors import InstanceError
from safebandit.problems.limits import check_unit, is_listed

RULE = 'contexts are a law for each number, such as ["uniform", "uniform:0.2..0.8", "bits:0.3", "beta:2,5"], or a table'
# Contexts by which the mean over a law is computed where it has no closed form.
POINTS = 14


class Contexts(NamedTuple):
    """How contexts are drawn: as rows of a table, or each number by its law; and what JSON holds of them."""

    table: Numbers
    kinds: Counts
    parameters: Numbers
    plain: list[Any]

    @property
    def width(self) -> int:
        """How many numbers a context has."""
        return len(self.parameters) if len(self.table) == 0 else self.table.shape[1]

    @property
    def corners(self) -> Numbers:
        """The least and the largest of each number (two rows); of a table, its rows themselves."""
        if len(self.table) > 0:
            return self.table
        ends = [_ends(kind, *pair) for kind, pair in zip(self.kinds, self.parameters, strict=True)]
        return np.array(ends).reshape(-1, 2).T

    @property
    def mean(self) -> Numbers:
        """The mean of each number."""
        if len(self.table) > 0:
            return np.asarray(self.table.mean(axis=0))
        return np.array([_mean(kind, *pair) for kind, pair in zip(self.kinds, self.parameters, strict=True)])

    def points(self) -> Numbers:
        """Contexts that stand for all: the rows of the table, or 2^14 that fill the law evenly."""
        if len(self.table) > 0:
            return self.table
        from scipy import stats

        spread = stats.qmc.Sobol(self.width, rng=np.random.default_rng(0)).random_base2(POINTS)
        columns = [
            _quantiles(kind, pair[0], pair[1], spread[:, i])
            for i, (kind, pair) in enumerate(zip(self.kinds, self.parameters, strict=True))
        ]
        return np.column_stack(columns)


def _ends(kind: int, a: float, b: float) -> tuple[float, float]:
    if kind == UNIFORM:
        return a, b
    return (a, a) if kind == BIT and a in (0.0, 1.0) else (0.0, 1.0)


def _mean(kind: int, a: float, b: float) -> float:
    if kind == UNIFORM:
        return (a + b) / 2
    return a if kind == BIT else a / (a + b)


def _quantiles(kind: int, a: float, b: float, levels: Numbers) -> Numbers:
    if kind == UNIFORM:
        return a + (b - a) * levels
    if kind == BIT:
        return np.asarray(levels < a, float)
    from scipy import stats

    return np.asarray(stats.beta.ppf(levels, a, b))


def read_contexts(given: Any) -> Contexts:
    """A law for each number, a table with a row per context, or a CSV file of one.

    >>> read_contexts(["uniform:0.2..0.8", "bits:0.3"]).mean.tolist()
    [0.5, 0.3]
    """
    if isinstance(given, str | Path):
        return _table(_rows_of(Path(given)))
    if not is_listed(given) or len(given) == 0:
        raise InstanceError(f"{RULE}, got {given!r}")
    if all(is_listed(row) for row in given):
        return _table(given)
    if not all(isinstance(law, str) for law in given):
        raise InstanceError(f"{RULE}, got {given!r}")
    laws = [_law(text) for text in given]
    kinds, parameters = np.array([law[0] for law in laws]), np.array([law[1:] for law in laws])
    return Contexts(np.zeros((0, len(laws))), kinds, parameters, [text.strip() for text in given])


def _law(text: str) -> tuple[int, float, float]:
    """A law by its text."""
    name, _, rest = text.strip().partition(":")
    if name == "uniform":
        low, dots, high = rest.partition("..")
        a, b = (check_unit(f'an end of "{text}"', _number(text, end)) for end in ((low, high) if dots else (0, 1)))
        if (rest and not dots) or not a <= b:
            raise InstanceError(f'a uniform law is written "uniform" or "uniform:0.2..0.8", got "{text}"')
        return UNIFORM, a, b
    if name == "bits":
        return BIT, check_unit(f'the share of "{text}"', _number(text, rest)), 0.0
    if name == "beta":
        shapes = [_number(text, part) for part in rest.split(",")]
        if len(shapes) != 2 or min(shapes) <= 0.0:
            raise InstanceError(f'a Beta law is written "beta:2,5", with two numbers above 0, got "{text}"')
        return BETA, shapes[0], shapes[1]
    raise InstanceError(f'{RULE}; got "{text}"')


def _number(text: str, part: Any) -> float:
    return float(read_number(f'a parameter of "{text}"', part, float, InstanceError))


def _table(rows: Any) -> Contexts:
    """A table of contexts, whose numbers lie in [0, 1]."""
    try:
        table = np.array(rows, float)
    except (TypeError, ValueError):
        raise InstanceError("a table of contexts has a row of as many numbers for each") from None
    if table.ndim != 2 or table.shape[1] == 0:
        raise InstanceError(f"a table of contexts has a row of numbers for each, got {table.ndim} dimensions")
    if not ((table >= 0.0) & (table <= 1.0)).all():
        row, column = np.argwhere(~((table >= 0.0) & (table <= 1.0)))[0]
        raise InstanceError(
            f"numbers of a context must lie in [0, 1], got {table[row, column]:g} in row {row}; scale them by their "
            "range"
        )
    return Contexts(table, np.zeros(0, np.int64), np.zeros((0, 2)), table.tolist())


def _rows_of(path: Path) -> Numbers:
    """The columns of a CSV file, each scaled to [0, 1] by its own range."""
    import pandas as pd

    if not path.is_file():
        raise InstanceError(f"there is no file {path}")
    try:
        frame = pd.read_csv(path)
        table = frame.to_numpy(float)
    except (ValueError, pd.errors.ParserError, UnicodeDecodeError):
        raise InstanceError(
            f"{path} must be a CSV file of numbers, with a column for each number of a context"
        ) from None
    if table.size == 0 or not np.isfinite(table).all():
        missing = "no rows" if table.size == 0 else "a number that is missing or not finite"
        raise InstanceError(f"{path} has {missing}; a context is complete")
    low, high = table.min(axis=0), table.max(axis=0)
    for name, a, b in zip(frame.columns, low, high, strict=True):
        if a == b:
            raise InstanceError(f'column "{name}" of {path} is always {a:g}, and says nothing; leave it out')
    return np.asarray((table - low) / (high - low))


def least_and_most(contexts: Contexts, coefficients: Numbers) -> tuple[float, float]:
    """The least and the largest of c0 + c'x over all contexts."""
    if len(contexts.table) > 0:
        values = coefficients[0] + contexts.table @ coefficients[1:]
        return float(values.min()), float(values.max())
    ends = contexts.corners * coefficients[1:]
    return tuple(float(coefficients[0]) + math.fsum(choose(ends, axis=0)) for choose in (np.min, np.max))  # type: ignore[return-value]
