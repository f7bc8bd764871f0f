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
    from safebandit.studies.paper.claims import Judgement
    from safebandit.studies.paper.evidence import Part
    from safebandit.studies.paper.figures import PaperFigure


@dataclass(frozen=True)
class Material:
    """All that goes into a report."""

    figures: Sequence[PaperFigure]
    pictures: Mapping[str, Path]
    judgements: Sequence[Judgement]
    results: Mapping[str, Result]
    seed: int
    share: float
    seconds: float


def write_report(material: Material, path: Path) -> Path:
    """Write the page, all at once."""
    changed = [judgement.claim for judgement in material.judgements if judgement.claim.changed]
    return write_page(
        path, "paper.html", **vars(material), changed=changed, show_range=show_range, speeds=_speeds(material.results)
    )


def show_range(part: Part) -> str:
    """The range that a number should lie in, in words."""
    if math.isinf(part.most):
        return f"at least {number(part.least)}"
    if math.isinf(part.least):
        return f"at most {number(part.most)}"
    return f"{number(part.least)} to {number(part.most)}"


def _speeds(results: Mapping[str, Result]) -> list[tuple[str, str, str, str, str]]:
    rows = []
    for name, result in results.items():
        speeds = [result.rounds_per_second(policy) for policy in result.policies]
        rounds = result.trials * result.specification.horizon * len(result.policies)
        seconds = sum(result.seconds.get(policy, 0.0) for policy in result.policies)
        speed = f"{rounds / seconds:,.0f}" if seconds > 0 and all(speeds) else DASH
        alpha = show_alpha(result.specification.instance.alpha)
        rows.append((name, RUNS[name].instance_name, alpha, f"{rounds:,}", speed))
    return rows
