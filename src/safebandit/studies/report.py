"""Reports: the look and the parts that every HTML page here shares; a page loads nothing from outside."""

from __future__ import annotations

import base64
import html
import os
import platform
from collections.abc import Sequence
from pathlib import Path

from safebandit.version import __version__

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --line: #d7dde4; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ef; --soft: #a3afbd; --line: #3a4552; --paper: #14191f; } }
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
.count { display: inline-block; margin: .4rem 1.4rem .4rem 0; font-family: system-ui, sans-serif; }
.count b { font-size: 1.6rem; }
blockquote { margin: .3rem 0; padding-left: .9rem; border-left: 3px solid var(--line); }
@media print { body { max-width: none; font-size: 10.5pt; padding: 0; } section.figure { break-before: page; }
  img, tr { break-inside: avoid; } a { text-decoration: none; } }
@media (max-width: 40rem) { body { font-size: 15px; padding: 1rem .8rem 3rem; } }
"""


def page(title: str, body: Sequence[str], *, style: str = "") -> str:
    """A whole page from its parts; `style` is what it adds to the common look."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}{style}</style></head><body>"
        + "\n".join(body)
        + "</body></html>\n"
    )


def write_text(path: Path, text: str) -> Path:
    """Write a file, all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def picture(path: Path, about: str) -> str:
    """A PNG inside the page itself."""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{html.escape(about)}" src="data:image/png;base64,{data}">'


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """A table of cells that are HTML already; the columns `numbers` are set right, digit under digit."""
    kinds = [' class="number"' if i in numbers else "" for i in range(len(headings))]
    head = "".join(f"<th{kind}>{heading}</th>" for kind, heading in zip(kinds, headings, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


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


def made_by(seed: int, seconds: float) -> str:
    """By what a page was made, and how to make it again."""
    return (
        f"safebandit {__version__}, seed {seed}, Python {platform.python_version()}, "
        f"{platform.machine()} with {platform.system()}. This run took {seconds:.0f} seconds, simulations "
        "found on disk not counted. Run again with the same version and seed, it gives the same numbers, on any "
        "number of cores."
    )
