"""The report: one HTML page, without outside resources, that a reader can judge the reproduction by."""

from __future__ import annotations

import base64
import html
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from safebandit.paper.evidence import FAILS, HOLDS, UNDECIDED, Part
from safebandit.paper.runs import RUNS
from safebandit.version import __version__

if TYPE_CHECKING:
    from safebandit.paper.claims import Judgement
    from safebandit.paper.figures import PaperFigure
    from safebandit.results import Result

SIGNS = {HOLDS: "&#10003;", FAILS: "&#10007;", UNDECIDED: "?"}
CLASSES = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided"}

STYLE = """
:root { --ink: #1c2430; --soft: #5a6675; --line: #d7dde4; --paper: #fff;
  --holds: #1f6b3a; --fails: #a32020; --undecided: #7a5a00; }
* { box-sizing: border-box; }
body { font: 16px/1.55 Georgia, 'Times New Roman', serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 60rem; padding: 1.5rem 1.2rem 4rem; }
h1, h2, h3, th, .badge, nav, .meta { font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2.8rem 0 .4rem; padding-top: .8rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem; }
a { color: inherit; }
img { width: 100%; height: auto; display: block; margin: .8rem 0; border: 1px solid var(--line); background: #fff; }
.meta { color: var(--soft); font-size: .85rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; margin: .5rem 0 1rem; }
th, td { text-align: left; padding: .32rem .6rem .32rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.badge { font-size: .8rem; font-weight: 600; white-space: nowrap; }
.holds { color: var(--holds); } .fails { color: var(--fails); } .undecided { color: var(--undecided); }
.count { display: inline-block; margin: .4rem 1.4rem .4rem 0; font-family: system-ui, sans-serif; }
.count b { font-size: 1.6rem; }
blockquote { margin: .3rem 0; padding-left: .9rem; border-left: 3px solid var(--line); }
@media print { body { max-width: none; font-size: 10.5pt; padding: 0; } section.figure { break-before: page; }
  img, tr { break-inside: avoid; } a { text-decoration: none; } }
@media (max-width: 40rem) { body { font-size: 15px; padding: 1rem .8rem 3rem; } }
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
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(_page(material), encoding="utf-8")
    partial.replace(path)
    return path


def _page(material: Material) -> str:
    body = [_head(material), _summary(material)]
    body += [_figure(figure, material) for figure in material.figures]
    body.append(_foot(material))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Safe bandits: the paper reproduced</title><style>{STYLE}</style></head><body>"
        + "\n".join(body)
        + "</body></html>\n"
    )


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
        rows.append(
            f'<tr><td>{_badge(judgement.verdict)}</td><td><a href="#{claim.name}">{html.escape(claim.says)}</a></td>'
            f"<td>{places}</td></tr>"
        )
    return (
        '<section><h2 id="claims">What the paper says, and whether it holds</h2><div class="table"><table><thead><tr>'
        "<th>verdict</th><th>claim</th><th>figure</th></tr></thead><tbody>"
        + "".join(rows)
        + "</tbody></table></div></section>"
    )


def _badge(verdict: str) -> str:
    return f'<span class="badge {CLASSES[verdict]}">{SIGNS[verdict]} {verdict}</span>'


def _figure(figure: PaperFigure, material: Material) -> str:
    picture = base64.b64encode(material.pictures[figure.name].read_bytes()).decode()
    claims = [j for j in material.judgements if j.claim.figures[0] == figure.name]
    return (
        f'<section class="figure"><h2 id="{figure.name}">Figure {figure.number}. {html.escape(figure.title)}</h2>'
        f'<p class="meta">{figure.place}; {html.escape(figure.settings(material.results))}. Bands: the middle 90 % of '
        "trials, unless the panel says otherwise.</p>"
        f'<img alt="{html.escape(figure.title)}" src="data:image/png;base64,{picture}">'
        + "".join(_claim(judgement) for judgement in claims)
        + "</section>"
    )


def _claim(judgement: Judgement) -> str:
    claim = judgement.claim
    rows = "".join(_part(part) for part in judgement.parts)
    remark = f"<p>{html.escape(claim.remark)}</p>" if claim.remark and judgement.verdict != HOLDS else ""
    return (
        f'<h3 id="{claim.name}">{_badge(judgement.verdict)}</h3><blockquote>{html.escape(claim.says)} '
        f'<span class="meta">({html.escape(claim.place)})</span></blockquote>'
        f'<p class="meta">Rule: {html.escape(claim.rule)}</p>'
        '<div class="table"><table><thead><tr><th>measured</th><th class="number">estimate</th>'
        '<th class="number">95 % interval</th>'
        f'<th class="number">range</th><th>verdict</th></tr></thead><tbody>{rows}</tbody></table></div>{remark}'
    )


def _part(part: Part) -> str:
    interval = "exact" if part.low == part.high else f"{number(part.low)} to {number(part.high)}"
    bounds = f"{number(part.least)} to {number(part.most)}"
    if math.isinf(part.most):
        bounds = f"at least {number(part.least)}"
    elif math.isinf(part.least):
        bounds = f"at most {number(part.most)}"
    return (
        f'<tr><td>{html.escape(part.label)}</td><td class="number">{number(part.estimate)}</td>'
        f'<td class="number">{interval}</td><td class="number">{bounds}</td><td>{_badge(part.verdict)}</td></tr>'
    )


def number(value: float) -> str:
    """A number as people read it: three or four digits that matter.

    >>> number(7375.4), number(0.0684), number(-20.64)
    ('7,375', '0.0684', '-20.6')
    """
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.4g}"


def _foot(material: Material) -> str:
    rows = []
    for name, result in material.results.items():
        speeds = [result.rounds_per_second(policy) for policy in result.policies]
        rounds = result.trials * result.specification.horizon * len(result.policies)
        seconds = sum(result.seconds.get(policy, 0.0) for policy in result.policies)
        speed = f"{rounds / seconds:,.0f}" if seconds > 0 and all(speeds) else "-"
        rows.append(
            f"<tr><td>{name}</td><td>{html.escape(RUNS[name].instance_name)}</td>"
            f'<td class="number">{result.specification.instance.alpha:g}</td><td class="number">{rounds:,}</td>'
            f'<td class="number">{speed}</td></tr>'
        )
    return (
        '<section><h2 id="made">How this was made</h2>'
        f"<p>safebandit {__version__}, seed {material.seed}, Python {platform.python_version()}, "
        f"{platform.machine()} with {platform.system()}. This run took {material.seconds:.0f} seconds, simulations "
        "found on disk not counted. Run again with the same version and seed, it gives the same numbers, on any "
        "number of cores.</p>"
        '<div class="table"><table><thead><tr><th>simulation</th><th>instance</th><th class="number">alpha</th>'
        '<th class="number">rounds</th><th class="number">rounds per second of one core</th></tr></thead><tbody>'
        + "".join(rows)
        + "</tbody></table></div></section>"
    )
