"""Copies of a whole database: from SQLite or PostgreSQL into a new one of either kind.

A backup is a SQLite file, whatever the database is: it can be opened, verified and read like any other. Sign-ins of
browsers are not copied; keys are, as the hashes that they are kept as.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from safebandit.errors import RecordError
from safebandit.files import written_whole
from safebandit.trials.record.database import (
    database_errors,
    events,
    keys,
    read_url,
    registry,
    trials,
    units,
)
from safebandit.trials.record.ledger import Ledger

# In this order: events and units belong to trials.
TABLES = (trials, events, units, registry, keys)
# Rows that are read and written at once.
ROWS = 2000


def back_up(database: str, file: Path, *, progress: Callable[[int, int], None] | None = None) -> int:
    """Copy a database, as it is at one moment, into a new SQLite file; how many rows that is.

    Others go on reading and writing it. The file has its name only when it is complete.
    """
    if file.exists():
        raise RecordError(f'the file "{file}" exists already; name another one for the backup')
    if not file.parent.is_dir():
        raise RecordError(f'the folder of "{file}" does not exist; make it first')
    with Ledger(database, create=False) as source, written_whole(file) as partial:
        # A new SQLite file is one that only its owner can read.
        with Ledger(partial) as target:
            copied = _copy(source, target, progress)
            with target.engine.connect() as connection:
                # One file, without pages that wait in another one beside it.
                connection.connection.driver_connection.execute("PRAGMA journal_mode=DELETE")  # type: ignore[union-attr]
    return copied


def restore(file: Path, database: str, *, progress: Callable[[int, int], None] | None = None) -> int:
    """Copy a backup into a database that has nothing yet, all or nothing; how many rows that is."""
    if not file.is_file():
        raise RecordError(f'there is no backup "{file}"')
    url = read_url(database)
    if url.drivername == "sqlite" and Path(str(url.database)).exists():
        raise RecordError(f'the database "{url.database}" exists already; restore into one that does not')
    with Ledger(file, create=False) as source:
        if url.drivername == "sqlite":
            with written_whole(Path(str(url.database))) as partial, Ledger(partial) as target:
                return _copy(source, target, progress)
        with Ledger(database) as target:
            return _copy(source, target, progress)


def _copy(source: Ledger, target: Ledger, progress: Callable[[int, int], None] | None) -> int:
    with source.reading() as reading, database_errors(), target.engine.begin() as writing:
        for table in TABLES:
            if writing.scalar(sa.select(sa.func.count()).select_from(table)):
                raise RecordError(f"the database has {table.name} already; restore into an empty one")
        total = sum(reading.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in TABLES)
        done = 0
        for table in TABLES:
            found = reading.execution_options(yield_per=ROWS).execute(sa.select(table).order_by(*table.primary_key))
            for rows in found.mappings().partitions(ROWS):
                writing.execute(sa.insert(table), [dict(row) for row in rows])
                done += len(rows)
                if progress is not None:
                    progress(done, total)
    return done
