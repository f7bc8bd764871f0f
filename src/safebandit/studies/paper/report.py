"""The paper's report: one HTML page that a reader can judge the reproduction by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from safebandit.problems.limits import show_alpha
from safebandit.studies.paper.runs import RUNS
from safebandit.studies.report import DASH, number, write_page

if TYPE_CHECKING:
    from safebandit.simulation.results import Result
    from safebandit.studies.paper.evidence import Part
    from safebandit.studies.paper.figures import PaperFigure
    from safebandit.studies.paper.looks import Judgement


@dataclass(frozen=True)
class Material:
    """All that goes into a report; `asked` says how many trials each simulation was to have, at least."""

    figures: Sequence[PaperFigure]
    pictures: Mapping[str, Path]
    judgements: Sequence[Judgement]
    results: Mapping[str, Result]
    asked: Mapping[str, int]
    until_decided: bool
    seed: int
    seconds: float

    @property
    def longer(self) -> dict[str, int]:
        """Runs that have more trials than they were asked to have."""
        return {name: result.trials for name, result in self.results.items() if result.trials > self.asked[name]}


def write_report(material: Material, path: Path) -> Path:
    """Write the page, all at once."""
    changed = [judgement.claim for judgement in material.judgements if judgement.claim.changed]
    return write_page(
        path, "paper.html", **vars(material), longer=material.longer, changed=changed, show_trials=show_trials,
        show_percent=show_percent, show_interval=show_interval, show_range=show_range,
        papers=all(count == RUNS[name].trials for name, count in material.asked.items()),
        speeds=_speeds(material.results),
    )  # fmt: skip


def show_trials(counts: Mapping[str, int]) -> str:
    """How many trials runs have, in words.

    >>> show_trials({"drug-21": 500, "drug-19": 100})
    '100 to 500 trials'
    """
    least, most = min(counts.values()), max(counts.values())
    return f"{least:,} trials" if least == most else f"{least:,} to {most:,} trials"


def show_percent(confidence: float) -> str:
    """A confidence with the digits that tell it from 1.

    >>> show_percent(0.95), show_percent(0.9975)
    ('95 %', '99.75 %')
    """
    return f"{100 * confidence:.4g} %"


def show_interval(part: Part) -> str:
    """An interval in words; a number that is computed has none."""
    if part.exact:
        return "exact"
    if math.isinf(part.high):
        return "none: too few trials"
    return f"{number(part.low)} to {number(part.high)}"


def show_range(part: Part) -> str:
    """The range that a number should lie in, in words."""
    if math.isinf(part.most):
        return f"at least {number(part.least)}"
    if math.isinf(part.least):
        return f"at most {number(part.most)}"
    return f"{number(part.least)} to {number(part.most)}"


def _speeds(results: Mapping[str, Result]) -> list[tuple[str, str, str, str, str, str]]:
    rows = []
    for name, result in results.items():
        speeds = [result.rounds_per_second(policy) for policy in result.policies]
        rounds = result.trials * result.specification.horizon * len(result.policies)
        seconds = sum(result.seconds.get(policy, 0.0) for policy in result.policies)
        speed = f"{rounds / seconds:,.0f}" if seconds > 0 and all(speeds) else DASH
        alpha = show_alpha(result.specification.instance.alpha)
        rows.append((name, RUNS[name].instance_name, alpha, f"{result.trials:,}", f"{rounds:,}", speed))
    return rows
