"""Backups: what is copied, out of either database and into either, verifies and goes on as the original."""

import contextlib
import sqlite3

import pytest
import sqlalchemy as sa

from safebandit.errors import RecordError
from safebandit.trials.record import Ledger
from safebandit.trials.record.copying import ROWS, TABLES, back_up, restore
from safebandit.trials.record.database import events
from safebandit.trials.record.triggers import REFUSAL
from safebandit.trials.record.verification import verify, verify_database

from .helpers import refused, run, settings


@pytest.fixture
def used(database):
    """A database with a trial."""
    with Ledger(database) as ledger:
        ledger.create("knee", settings("docb"))
        run(ledger, "knee", 6)
    return database


def content(database):
    with Ledger(database) as ledger, ledger.reading() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(sa.select(table).order_by(*table.primary_key))]
            for table in TABLES
        }


def test_a_backup_has_all_rows_and_verifies(used, tmp_path):
    file, told = tmp_path / "copy.db", []
    back_up(used, file, progress=lambda done, total: told.append((done, total)))
    assert content(file) == content(used)
    assert told[-1][0] == told[-1][1] > 0
    with Ledger(file) as ledger:
        assert verify(ledger, "knee").holds
        assert verify_database(ledger).holds
        with pytest.raises(sa.exc.DBAPIError, match=REFUSAL), ledger.engine.begin() as connection:
            connection.execute(sa.delete(events))
    assert file.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == ["copy.db"]


def test_a_backup_is_restored_and_goes_on_alike(used, tmp_path, postgres):
    file, other = tmp_path / "copy.db", tmp_path / "other.db"
    back_up(used, file)
    restored = str(other) if used.startswith("postgres") else postgres.new_database()
    restore(file, restored)
    assert content(restored) == content(used)
    asked = []
    for database in (used, restored):
        with Ledger(database) as ledger:
            asked.append([ledger.ask("knee", f"new {i}").arm for i in range(4)])
            assert verify(ledger, "knee").holds
    assert asked[0] == asked[1]


def test_more_rows_than_are_copied_at_once(tmp_path):
    with Ledger(tmp_path / "trials.db") as ledger:
        ledger.create("knee", settings("docb"))
        with ledger.writing() as transaction:
            for i in range(ROWS // 2):
                transaction.trial("knee").ask(f"{i}", actor="a")
                transaction.trial("knee").tell(f"{i}", reward=1, risk=0, actor="a")
    restore(tmp_path / "trials.db", str(tmp_path / "copy.db"))
    assert content(tmp_path / "copy.db") == content(tmp_path / "trials.db")


def test_what_is_there_is_not_written_over(used, tmp_path):
    file = tmp_path / "copy.db"
    back_up(used, file)
    before = content(used)
    with refused("exists already; name another one for the backup", RecordError):
        back_up(used, file)
    with refused("already; restore into", RecordError):
        restore(file, used)
    with refused("there is no backup", RecordError):
        restore(tmp_path / "none.db", str(tmp_path / "new.db"))
    with refused("does not exist; make it first", RecordError):
        back_up(used, tmp_path / "none" / "copy.db")
    assert content(used) == before
    assert not (tmp_path / "new.db").exists()


def test_a_backup_that_fails_leaves_no_file(used, tmp_path):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(used, tmp_path / "copy.db", progress=interrupt)
    assert not [path for path in tmp_path.iterdir() if "copy" in path.name]


def test_a_file_that_is_no_backup_is_refused(tmp_path):
    (tmp_path / "text.db").write_text("not a database")
    with pytest.raises(RecordError):
        restore(tmp_path / "text.db", str(tmp_path / "new.db"))
    (tmp_path / "empty.db").touch()
    with refused("or it is empty", RecordError):
        restore(tmp_path / "empty.db", str(tmp_path / "new.db"))
    with refused("does not exist; make it first", RecordError):
        restore(tmp_path / "text.db", str(tmp_path / "none" / "new.db"))
    assert not (tmp_path / "new.db").exists()


def test_a_file_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE accounts (id INTEGER)")
    with refused('tables of another program ("accounts")', RecordError):
        Ledger(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("accounts",)]
