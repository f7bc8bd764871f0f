"""The tables of the record, on SQLite or PostgreSQL, and how a database is opened.

SQLite runs in WAL mode and waits for the disk at every commit; what is acknowledged is on disk. A transaction that
writes takes the database's write lock at its start, and on PostgreSQL the rows of the trials that it writes.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from safebandit.errors import DamagedError, RecordError
from safebandit.trials.record.sqlite_file import is_read_only, open_file

# Connections of a process to PostgreSQL, unless told: a file needs no limit.
POOL = 15
# The migration that this code needs.
REVISION = "0009"

# A trial's name with that of its project before it.
NAME_LENGTH = 100

metadata = sa.MetaData()

# The state is what replaying the log gives, kept for speed.
trials = sa.Table(
    "trials",
    metadata,
    sa.Column("name", sa.String(NAME_LENGTH), primary_key=True),
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
    sa.Column("trial", sa.String(NAME_LENGTH), sa.ForeignKey("trials.name"), primary_key=True),
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
    sa.Column("trial", sa.String(NAME_LENGTH), sa.ForeignKey("trials.name"), primary_key=True),
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
    sa.Column("context", sa.Text),
    sa.Column("stratum", sa.Text),
    sa.UniqueConstraint("trial", "round", name="one_unit_per_round"),
)
sa.Index(
    "units_pending", units.c.trial, units.c.round,
    sqlite_where=units.c.pending == sa.true(), postgresql_where=units.c.pending == sa.true(),
)  # fmt: skip

# The database's own log, only ever added to as well.
registry = sa.Table(
    "registry",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("time", sa.String(27), nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)

# Groups that do not see each other's trials; the project "default" is always there, and has no row.
projects = sa.Table(
    "projects",
    metadata,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("created", sa.String(27), nullable=False),
)

# Who can sign in; `subject` is what an identity provider calls a person, once they have signed in there.
people = sa.Table(
    "people",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("email", sa.Text, unique=True),
    sa.Column("subject", sa.Text, unique=True),
    sa.Column("created", sa.String(27), nullable=False),
    sa.Column("removed", sa.String(27)),
)

# What a person or a key may do in a project; "*" is the installation.
roles = sa.Table(
    "roles",
    metadata,
    sa.Column("holder", sa.String(16), primary_key=True),
    sa.Column("project", sa.String(32), primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
)

# Of a key only a hash is kept; of the secret before a rotation too, until it no longer works. `used` is no part of any
# log: it is written now and then.
keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("created", sa.String(27), nullable=False),
    sa.Column("expires", sa.String(27)),
    sa.Column("revoked", sa.String(27)),
    sa.Column("person", sa.String(16)),
    sa.Column("creator", sa.Text, nullable=False),
    sa.Column("old_hash", sa.String(64)),
    sa.Column("old_until", sa.String(27)),
    sa.Column("used", sa.String(27)),
)

# A browser that signed in, with a key or as a person.
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("key", sa.String(16)),
    sa.Column("person", sa.String(16)),
    sa.Column("expires", sa.String(27), nullable=False),
    sa.Column("seen", sa.String(27), nullable=False),
)

# Who is told when something happens in a trial, or in any of a project; the secret signs what is sent.
alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("project", sa.String(32), nullable=False),
    sa.Column("trial", sa.String(NAME_LENGTH), sa.ForeignKey("trials.name")),
    sa.Column("kinds", sa.Text, nullable=False),
    sa.Column("channel", sa.String(16), nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("patience", sa.Float),
    sa.Column("quiet", sa.Float, nullable=False),
    sa.Column("secret", sa.Text),
    sa.Column("created", sa.String(27), nullable=False),
    sa.Column("removed", sa.String(27)),
)

# Up to which event of a trial's log an alert has been considered; and the last events since which a unit is waited for,
# or no arm is given, of which it has told.
alert_positions = sa.Table(
    "alert_positions",
    metadata,
    sa.Column("alert", sa.String(16), sa.ForeignKey("alerts.id"), primary_key=True),
    sa.Column("trial", sa.String(NAME_LENGTH), sa.ForeignKey("trials.name"), primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("unit_told", sa.BigInteger, nullable=False),
    sa.Column("wait_told", sa.BigInteger, nullable=False),
)

# What alerts have to send, and what became of it; `due` is in seconds since 1970.
messages = sa.Table(
    "messages",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("alert", sa.String(16), sa.ForeignKey("alerts.id"), nullable=False),
    sa.Column("trial", sa.String(NAME_LENGTH)),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("made", sa.Float, nullable=False),
    sa.Column("due", sa.Float, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("said", sa.Text),
    sa.Column("done", sa.Float),
)
sa.Index(
    "messages_waiting", messages.c.due,
    sqlite_where=messages.c.state == "waiting", postgresql_where=messages.c.state == "waiting",
)  # fmt: skip
sa.Index("messages_of_alert", messages.c.alert, messages.c.trial, messages.c.kind, messages.c.made)

# Of several processes the one that has a lease does the work that it names.
leases = sa.Table(
    "leases",
    metadata,
    sa.Column("name", sa.String(16), primary_key=True),
    sa.Column("holder", sa.String(64), nullable=False),
    sa.Column("until", sa.Float, nullable=False),
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


def open_engine(database: str | Path, *, create: bool = True, pool: int = POOL) -> sa.Engine:
    """Connect to a database whose tables are of this version; an empty one gets them, one of an older version is
    refused. `create` makes a file that does not exist; where a file cannot be written, it is read as it is. `pool` are
    the connections to PostgreSQL, at most.
    """
    engine = _connect(database, create=create, pool=pool)
    try:
        with database_errors():
            found = version_of(engine)
            if found is None:
                _bring_up_to_date(engine, found)
            elif found < REVISION:
                raise RecordError(
                    f"the database has version {found}, this safebandit needs {REVISION}; "
                    "back it up (safebandit db backup), then bring it up to date: safebandit db migrate"
                )
    except BaseException:
        engine.dispose()
        raise
    return engine


def migrate(database: str | Path) -> tuple[str | None, str]:
    """Bring the tables of a database that exists to this version: all or nothing; the version before, and now."""
    engine = _connect(database, create=False)
    try:
        with database_errors():
            found = version_of(engine)
            if found != REVISION:
                _bring_up_to_date(engine, found)
            return found, REVISION
    finally:
        engine.dispose()


def _connect(database: str | Path, *, create: bool, pool: int = POOL) -> sa.Engine:
    url = read_url(database)
    if url.drivername == "sqlite":
        return open_file(url, create=create)
    from safebandit.trials.record.postgres import open_postgres

    return open_postgres(url, pool)


@contextlib.contextmanager
def database_errors() -> Iterator[None]:
    """A database that fails says so in one line, without its address and its statements."""
    try:
        yield
    except sa.exc.DBAPIError as problem:
        said = " ".join(str(problem.orig).split()) or type(problem.orig).__name__
        if _is_damage(problem.orig):
            raise DamagedError(f"the database is damaged: {said}; take a copy that holds") from problem
        raise RecordError(f"the database failed: {said}; nothing of this request is acknowledged") from problem
    except UnicodeDecodeError as problem:
        # Names of damaged tables are no text, and SQLite's driver fails to say even that.
        raise DamagedError("the database is damaged: its tables cannot be read; take a copy that holds") from problem
    except sa.exc.TimeoutError as problem:
        raise RecordError("the database is too busy: no connection was free; try again") from problem
    except (sa.exc.NoResultFound, sa.exc.MultipleResultsFound) as problem:
        raise DamagedError(
            "the database is damaged: a row is missing or there twice; take a copy that holds"
        ) from problem


def _is_damage(problem: Any) -> bool:
    """Whether the database says that its own bytes are not what it wrote."""
    # Of SQLite's codes the last byte is the kind; PostgreSQL's are "data corrupted" and "index corrupted".
    of_sqlite = getattr(problem, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return of_sqlite or getattr(problem, "sqlstate", None) in ("XX001", "XX002")


def version_of(engine: sa.Engine) -> str | None:
    """The version of a database's tables, None of one without any; one of a newer safebandit is refused."""
    with engine.connect().execution_options(reading=True) as connection:
        exists = sa.inspect(connection).has_table("alembic_version")
        found = connection.scalar(sa.text("SELECT version_num FROM alembic_version")) if exists else None
        others = [] if exists or connection.dialect.name != "sqlite" else sa.inspect(connection).get_table_names()
    if others:
        raise RecordError(f'the file has tables of another program ("{others[0]}") and no trials; name another one')
    if found is not None and found > REVISION:
        raise RecordError(f"the database has version {found}, this safebandit knows {REVISION}; install a newer one")
    return None if found is None else str(found)


def _bring_up_to_date(engine: sa.Engine, found: str | None) -> None:
    if is_read_only(engine):
        raise RecordError(
            f"the database has version {found}, this safebandit needs {REVISION}, and nothing can be written there; "
            "copy it to a folder that can be written"
        )
    from alembic import command
    from alembic.config import Config
    from alembic.util.exc import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            with _as_long_as_it_takes(connection):
                command.upgrade(config, REVISION)
    except (CommandError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise DamagedError(
            f"the database of version {found} is damaged: what it keeps beside its logs cannot be read ({problem}), so "
            f"it was not brought to version {REVISION}; take a copy that holds"
        ) from problem


def _as_long_as_it_takes(connection: sa.Connection) -> contextlib.AbstractContextManager[None]:
    if connection.dialect.name == "sqlite":
        return contextlib.nullcontext()
    from safebandit.trials.record.postgres import without_limits

    return without_limits(connection)
