"""Rounds per second and mean regret of bandit libraries on the same problem: `make bench-peers`.

Every library plays on one core, in an environment of its own, in the loop that its documentation shows.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from peers.environments import ROOT
from peers.libraries import LIBRARIES
from peers.measure import measure
from peers.problem import HORIZON, MU
from peers.tables import LONG_HEADER, Measured, long_page, long_rows, put_between_marks, short_page

README = ROOT / "README.md"


def processor() -> str:
    """The model of the processor, where the system tells it."""
    listing = Path("/proc/cpuinfo")
    models = listing.read_text(encoding="utf-8").split("model name") if listing.is_file() else []
    return models[1].splitlines()[0].strip("\t :") if len(models) > 1 else platform.processor() or platform.machine()


def conditions(horizon: int) -> str:
    """When, where and on what the numbers were measured."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return (
        f"{today}; one of {os.cpu_count()} cores of {processor()}; Python {platform.python_version()}; "
        f"mu = ({', '.join(map(str, MU))}), T = {horizon:,}."
    )


def hold_to_one_core() -> None:
    """Keep this process and its children on one core, where the system can; the players have one thread anyway."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def show(console: Console, measured: list[Measured], failures: dict[str, str]) -> None:
    """The long table on the terminal."""
    table = Table(
        *LONG_HEADER, box=None, padding=(0, 1, 0, 0), caption="apart: from our mean regret, in standard errors"
    )
    for column in table.columns[2:]:
        column.justify = "right"
    for row in long_rows(measured):
        table.add_row(*row)
    console.print(table)
    for name, reason in failures.items():
        console.print(f"{name} {reason}", markup=False)


def at_least_one(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text}")
    return int(text)


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m peers", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=LIBRARIES, default=list(LIBRARIES), help="some libraries")
    parser.add_argument("--horizon", type=at_least_one, default=HORIZON)
    parser.add_argument(
        "--turns", type=at_least_one, default=3, help="turns, each with new trials; speeds are their medians"
    )
    parser.add_argument(
        "--trials", type=at_least_one, help="trials of every policy in every turn, instead of its own number"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "bench-peers", help="folder for the tables")
    parser.add_argument("--readme", action="store_true", help="put the short table into README.md")
    return parser.parse_args()


def measure_with_a_bar(console: Console, options: argparse.Namespace) -> tuple[list[Measured], dict[str, str]]:
    """Measure as the options say, with a progress bar."""
    libraries = [LIBRARIES[key] for key in options.only]
    if options.trials:
        libraries = [library._replace(trials=dict.fromkeys(library.trials, options.trials)) for library in libraries]
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=options.turns * sum(len(library.trials) for library in libraries))
        return measure(
            libraries,
            horizon=options.horizon,
            turns=options.turns,
            progress=lambda what, done: bar.update(task, description=what, advance=done),
        )


def main() -> None:
    """Measure, print, and keep the tables."""
    options = read_options()
    if options.readme:
        # A page without its marks is refused now, not after minutes of play.
        put_between_marks(README.read_text(encoding="utf-8"), "")
    console = Console()
    hold_to_one_core()
    measured, failures = measure_with_a_bar(console, options)
    where = conditions(options.horizon)
    show(console, measured, failures)
    options.out.mkdir(parents=True, exist_ok=True)
    kept = {"conditions": where, "measured": [row._asdict() for row in measured], "failures": failures}
    (options.out / "peers.json").write_text(json.dumps(kept, indent=2), encoding="utf-8")
    (options.out / "peers.md").write_text(long_page(measured, failures, where), encoding="utf-8")
    if options.readme:
        text = put_between_marks(README.read_text(encoding="utf-8"), short_page(measured, failures, where))
        README.write_text(text, encoding="utf-8")
    console.print(f"{where}\nkept in {options.out}", highlight=False)


if __name__ == "__main__":
    main()
