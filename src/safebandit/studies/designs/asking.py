"""Asking a cell for a characteristic by what people write: `unsafe units: q95`, `selected: high`, `stopped: harm`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safebandit.core.arms import Numbers
from safebandit.errors import StudyError, suggest
from safebandit.studies.designs.catalogue import CHARACTERISTICS
from safebandit.studies.designs.cells import COUNT, MEAN, ROOT, SHARE, Cell, Characteristic
from safebandit.studies.designs.estimates import Estimate, deviation, mean, quantile, root_mean_square, share

# Of a count: what a table shows of it beside the mean; `more than 5` and any other quantile can be asked for.
SHOWN = ("sd", "q05", "median", "q95", "q99")
_QUANTILE = re.compile(r"q(\d{2,4})")
_MORE_THAN = re.compile(r"more than (\d+(?:\.\d+)?)")
_SUMS: dict[str, Callable[[Numbers], Estimate]] = {SHARE: share, MEAN: mean, COUNT: mean, ROOT: root_mean_square}


class Key(NamedTuple):
    """A characteristic's name, and of what: an arm, a rule, a statistic of a count; "" where there is one only."""

    name: str
    of: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.of}" if self.of else self.name


def read_key(text: str) -> Key:
    """A key as people write it.

    >>> read_key("unsafe units: q95"), read_key("stopped early")
    (Key(name='unsafe units', of='q95'), Key(name='stopped early', of=''))
    """
    name, _, of = (part.strip() for part in text.partition(":"))
    if name not in CHARACTERISTICS:
        raise StudyError(f'there is no characteristic "{name}"; {suggest(name, CHARACTERISTICS)}')
    return Key(name, "" if CHARACTERISTICS[name].kind == COUNT and of == "mean" else of)


def keys_of(cell: Cell, more_than: float | None = None) -> Iterator[Key]:
    """Every key that a table has of a cell; with `more_than`, the chance of more unsafe units than that, too."""
    for name, each in CHARACTERISTICS.items():
        yield from (Key(name, of) for of in each.parts(cell))
        if each.kind == COUNT and each.parts(cell):
            yield from (Key(name, of) for of in SHOWN)
        if name == "unsafe units" and more_than is not None:
            yield Key(name, f"more than {more_than:g}")


def values(cell: Cell, key: Key) -> Numbers:
    """The number of every trial whose mean (or share) the key is; NaN in a trial that has none."""
    each = CHARACTERISTICS[key.name]
    if each.kind == COUNT and key.of:
        found = _MORE_THAN.fullmatch(key.of)
        if found is None:
            raise StudyError(f'"{key}" is no mean of trials: compare "{key.name}" or "{key.name}: more than 5"')
        return np.asarray(values(cell, Key(key.name)) > float(found[1]), float)
    return each.values(cell, _part(cell, each, key))


def estimate(cell: Cell, key: Key, trials: slice | None = None) -> Estimate:
    """A characteristic with its error, over all trials or some of them."""
    each = CHARACTERISTICS[key.name]
    if each.kind == COUNT and key.of:
        return _of_count(_present(values(cell, Key(key.name)), trials), key)
    return _SUMS[each.kind](_present(values(cell, key), trials))


def difference(cell: Cell, other: Cell, key: Key) -> Estimate:
    """A characteristic of one design minus that of another in the same trials, over those in which both have it."""
    if CHARACTERISTICS[key.name].kind == ROOT:
        raise StudyError(f'"{key}" is no mean of trials, and cannot be compared in pairs')
    mine, yours = values(cell, key), values(other, key)
    count = min(len(mine), len(yours))
    return mean(_present(mine[:count] - yours[:count], None))


def _part(cell: Cell, each: Characteristic, key: Key) -> int:
    parts = each.parts(cell)
    if key.of in parts:
        return parts.index(key.of)
    if not parts:
        raise StudyError(f'the design "{cell.design.title or cell.design.policy}" has no "{key.name}": {each.about}')
    if parts == ("",):
        raise StudyError(f'"{key.name}" is one number of a trial, got "{key}"; leave ": {key.of}" out')
    if not key.of:
        raise StudyError(f'say of what: "{key.name}: {parts[0]}", for example; known: {", ".join(parts)}')
    raise StudyError(f'there is no "{key}"; {suggest(key.of, parts)}')


def _present(found: Numbers, trials: slice | None) -> Numbers:
    some = found if trials is None else found[trials]
    kept: NDArray[np.float64] = some[~np.isnan(some)]
    return kept


def _of_count(found: Numbers, key: Key) -> Estimate:
    if key.of == "sd":
        return deviation(found)
    if key.of == "median":
        return quantile(found, 0.5)
    level, above = _QUANTILE.fullmatch(key.of), _MORE_THAN.fullmatch(key.of)
    if level is not None:
        return quantile(found, float(f"0.{level[1]}"))
    if above is not None:
        return share(found > float(above[1]))
    known = ["mean", *SHOWN, "more than 5"]
    raise StudyError(f'there is no "{key}"; {suggest(key.of, known)}')
