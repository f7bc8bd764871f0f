"""`safebandit design run`: what designs do on scenarios, from a file or by texts, with a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.executor import Dask, Workers, chosen_executor
from safebandit.cli.output import Json, plain_table
from safebandit.cli.problem import numbers, one_or_more
from safebandit.errors import StudyError

if TYPE_CHECKING:
    from rich.table import Table

    from safebandit.problems.scenario import Scenario
    from safebandit.studies.designs.estimates import Estimate
    from safebandit.studies.designs.results import Characteristics, Played
    from safebandit.trials.design import Design

DesignTexts = Annotated[
    list[str] | None,
    typer.Option("--design", help="A design by name, such as boin:target=.25,units=30; may be repeated."),
]
Mu = Annotated[str | None, typer.Option(help="Mean rewards, one per arm: .12,.39; without them there are none.")]
Nu = Annotated[list[str] | None, typer.Option(help="Mean risks, one per arm: .03,.17; once for every risk.")]
Alpha = Annotated[
    str | None, typer.Option(help="The tolerated mean risk of designs that do not say it, or one for every risk.")
]
Trials = Annotated[
    int | None, typer.Option(help="Trials of every design on every scenario.  [default: 10000, or what the file says]")
]
Seed = Annotated[int | None, typer.Option(help="Fixes all random numbers.  [default: 0, or what the file says]")]
FILE = "characteristics.parquet"


def run(
    file: Annotated[Path | None, typer.Argument(help="A design file; see `safebandit design new`.")] = None,
    design: DesignTexts = None,
    mu: Mu = None,
    nu: Nu = None,
    correlation: Annotated[str | None, typer.Option(help="Between reward and risk: one number or one per arm.")] = None,
    alpha: Alpha = None,
    trials: Trials = None,
    seed: Seed = None,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report, tables and trials.  [default of a file, without --json: results/NAME]"),
    ] = None,
    add: Annotated[
        bool, typer.Option("--add", help="Add to the trials that are in the folder, up to --trials in all.")
    ] = False,
    corrected: Annotated[
        int,
        typer.Option(help="Correct the means of so many trials for their bias, each by a thousand simulated ones."),
    ] = 0,
    question: Annotated[str, typer.Option(help="What the report is to answer, for its first lines.")] = "",
    json: Json = False,
) -> int:
    """Play every design on every scenario: operating characteristics, each with its Monte-Carlo error."""
    from safebandit.cli.show import progress_bar
    from safebandit.studies.designs.run import TRIALS, operating_characteristics

    began = time.perf_counter()
    designs, scenarios, usual = read_question(
        file, design, mu=mu, nu=nu, correlation=correlation, alpha=alpha, usual=(TRIALS, 0)
    )
    folder = out if out is not None or file is None or json else Path("results") / file.stem
    if folder is None and (add or question):
        needs = (
            "--add needs the folder with the trials to add to" if add else "--question needs a folder for its report"
        )
        raise StudyError(f"{needs}; give --out")
    with progress_bar() as progress, chosen_executor(dask, workers) as where:
        found = operating_characteristics(
            designs, scenarios, trials=usual[0] if trials is None else trials, seed=usual[1] if seed is None else seed,
            **where, progress=progress, add_to=folder / FILE if add and folder is not None else None,
            corrected=corrected,
        )  # fmt: skip
    # Written first: what is printed may meet a pipe that is closed.
    page = None if folder is None else found.write(folder, question=question, seconds=time.perf_counter() - began)
    if json:
        typer.echo(found.to_json())
    else:
        print_characteristics(found)
    if page is not None:
        typer.echo(f"report: {page}", err=True)
    return 0


def read_question(
    file: Path | None,
    texts: list[str] | None,
    *,
    mu: str | None = None,
    nu: list[str] | None = None,
    correlation: str | None = None,
    alpha: str | None = None,
    usual: tuple[int, int],
) -> tuple[dict[str, Design | str], list[Scenario], tuple[int, int]]:
    """Designs under their labels, scenarios, and how many trials with which seed, from a file or from flags."""
    if file is not None:
        return _from_file(file, texts or [])
    if not texts or not nu:
        missing = "--design, a design such as boin:target=.25" if not texts else "--nu, the mean risks"
        raise StudyError(f"give a design file, or designs and a truth: {missing} is missing")
    from safebandit.problems.scenario import Scenario
    from safebandit.studies.designs.plan import design_for

    rows = [numbers("nu", row) for row in nu]
    truth: dict[str, Any] = {"nu": rows[0] if len(rows) == 1 else rows}
    if mu is not None:
        truth["mu"] = numbers("mu", mu)
    if correlation is not None:
        truth["correlation"] = one_or_more("correlation", correlation)
    scenario = Scenario("given", **truth)
    limit = {} if alpha is None else {"alpha": one_or_more("alpha", alpha)}
    return _differing({text: design_for(text, scenario, limit) for text in texts}, texts), [scenario], usual


def _from_file(file: Path, texts: list[str]) -> tuple[dict[str, Design | str], list[Scenario], tuple[int, int]]:
    from safebandit.trials.design_file import SHARED, read_design_file
    from safebandit.trials.designs import design_from_text

    read = read_design_file(file)
    if not read.scenarios:
        raise StudyError(f"{file.name} has no scenario to play on; add a [[scenario]] with mu and nu")
    shared = {key: getattr(read.design, key) for key in SHARED}
    more = {text: design_from_text(text, arms=read.design.arms, defaults=shared) for text in texts}
    designs = _differing({**read.designs, **more}, [*read.designs, *texts])
    return designs, list(read.scenarios), (read.trials, read.seed)


def _differing(designs: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    if len(designs) < len(texts):
        raise StudyError("each design is played once; leave the second --design of the same text out")
    return designs


def print_characteristics(found: Characteristics) -> None:
    """Print the main numbers of every design, scenario by scenario, then selection and units by arm."""
    from safebandit.cli.show import console

    screen = console()
    screen.print(f"{found.trials:,} trials of every design on every scenario, seed {found.seed}")
    for scenario in found.scenarios:
        some = [found.of(design, scenario) for design in found.designs]
        screen.print(f"\n{scenario}", style="bold")
        screen.print(_main_table(found, some))
        screen.print(_arms_table(some))
        screen.print(_estimates_table(some))
    screen.print(
        "\n±: standard errors; more than m: how often more than m units get an unsafe arm; best, unsafe, none: how "
        "often such an arm, or none, is selected; holds: how often a "
        "95 % interval holds the true mean of the selected arm (posterior of a flat prior, exact, confidence sequence)",
        soft_wrap=True,
    )


def _main_table(found: Characteristics, some: list[Played]) -> Table:
    from safebandit.studies.designs.asking import Key, estimate

    headings = ("size", "unsafe units", "more than m, %", "harms", "best, %", "unsafe, %", "none, %", "early, %",
                "days")  # fmt: skip
    table = plain_table("design", *headings, right=headings)
    for each in some:
        bar = found.more_than(each)
        ask = [estimate(each.cell, Key(name)) for name in ("size", "unsafe units", "all harms", "duration")]
        shares = [
            estimate(each.cell, Key(name))
            for name in ("best selected", "unsafe selected", "none selected", "stopped early")
        ]
        above = estimate(each.cell, Key("unsafe units", f"more than {bar}"))
        size, unsafe, harms, days = map(_mean, ask)
        table.add_row(each.label, size, unsafe, f"{_share(above)} (m {bar})", harms, *map(_share, shares), days)
    return table


def _arms_table(some: list[Played]) -> Table:
    from safebandit.studies.designs.asking import Key, estimate

    arms = some[0].design.arms
    table = plain_table("design", "", *arms, right=("", *arms))
    for each in some:
        marks = [f" {mark}" if mark else "" for mark in each.cell.truth.marks]
        selected = [_share(estimate(each.cell, Key("selected", arm))) for arm in arms]
        table.add_row(each.label, "selected, %", *(f"{one}{mark}" for one, mark in zip(selected, marks, strict=True)))
        table.add_row("", "units", *(_mean(estimate(each.cell, Key("units", arm))) for arm in arms))
        table.add_row("", "harms", *(_mean(estimate(each.cell, Key("harms", arm))) for arm in arms))
    return table


def _estimates_table(some: list[Played]) -> Table:
    """How far the mean of the selected arm is off, and how often intervals hold the truth."""
    from safebandit.studies.designs.estimation_table import estimation_of

    shown = [(each.label, row) for each in some for row in estimation_of(each.cell) if row.selected]
    names = list(dict.fromkeys(name for _, row in shown for name in row.numbers))
    headings = ("selected arm", *(name.replace("coverage", "holds, %") for name in names))
    table = plain_table("design", *headings, right=headings)
    before = ""
    for label, row in shown:
        numbers = [row.numbers[name] for name in names]
        texts = [_share(one) if "coverage" in name else f"{one.value:.3f} ± {one.se:.3f}"
                 for name, one in zip(names, numbers, strict=True)]  # fmt: skip
        table.add_row("" if label == before else label, row.quantity, *texts)
        before = label
    return table


def _mean(found: Estimate) -> str:
    return f"{found.value:,.2f} ± {found.se:.2f}"


def _share(found: Estimate) -> str:
    return f"{100 * found.value:.1f} ± {100 * found.se:.1f}"
