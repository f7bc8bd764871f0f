"""How results appear: tables on stdout, progress on stderr, files in a folder."""

from __future__ import annotations

import contextlib
import csv
import functools
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from safebandit.cli.output import plain_table
from safebandit.files import written_whole
from safebandit.problems.limits import show_alpha

if TYPE_CHECKING:
    from safebandit.simulation.execution import Progress as Tell
    from safebandit.simulation.execution import Step
    from safebandit.simulation.results import Result

WIDE = 150
# Fewer rounds than these are counted by thousands, so that the bar moves.
FEW_ROUNDS = 100_000_000
STATISTICS = {
    "mean": "mean",
    "se": "s.e.",
    "median": "median",
    "q05": "5 %",
    "q95": "95 %",
    "q99": "99 %",
    "max": "worst",
}


def console(*, stderr: bool = False) -> Console:
    """A console that shows every text as it is, and does not fold tables when nobody looks at it.

    Names are users' text: brackets in them are no markup, and :colons: no emoji. Styles are given beside a text.
    """
    make = functools.partial(Console, stderr=stderr, markup=False, emoji=False, highlight=False)
    shown = make()
    return shown if shown.is_terminal else make(width=WIDE)


@contextlib.contextmanager
def progress_bar() -> Iterator[Tell]:
    """A bar on stderr where it is a terminal; elsewhere a line for every tenth of the work."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield _lines()
        return
    with bar_of("simulating") as (bar, task):

        def tell(step: Step) -> None:
            word, size = ("million", 1e6) if step.total >= FEW_ROUNDS else ("thousand", 1e3)
            bar.update(
                task, description=f"{step.what} ({word} rounds)", completed=math.ceil(step.done / size),
                total=math.ceil(step.total / size),
            )  # fmt: skip

        yield tell


@contextlib.contextmanager
def bar_of(what: str) -> Iterator[tuple[Progress, TaskID]]:
    """A bar on stderr, and the task that moves it."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        yield bar, bar.add_task(what, total=None)


def _lines() -> Tell:
    said = {"tenths": -1, "total": -1}

    def tell(step: Step) -> None:
        tenths = 10 * step.done // step.total
        if tenths > said["tenths"] or step.total != said["total"]:
            said.update(tenths=tenths, total=step.total)
            typer.echo(f"{10 * tenths:3d} % of {step.total:,} rounds ({step.what})", err=True)

    return tell


def say(line: str) -> None:
    """A line on stderr."""
    typer.echo(line, err=True)


def print_json(documents: Sequence[dict[str, Any]]) -> None:
    """Print one document, or a list of several; numbers that do not exist are null."""
    clean = [_without_nan(document) for document in documents]
    typer.echo(json.dumps(clean[0] if len(clean) == 1 else clean, allow_nan=False))


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_result(result: Result) -> None:
    """Print the summary of a result: regret and unsafe plays, then plays per arm."""
    document = result.to_dict()
    screen = console()
    instance = result.specification.instance
    title = (
        f"{instance.name}, alpha {show_alpha(instance.alpha)}: {document['trials']:,} trials of "
        f"{document['horizon']:,} rounds, seed {document['seed']}"
    )
    screen.print()
    screen.print(title, style="bold")
    if instance.origin:
        screen.print(instance.origin)
    screen.print(_statistics_table(document["policies"]))
    screen.print(_plays_table(result, document["policies"]))
    if result.near_limit:
        screen.print(
            "the best arm's risk cannot be told from alpha in so many rounds: rare, long runs carry mean regret, and "
            "its s.e. may be too small; look at the 99 % and worst columns"
        )
    if result.keep == "summary":
        screen.print(f"a summary of the trials was kept: quantiles are within {100 * result.quantile_accuracy:.1f} %")


def _statistics_table(policies: dict[str, Any]) -> Table:
    table = plain_table("policy", "", *STATISTICS.values(), right=STATISTICS.values())
    for policy, summary in policies.items():
        rows = {"regret": summary["regret"], "unsafe plays": summary["unsafe_plays"]}
        rows |= {f"unsafe plays, {risk}": numbers for risk, numbers in summary.get("unsafe_by_risk", {}).items()}
        for label, numbers in rows.items():
            table.add_row(policy if label == "regret" else "", label, *(number(numbers[name]) for name in STATISTICS))
    return table


def _plays_table(result: Result, policies: dict[str, Any]) -> Table:
    instance = result.specification.instance
    marks = [instance.mark(k) for k in range(len(instance.arms))]
    arms = (f"{arm} ({mark})" if mark else arm for arm, mark in zip(instance.arms, marks, strict=True))
    headings = (*arms, "none permissible", "held", "rounds/s")
    table = plain_table("policy", *headings, right=headings, title="mean plays per arm")
    for policy, summary in policies.items():
        speed = summary["rounds_per_second"]
        cells = [number(plays) for plays in summary["plays"]]
        cells += [number(summary["none_permissible"]), number(summary["held"])]
        table.add_row(policy, *cells, "-" if speed is None else f"{speed:,.0f}")
    return table


def number(value: float) -> str:
    """A number as tables show it; a dash for one that does not exist."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def save_results(results: Sequence[Result], folder: Path) -> None:
    """Save every result with its table and pictures; several get a folder each."""
    for result in results:
        instance = result.specification.instance
        name = re.sub(r"[^\w.=-]+", "-", f"{instance.name}-alpha-{show_alpha(instance.alpha)}")
        save_result(result, folder if len(results) == 1 else folder / name)


def save_result(result: Result, folder: Path) -> None:
    """Save result.parquet, summary.csv, and curves and boxes as PNG and SVG."""
    from safebandit.simulation import plots

    path = result.save(folder / "result.parquet")
    rows = result.summary_rows()
    with written_whole(folder / "summary.csv") as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["policy", *(" ".join(column) for column in next(iter(rows.values())))])
        writer.writerows([policy, *row.values()] for policy, row in rows.items())
    pictures = [plots.save(plots.curves(result), folder / "curves"), plots.save(plots.boxes(result), folder / "boxes")]
    written = [path, folder / "summary.csv", *pictures]
    typer.echo("results: " + ", ".join(str(name) for name in written), err=True)
