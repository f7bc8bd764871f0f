"""`safebandit recommend`: which policy for a trial of this size, and the evidence for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safebandit.cli.completion import complete_instance, complete_policy
from safebandit.cli.output import Json, plain_table
from safebandit.cli.problem import Columns, instance_from_flags, one_or_more

if TYPE_CHECKING:
    from safebandit.studies.recommend import Recommendation
    from safebandit.studies.recommend.summary import Estimate


def recommend(
    arms: Annotated[int | None, typer.Option(help="How many arms there will be: random truths.")] = None,
    alpha: Annotated[str | None, typer.Option(help="The tolerated mean risk, or one for every risk: .3,.2")] = None,
    units: Annotated[int, typer.Option(help="How many units the trial will have.")] = 400,
    prior: Annotated[
        str, typer.Option(help="What random truths are drawn from: uniform, or ordered (rising from dose to dose).")
    ] = "uniform",
    instance: Annotated[
        str | None,
        typer.Option(
            help="A named problem as the truth; see `safebandit instances`.", autocompletion=complete_instance
        ),
    ] = None,
    mu: Annotated[str | None, typer.Option(help="Mean rewards as the truth, one per arm: .36,.34")] = None,
    nu: Annotated[list[str] | None, typer.Option(help="Mean risks, one per arm: .16,.26; once for every risk.")] = None,
    correlation: Annotated[str | None, typer.Option(help="Between reward and risk: one number or one per arm.")] = None,
    risks: Annotated[str | None, typer.Option(help="Names of the risks, separated by commas.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Resample past outcomes: text (CSV) or Parquet with arm, reward, risk.")
    ] = None,
    columns: Columns = None,
    missing_risk: Annotated[
        str | None, typer.Option(help="Rows without a risk: refuse, drop or worst.  [default: refuse]")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A candidate by name, such as safe-ids:odds=0.5; may be repeated.  [default: twelve]",
            autocompletion=complete_policy,
        ),
    ] = None,
    more_than: Annotated[
        int | None, typer.Option(help="How many unsafe plays are too many.  [default: a tenth of the units]")
    ] = None,
    trials: Annotated[int, typer.Option(help="Trials per candidate, each on a truth of its own.")] = 2_000,
    seed: Annotated[int, typer.Option(help="Fixes all random numbers.")] = 1,
    workers: Annotated[int | None, typer.Option(help="Threads.  [default: one per core]")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for a page to hand out, its picture and numbers.")] = None,
    json: Json = False,
) -> int:
    """Play policies for a trial of this size on random or given truths, in pairs, and recommend one."""
    from safebandit.cli.show import print_json, progress_bar
    from safebandit.studies.recommend import recommend as play_candidates

    truth: dict[str, Any] = {
        "arms": arms,
        "prior": prior,
        "alpha": None if alpha is None else one_or_more("alpha", alpha),
    }
    if instance is not None or mu is not None or data is not None:
        problem: dict[str, Any] = {
            "instance": instance,
            "mu": mu,
            "nu": nu or None,
            "correlation": correlation,
            "alpha": alpha,
        }
        problem |= {"risks": risks, "data": data, "columns": columns, "missing_risk": missing_risk}
        truth = {"instances": instance_from_flags(problem)}
    try:
        with progress_bar() as progress:
            found = play_candidates(
                **truth, units=units, policies=policy or None, more_than=more_than, trials=trials, seed=seed,
                workers=workers, progress=progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo("interrupted: nothing was kept", err=True)
        return 130
    page = None if out is None else found.write(out)
    if json:
        print_json([found.to_dict()])
    else:
        print_recommendation(found)
    if page is not None:
        typer.echo(f"report: {page}", err=json)
    return 0


def print_recommendation(found: Recommendation) -> None:
    """Print what was played, the table of the candidates, and which one is recommended and why."""
    from rich.text import Text

    from safebandit.cli.show import console
    from safebandit.problems.limits import plain_alpha, show_alpha
    from safebandit.studies.recommend.summary import RULE

    plan, screen = found.plan, console()
    alpha = show_alpha(plain_alpha(plan.truths.limits))
    screen.print(
        f"{len(plan.truths.arms)} arms, alpha {alpha}, {plan.units:,} units, {plan.trials:,} trials per candidate"
    )
    screen.print(f"{plan.truths.about}\n", soft_wrap=True)
    chances = (f"more than {plan.more_than}, %", "best safe arm, %", "unsafe arm, %")
    headings = ("regret", "unsafe plays", *chances, "harms")
    table = plain_table("policy", *headings, right=headings)
    for one in found.scores:
        label = Text(f"{one.policy}{' *' if one.on_front else ''}", style="bold" if one.policy == found.choice else "")
        shares = (_percent(each) for each in (one.more_than, one.best_selected, one.unsafe_selected))
        table.add_row(label, _number(one.regret), _number(one.unsafe_plays), *shares, _number(one.harms))
    screen.print(table)
    for name, reason in plan.cannot.items():
        screen.print(f"{name} cannot play: {reason}", soft_wrap=True)
    screen.print(
        "* on the front; ± and brackets: 95 % intervals; best safe arm, unsafe arm: how often it is selected",
        soft_wrap=True,
    )
    screen.print(f"Rule: {RULE}\n", soft_wrap=True)
    screen.print(f"Recommended: {found.choice}", style="bold")
    screen.print(found.why, soft_wrap=True)


def _number(found: Estimate) -> str:
    return f"{found.value:,.1f} ± {found.high - found.value:,.1f}"


def _percent(found: Estimate) -> str:
    value, low, high = (100 * part for part in found)
    return f"{value:.1f} ({low:.1f}-{high:.1f})"
