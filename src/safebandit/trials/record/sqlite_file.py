"""A database that is a file: how SQLite opens it, to write or on media where nothing can be written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL

from safebandit.errors import RecordError

# How long a transaction waits for another one's lock.
LOCK_SECONDS = 15


def open_file(url: URL, *, create: bool) -> sa.Engine:
    """An engine for this file, which `create` makes where there is none; nobody but its owner can read a new one."""
    path = _checked_path(url)
    if not path.exists():
        if not create:
            raise RecordError(f'there is no database "{path}"; create a trial first, or check the name')
        # SQLite gives the files that it makes beside this one the same mode.
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as problem:
            raise RecordError(f'the database "{path}" cannot be made: {problem.strerror}') from None
    set_up = _set_up
    if not _can_be_written(path):
        url, set_up = _read_only(url, path), _set_up_reading
    engine = sa.create_engine(
        url, connect_args={"timeout": LOCK_SECONDS, "check_same_thread": False}, hide_parameters=True
    )
    sa.event.listen(engine, "connect", set_up)
    sa.event.listen(engine, "begin", _begin)
    return engine


def is_read_only(engine: sa.Engine) -> bool:
    """Whether nothing can be written to this database."""
    return engine.url.query.get("mode") == "ro"


def run(connection: sa.Connection, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
    """Run a statement with its values, or with each of a list of rows; a failure is told as SQLAlchemy tells it, whose
    own way to SQLite takes many times as long as SQLite does.
    """
    driver: Any = connection.connection.dbapi_connection
    try:
        execute = driver.executemany if isinstance(values, list) else driver.execute
        return cast("sqlite3.Cursor", execute(statement, values))
    except sqlite3.Error as problem:
        raise sa.exc.DBAPIError.instance(None, None, problem, sqlite3.Error, hide_parameters=True) from problem


def page_damage(connection: sa.Connection) -> str | None:
    """What SQLite finds wrong with the pages and indices of its file, if anything."""
    said = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar())
    return None if said == "ok" else " ".join(said.split())


def _checked_path(url: URL) -> Path:
    if url.database in (None, "", ":memory:"):
        raise RecordError("a record is kept in a file, got no file name; give one, such as trials.db")
    path = Path(str(url.database))
    if not path.parent.is_dir():
        raise RecordError(f'the folder of the database "{path}" does not exist; make it first')
    return path


def _can_be_written(path: Path) -> bool:
    """Whether this user can write the file, and those that SQLite makes beside it or has made there."""
    return os.access(path, os.W_OK) and (os.access(path.parent, os.W_OK) or _beside(path, "wal").exists())


def _read_only(url: URL, path: Path) -> URL:
    query, waiting = {"uri": "true", "mode": "ro"}, _beside(path, "wal")
    if not _beside(path, "shm").exists():
        if waiting.exists() and waiting.stat().st_size > 0:
            raise RecordError(
                f'the newest pages of "{path}" are still in "{waiting}", and nothing can be written there; '
                "copy both to a folder that can be written"
            )
        # Nobody has it open: SQLite then needs no files beside this one, and could not make them.
        query["immutable"] = "1"
    return url.set(database=f"file:{quote(str(path.absolute()))}", query=query)


def _beside(path: Path, what: str) -> Path:
    """A file of SQLite's own: `wal` has pages that are not in the database yet, `shm` is there while it is open."""
    return path.with_name(f"{path.name}-{what}")


def _set_up(connection: Any, _: Any) -> None:
    _set_up_reading(connection, _)
    # What is acknowledged is on disk; on macOS that takes a pragma of its own.
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _set_up_reading(connection: Any, _: Any) -> None:
    # Transactions are begun here, not by the driver, which would begin them too late.
    connection.isolation_level = None
    # A byte that is no longer UTF-8 is read all the same, so that verification can name the event that has it.
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")


def _begin(connection: sa.Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    run(connection, "BEGIN" if reading else "BEGIN IMMEDIATE")
