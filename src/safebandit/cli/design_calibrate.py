"""`safebandit design calibrate` and `tune`: parameters of a design so that it does what it shall."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.design_run import Alpha, DesignTexts, Mu, Nu, Seed, Trials, read_question
from safebandit.cli.executor import Workers
from safebandit.cli.output import Json, plain_table
from safebandit.errors import StudyError

if TYPE_CHECKING:
    from safebandit.problems.scenario import Scenario
    from safebandit.studies.designs.calibrate import Calibration, Tried
    from safebandit.studies.designs.parameters import AnyDesign
    from safebandit.studies.designs.tune import Tuning

File = Annotated[Path | None, typer.Argument(help="A design file with scenarios.")]


def calibrate(
    file: File = None,
    set: Annotated[
        list[str] | None, typer.Option("--set", help="The parameter: stop.harm.confidence; may be given twice.")
    ] = None,
    so_that: Annotated[
        list[str] | None,
        typer.Option("--so-that", help='What shall hold: "stopped early[all safe] <= 0.05"; may be given twice.'),
    ] = None,
    between: Annotated[
        list[str] | None, typer.Option(help="Where to look, from the least to the most: 0.8..0.999; once per --set.")
    ] = None,
    design: DesignTexts = None,
    mu: Mu = None,
    nu: Nu = None,
    alpha: Alpha = None,
    trials: Trials = None,
    seed: Seed = None,
    workers: Workers = None,
    write: Annotated[
        Path | None, typer.Option(help="Write a copy of the design file with the calibrated values.")
    ] = None,
    json: Json = False,
) -> int:
    """Search the value of a parameter at which a characteristic comes to its bound, by common random numbers."""
    from safebandit.cli.show import print_json
    from safebandit.studies.designs.calibrate import calibrate as search
    from safebandit.studies.designs.run import TRIALS

    if not set or not so_that:
        raise StudyError("--set names the parameter and --so-that what shall hold; give both")
    chosen, scenarios, usual = _one_design(file, design, mu, nu, alpha, (TRIALS, 0))
    found = search(
        chosen, scenarios, set=set, so_that=so_that, between=[_ends(each) for each in between] if between else None,
        trials=usual[0] if trials is None else trials, seed=usual[1] if seed is None else seed, workers=workers,
        progress=_say_step,
    )  # fmt: skip
    if write is not None and file is not None:
        from safebandit.studies.designs.rewriting import write_values

        write_values(file, write, found.values)
    if json:
        print_json([found.to_dict()])
    else:
        print_calibration(found)
    if write is not None:
        typer.echo(f"design: {write}", err=True)
    return 0


def tune(
    file: File = None,
    set: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter and its values: stop.harm.confidence=.8,.9,.95")
    ] = None,
    front: Annotated[
        tuple[str, str] | None, typer.Option(help='Two characteristics: "unsafe units[steep]" "best selected[steep]"')
    ] = None,
    design: DesignTexts = None,
    mu: Mu = None,
    nu: Nu = None,
    alpha: Alpha = None,
    trials: Trials = None,
    seed: Seed = None,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the table and the picture.")] = None,
    json: Json = False,
) -> int:
    """Play a design at every point of a grid of parameters, and say which points are on the front of two numbers."""
    from safebandit.cli.show import print_json, progress_bar
    from safebandit.studies.designs.run import TRIALS
    from safebandit.studies.designs.tune import tune as play_grid

    if not set or front is None:
        raise StudyError("--set gives a parameter its values and --front names two characteristics; give both")
    chosen, scenarios, usual = _one_design(file, design, mu, nu, alpha, (TRIALS, 0))
    grid = dict(_values(each) for each in set)
    with progress_bar() as progress:
        found = play_grid(
            chosen, scenarios, set=grid, front=front, trials=usual[0] if trials is None else trials,
            seed=usual[1] if seed is None else seed, workers=workers, progress=progress,
        )  # fmt: skip
    picture = None if out is None else found.write(out)
    if json:
        print_json([found.to_dict()])
    else:
        print_tuning(found)
    if picture is not None:
        typer.echo(f"picture: {picture}", err=True)
    return 0


def _one_design(
    file: Path | None, texts: list[str] | None, mu: str | None, nu: list[str] | None, alpha: str | None,
    usual: tuple[int, int],
) -> tuple[AnyDesign, list[Scenario], tuple[int, int]]:  # fmt: skip
    """The file's own design, or the one that --design names, by its text."""
    designs, scenarios, counts = read_question(file, texts, mu=mu, nu=nu, alpha=alpha, usual=usual)
    if file is None and len(designs) > 1:
        raise StudyError(f"one design is searched at a time, got {len(designs)}; give --design once")
    label, design = next(iter(designs.items()))
    # A text keeps its own parameters; the file's design has paths.
    return (design if file is not None else _complete(label, alpha)), scenarios, counts


def _complete(text: str, alpha: str | None) -> str:
    """A design's text that says its alpha itself."""
    if alpha is None or "alpha=" in text:
        return text
    return f"{text}{',' if ':' in text else ':'}alpha={alpha}"


def _say_step(step: Tried) -> None:
    """A line on stderr for every step of the search."""
    values = ", ".join(f"{path} = {value:g}" for path, value in step.values.items())
    numbers = ", ".join(f"{one.value:.4g} ± {one.se:.2g}" for one in step.found)
    typer.echo(f"{values}: {numbers} over {step.trials:,} trials ({step.why})", err=True)


def _ends(text: str) -> tuple[float, float]:
    low, dots, high = text.partition("..")
    try:
        return float(low), float(high)
    except ValueError:
        shown = text if dots else f"{text}, without .."
        raise StudyError(f'--between is written from the least to the most, 0.8..0.999, got "{shown}"') from None


def _values(text: str) -> tuple[str, list[float]]:
    path, _, listed = text.partition("=")
    try:
        return path.strip(), [float(value) for value in listed.split(",")]
    except ValueError:
        raise StudyError(
            f'--set is written with values separated by commas, stop.harm.confidence=.8,.9, got "{text}"'
        ) from None


def print_calibration(found: Calibration) -> None:
    """Print the steps of the search, then the value with its interval and what it comes to."""
    from safebandit.cli.show import console

    screen, numbers = console(), (*found.values, "trials", *found.targets)
    table = plain_table(*found.values, "trials", "why", *found.targets, "met", right=numbers)
    for step in found.steps:
        reached = [f"{one.value:.4g} ± {one.se:.2g}" for one in step.found]
        values = [f"{value:.6g}" for value in step.values.values()]
        table.add_row(*values, f"{step.trials:,}", step.why, *reached, "yes" if step.met else "no")
    screen.print(table)
    screen.print()
    for sentence in found.sentences():
        screen.print(sentence, soft_wrap=True)


def print_tuning(found: Tuning) -> None:
    """Print every point of the grid; those on the front have a star."""
    from safebandit.cli.show import console

    screen, headings = console(), (*found.points[0].values, *(measure.text for measure in found.measures), "")
    table = plain_table(*headings, right=headings)
    for each in found.points:
        numbers = [f"{one.value:.4g} ± {one.se:.2g}" for one in (each.first, each.second)]
        table.add_row(*(f"{value:g}" for value in each.values.values()), *numbers, "*" if each.on_front else "")
    screen.print(table)
    screen.print("* on the front: no other point is better in one number and as good in the other", soft_wrap=True)
