"""`safebandit trial log`, `verify` and `export`: what was written, whether it holds, and copies of it."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Annotated

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.live import (
    DATABASE,
    Database,
    Json,
    Name,
    add,
    counting_bar,
    open_ledger,
    plain_table,
    print_document,
    print_plain,
    read_events,
)
from safebandit.errors import TrialError


def log(
    name: Name,
    after: Annotated[int, typer.Option(help="Begin behind the event of this number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="At most so many events.")] = 100,
    kind: Annotated[str | None, typer.Option(help="Only events of this kind: asked, told, held, amended, ...")] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """Print a trial's log, oldest first."""
    with live_packages("trial"):
        from safebandit.trials.concealment import show_event
        from safebandit.trials.descriptions import KINDS, describe
    if kind is not None and kind not in KINDS:
        raise TrialError(f"--kind must be one of {', '.join(KINDS)}, got {kind!r}")
    with open_ledger(db) as ledger:
        state = ledger.state(name)
        found = list(itertools.islice(read_events(ledger, name, after=after, kind=kind), limit + 1))
    shown = found[:limit]
    if json:
        events = [show_event(event, closed=state.status == "closed") for event in shown]
        print_document({"trial": name, "events": events, "more": len(found) > limit})
        return
    table = plain_table(["event", "time", "actor", "kind", "what"], right=("event",))
    for event in shown:
        add(table, f"{event.number}", event.time, event.actor, event.kind, describe(event, state.settings.risks))
    print_plain(table)
    if len(found) > limit:
        typer.echo(f"there is more: --after {shown[-1].number}", err=True)


def verify(
    name: Name,
    expect: Annotated[str | None, typer.Option(help="The hash of the last event, as it was noted elsewhere.")] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> int:
    """Recompute a trial from its first event on: every hash, every decision, the state. Exit status 1: one fails."""
    with open_ledger(db) as ledger:
        from safebandit.trials.record.verification import verify as recompute

        with counting_bar("verifying") as progress:
            found = recompute(ledger, name, expected=expect, progress=progress)
    if json:
        print_document({**found._asdict(), "holds": found.holds})
    elif found.holds:
        again = f"{found.decisions - found.unrepeated} decisions made again"
        older = f" and {found.unrepeated} that only version 0.1.0 can make again" if found.unrepeated else ""
        typer.echo(f"{found.events} events hold, with {again}{older}; the last hash is {found.hash}")
    else:
        typer.echo(f"event {found.failed} fails: {found.problem}")
    return 0 if found.holds else 1


def export(
    name: Name,
    out: Annotated[Path | None, typer.Option(help="The file: .csv, .parquet or .json.")] = None,
    kind: Annotated[str | None, typer.Option(help="csv, parquet or json; without --out, on stdout.")] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="With what tells which arms come next, though the trial is not closed.")
    ] = False,
    db: Database = DATABASE,
) -> None:
    """Write a trial for other programs: one row per unit (csv, parquet), or the log (json).

    Until the trial is closed, the seed and the places in the random stream are left out.
    """
    if out is None and kind is None:
        raise TrialError("an export needs a file or a kind; give --out units.csv, or --kind csv for stdout")
    chosen = kind if kind is not None or out is None else out.suffix.lower().removeprefix(".")
    with open_ledger(db) as ledger:
        from safebandit.trials.record.export import export as make

        data = make(ledger, name, str(chosen), whole=whole)
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        out.write_bytes(data)
        typer.echo(f"wrote {out}", err=True)
