"""A database of every released version, on SQLite and on PostgreSQL: migrated, it verifies, and its trials go on.

The files hold what the code of each version wrote: two trials with a correction, a unit that was given up and an
amendment, one that is closed, and two keys; since 0.6.0 one of a project, with strata, eligible arms and an amendment
that two people made, a person and an alert; since 0.7.0 many corrections and voids at once, and a trial after whose end
two people corrected, voided and gave up units; since 0.8.0 one whose chances were estimated from draws, and which
went on in 0.9.0 with chances that were integrated.
"""

import gzip
import shutil
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from safebandit.errors import RecordError
from safebandit.service.keys import Keys
from safebandit.trials.record import Ledger, database
from safebandit.trials.record.database import REVISION, migrate, read_url
from safebandit.trials.record.verification import verify, verify_database

from .helpers import refused

FIRST = Path(__file__).parents[1] / "version_0_1_0" / "trials.db"
WRITTEN = Path(__file__).parent / "versions"
VERSIONS = {
    "0.1.0": "0001",
    "0.2.0": "0002",
    "0.3.0": "0004",
    "0.4.0": "0004",
    "0.5.0": "0005",
    "0.6.0": "0008",
    "0.7.0": "0009",
    "0.8.0": "0009",
    "0.9.0": "0009",
}


def as_file(version, path):
    if version == "0.1.0":
        return Path(shutil.copy(FIRST, path))
    path.write_bytes(gzip.decompress((WRITTEN / f"{version}.db.gz").read_bytes()))
    return path


def into_postgres(file, address, revision):
    """The rows of a file in tables of its revision on PostgreSQL, made by the migrations that made them then."""
    engine = sa.create_engine(read_url(address))
    config = Config()
    config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    tables = sa.MetaData()
    tables.reflect(engine)
    source = sqlite3.connect(file)
    source.row_factory = sqlite3.Row
    with engine.begin() as connection:
        # Past the triggers: what the migration began is not what the file has.
        connection.execute(sa.text("SET session_replication_role = replica"))
        for table in tables.sorted_tables:
            if table.name != "alembic_version":
                connection.execute(sa.text(f"TRUNCATE {table.name} CASCADE"))
        for table in tables.sorted_tables:
            rows = [] if table.name == "alembic_version" else source.execute(f"SELECT * FROM {table.name}").fetchall()
            flags = [column.name for column in table.c if isinstance(column.type, sa.Boolean)]
            if rows:
                plain = [dict(row) for row in rows]
                connection.execute(table.insert(), [row | {name: bool(row[name]) for name in flags} for row in plain])
    source.close()
    engine.dispose()
    return address


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_database_of_every_version_is_migrated_and_goes_on(tmp_path, request, version, kind):
    there = as_file(version, tmp_path / "trials.db")
    revision = VERSIONS[version]
    if kind == "postgresql":
        address = request.getfixturevalue("postgres").new_database()
        there = into_postgres(there, address, revision)
    if revision != REVISION:
        with refused(f"the database has version {revision}, this safebandit needs {REVISION}", RecordError):
            Ledger(there)
    assert migrate(there) == (revision, REVISION)
    with Ledger(there) as ledger:
        names = ledger.names()
        assert verify_database(ledger).holds
        for name in names:
            found = verify(ledger, name)
            assert found.holds, (name, found.problem)
        assert [key.works for key in Keys(ledger).all()] == [True] * (0 if version == "0.1.0" else 2)
        given = ledger.ask("docb", "after the upgrade", actor="desk")
        if given.arm is not None:
            ledger.tell("docb", "after the upgrade", reward=1, risk=0, actor="desk")
        assert given.arm is not None or version == "0.1.0"
        found = verify(ledger, "docb")
        assert found.holds, found.problem
    assert migrate(there) == (REVISION, REVISION)


def test_every_version_has_a_file():
    assert {file.name.removesuffix(".db.gz") for file in WRITTEN.iterdir()} | {"0.1.0"} == set(VERSIONS)
