"""`safebandit identify`: how often systems of pure exploration are wrong after so many units."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.completion import complete_instance, complete_policy
from safebandit.cli.output import Json, plain_table
from safebandit.cli.problem import Columns, instance_from_flags, names
from safebandit.errors import SimulationError

if TYPE_CHECKING:
    from safebandit.studies.identify import Identification
    from safebandit.studies.identify.summary import Estimate


def identify(
    instance: Annotated[
        str | None,
        typer.Option(
            help="A named problem as the truth; see `safebandit instances`.", autocompletion=complete_instance
        ),
    ] = None,
    mu: Annotated[str | None, typer.Option(help="Mean rewards as the truth, one per arm: .36,.34")] = None,
    nu: Annotated[list[str] | None, typer.Option(help="Mean risks, one per arm: .16,.26; once for every risk.")] = None,
    correlation: Annotated[str | None, typer.Option(help="Between reward and risk: one number or one per arm.")] = None,
    arms: Annotated[str | None, typer.Option(help="Names of the arms, separated by commas.")] = None,
    risks: Annotated[str | None, typer.Option(help="Names of the risks, separated by commas.")] = None,
    alpha: Annotated[str | None, typer.Option(help="The tolerated mean risk, or one for every risk: .3,.2")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Resample past outcomes: text (CSV) or Parquet with arm, reward, risk.")
    ] = None,
    columns: Columns = None,
    missing_risk: Annotated[
        str | None, typer.Option(help="Rows without a risk: refuse, drop or worst.  [default: refuse]")
    ] = None,
    safe_set: Annotated[
        str | None,
        typer.Option(
            help="Half-spaces in which the means of a feasible arm lie: 'risk1 + risk2 <= 0.5, reward >= 0.2'."
            "  [default: every risk at most its alpha]"
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="A system by name, such as tf-lucb:delta=0.05; may be repeated.  [default: md-apt, md-ucbe, md-sar, "
            "tf-lucb, equal]",
            autocompletion=complete_policy,
        ),
    ] = None,
    units: Annotated[str, typer.Option(help="How many units a trial has, separated by commas.")] = "100,200,400,800",
    trials: Annotated[int, typer.Option(help="Trials of every system with each number of units.")] = 2_000,
    seed: Annotated[int, typer.Option(help="Fixes all random numbers.")] = 1,
    workers: Annotated[int | None, typer.Option(help="Threads.  [default: one per core]")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the picture and all numbers.")] = None,
    json: Json = False,
) -> int:
    """Ask systems of pure exploration which arms are feasible and which of them is best; error against units."""
    from safebandit.cli.show import print_json, progress_bar
    from safebandit.studies.identify import identify as play_systems

    problem: dict[str, Any] = {"instance": instance, "mu": mu, "nu": nu or None, "correlation": correlation}
    problem |= {"arms": arms, "risks": risks, "alpha": alpha, "data": data, "columns": columns}
    problem |= {"missing_risk": missing_risk, "allow_infeasible": True}
    if alpha is None and instance is None and safe_set is not None:
        # The safe set says what is tolerated, and nothing else does.
        problem["alpha"] = "1"
    truth = instance_from_flags(problem)
    try:
        with progress_bar() as progress:
            found = play_systems(
                truth, safe_set, systems=system or None, units=_whole_numbers(units), trials=trials, seed=seed,
                workers=workers, progress=progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo("interrupted: nothing was kept", err=True)
        return 130
    picture = None if out is None else found.write(out)
    if json:
        print_json([found.to_dict()])
    else:
        print_identification(found)
    if picture is not None:
        typer.echo(f"picture: {picture}", err=json)
    return 0


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise SimulationError(f'units must be whole numbers separated by commas, got "{text}"') from None


def print_identification(found: Identification) -> None:
    """Print the right answers, a table of how often each system was wrong, and how fast that falls."""
    from safebandit.cli.show import console
    from safebandit.studies.identify.run import QUESTIONS

    truth, screen = found.plan.truth, console()
    instance = truth.instance
    feasible = ", ".join(instance.arms[k] for k in truth.feasible.nonzero()[0]) or "none"
    best = " or ".join(instance.arms[k] for k in truth.best) or "none"
    screen.print(f"{len(instance.arms)} arms, {found.plan.trials:,} trials of each system with each number of units")
    screen.print(f"feasible: {feasible}; best of them: {best}; hardness {truth.hardness:,.0f}\n", soft_wrap=True)
    headings = ("units", "wrong feasible arms, %", "wrong best arm, %", "units used", "on infeasible arms")
    table = plain_table("system", *headings, right=headings)
    for each in found.points:
        wrong = (_percent(each.feasible_error), _percent(each.top_error))
        used = (_number(each.used), _number(each.infeasible_units))
        table.add_row(each.system, f"{each.units:,}", *wrong, *used)
    screen.print(table)
    screen.print("±: standard error\n")
    for system in found.plan.systems:
        for question, words in QUESTIONS.items():
            rate = found.decay(system, question)
            if rate is not None:
                low, high = 100 * rate.low, 100 * rate.high
                screen.print(
                    f"{system}, {words}: error falls as exp(-r units), 100 r = {100 * rate.rate:.3g} "
                    f"(95 % interval {low:.3g} to {high:.3g})",
                    soft_wrap=True,
                )


def _percent(found: Estimate) -> str:
    return f"{100 * found.value:.2f} ± {100 * found.error:.2f}"


def _number(found: Estimate) -> str:
    return f"{found.value:,.1f} ± {found.error:,.1f}"
