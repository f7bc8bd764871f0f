"""The tables of the record, on SQLite or PostgreSQL, and how a database is opened.

SQLite runs in WAL mode and waits for the disk at every commit; what is acknowledged is on disk. A transaction that
writes takes the database's write lock at its start, and on PostgreSQL the rows of the trials that it writes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from safebandit.errors import RecordError

# The migration that this code needs.
REVISION = "0004"
# How long a transaction waits for another one's lock.
LOCK_SECONDS = 15

metadata = sa.MetaData()

# The state is what replaying the log gives, kept for speed.
trials = sa.Table(
    "trials",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("time", sa.String(27), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("memory", sa.LargeBinary, nullable=False),
)

# Only ever added to: triggers refuse anything else.
events = sa.Table(
    "events",
    metadata,
    sa.Column("trial", sa.String(64), sa.ForeignKey("trials.name"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("time", sa.String(27), nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)

units = sa.Table(
    "units",
    metadata,
    sa.Column("trial", sa.String(64), sa.ForeignKey("trials.name"), primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("arm", sa.Text, nullable=False),
    sa.Column("round", sa.BigInteger, nullable=False),
    sa.Column("play", sa.BigInteger, nullable=False),
    sa.Column("asked_at", sa.BigInteger, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("told_at", sa.Text, nullable=False),
    sa.Column("lost_at", sa.BigInteger),
    sa.Column("pending", sa.Boolean, nullable=False),
    sa.Column("voided_at", sa.BigInteger),
    sa.UniqueConstraint("trial", "round", name="one_unit_per_round"),
)
sa.Index(
    "units_pending", units.c.trial, units.c.round,
    sqlite_where=units.c.pending == sa.true(), postgresql_where=units.c.pending == sa.true(),
)  # fmt: skip

# Who may do what; of a key only a hash is kept.
keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("created", sa.String(27), nullable=False),
    sa.Column("expires", sa.String(27)),
    sa.Column("revoked", sa.String(27)),
)

# A browser that signed in with a key.
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("key", sa.String(16), sa.ForeignKey("keys.id"), nullable=False),
    sa.Column("expires", sa.String(27), nullable=False),
)


def read_url(database: str | Path) -> URL:
    """The address of a database: a file is SQLite's, and postgresql:// is spoken with psycopg.

    >>> read_url("trials.db").drivername, read_url("postgresql://host/name").drivername
    ('sqlite', 'postgresql+psycopg')
    """
    text = str(database)
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
    except sa.exc.ArgumentError:
        raise RecordError(
            "a database is a file or an address such as postgresql://host/name, got another text"
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise RecordError(f"a database is SQLite's or PostgreSQL's, got {url.drivername}; take a file or postgresql://")
    return url


def open_engine(database: str | Path, *, create: bool = True) -> sa.Engine:
    """Connect, and bring the tables to this version; `create` makes a file that does not exist."""
    url = read_url(database)
    if url.drivername == "sqlite":
        _check_file(url, create)
        waits: dict[str, Any] = {"timeout": LOCK_SECONDS, "check_same_thread": False}
        engine = sa.create_engine(url, connect_args=waits, hide_parameters=True)
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    else:
        # Whatever the server's own setting is, a commit waits for the disk.
        options = f"-c lock_timeout={LOCK_SECONDS * 1000} -c synchronous_commit=on"
        waits = {"connect_timeout": 10, "options": options}
        engine = sa.create_engine(url, pool_pre_ping=True, connect_args=waits, hide_parameters=True)
    try:
        with database_errors():
            _bring_up_to_date(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _check_file(url: URL, create: bool) -> None:
    if url.database in (None, "", ":memory:"):
        raise RecordError("a record is kept in a file, got no file name; give one, such as trials.db")
    path = Path(str(url.database))
    if not path.exists() and not create:
        raise RecordError(f'there is no database "{path}"; create a trial first, or check the name')
    if not path.parent.is_dir():
        raise RecordError(f'the folder of the database "{path}" does not exist; make it first')


def _set_up_sqlite(connection: Any, _: Any) -> None:
    # Transactions are begun here, not by the driver, which would begin them too late.
    connection.isolation_level = None
    # A byte that is no longer UTF-8 is read all the same, so that verification can name the event that has it.
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    # What is acknowledged is on disk; on macOS that takes a pragma of its own.
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


@contextlib.contextmanager
def database_errors() -> Iterator[None]:
    """A database that fails says so in one line, without its address and its statements."""
    try:
        yield
    except sa.exc.DBAPIError as problem:
        said = " ".join(str(problem.orig).split()) or type(problem.orig).__name__
        raise RecordError(f"the database failed: {said}; nothing of this request is acknowledged") from problem
    except sa.exc.TimeoutError as problem:
        raise RecordError("the database is too busy: no connection was free; try again") from problem


def _bring_up_to_date(engine: sa.Engine) -> None:
    with engine.connect().execution_options(reading=True) as connection:
        exists = sa.inspect(connection).has_table("alembic_version")
        found = connection.scalar(sa.text("SELECT version_num FROM alembic_version")) if exists else None
    if found == REVISION:
        return
    if found is not None and found > REVISION:
        raise RecordError(f"the database has version {found}, this safebandit knows {REVISION}; install a newer one")
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, REVISION)
