"""The report: one HTML page, without outside resources, that a reader can judge the reproduction by."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from safebandit.problems.limits import show_alpha
from safebandit.studies.paper.evidence import FAILS, HOLDS, UNDECIDED, Part
from safebandit.studies.paper.runs import RUNS
from safebandit.studies.report import made_by, number, page, picture, table, write_text

if TYPE_CHECKING:
    from safebandit.simulation.results import Result
    from safebandit.studies.paper.claims import Judgement
    from safebandit.studies.paper.figures import PaperFigure

SIGNS = {HOLDS: "&#10003;", FAILS: "&#10007;", UNDECIDED: "?"}
CLASSES = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided"}

STYLE = """
:root { --holds: #1f6b3a; --fails: #a32020; --undecided: #7a5a00; }
@media (prefers-color-scheme: dark) { :root { --holds: #7fcf9a; --fails: #f09a9a; --undecided: #e0bd5c; } }
.holds { color: var(--holds); } .fails { color: var(--fails); } .undecided { color: var(--undecided); }
"""


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
    return write_text(path, _page(material))


def _page(material: Material) -> str:
    body = [_head(material), _summary(material)]
    body += [_figure(figure, material) for figure in material.figures]
    body.append(_foot(material))
    return page("Safe bandits: the paper reproduced", body, style=STYLE)


def _head(material: Material) -> str:
    counts = {verdict: sum(j.verdict == verdict for j in material.judgements) for verdict in SIGNS}
    shown = "".join(
        f'<span class="count {CLASSES[verdict]}"><b>{count}</b> {verdict}</span>' for verdict, count in counts.items()
    )
    share = "" if material.share == 1.0 else f" This run used {material.share:.0%} of the paper's trials."
    return (
        "<header><h1>Strategies for Safe Multi-Armed Bandits with Logarithmic Regret and Risk: every figure and claim, "
        "simulated again</h1>"
        '<p class="meta">The paper is by Tianrui Chen, Aditya Gangrade and Venkatesh Saligrama. Intervals are 95 % '
        "intervals over the trials. A claim holds if its whole interval lies in the range that its rule names, does "
        f"not hold if none of it does, and is undecided otherwise.{share}</p>{shown}</header>"
    )


def _summary(material: Material) -> str:
    rows = []
    for judgement in material.judgements:
        claim = judgement.claim
        places = ", ".join(f'<a href="#{name}">{name[3:]}</a>' for name in claim.figures)
        says = f'<a href="#{claim.name}">{html.escape(claim.says)}</a>'
        rows.append([_badge(judgement.verdict), says, places])
    return (
        '<section><h2 id="claims">What the paper says, and whether it holds</h2>'
        f"{table(['verdict', 'claim', 'figure'], rows)}</section>"
    )


def _badge(verdict: str) -> str:
    return f'<span class="badge {CLASSES[verdict]}">{SIGNS[verdict]} {verdict}</span>'


def _figure(figure: PaperFigure, material: Material) -> str:
    claims = [j for j in material.judgements if j.claim.figures[0] == figure.name]
    return (
        f'<section class="figure"><h2 id="{figure.name}">Figure {figure.number}. {html.escape(figure.title)}</h2>'
        f'<p class="meta">{figure.place}; {html.escape(figure.settings(material.results))}. Bands: the middle 90 % of '
        "trials, unless the panel says otherwise.</p>"
        + picture(material.pictures[figure.name], figure.title)
        + "".join(_claim(judgement) for judgement in claims)
        + "</section>"
    )


def _claim(judgement: Judgement) -> str:
    claim = judgement.claim
    headings = ["measured", "estimate", "95 % interval", "range", "verdict"]
    parts = table(headings, [_part(part) for part in judgement.parts], numbers=(1, 2, 3))
    remark = f"<p>{html.escape(claim.remark)}</p>" if claim.remark and judgement.verdict != HOLDS else ""
    return (
        f'<h3 id="{claim.name}">{_badge(judgement.verdict)}</h3><blockquote>{html.escape(claim.says)} '
        f'<span class="meta">({html.escape(claim.place)})</span></blockquote>'
        f'<p class="meta">Rule: {html.escape(claim.rule)}</p>'
        f"{parts}{remark}"
    )


def _part(part: Part) -> list[str]:
    interval = "exact" if part.low == part.high else f"{number(part.low)} to {number(part.high)}"
    bounds = f"{number(part.least)} to {number(part.most)}"
    if math.isinf(part.most):
        bounds = f"at least {number(part.least)}"
    elif math.isinf(part.least):
        bounds = f"at most {number(part.most)}"
    return [html.escape(part.label), number(part.estimate), interval, bounds, _badge(part.verdict)]


def _foot(material: Material) -> str:
    rows = []
    for name, result in material.results.items():
        speeds = [result.rounds_per_second(policy) for policy in result.policies]
        rounds = result.trials * result.specification.horizon * len(result.policies)
        seconds = sum(result.seconds.get(policy, 0.0) for policy in result.policies)
        speed = f"{rounds / seconds:,.0f}" if seconds > 0 and all(speeds) else "-"
        alpha = show_alpha(result.specification.instance.alpha)
        rows.append([name, html.escape(RUNS[name].instance_name), alpha, f"{rounds:,}", speed])
    headings = ["simulation", "instance", "alpha", "rounds", "rounds per second of one core"]
    return (
        '<section><h2 id="made">How this was made</h2>'
        f"<p>{made_by(material.seed, material.seconds)}</p>"
        f"{table(headings, rows, numbers=(2, 3, 4))}</section>"
    )
