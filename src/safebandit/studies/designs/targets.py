"""What people ask of characteristics: `stopped early[all safe] <= 0.05`, `type I error max over [a, b] <= 0.05`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from safebandit.errors import StudyError, suggest
from safebandit.studies.designs.asking import Key, estimate, read_key
from safebandit.studies.designs.catalogue import CHARACTERISTICS
from safebandit.studies.designs.cells import Cell
from safebandit.studies.designs.estimates import Estimate

OVER = ("max", "min", "mean")
_FORM = 'write it so: stopped early[all safe] <= 0.05, or type I error max over ["one null", "another"] <= 0.05'
_NUMBER = re.compile(r"\s*(?P<sense><=|>=)\s*(?P<bound>[-+.\deE]+)\s*\Z")
_OVER = re.compile(r"\s(?P<over>\w+) over\s*\Z")
_NAME = re.compile(r'\s*(?:"([^"]*)"|([^,"]+?))\s*(?:,|\Z)')


class Measure(NamedTuple):
    """A characteristic over one scenario or several; `over` says which of several numbers counts."""

    key: Key
    scenarios: tuple[str, ...]
    over: str
    text: str

    def of(self, cells: Mapping[str, Cell]) -> Estimate:
        """The number with its error: that of the scenario that counts; of a mean, at most the mean error."""
        found = [estimate(cells[name], self.key) for name in self.scenarios]
        if self.over == "mean":
            return Estimate(*(sum(parts) / len(found) for parts in zip(*found, strict=True)))
        return (max if self.over == "max" else min)(found, key=lambda one: one.value)


class Target(NamedTuple):
    """What a measure shall be: at most a bound (sense "<=") or at least one (">=")."""

    measure: Measure
    sense: str
    bound: float

    @property
    def sign(self) -> float:
        """1 where more than the bound is too much, -1 where less is."""
        return 1.0 if self.sense == "<=" else -1.0

    def met(self, value: float) -> bool:
        """Whether a number is as it shall be."""
        return self.sign * (value - self.bound) <= 0.0


def read_target(text: str, scenarios: Sequence[str]) -> Target:
    """A target as people write it; of several scenarios, the worst counts unless it says otherwise.

    >>> target = read_target("stopped early[null, all safe] <= 0.05", ["null", "all safe"])
    >>> target.measure.scenarios, target.measure.over, target.bound
    (('null', 'all safe'), 'max', 0.05)
    """
    found = _NUMBER.search(text)
    try:
        bound = float(found["bound"]) if found else None
    except ValueError:
        bound = None
    if found is None or bound is None:
        raise StudyError(f'a target ends with <= or >= and a number, got "{text}"; {_FORM}')
    worst = "max" if found["sense"] == "<=" else "min"
    return Target(read_measure(text[: found.start()], scenarios, worst), found["sense"], bound)


def read_measure(text: str, scenarios: Sequence[str], worst: str | None = None) -> Measure:
    """A characteristic and the scenarios over which it is taken: those in brackets, else all.

    Without `worst`, the worst of several scenarios is the largest number where less is better, else the smallest.
    """
    head, bracket, rest = text.strip().partition("[")
    names = tuple(scenarios)
    if bracket:
        if not rest.endswith("]"):
            raise StudyError(f'the scenarios stand in brackets, got "{text.strip()}"; {_FORM}')
        names = _names(rest[:-1], scenarios)
    said = _OVER.search(head)
    if said is not None and said["over"] not in OVER:
        raise StudyError(f'a characteristic is taken max, min or mean over scenarios, got "{said["over"]} over"')
    key = read_key(head[: said.start()] if said else head)
    if worst is None:
        worst = "max" if CHARACTERISTICS[key.name].better < 0 else "min"
    return Measure(key, names, said["over"] if said else worst, text.strip())


def _names(text: str, scenarios: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas; a name with a comma in it stands in quotes, or alone."""
    if text.strip() in scenarios:
        return (text.strip(),)
    names = [quoted or plain for quoted, plain in _NAME.findall(text)]
    if not names:
        raise StudyError(f"name a scenario in the brackets, got none; {suggest('', scenarios)}")
    for name in names:
        if name not in scenarios:
            raise StudyError(f'there is no scenario "{name}"; {suggest(name, scenarios)}')
    return tuple(dict.fromkeys(names))
