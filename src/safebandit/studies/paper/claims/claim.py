"""A claim of the paper: what it says, how it is tested, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from safebandit.core.arms import Numbers
from safebandit.simulation.results import Result
from safebandit.studies.paper.evidence import Evidence, Part

Results: TypeAlias = Mapping[str, Result]
Test: TypeAlias = Callable[[Results, Evidence], list[Part]]


@dataclass(frozen=True)
class Claim:
    """What the paper says, where, how it is tested, and what else is known of it.

    `changed` says what the rule was before someone looked at results, and why it was changed; empty where it was not.
    """

    name: str
    figures: tuple[str, ...]
    runs: tuple[str, ...]
    place: str
    says: str
    rule: str
    test: Test
    remark: str = ""
    changed: str = ""


def claim(
    name: str, figures: str, runs: str, place: str, says: str, rule: str, remark: str = "", *, changed: str = ""
) -> Callable[[Test], Claim]:
    """Make a claim of its test; several figures or runs are separated by spaces."""

    def made(test: Test) -> Claim:
        return Claim(name, tuple(figures.split()), tuple(runs.split()), place, says, rule, test, remark, changed)

    return made


def difference(result: Result, first: str, second: str, metric: str = "regret") -> Numbers:
    """A metric of one policy less that of another at the horizon, trial by trial."""
    return result.final(first, metric) - result.final(second, metric)
