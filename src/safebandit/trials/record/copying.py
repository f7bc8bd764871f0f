"""Copies of a whole database: from SQLite or PostgreSQL into a new one of either kind.

A backup is a SQLite file, whatever the database is: it can be opened, verified and read like any other. One of a file
is that file page by page, of whatever version; one of PostgreSQL, and what is restored, is copied table by table,
without sign-ins of browsers. Keys are copied as the hashes that they are kept as.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL

from safebandit.errors import DamagedError, RecordError
from safebandit.files import written_whole
from safebandit.trials.record.database import (
    alert_positions,
    alerts,
    database_errors,
    events,
    keys,
    messages,
    people,
    projects,
    read_url,
    registry,
    roles,
    trials,
    units,
)
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.sqlite_file import open_file
from safebandit.trials.record.triggers import changeable

# In this order: events and units belong to trials, what was sent to alerts.
TABLES = (trials, events, units, registry, projects, people, roles, keys, alerts, alert_positions, messages)
# Rows that are read and written at once.
ROWS = 2000


def back_up(database: str, file: Path, *, progress: Callable[[int, int], None] | None = None) -> None:
    """Copy a database, as it is at one moment, into a new SQLite file.

    Others go on reading and writing it. The file has its name only when it is complete.
    """
    if file.exists():
        raise RecordError(f'the file "{file}" exists already; name another one for the backup')
    if not file.parent.is_dir():
        raise RecordError(f'the folder of "{file}" does not exist; make it first')
    url = read_url(database)
    if url.drivername == "sqlite":
        with written_whole(file) as partial:
            _copy_pages(url, partial, progress)
        return
    with Ledger(database, create=False) as source, written_whole(file) as partial:
        _copy_into_file(source, partial, progress)


def restore(file: Path, database: str, *, progress: Callable[[int, int], None] | None = None) -> None:
    """Copy a backup into a database that has nothing yet, all or nothing."""
    if not file.is_file() or file.stat().st_size == 0:
        raise RecordError(f'there is no backup "{file}", or it is empty')
    url = read_url(database)
    if url.drivername == "sqlite" and not Path(str(url.database)).parent.is_dir():
        raise RecordError(f'the folder of "{url.database}" does not exist; make it first')
    if url.drivername == "sqlite" and Path(str(url.database)).exists():
        raise RecordError(f'the database "{url.database}" exists already; restore into one that does not')
    with Ledger(file, create=False) as source:
        if url.drivername == "sqlite":
            with written_whole(Path(str(url.database))) as partial:
                _copy_into_file(source, partial, progress)
            return
        with Ledger(database) as target:
            _copy(source, target, progress)


def _copy_pages(url: URL, file: Path, progress: Callable[[int, int], None] | None) -> None:
    def told(_: int, left: int, total: int) -> None:
        if progress is not None:
            progress(total - left, total)

    engine = open_file(url, create=False)
    try:
        with database_errors(), engine.connect() as source:
            found: Any = source.connection.driver_connection
            # Nobody but its owner can read the new file.
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with contextlib.closing(sqlite3.connect(file)) as target:
                # All pages at once: one state of the database, whoever writes meanwhile.
                found.backup(target, progress=told)
                target.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.DatabaseError as problem:
        raise DamagedError(f"the database cannot be copied: {problem}; take a copy that holds") from problem
    finally:
        engine.dispose()


def _copy_into_file(source: Ledger, file: Path, progress: Callable[[int, int], None] | None) -> None:
    # When the last connection to a file is closed, SQLite puts all into it and removes those beside it.
    with Ledger(file) as target:
        _copy(source, target, progress)


def _copy(source: Ledger, target: Ledger, progress: Callable[[int, int], None] | None) -> None:
    done = 0
    with source.reading() as reading, database_errors(), target.engine.begin() as writing:
        if _count(writing, trials) or _count(writing, keys):
            raise RecordError("the database has trials or keys already; restore into an empty one")
        total = sum(_count(reading, table) for table in TABLES)
        with changeable(writing, registry.name):
            # That the new database was begun is no part of the copy.
            writing.execute(sa.delete(registry))
        for table in TABLES:
            wanted = sa.select(table).order_by(*table.primary_key)
            found = reading.execute(wanted, execution_options={"yield_per": ROWS})
            for rows in found.mappings().partitions(ROWS):
                writing.execute(sa.insert(table), [dict(row) for row in rows])
                done += len(rows)
                if progress is not None:
                    progress(done, total)


def _count(connection: sa.Connection, table: sa.Table) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
