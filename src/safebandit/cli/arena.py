"""`safebandit arena`: every policy on a fixed collection of instances, and a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.completion import complete_arena, complete_policy
from safebandit.cli.executor import Dask, Workers, chosen_executor
from safebandit.cli.output import Json, plain_table, print_plain

if TYPE_CHECKING:
    from safebandit.studies.arena import Board
    from safebandit.studies.arena.plan import Task

_HEADINGS = (
    "mean rank", "mean regret", "99 %", "unsafe plays", "of equal's", "better", "worse", "worst mean", "worst 99 %",
)  # fmt: skip


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
    units: Annotated[
        str | None, typer.Option(help="Units per trial: sizes, with commas.  [default: 36,100,400,2000,50000]")
    ] = None,
    trials: Annotated[
        str | None, typer.Option(help="Trials per policy: one number, or one per size.  [default: 200 to 1,000]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes all random numbers.")] = 1,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the leaderboard.  [default: results/arena]")] = None,
    json: Json = False,
) -> int:
    """Compare all policies on a fixed collection of instances, in pairs, and write a leaderboard for each size."""
    from safebandit.cli.show import print_json, progress_bar, say
    from safebandit.studies.arena import run_arena
    from safebandit.studies.arena.plan import make_plan, read_settings

    sizes = None if units is None else _numbers("units", units)
    counts = None if trials is None else _numbers("trials", trials)
    if list_only:
        settings = read_settings(sizes, baseline=baseline, trials=counts, quick=quick)
        _print_list(make_plan(instance or [], policy or None, settings))
        return 0
    folder = out or Path("results") / ("arena-quick" if quick else "arena")
    try:
        with progress_bar() as progress, chosen_executor(dask, workers) as where:
            made = run_arena(
                instance or [], policy or None, units=sizes, baseline=baseline, trials=counts, seed=seed, quick=quick,
                out=folder, **where, progress=progress, say=say,
            )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo(f"interrupted: what was finished is in {folder / 'runs'}, and the same command goes on", err=True)
        return 130
    if json:
        print_json([made.to_dict()])
    else:
        for board in made.boards:
            _print_leaderboard(board, baseline)
    typer.echo(f"report: {folder / 'index.html'}", err=json)
    if made.interrupted:
        finished = len(made.standings)
        typer.echo(f"interrupted: {finished} instances were finished, and the same command goes on", err=True)
        return 130
    return 0


def _numbers(what: str, text: str) -> list[int]:
    from safebandit.errors import SimulationError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SimulationError(f'{what} must be whole numbers separated by commas, got "{text}"') from None


def _print_list(tasks: list[Task]) -> None:
    table = plain_table("instance", "group", "why it is there", "rounds", right=["rounds"])
    rounds: dict[str, int] = {}
    for task in tasks:
        rounds[task.entry.name] = rounds.get(task.entry.name, 0) + task.simulation.rounds
    for name, entry in {task.entry.name: task.entry for task in tasks}.items():
        table.add_row(name, entry.group, entry.reason, f"{rounds[name]:,}")
    sizes = ", ".join(f"{units:,}" for units in sorted({task.units for task in tasks}))
    table.add_row("", "", f"all {len(rounds)}, at {sizes} units", f"{sum(rounds.values()):,}")
    print_plain(table)


def _print_leaderboard(board: Board, baseline: str) -> None:
    from safebandit.cli.show import console

    table = plain_table("policy", *_HEADINGS, right=_HEADINGS)
    for row in board.leaderboard:
        ratios = (row.mean_ratio, row.q99_ratio, row.unsafe_ratio, row.unsafe_share)
        worst = (row.worst_mean.ratio, row.worst_q99.ratio)
        rank = f"{row.mean_rank:.2f}" if row.instances else "-"
        sure = (f"{row.better}", f"{row.worse}")
        table.add_row(row.policy, rank, *map(_ratio, ratios), *sure, *map(_ratio, worst))
    screen = console()
    screen.print(f"{board.units:,} units", style="bold")
    screen.print(table)
    instances = len(board.standings)
    screen.print(
        f"ratios to {baseline}, geometric means over {instances} instances; of equal's: unsafe plays, as a share of "
        "equal randomisation's; worst: the largest"
    )
    for policy, why in board.unplayed.items():
        screen.print(f"{policy}: {why}")
    screen.print()


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
