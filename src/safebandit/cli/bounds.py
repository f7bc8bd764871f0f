"""`safebandit bounds`: what theory promises for a problem, before anything is simulated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.completion import complete_instance
from safebandit.cli.output import Json, plain_table
from safebandit.cli.problem import instance_from_flags
from safebandit.problems.limits import show_alpha

if TYPE_CHECKING:
    from rich.table import Table

    from safebandit.problems.at_horizon import FiniteBounds
    from safebandit.problems.theory import Bounds

# The rows of the table at a horizon, and their two numbers; topsi shares docb's first.
ROWS: dict[str, tuple[str | None, str | None]] = {
    "docb": ("leading_regret", "leading_unsafe_plays"),
    "topsi": ("leading_regret", "leading_unsafe_plays"),
    "tsbu": ("tsbu_leading_regret", "tsbu_leading_unsafe_plays"),
    "any policy": ("lower_leading_regret", "lower_leading_unsafe_plays"),
    "docb, true for every T": ("explicit_docb_regret", "explicit_docb_unsafe_plays"),
    "topsi, true for every T": (None, "explicit_topsi_unsafe_plays"),
    "tsbu, true for every T": (None, "explicit_tsbu_unsafe_plays"),
    "docb, any gaps": ("gap_free_regret", None),
}


def bounds(
    instance: Annotated[
        str | None, typer.Option(help="A named problem; see `safebandit instances`.", autocompletion=complete_instance)
    ] = None,
    mu: Annotated[str | None, typer.Option(help="Mean rewards, one per arm: .36,.34")] = None,
    nu: Annotated[list[str] | None, typer.Option(help="Mean risks, one per arm: .16,.26; once for every risk.")] = None,
    correlation: Annotated[str | None, typer.Option(help="Between reward and risk: one number or one per arm.")] = None,
    alpha: Annotated[str | None, typer.Option(help="The tolerated mean risk, or one for every risk: .3,.2")] = None,
    risks: Annotated[str | None, typer.Option(help="Names of the risks, separated by commas.")] = None,
    horizon: Annotated[int, typer.Option(help="Rounds.")] = 10_000,
    json: Json = False,
) -> None:
    """Print what theory promises for a problem: upper bounds, lower bound, arm by arm."""
    from safebandit.cli.show import print_json
    from safebandit.problems.theory import bounds_of

    flags = {"instance": instance, "mu": mu, "nu": nu or None, "alpha": alpha, "risks": risks}
    flags |= {"correlation": correlation}
    found = bounds_of(instance_from_flags(flags))
    if json:
        print_json([found.to_dict(horizon)])
    else:
        print_bounds(found, horizon)


def print_bounds(found: Bounds, horizon: int) -> None:
    """Print two tables: bounds per arm, and summed at the horizon; and what says nothing there yet."""
    from safebandit.cli.show import console
    from safebandit.problems.theory import since

    screen = console()
    problem, at = found.instance, found.at(horizon)
    title = f"{problem.name}, alpha {show_alpha(problem.alpha)}: plays per log T, arm by arm"
    screen.print(f"\n{title}", style="bold", markup=False)
    screen.print(_arms_table(found))
    if len(problem.risks) > 1:
        screen.print("The theorems are about one risk; for several, what their proofs give.")
    screen.print()
    screen.print(_horizon_table(found, at))
    starts = found.says_from(at)
    if starts:
        screen.print(f"* says nothing after {horizon:,} rounds, in which more is not possible. It does:")
        for name, start in starts.items():
            screen.print(f"  {_named(name)}: {since(start)}")
    remark = found.lower_remark(at)
    if remark:
        screen.print(f"{remark[0].upper()}{remark[1:]}.", markup=False)


def _arms_table(found: Bounds) -> Table:
    from rich.text import Text

    problem = found.instance
    by_risk = [""] if len(problem.risks) == 1 else [f" {name}" for name in problem.risks]
    nus, divergences = ([f"{symbol}{risk}" for risk in by_risk] for symbol in ("nu", "d_>"))
    headings = ("mu", *nus, "Delta", "Gamma", "d_<", *divergences, "docb, topsi", "tsbu", "at least")
    table = plain_table("arm", *headings, right=headings)
    for arm in found.arms:
        slopes = (arm.plays_slope, arm.tsbu_plays_slope, arm.lower_plays_slope)
        table.add_row(
            Text(arm.arm), f"{arm.mu:g}", *(f"{nu:g}" for nu in _listed(arm.nu)),
            f"{arm.efficiency_gap:.4g}", f"{arm.safety_gap:.4g}", f"{arm.reward_divergence:.4g}",
            *(f"{risk:.4g}" for risk in _listed(arm.risk_divergence)), *(_figure(slope) for slope in slopes),
        )  # fmt: skip
    return table


def _horizon_table(found: Bounds, at: FiniteBounds) -> Table:
    from rich.text import Text

    columns = ("regret", "unsafe plays")
    table = plain_table(f"after {at.horizon:,} rounds", *columns, "what it is", right=columns)
    slopes = {name: f"{slope:.4g} log T" for name, slope in found.slopes.items()}
    leading, fits = "leading term of", "as far as T rounds have room"
    lower = f"lower bound in the long run, for policies consistent for {found.lower_class}:"
    told = {
        "docb": f"{leading} Theorem 1: {slopes['regret_slope']} and {slopes['unsafe_slope']}, {fits}",
        "topsi": f"{leading} Theorem 3: the same",
        "tsbu": f"{leading} Theorem 4: {slopes['tsbu_regret_slope']} and {slopes['tsbu_unsafe_slope']}, {fits}",
        "any policy": f"{lower} {slopes['lower_regret_slope']} and {slopes['lower_unsafe_slope']}, {fits}"
        if found.lower_class is not None
        else "no lower bound is known for outcomes of this law",
        "docb, true for every T": "the key lemma, best x and y; level theory",
        "topsi, true for every T": "the key lemma, best y; level theory",
        "tsbu, true for every T": "BayesUCB's lemma; schedule proof",
        "docb, any gaps": "Theorem 2, whatever the means; level theory",
    }
    for label, what in told.items():
        numbers = ("-" if name is None else _marked(at, name) for name in ROWS[label])
        table.add_row(label, *numbers, Text(what))
    return table


def _marked(at: FiniteBounds, name: str) -> str:
    return f"{_figure(getattr(at, name))}{'*' if name in at.vacuous else ''}"


def _named(name: str) -> str:
    """The place of a number in the table, in words."""
    label = next(label for label, names in ROWS.items() if name in names)
    return f"{label}, {'regret' if ROWS[label][0] == name else 'unsafe plays'}"


def _listed(value: float | list[float]) -> list[float]:
    return value if isinstance(value, list) else [value]


def _figure(value: float) -> str:
    if math.isinf(value):
        return "-"
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"
