"""`safebandit design`: a file to start from, and what a file says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safebandit.cli.design_calibrate import calibrate, tune
from safebandit.cli.design_run import run
from safebandit.cli.design_write import protocol, table
from safebandit.cli.flags import Command
from safebandit.cli.output import Json


def new(
    file: Annotated[Path, typer.Argument(help="The file to write, such as dose.toml.", show_default=False)],
    kind: Annotated[
        str, typer.Option(help="What to begin with: phase-1-2, dose-finding, adaptive or screening.")
    ] = "phase-1-2",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a commented design file to start from."""
    from safebandit.errors import DesignError
    from safebandit.files import write_text
    from safebandit.trials.templates import template

    text = template(kind)
    if file.is_dir():
        raise DesignError(f"a file is written, and {file} is a folder; name a file in it, such as {file / 'dose.toml'}")
    if file.exists() and not force:
        raise DesignError(f"{file} is there already; choose another name, or replace it with --force")
    write_text(file, text)
    typer.echo(f"{file}: {kind}. Change it, then see what it says: safebandit design show {file}", err=True)


def show(
    file: Annotated[Path, typer.Argument(help="A design file.", show_default=False)],
    json: Json = False,
) -> None:
    """Check a design file, and say what is in it."""
    from safebandit.trials.design_file import read_design_file

    read = read_design_file(file)
    if json:
        from safebandit.cli.show import print_json

        print_json([read.to_dict()])
        return
    typer.echo(read.design.describe())
    for text in read.compare:
        typer.echo(f"compare   {text}")
    for scenario in read.scenarios:
        typer.echo(f"scenario  {scenario.describe()}")
    typer.echo(f"simulate  {read.trials:,} trials, seed {read.seed}")


design_app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


@design_app.callback()
def options(context: typer.Context) -> None:
    """Trial designs: a file to start from, what it says, what it does, and its protocol."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (new, show, run, calibrate, tune, table, protocol):
    design_app.command(cls=Command)(command)
