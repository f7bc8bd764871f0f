"""`safebandit arena`: every policy on a fixed collection of instances, and a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.completion import complete_arena, complete_policy
from safebandit.cli.executor import Dask, Workers, chosen_executor

if TYPE_CHECKING:
    from safebandit.studies.arena import Arena
    from safebandit.studies.arena.plan import Task


def arena(
    instance: Annotated[
        list[str] | None,
        typer.Option(
            help="An instance of the collection, by name; may be repeated.  [default: all]",
            autocompletion=complete_arena,
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy by name, such as tsbu:schedule=theory; may be repeated.  [default: all]",
            autocompletion=complete_policy,
        ),
    ] = None,
    baseline: Annotated[str, typer.Option(help="The policy that the others are compared with.")] = "tsbu",
    quick: Annotated[bool, typer.Option("--quick", help="A few short trials, to see that everything works.")] = False,
    list_only: Annotated[
        bool, typer.Option("--list", help="Say which instances there are, why, and how many rounds each takes.")
    ] = False,
    horizon: Annotated[int | None, typer.Option(help="Rounds per trial.  [default: the collection's]")] = None,
    trials: Annotated[int | None, typer.Option(help="Trials per policy.  [default: the collection's]")] = None,
    seed: Annotated[int, typer.Option(help="Fixes all random numbers.")] = 1,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the leaderboard.  [default: results/arena]")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")] = False,
) -> int:
    """Compare all policies on a fixed collection of instances, in pairs, and write a leaderboard."""
    from safebandit.cli.show import print_json, progress_bar, say
    from safebandit.studies.arena import run_arena
    from safebandit.studies.arena.plan import ArenaSettings, make_plan

    if list_only:
        _print_list(make_plan(instance or [], policy or None, ArenaSettings(baseline, horizon, trials, seed, quick)))
        return 0
    folder = out or Path("results") / ("arena-quick" if quick else "arena")
    try:
        with progress_bar() as progress, chosen_executor(dask, workers) as where:
            made = run_arena(
                instance or [], policy or None, baseline=baseline, horizon=horizon, trials=trials, seed=seed,
                quick=quick, out=folder, **where, progress=progress, say=say,
            )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo(f"interrupted: what was finished is in {folder / 'runs'}, and the same command goes on", err=True)
        return 130
    if json:
        print_json([made.to_dict()])
    else:
        _print_leaderboard(made)
    typer.echo(f"report: {folder / 'index.html'}", err=json)
    if made.interrupted:
        finished = len(made.standings)
        typer.echo(f"interrupted: {finished} instances were finished, and the same command goes on", err=True)
        return 130
    return 0


def _print_list(tasks: list[Task]) -> None:
    from rich.table import Table

    from safebandit.cli.show import console

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, justify in (("instance", "left"), ("group", "left"), ("why it is there", "left"), ("rounds", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for task in tasks:
        table.add_row(task.entry.name, task.entry.group, task.entry.reason, f"{task.simulation.rounds:,}")
    table.add_row("", "", f"all {len(tasks)}", f"{sum(task.simulation.rounds for task in tasks):,}")
    console().print(table)


def _print_leaderboard(made: Arena) -> None:
    from rich.table import Table

    from safebandit.cli.show import console

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy")
    for heading in ("mean rank", "mean regret", "99 %", "unsafe plays", "better", "worse", "worst mean", "worst 99 %"):
        table.add_column(heading, justify="right")
    for row in made.leaderboard:
        ratios = (row.mean_ratio, row.q99_ratio, row.unsafe_ratio)
        worst = (row.worst_mean.ratio, row.worst_q99.ratio)
        rank = f"{row.mean_rank:.2f}" if row.instances else "-"
        sure = (f"{row.better}", f"{row.worse}")
        table.add_row(row.policy, rank, *map(_ratio, ratios), *sure, *map(_ratio, worst))
    screen = console()
    screen.print(table)
    instances = len(made.standings)
    screen.print(f"ratios to {made.settings.baseline}, geometric means over {instances} instances; worst: the largest")


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
