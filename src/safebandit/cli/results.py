"""`safebandit show`, `extend` and `rerun`: what can be done with a saved result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.executor import Dask, Workers, chosen_executor
from safebandit.cli.output import Json

if TYPE_CHECKING:
    from safebandit.simulation.results import Result

File = Annotated[Path, typer.Argument(help="A result.parquet that simulate wrote.")]
AnyFile = Annotated[
    Path, typer.Argument(help="A result.parquet of simulate, or a characteristics.parquet of design run.")
]


def show(file: AnyFile, json: Json = False) -> None:
    """Print the summary of a saved result."""
    from safebandit.studies.designs.saved import holds_characteristics

    if holds_characteristics(file):
        _show_designs(file, json)
        return
    from safebandit.cli.show import print_json, print_result, say
    from safebandit.simulation.results import Result

    result = Result.load(file)
    if json:
        print_json([result.to_dict()])
    else:
        print_result(result)
    if not result.specification.is_current:
        say(f"made by {_made_by(result)}: rerun it to see whether it still comes out so")


def _made_by(result: Result) -> str:
    """The version that made a result, and whether its sources were those that are here."""
    made = result.specification
    return f"version {made.version}" + ("" if made.is_current else ", other sources than these")


def extend(
    file: File,
    trials: Annotated[int, typer.Option(help="How many trials there shall be in the end.")],
    workers: Workers = None,
    dask: Dask = None,
    json: Json = False,
) -> int:
    """Add trials to a saved result: the same as if all had been run at once."""
    from safebandit.cli.show import print_json, print_result, progress_bar, save_result
    from safebandit.simulation.chunks import clear
    from safebandit.simulation.results import Result
    from safebandit.simulation.simulate import extend as add_trials

    result = Result.load(file)
    chunks = file.with_suffix(".chunks")
    with progress_bar() as progress, chosen_executor(dask, workers) as where:
        result = add_trials(result, trials=trials, **where, resume=chunks, progress=progress)
    result.save(file)
    if not result.interrupted:
        clear(chunks)
    if file.name == "result.parquet":
        save_result(result, file.parent)
    if json:
        print_json([result.to_dict()])
    else:
        print_result(result)
    if result.interrupted:
        typer.echo(f"interrupted: the result now has {result.trials} trials", err=True)
        return 130
    return 0


def rerun(file: AnyFile, workers: Workers = None, dask: Dask = None) -> int:
    """Run a saved result again from itself, and say whether every trial came out the same."""
    from safebandit.studies.designs.saved import holds_characteristics

    if holds_characteristics(file):
        return _rerun_designs(file, workers, dask)
    from safebandit.cli.show import progress_bar
    from safebandit.simulation.results import Result
    from safebandit.simulation.simulate import rerun as run_again

    result = Result.load(file)
    with progress_bar() as progress, chosen_executor(dask, workers) as where:
        again = run_again(result, **where, progress=progress)
    if again.interrupted:
        typer.echo("interrupted: nothing was compared", err=True)
        return 130
    same = again.same_trials(result)
    typer.echo(
        f"{result.trials:,} trials of {len(result.policies)} policies, made by {_made_by(result)}: "
        + ("identical, bit for bit" if same else "different")
    )
    return 0 if same else 1


def _show_designs(file: Path, json: bool) -> None:
    """Print the operating characteristics of designs from their file."""
    from safebandit.cli.design_run import print_characteristics
    from safebandit.studies.designs.results import Characteristics

    found = Characteristics.load(file)
    if json:
        typer.echo(found.to_json())
    else:
        print_characteristics(found)


def _rerun_designs(file: Path, workers: int | None, dask: str | None) -> int:
    """Play the operating characteristics of designs again from their file."""
    from safebandit.cli.show import progress_bar
    from safebandit.studies.designs.results import Characteristics
    from safebandit.studies.designs.run import rerun as play_again

    found = Characteristics.load(file)
    with progress_bar() as progress, chosen_executor(dask, workers) as where:
        same = play_again(found, **where, progress=progress)
    typer.echo(
        f"{found.trials:,} trials of {len(found.designs)} designs on {len(found.scenarios)} scenarios, made by version "
        f"{found.version}{'' if found.is_current else ', other sources than these'}: "
        + ("identical, bit for bit" if same else "different")
    )
    return 0 if same else 1
