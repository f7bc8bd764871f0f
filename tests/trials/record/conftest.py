"""A ledger on each database: what is promised of one is promised of both."""

import contextlib
import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa

from safebandit.trials.events import NOTHING, Event, now, seal
from safebandit.trials.record import Ledger
from safebandit.trials.record.database import REVISION, open_engine, registry

# What a file holds in which something was done, by what does it.
FILES = {}


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory):
    """A file with all tables and nothing in them: to copy it is faster than to make one."""
    path = tmp_path_factory.mktemp("empty") / "trials.db"
    open_engine(path).dispose()
    return path


@pytest.fixture(scope="session")
def one_database(postgres):
    return postgres.new_database()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of a database without trials."""
    if request.param == "sqlite":
        return str(shutil.copy(request.getfixturevalue("empty_file"), tmp_path / "trials.db"))
    address = request.getfixturevalue("one_database")
    _empty(address)
    return address


def _empty(address):
    """Take everything out, past the triggers; a new database for every test would be slower by far."""
    engine = sa.create_engine(address)
    with engine.begin() as connection:
        if sa.inspect(connection).has_table("events"):
            connection.execute(sa.text("SET session_replication_role = replica"))
            kept = ", ".join(table for table in sa.inspect(connection).get_table_names() if table != "alembic_version")
            connection.execute(sa.text(f"TRUNCATE {kept}"))
            begun = seal("", 1, now(), "safebandit", "begun", {"keys": [], "trials": {}, "software": "0"}, NOTHING)
            connection.execute(registry.insert(), [{column: getattr(begun, column) for column in Event._fields[1:]}])
            for log in ("events", "registry"):
                connection.execute(sa.text(f"ALTER TABLE {log} ENABLE TRIGGER ALL"))
            connection.execute(sa.text("UPDATE alembic_version SET version_num = :now"), {"now": REVISION})
    engine.dispose()


@pytest.fixture
def ledger(database):
    with Ledger(database) as opened:
        yield opened


@pytest.fixture
def made_once(database):
    """A ledger on which something was done: in a file it is done once, and every test has a copy; on a server, anew."""
    with contextlib.ExitStack() as opened:

        def made(make):
            if "://" in database:
                ledger = opened.enter_context(Ledger(database))
                make(ledger)
                return ledger
            if make not in FILES:
                with Ledger(database) as ledger:
                    make(ledger)
                FILES[make] = Path(database).read_bytes()
            Path(database).write_bytes(FILES[make])
            return opened.enter_context(Ledger(database))

        yield made
