"""`safebandit trial weighted` and `what-if`: what the recorded chances of arms say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from safebandit.cli.live import DATABASE, Database, Name, OneStratum, open_ledger, read_stratum
from safebandit.cli.output import Json, figure, plain_table, print_document, print_plain

if TYPE_CHECKING:
    from safebandit.trials.analysis.off_policy import WhatIf
    from safebandit.trials.analysis.weighted import Weighted

Confidence = Annotated[float, typer.Option(help="How sure each interval is.")]


def weighted(
    name: Name,
    confidence: Confidence = 0.95,
    control: Annotated[
        str | None, typer.Option(help="The arm that others are compared with.  [default: the design's]")
    ] = None,
    least: Annotated[float, typer.Option(help="Refuse an arm whose chance was ever smaller.")] = 0.01,
    stratum: OneStratum = None,
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """Means of arms by inverse propensities: unbiased (IPW), and with normal intervals (adaptively weighted AIPW).

    For a trial that drew among all arms, at a number of units that was fixed before; at any look, take analyse.
    """
    from safebandit.trials.analysis.weighted import weighted as weigh

    with open_ledger(db) as ledger:
        found = weigh(ledger, name, confidence=confidence, control=control, least=least, stratum=read_stratum(stratum))
    if json:
        print_document(found.to_dict())
    else:
        _print_weighted(found)


def what_if(
    name: Name,
    policy: Annotated[str, typer.Option(help="The other policy, such as tsbu.")],
    confidence: Confidence = 0.95,
    stratum: OneStratum = None,
    db: Database = DATABASE,
    json: Json = False,
) -> int:
    """Say what another policy would have given at each decision of a trial, and the reward and harms that go with it.

    Exit status 1: the recorded chances do not allow it.
    """
    from safebandit.trials.analysis.off_policy import what_if as ask_what_if

    with open_ledger(db) as ledger:
        found = ask_what_if(ledger, policy, name, confidence=confidence, stratum=read_stratum(stratum))
    if json:
        print_document(found.to_dict())
    else:
        _print_what_if(found)
    return 0 if found.refused is None else 1


def _print_weighted(found: Weighted) -> None:
    sure = f"{100 * found.confidence:g} % interval"
    print_plain(f"{_whose(found)}: {found.units:,} units; {found.kind}s")
    numbers = ("known", "least chance", "IPW", "AIPW", "error", sure)
    table = plain_table("arm", "endpoint", *numbers, right=numbers)
    for each in found.means:
        shown = (figure(value) for value in (each.least, each.ipw, each.mean, each.error))
        table.add_row(each.arm, each.endpoint, f"{each.known:,}", *shown, _ends(each.interval))
    print_plain(table)
    if found.differences:
        table = plain_table("arm", "endpoint", "difference", "error", sure, right=("difference", "error", sure))
        for pair in found.differences:
            table.add_row(pair.arm, pair.endpoint, figure(pair.difference), figure(pair.error), _ends(pair.interval))
        print_plain(f'\nless "{found.control}"')
        print_plain(table)
    print_plain("")
    for each in found.means:
        if each.refused:
            print_plain(f'{each.endpoint} of "{each.arm}": {each.refused}')
    _print_assumed(found.assumptions)


def _print_what_if(found: WhatIf) -> None:
    print_plain(f"{_whose(found)}: {found.units:,} units by {found.recorded_policy}; each next one by {found.policy}")
    table = plain_table("arm", "mean chance", "recorded", right=("mean chance", "recorded"))
    for arm, share in found.shares.items():
        table.add_row(arm, figure(share), figure(found.recorded_shares[arm]))
    print_plain(table)
    print_plain(
        f"units given an arm whose mean risk so far was above its limit: {found.risky:.1f}, "
        f"recorded {found.recorded_risky:.1f}; chance that none is given: {found.held:.2g}"
    )
    if found.refused is not None:
        print_plain(f"the recorded chances do not allow more: {found.refused}")
        return
    sure = f"{100 * found.confidence:g} % interval"
    numbers = ("known", "per unit", sure, "recorded", "difference", "its interval")
    table = plain_table("endpoint", *numbers, right=numbers)
    for each in found.outcomes:
        known, other = f"{each.known:,} of {found.units:,}", (figure(each.other), _ends(each.other_interval))
        difference = figure(each.difference), _ends(each.difference_interval)
        table.add_row(each.endpoint, known, *other, figure(each.recorded), *difference)
    print_plain("")
    print_plain(table)
    print_plain(f"intervals: {found.kind}; largest weight of a unit: {found.heaviest:.3g}")
    _print_assumed(found.assumptions)


def _whose(found: Weighted | WhatIf) -> str:
    return f"{found.trial}, {found.stratum}" if found.stratum else found.trial


def _print_assumed(assumptions: tuple[str, ...]) -> None:
    print_plain("assumed:")
    for sentence in assumptions:
        print_plain(f"- {sentence}")


def _ends(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
