"""`safebandit trial rehearse`: what to expect of a trial, before anyone is exposed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.live import DATABASE, Database, Name, open_ledger
from safebandit.cli.output import Json, counting_bar, figure, plain_table, print_document, print_plain
from safebandit.cli.problem import Columns, entry_from_flags
from safebandit.problems.limits import plain_alpha

if TYPE_CHECKING:
    from safebandit.trials.rehearsal import Rehearsal


def rehearse(
    name: Name,
    mu: Annotated[str | None, typer.Option(help="Supposed mean rewards, one per arm: .3,.5,.6")] = None,
    nu: Annotated[
        list[str] | None, typer.Option(help="Supposed mean risks, one per arm: .1,.2,.4; once for every risk.")
    ] = None,
    correlation: Annotated[
        str | None, typer.Option(help="Correlation of reward and risk: one number, or one per arm.")
    ] = None,
    instance: Annotated[str | None, typer.Option(help="A named instance in the place of --mu and --nu.")] = None,
    data: Annotated[Path | None, typer.Option(help="Past outcomes to draw from: columns arm, reward, risk.")] = None,
    columns: Columns = None,
    risks: Annotated[str | None, typer.Option(help="Columns of the data that hold risks, separated by commas.")] = None,
    missing_risk: Annotated[
        str | None,
        typer.Option(
            "--data-missing-risk", help="Rows of the data without a risk: refuse, drop or worst.  [default: refuse]"
        ),
    ] = None,
    units: Annotated[
        int | None, typer.Option(help="Units that arrive in a run.  [default: 200, or the most of the trial's design]")
    ] = None,
    times: Annotated[int, typer.Option(help="Runs.")] = 300,
    delay: Annotated[int, typer.Option(help="So many more units arrive before a unit's outcome is told.")] = 0,
    reward_delay: Annotated[int | None, typer.Option(help="Delay of the reward alone.  [default: --delay]")] = None,
    risk_delay: Annotated[int | None, typer.Option(help="Delay of the risks alone.  [default: --delay]")] = None,
    missing: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Chance that nothing is ever heard of a unit.")
    ] = 0.0,
    risk_missing: Annotated[
        float,
        typer.Option("--missing-risk", min=0.0, max=1.0, help="Chance that of the others only the reward is heard."),
    ] = 0.0,
    give_up_after: Annotated[
        int, typer.Option(help="A unit of which something is missing is given up when so many more arrived.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="Fixes all random numbers.")] = 0,
    db: Database = DATABASE,
    json: Json = False,
) -> int:
    """Run a trial's exact configuration against a supposed truth, many times, and print what to expect.

    The trial itself is not touched: every run begins anew, by its settings in force, with random numbers of its own.
    """
    with open_ledger(db) as ledger:
        settings = ledger.state(name).settings
    from safebandit.simulation.study import instance_from_entry
    from safebandit.trials.rehearsal import rehearse as run

    problem = {"mu": mu, "nu": nu or None, "correlation": correlation, "instance": instance, "data": data}
    problem |= {"columns": columns, "risks": risks, "missing_risk": missing_risk}
    entry = {**entry_from_flags(problem), "alpha": plain_alpha(settings.limits), "allow_infeasible": True}
    with counting_bar("rehearsing") as progress:
        found = run(
            settings, instance=instance_from_entry(entry), units=units, times=times, delay=delay,
            reward_delay=reward_delay, risk_delay=risk_delay, missing=missing, missing_risk=risk_missing,
            give_up_after=give_up_after, seed=seed, progress=progress,
        )  # fmt: skip
    if json:
        print_document(found.to_dict())
    else:
        _print_rehearsal(name, found)
    if found.warning() is not None:
        typer.echo(f"warning: {found.warning()}", err=True)
    if found.interrupted:
        typer.echo(f"interrupted: kept {found.times} of {times} runs", err=True)
        return 130
    return 0


def _print_rehearsal(name: str, found: Rehearsal) -> None:
    from safebandit.cli.show import number
    from safebandit.trials.rehearsal_words import heading, rows, sentences

    print_plain(f"{name}: {heading(found)}")
    if found.instance.origin:
        print_plain(found.instance.origin)
    headings = {"mean": "mean", "se": "s.e.", "q05": "5 %", "q95": "95 %"}
    table = plain_table("", *headings.values(), right=tuple(headings.values()))
    for label, row in rows(found):
        table.add_row(label, *(figure(row[key]) if key == "se" else number(row[key]) for key in headings))
    print_plain(table)
    for line in sentences(found):
        print_plain(line)
