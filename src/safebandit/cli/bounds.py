"""`safebandit bounds`: what theory promises for a problem, before anything is simulated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.completion import complete_instance
from safebandit.cli.problem import instance_from_flags
from safebandit.problems.limits import show_alpha

if TYPE_CHECKING:
    from safebandit.problems.theory import Bounds


def bounds(
    instance: Annotated[
        str | None, typer.Option(help="A named problem; see `safebandit instances`.", autocompletion=complete_instance)
    ] = None,
    mu: Annotated[str | None, typer.Option(help="Mean rewards, one per arm: .36,.34")] = None,
    nu: Annotated[list[str] | None, typer.Option(help="Mean risks, one per arm: .16,.26; once for every risk.")] = None,
    alpha: Annotated[str | None, typer.Option(help="The tolerated mean risk, or one for every risk: .3,.2")] = None,
    risks: Annotated[str | None, typer.Option(help="Names of the risks, separated by commas.")] = None,
    horizon: Annotated[int, typer.Option(help="Rounds.")] = 10_000,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")] = False,
) -> None:
    """Print what theory promises for a problem: upper bounds, lower bound, arm by arm."""
    from safebandit.cli.show import print_json
    from safebandit.problems.theory import bounds_of

    flags = {"instance": instance, "mu": mu, "nu": nu or None, "alpha": alpha, "risks": risks}
    found = bounds_of(instance_from_flags(flags))
    if json:
        print_json([found.to_dict(horizon)])
    else:
        print_bounds(found, horizon)


def print_bounds(found: Bounds, horizon: int) -> None:
    """Print two tables: bounds per arm, and summed at the horizon."""
    from rich.table import Table

    from safebandit.cli.show import console

    screen = console()
    problem = found.instance
    title = f"{problem.name}, alpha {show_alpha(problem.alpha)}"
    screen.print()
    screen.print(f"{title}: plays per log T, arm by arm", style="bold")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("arm")
    by_risk = [""] if len(problem.risks) == 1 else [f" {name}" for name in problem.risks]
    nus, divergences = ([f"{symbol}{risk}" for risk in by_risk] for symbol in ("nu", "d_>"))
    for heading in ("mu", *nus, "Delta", "Gamma", "d_<", *divergences, "docb, topsi", "tsbu", "at least"):
        table.add_column(heading, justify="right")
    for arm in found.arms:
        slopes = (arm.plays_slope, arm.tsbu_plays_slope, arm.lower_plays_slope)
        table.add_row(
            arm.arm, f"{arm.mu:g}", *(f"{nu:g}" for nu in _listed(arm.nu)),
            f"{arm.efficiency_gap:.4g}", f"{arm.safety_gap:.4g}", f"{arm.reward_divergence:.4g}",
            *(f"{risk:.4g}" for risk in _listed(arm.risk_divergence)), *(_figure(slope) for slope in slopes),
        )  # fmt: skip
    screen.print(table)
    if len(problem.risks) > 1:
        screen.print(
            "The theorems are about one risk; for several, what their proofs give, the lower bound if independent."
        )

    at = found.at(horizon)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"after {horizon:,} rounds")
    for heading in ("regret", "unsafe plays", "what it is"):
        table.add_column(heading, justify="left" if heading == "what it is" else "right")
    leading = "leading term of"
    table.add_row(
        "docb", _figure(at.leading_regret), _figure(at.leading_unsafe_plays),
        f"{leading} Theorem 1: {found.regret_slope:.4g} log T and {found.unsafe_slope:.4g} log T",
    )  # fmt: skip
    table.add_row(
        "topsi", _figure(at.leading_regret), _figure(at.leading_unsafe_plays), f"{leading} Theorem 3: the same"
    )
    table.add_row(
        "tsbu", _figure(at.tsbu_leading_regret), _figure(at.tsbu_leading_unsafe_plays),
        f"{leading} Theorem 4: {found.tsbu_regret_slope:.4g} log T and {found.tsbu_unsafe_slope:.4g} log T",
    )  # fmt: skip
    table.add_row(
        "any policy", _figure(at.lower_leading_regret), _figure(at.lower_leading_unsafe_plays),
        f"lower bound, asymptotic: {found.lower_regret_slope:.4g} log T and {found.lower_unsafe_slope:.4g} log T",
    )  # fmt: skip
    table.add_row(
        "docb, true for every T", _figure(at.explicit_docb_regret), _figure(at.explicit_docb_unsafe_plays),
        "the key lemma, best x and y; level theory",
    )  # fmt: skip
    table.add_row(
        "topsi, true for every T", "-", _figure(at.explicit_topsi_unsafe_plays), "the key lemma, best y; level theory"
    )
    table.add_row(
        "tsbu, true for every T", "-", _figure(at.explicit_tsbu_unsafe_plays), "BayesUCB's lemma; schedule proof"
    )
    table.add_row("docb, any gaps", _figure(at.gap_free_regret), "-", "Theorem 2, whatever the means")
    screen.print()
    screen.print(table)


def _listed(value: float | list[float]) -> list[float]:
    return value if isinstance(value, list) else [value]


def _figure(value: float) -> str:
    if math.isinf(value):
        return "-"
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"
