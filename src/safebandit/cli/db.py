"""`safebandit db`: a database brought up to date, backed up, restored and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from safebandit.cli.extras import live_packages
from safebandit.cli.flags import Command
from safebandit.cli.live import DATABASE, Database, open_ledger
from safebandit.cli.output import Json, counting_bar, print_document

db_app = typer.Typer(
    name="db", help="The database of live trials: migrate, backup, restore, check.", rich_markup_mode=None
)


@db_app.command(cls=Command)
def migrate(db: Database = DATABASE) -> None:
    """Bring a database of an older version up to date, all or nothing. Back it up first; nothing else does this."""
    with live_packages("db"):
        from safebandit.trials.record.database import migrate as run

    before, now = run(db)
    if before == now:
        typer.echo(f"the database has version {now} already")
    else:
        typer.echo(f"the database was of version {before or 'none'}, and is of {now} now")


@db_app.command(cls=Command)
def backup(
    file: Annotated[Path, typer.Argument(help="The new file; a SQLite database, whatever is backed up.")],
    db: Database = DATABASE,
) -> None:
    """Copy the whole database, as it is at one moment, into a new file, while others go on using it."""
    with live_packages("db"):
        from safebandit.trials.record.copying import back_up
    with counting_bar("copying") as progress:
        back_up(db, file, progress=progress)
    typer.echo(f"the database is in {file}; check it: safebandit db check --db {file}")


@db_app.command(cls=Command)
def restore(
    file: Annotated[Path, typer.Argument(help="A backup.")],
    db: Database = DATABASE,
) -> None:
    """Copy a backup into a database that has nothing yet: a new file, or an empty database of PostgreSQL."""
    with live_packages("db"):
        from safebandit.trials.record.copying import restore as run
    with counting_bar("copying") as progress:
        run(file, db, progress=progress)
    typer.echo(f"{file} is restored; recompute its trials: safebandit trial verify")


@db_app.command(cls=Command)
def check(db: Database = DATABASE, json: Json = False) -> int:
    """Say whether the database is whole: its pages, what keeps its logs from being changed, its own log of trials and
    keys. `safebandit trial verify` recomputes every trial beside.
    """
    with open_ledger(db) as ledger:
        from safebandit.trials.record.verification import verify_database

        found, names = verify_database(ledger), ledger.names()
    if json:
        print_document({**found._asdict(), "holds": found.holds, "trials": names})
    elif found.holds:
        typer.echo(f"the database is whole: {len(names)} trials, {found.events} entries of its own log")
    else:
        typer.echo(f"entry {found.failed} of its own log fails: {found.problem}")
    return 0 if found.holds else 1
