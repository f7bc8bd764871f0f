"""`safebandit design table` and `safebandit design protocol`: what a protocol prints of a design."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.executor import Workers
from safebandit.cli.output import Json
from safebandit.errors import DesignError

if TYPE_CHECKING:
    from safebandit.trials.design import Design

File = Annotated[Path | None, typer.Argument(help="A design file; see `safebandit design new`.")]
Text = Annotated[str | None, typer.Option("--design", help="A design by name instead: boin:target=.25,units=30.")]
Arms = Annotated[str | None, typer.Option(help="With --design: the arms by name, or how many there are.")]
FORMATS = (".md", ".html")


def table(file: File = None, design: Text = None, arms: Arms = None, json: Json = False) -> None:
    """What happens after n units and x harms: for the protocol, by asking the program that decides."""
    from safebandit.trials.decision_table import decision_tables

    tables = decision_tables(_chosen(file, design, arms))
    if json:
        from safebandit.cli.show import print_json

        print_json([each.to_dict() for each in tables])
        return
    for number, each in enumerate(tables):
        typer.echo(("\n" if number else "") + str(each))


def protocol(
    file: File = None,
    design: Text = None,
    arms: Arms = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials on each scenario of the file; 0 for none.  [default: what it says]")
    ] = None,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(help="A file to write: .md or .html.  [default: print Markdown]")] = None,
) -> None:
    """The design in words, as Markdown or HTML: rules, tables, operating characteristics, references."""
    from safebandit.trials.protocol import as_page, protocol

    if out is not None and out.suffix not in FORMATS:
        raise DesignError(f"a protocol is written as {' or '.join(FORMATS)}, got {out.name}")
    chosen = _chosen(file, design, arms)
    text = protocol(chosen, characteristics=_characteristics(file, chosen, trials, workers))
    if out is None:
        typer.echo(text, nl=False)
        return
    from safebandit.files import write_text

    write_text(out, as_page(text, chosen.title) if out.suffix == ".html" else text)
    typer.echo(f"protocol: {out}", err=True)


def _chosen(file: Path | None, text: str | None, arms: str | None) -> Design:
    """The design of a file, or the one of a text for so many arms."""
    from safebandit.trials.design_file import read_design_file
    from safebandit.trials.designs import design_from_text

    if (file is None) == (text is None):
        raise DesignError("give a design file, or a design by its text with --design; one of them")
    if file is not None:
        return read_design_file(file).design
    if arms is None:
        raise DesignError("a design by its text needs its arms: add --arms 5, or --arms low,mid,high")
    named = [name.strip() for name in arms.split(",")]
    return design_from_text(str(text), arms=int(arms) if arms.strip().isdecimal() else named)


def _characteristics(file: Path | None, design: Design, trials: int | None, workers: int | None) -> str:
    """The section of operating characteristics, where a file has scenarios to play on."""
    if file is None:
        return ""
    from safebandit.cli.show import progress_bar
    from safebandit.studies.designs.run import operating_characteristics
    from safebandit.studies.designs.section import characteristics_section
    from safebandit.trials.design_file import read_design_file

    read = read_design_file(file)
    wanted = read.trials if trials is None else trials
    if not read.scenarios or wanted == 0:
        return ""
    with progress_bar() as progress:
        found = operating_characteristics(
            {design.title or "this design": design}, list(read.scenarios), trials=wanted, seed=read.seed,
            workers=workers, progress=progress,
        )  # fmt: skip
    return characteristics_section(found)
