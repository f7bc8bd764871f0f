"""`safebandit trial log`, `verify` and `export`: what was written, whether it holds, and copies of it."""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.live import DATABASE, Database, Name, open_ledger, read_events
from safebandit.cli.output import Json, counting_bar, plain_table, print_document, print_plain
from safebandit.errors import SafebanditError, TrialError

Whole = Annotated[str | None, typer.Argument(help="The trial; without one, the database's own log of trials and keys.")]


def log(
    name: Whole = None,
    after: Annotated[int, typer.Option(help="Begin behind the event of this number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="At most so many events.")] = 100,
    kind: Annotated[str | None, typer.Option(help="Only events of this kind: asked, told, held, amended, ...")] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> None:
    """Print a trial's log, oldest first; without a trial, which trials were created and keys made, by whom."""
    with live_packages("trial"):
        from safebandit.trials.concealment import show_event
        from safebandit.trials.descriptions import KINDS, REGISTERED, describe, describe_registered
        from safebandit.trials.second_person import is_told
    known = KINDS if name is not None else REGISTERED
    if kind is not None and kind not in known:
        raise TrialError(f"--kind must be one of {', '.join(known)}, got {kind!r}")
    with open_ledger(db) as ledger:
        state = None if name is None else ledger.state(name)
        events = ledger.registry() if name is None else read_events(ledger, name, after=after, kind=kind)
        wanted = (each for each in events if each.number > after and kind in (None, each.kind))
        found = list(itertools.islice(wanted, limit + 1))
    shown = found[:limit]
    if json:
        told = state is None or is_told(state.status, state.unsealed)
        listed = [show_event(event, closed=told) for event in shown]
        print_document({"trial": name, "events": listed, "more": len(found) > limit})
        return
    table = plain_table("event", "time", "actor", "kind", "what", right=("event",))
    for event in shown:
        what = describe_registered(event) if state is None else describe(event, state.settings.risks)
        table.add_row(f"{event.number}", event.time, event.actor, event.kind, what)
    print_plain(table)
    if len(found) > limit:
        typer.echo(f"there is more: --after {shown[-1].number}", err=True)


def verify(
    name: Whole = None,
    expect: Annotated[str | None, typer.Option(help="The hash of some event, as it was noted elsewhere.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file: go on from where it ends, if it is there, and write it anew.")
    ] = None,
    db: Database = DATABASE,
    json: Json = False,
) -> int:
    """Recompute a trial from its first event on: every hash, every decision, the state. Exit status 1: one fails.

    Without a trial: the database's own log of trials and keys, and every trial. Exit status 4: the database is damaged.
    """
    if checkpoint is not None and name is None:
        raise TrialError("a checkpoint is of one trial; name it, as in safebandit trial verify knee --checkpoint FILE")
    with open_ledger(db) as ledger:
        from safebandit.simulation.simulate import default_workers
        from safebandit.trials.record.verification import verify as recompute
        from safebandit.trials.record.verification import verify_database

        how: dict[str, Any] = {"processes": default_workers()}
        with counting_bar("verifying") as progress:
            if name is not None:
                how |= {"expected": expect, "checkpoint": checkpoint}
                one_found = recompute(ledger, name, progress=progress, **how)
                whole, each = None, {name: one_found}
            else:
                whole = verify_database(ledger, expected=expect)
                each = {name: recompute(ledger, name, progress=progress, alone=False, **how) for name in ledger.names()}
        for failed in (one for one in each.values() if not one.holds):
            _tell(ledger, failed)
    found = [*([] if whole is None else [whole]), *each.values()]
    holds = all(one.holds for one in found)
    if json:
        documents = [{**one._asdict(), "holds": one.holds} for one in found]
        print_document(documents[0] if name is not None else {"holds": holds, "verified": documents})
    else:
        for one in found:
            typer.echo(_said(one) if name is not None else f"{one.trial}: {_said(one)}")
    return 0 if holds else 1


def _tell(ledger: Any, found: Any) -> None:
    """Have alerts tell of it, where something can be written."""
    from safebandit.service.alerts.courier import tell_failed_verification

    try:
        tell_failed_verification(ledger.engine, found.trial, str(found.problem), event=found.failed or 0)
    except SafebanditError as refusal:
        typer.echo(f"no alert was sent: {refusal}", err=True)


def _said(found: Any) -> str:
    """What was found, in a line."""
    if not found.holds:
        return f"event {found.failed} fails: {found.problem}"
    again = f", with {found.decisions - found.unrepeated} decisions made again" if found.decisions else ""
    older = f" and {found.unrepeated} that only version 0.1.0 can make again" if found.unrepeated else ""
    return f"{found.events} events hold{again}{older}; the last hash is {found.hash}{_remarks(found)}"


def _remarks(found: Any) -> str:
    """What else a reader should know of events that hold."""
    said = ""
    if found.after == 0:
        said += ", as expected"
    elif found.after is not None:
        event, more = found.events - found.after, "1 event" if found.after == 1 else f"{found.after} events"
        said += f"; the expected hash is that of event {event}, and {more} came after it"
    if found.misdated:
        said += f"; {found.misdated} have not the time that the clock said, which was an earlier one: see the log"
    return said


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
    ending = "" if out is None else out.suffix.lower().removeprefix(".")
    with open_ledger(db) as ledger:
        from safebandit.trials.record.export import KINDS, write_export

        if kind is not None and ending in KINDS and ending != kind:
            raise TrialError(f"--out {out} ends as a {ending} file, and --kind is {kind}; leave --kind out")
        # Elsewhere first: an export that fails leaves the file that is there as it is.
        with tempfile.TemporaryFile() as file:
            write_export(ledger, name, kind or ending, file, whole=whole)
            file.seek(0)
            if out is None:
                shutil.copyfileobj(file, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                with out.open("wb") as target:
                    shutil.copyfileobj(file, target)
                typer.echo(f"wrote {out}", err=True)
