"""`safebandit doses`: which arm is best at a safe dose, where every arm has a dose that can be chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.output import Json, plain_table
from safebandit.cli.problem import names
from safebandit.errors import InstanceError, SimulationError

if TYPE_CHECKING:
    from safebandit.problems.dosed import DosedInstance
    from safebandit.studies.doses import DoseStudy


def doses(
    alpha: Annotated[float, typer.Option(help="The tolerated mean risk.")],
    reward_slopes: Annotated[
        str | None, typer.Option(help="Mean reward per unit of dose, one per arm: .8,.6; with --risk-slopes.")
    ] = None,
    risk_slopes: Annotated[
        str | None, typer.Option(help="Mean risk per unit of dose, one per arm: .9,.4; with --reward-slopes.")
    ] = None,
    reward: Annotated[
        list[str] | None,
        typer.Option(help="A curve of mean reward, once for every arm: emax:bottom=0,top=.8,half=.5; with --risk."),
    ] = None,
    risk: Annotated[
        list[str] | None,
        typer.Option(help="A curve of mean risk, once for every arm: logistic:low=.05,high=.9; with --reward."),
    ] = None,
    arms: Annotated[str | None, typer.Option(help="Names of the arms, separated by commas.")] = None,
    most: Annotated[float, typer.Option(help="The highest dose.")] = 1.0,
    first: Annotated[
        str, typer.Option(help="A dose that is known to be safe: one for all arms, or one per arm.")
    ] = ".1",
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="safe-linear, safe-monotonic or uniform, with parameters such as safe-linear:delta=0.05; may be "
            "repeated.  [default: all that apply]"
        ),
    ] = None,
    units: Annotated[
        str, typer.Option(help="After how many units to look, separated by commas; the last ends a trial.")
    ] = "10000,100000,1000000",
    trials: Annotated[int, typer.Option(help="Trials of every system.")] = 1_000,
    seed: Annotated[int, typer.Option(help="Fixes all random numbers.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for the pictures and all numbers.")] = None,
    json: Json = False,
) -> int:
    """Ask which arm is best at a safe dose, where every arm has a dose to be chosen; error and harm against units."""
    from safebandit.cli.show import print_json, progress_bar
    from safebandit.studies.doses import identify_doses

    truth = _instance(alpha, most, first, arms, slopes=(reward_slopes, risk_slopes), curves=(reward, risk))
    try:
        with progress_bar() as progress:
            found = identify_doses(
                truth, systems=system or None, units=_whole_numbers(units), trials=trials, seed=seed, progress=progress
            )
    except KeyboardInterrupt:
        typer.echo("interrupted: nothing was kept", err=True)
        return 130
    pictures = [] if out is None else found.write(out)
    if json:
        print_json([found.to_dict()])
    else:
        print_doses(found)
    for picture in pictures:
        typer.echo(f"picture: {picture}", err=json)
    return 0


def _instance(
    alpha: float, most: float, first: str, arms: str | None, *, slopes: tuple[Any, Any], curves: tuple[Any, Any]
) -> DosedInstance:
    from safebandit.problems.dosed import DosedInstance

    by_slopes, by_curves = any(slopes), any(curves)
    if by_slopes == by_curves:
        got = "both" if by_slopes else "neither"
        raise InstanceError(f"give --reward-slopes and --risk-slopes, or --reward and --risk for every arm; got {got}")
    if not all(slopes if by_slopes else curves):
        flags = ("--reward-slopes", "--risk-slopes") if by_slopes else ("--reward", "--risk")
        missing = flags[[bool(each) for each in (slopes if by_slopes else curves)].index(False)]
        raise InstanceError(f"{' and '.join(flags)} go together; add {missing}")
    listed = names(first)
    shared: dict[str, Any] = {"most": most, "first": listed[0] if len(listed) == 1 else listed}
    shared["arms"] = tuple(names(arms)) if arms is not None else ()
    if by_slopes:
        return DosedInstance.linear(names(slopes[0]), names(slopes[1]), alpha, **shared)  # type: ignore[arg-type]
    return DosedInstance(tuple(curves[0]), tuple(curves[1]), alpha, **shared)


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise SimulationError(f'units must be whole numbers separated by commas, got "{text}"') from None


def print_doses(found: DoseStudy) -> None:
    """Print the truth, and a table of every system after each number of units."""
    from safebandit.cli.show import console

    truth, screen = found.instance, console()
    rows = zip(truth.arms, truth.safe_doses, truth.values, strict=True)
    best = ", ".join(f"{arm} {value:.4g} at {dose:.4g}" for arm, dose, value in rows)
    screen.print(f"{len(truth.arms)} arms, alpha {truth.alpha:g}, {found.trials:,} trials of each system")
    screen.print(f"reward at the highest safe dose: {best}; best: {truth.arms[truth.best]}\n", soft_wrap=True)
    headings = ("units", "wrong arm, %", "unsafe answer, %", "any unsafe dose, %", "promise broken, %", "units used",
                "on unsafe doses", "regret per unit", "ended, %")  # fmt: skip
    table = plain_table("system", *headings, right=headings)
    for each in found.points:
        shares = [
            f"{100 * part.value:.1f} ± {100 * part.error:.1f}"
            for part in (each.wrong, each.unsafe_answer, each.unsafe, each.broken)
        ]
        means = [f"{part.value:,.0f} ± {part.error:,.0f}" for part in (each.used, each.unsafe_units)]
        regret = f"{each.regret.value:.4f} ± {each.regret.error:.4f}"
        table.add_row(each.system, f"{each.units:,}", *shares, *means, regret, f"{100 * each.ended.value:.1f}")
    screen.print(table)
    screen.print("±: standard error")
