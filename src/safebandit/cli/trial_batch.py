"""`safebandit trial ask`, `tell`, `correct`, `give-up` and `void` with a file: many units, all or each that can be."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from safebandit.cli.live import NO_ARM_STATUS, Desk, checked_actor, open_ledger
from safebandit.cli.output import print_document
from safebandit.errors import TrialError

# The status of a command of which a part was refused.
REFUSED = 2

File = Annotated[Path | None, typer.Option("--file", help="A CSV file with a row for each of many units.")]
Each = Annotated[
    bool, typer.Option("--each", help="Write each row that can be, though others are refused; otherwise all or none.")
]

Preview = Annotated[bool, typer.Option("--preview", help="Say what would change, and write nothing; with --file.")]


def one_of(unit: str | None, file: Path | None) -> str | Path:
    """The unit or the file; neither is refused, and both."""
    if unit is not None and file is None:
        return unit
    if file is not None and unit is None:
        return file
    got = "neither" if unit is None else "both"
    raise TrialError(f"give one unit, or a table of many with --file, got {got}")


def ask_file(desk: Desk, file: Path, *, each: bool) -> int:
    """Give every unit of a file its arm; a table of unit, arm and why on stdout."""
    from safebandit.trials.batch_files import read_askings, read_text

    who = checked_actor(desk.actor)
    with open_ledger(desk.db) as ledger:
        asked = read_askings(read_text(file, str(file)), ledger.state(desk.trial).settings, str(file))
        answers = ledger.batch(desk.trial, "ask", asked, whole=not each, actor=who)
    refused, given = _split(answers)
    if desk.json:
        listed = [{"number": number, **answer._asdict(), "held": answer.held} for number, answer in given]
        print_document({"answers": listed, "refused": refused})
    else:
        rows = csv.writer(sys.stdout, lineterminator="\n")
        rows.writerow(["unit", "arm", "why"])
        rows.writerows([answer.unit, answer.arm or "", answer.why] for _, answer in given)
        _say_refused(refused)
    return REFUSED if refused else NO_ARM_STATUS if any(answer.arm is None for _, answer in given) else 0


# What is said of what was done.
DONE = {"tell": "told", "correct": "corrected", "give_up": "given up", "void": "voided"}


def change_file(desk: Desk, kind: str, file: Path, *, reason: str, each: bool, preview: bool) -> int:
    """Tell, correct, give up or void every unit of a file; or only say what would change."""
    from safebandit.trials.batch_files import read_outcomes, read_text, read_units

    who = checked_actor(desk.actor)
    with open_ledger(desk.db) as ledger:
        text, settings, named = read_text(file, str(file)), ledger.state(desk.trial).settings, str(file)
        rows = read_outcomes(text, settings, named) if kind in ("tell", "correct") else read_units(text, named)
        wanted = [{**row, "reason": reason} for row in rows] if kind != "tell" else rows
        # Of a preview every refusal is told, not the first.
        answers = ledger.batch(desk.trial, kind, wanted, whole=not (each or preview), write=not preview, actor=who)
    refused, taken = _split(answers)
    new = sum(answer.new for _, answer in taken)
    if desk.json:
        document = {"new": new, "known": len(taken) - new, "refused": refused, "written": not preview}
        print_document(document)
    else:
        would = " would be" if preview else ""
        known = f", {len(taken) - new} known already" if len(taken) > new else ""
        typer.echo(f"{new}{would} {DONE[kind]}{known}" + (f", {len(refused)} refused" if refused else ""))
        _say_refused(refused)
    return REFUSED if refused else 0


def _split(answers: list[Any]) -> tuple[list[dict[str, Any]], list[tuple[int, Any]]]:
    """Those that are refused, with why, and the others; rows are numbered from 1."""
    numbered = list(enumerate(answers, 1))
    refused = [{"number": i, "message": str(each)} for i, each in numbered if isinstance(each, TrialError)]
    return refused, [(i, each) for i, each in numbered if not isinstance(each, TrialError)]


def _say_refused(refused: list[dict[str, Any]]) -> None:
    for each in refused:
        typer.echo(f"row {each['number']}: {each['message']}", err=True)
