"""`safebandit trial pending`: units whose outcomes are waited for, of one trial or of all."""

from __future__ import annotations

from typing import Annotated

import typer

from safebandit.cli.live import DATABASE, Database, open_ledger
from safebandit.cli.output import Json, plain_table, print_document, print_plain


def pending(
    name: Annotated[str, typer.Argument(help="The trial; all, if none is given.")] = "",
    unit: Annotated[str, typer.Option(help="Only units whose id has this text in it.")] = "",
    most: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many.")] = 100,
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """List pending units, the longest first, with what is missing of each."""
    with open_ledger(db) as ledger:
        from safebandit.trials.record.projects import all_projects
        from safebandit.trials.record.waiting import Sight, Wanted, waiting_counts, waiting_units

        if name:
            ledger.state(name)
        sight, wanted = Sight([project.name for project in all_projects(ledger)]), Wanted(name, unit)
        found = waiting_units(ledger, sight, wanted, most=most)
        total = sum(waiting_counts(ledger, sight, wanted).values())
    if json:
        units = [{**each._asdict(), "missing": list(each.missing)} for each in found]
        print_document({"units": units, "total": total})
        return
    table = plain_table("unit", "trial", "arm", "asked", "waits for")
    for each in found:
        table.add_row(each.unit, each.trial, each.arm, f"{each.asked[:19]}Z", ", ".join(each.missing))
    print_plain(table)
    shown = "" if total == len(found) else f"; the {len(found):,} that wait longest are shown, --most has more"
    print_plain(f"{total:,} pending{shown}")
