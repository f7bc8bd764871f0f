"""`safebandit paper`: every figure and claim of the paper, with a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.executor import Dask, Workers, chosen_executor
from safebandit.cli.output import plain_table, print_plain

if TYPE_CHECKING:
    from safebandit.studies.paper.looks import Judgement


def paper(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Figures such as fig2 fig6; all if none is named.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the trials.")] = False,
    trials: Annotated[
        int | None,
        typer.Option(help="Trials of every simulation; saved ones are extended.  [default: as in the paper]"),
    ] = None,
    until_decided: Annotated[
        bool, typer.Option("--until-decided", help="Double the trials behind undecided claims until they are decided.")
    ] = False,
    most: Annotated[
        int | None, typer.Option(help="Where --until-decided gives up: trials of a simulation.  [default: 10000]")
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="Say what there is and how many rounds each takes.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Fixes all random numbers.")] = 1,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the report.  [default: results/paper]")] = None,
) -> int:
    """Reproduce the paper: its simulations at full settings, its figures, its claims put to the test, one report."""
    from safebandit.cli.show import progress_bar, say
    from safebandit.studies.paper.reproduce import MOST, chosen_figures, reproduce

    if list_only:
        _print_list(chosen_figures(figures or []), quick, trials)
        return 0
    folder = out or Path("results") / ("paper-quick" if quick else "paper")
    try:
        with progress_bar() as progress, chosen_executor(dask, workers) as where:
            made = reproduce(
                figures or [], out=folder, seed=seed, quick=quick, trials=trials, until_decided=until_decided,
                most=MOST if most is None else most, **where, progress=progress, say=say,
            )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo(f"interrupted: what was finished is in {folder / 'runs'}, and the same command goes on", err=True)
        return 130
    _print_judgements(made.judgements)
    for name, (rounds, speed) in made.speeds.items():
        typer.echo(f"{name:6} {rounds:>11,} rounds, {speed:>10,.0f} per second of one core")
    typer.echo(f"report: {made.report}")
    if made.interrupted:
        typer.echo("interrupted: the report is of the last look, and the same command goes on", err=True)
        return 130
    return 0


def _print_list(names: list[str], quick: bool, trials: int | None) -> None:
    from safebandit.studies.paper.figures import FIGURES
    from safebandit.studies.paper.reproduce import asked_trials, needed_runs
    from safebandit.studies.paper.runs import RUNS

    asked = asked_trials(needed_runs(names), quick=quick, trials=trials)
    rounds_of = {run: RUNS[run].simulation(count).rounds for run, count in asked.items()}
    table = plain_table("figure", "what it shows", "place", "rounds", right=["rounds"])
    for name in names:
        rounds = sum(rounds_of[run] for run in FIGURES[name].runs)
        table.add_row(name, FIGURES[name].title, FIGURES[name].place, f"{rounds:,}")
    total = f"{sum(rounds_of.values()):,}"
    table.add_row("", "all, simulations that figures share counted once, and ours for claims", "", total)
    print_plain(table)


def _print_judgements(judgements: list[Judgement]) -> None:
    from rich.text import Text

    from safebandit.cli.show import console

    colours = {"holds": "green", "does not hold": "red", "undecided": "yellow"}
    table = plain_table("verdict", "claim", "figure", "trials")
    for judgement in judgements:
        verdict = judgement.verdict
        figures = ", ".join(name[3:] for name in judgement.claim.figures)
        trials = " to ".join(f"{count:,}" for count in sorted(set(judgement.trials.values())))
        table.add_row(Text(verdict, colours[verdict]), judgement.claim.says, figures, trials)
    screen = console()
    screen.print(table)
    counts = [f"{sum(j.verdict == verdict for j in judgements)} {verdict}" for verdict in colours]
    screen.print(f"{len(judgements)} claims: {', '.join(counts)}")
