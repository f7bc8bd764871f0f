"""Bytes that are not those that were written: no unit gets two arms, and somebody says so."""

import os
import random
import shutil
import sqlite3
import stat

import pytest
import sqlalchemy as sa

from safebandit.errors import DamagedError, RecordError, SafebanditError
from safebandit.trials.record import Ledger, sqlite_file
from safebandit.trials.record.database import migrate, trials
from safebandit.trials.record.export import export
from safebandit.trials.record.verification import verify, verify_database

from .helpers import refused, settings

UNITS = [f"unit {i}" for i in range(40)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A closed file with a trial of forty units, and the arms that they were given."""
    path = tmp_path_factory.mktemp("whole") / "trials.db"
    with Ledger(path) as book:
        book.create("knee", settings("docb", pending_cap=50))
        with book.writing() as writing:
            arms = {unit: writing.trial("knee").ask(unit, actor="desk").arm for unit in UNITS}
            for unit in UNITS[::2]:
                writing.trial("knee").tell(unit, reward=1, risk=0, actor="desk")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path, arms


def used_bytes(path, name):
    """The places of all bytes that mean something in the pages of a table or an index, with a unit's id in them."""
    with sqlite3.connect(path) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        pages = [row[0] for row in connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (name,))]
    connection.close()
    data = path.read_bytes()
    places = []
    for page in pages:
        begin, at = (page - 1) * size, data.find(b"unit ", (page - 1) * size)
        while 0 <= at < begin + size:
            places += range(at, at + 6)
            at = data.find(b"unit ", at + 1)
    return places


def damaged(whole, folder, place, bit):
    path = folder / "damaged.db"
    data = bytearray(whole.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)
    return path


def asked(book, unit):
    """The answer, or None where it is refused."""
    try:
        return book.ask("knee", unit, actor="desk")
    except RecordError:
        return None


def holds(book):
    """Whether verification finds nothing wrong with the trial, and the database nothing with itself."""
    try:
        return verify(book, "knee").holds
    except DamagedError:
        return False


@pytest.mark.parametrize("name", ["sqlite_autoindex_units_1", "events_asked", "units", "events"])
def test_one_bit_of_a_units_id(whole, tmp_path, name):
    """In the index of units, in that of the log, in the table and in the log itself: four flips in each, by a seed."""
    path, arms = whole
    rng = random.Random(name)
    for place in rng.sample(used_bytes(path, name), 4):
        with Ledger(damaged(path, tmp_path, place, rng.randrange(8))) as book:
            answers = [answer for unit in UNITS if (answer := asked(book, unit)) is not None]
            assert all(not given.new and given.arm == arms[given.unit] for given in answers)
            assert answers
            assert not holds(book)
        for beside in tmp_path.iterdir():
            beside.unlink()


def test_one_bit_anywhere(whole, tmp_path):
    """Each flip is refused with an error of ours, or found by verify, or met nothing that means anything."""
    path, arms = whole
    rng, size, said = random.Random(14), path.stat().st_size, []
    for _ in range(6):
        flipped = damaged(path, tmp_path, rng.randrange(size), rng.randrange(8))
        try:
            with Ledger(flipped) as book:
                for unit in UNITS[::8]:
                    assert book.ask("knee", unit, actor="desk").arm == arms[unit]
                assert [event.content for event in book.events("knee")]
                assert export(book, "knee", "json")
                found = [verify(book, "knee"), verify_database(book)]
                said += [each.problem for each in found if not each.holds]
        except SafebanditError as problem:
            said.append(str(problem))
        for beside in tmp_path.iterdir():
            beside.unlink()
    assert said
    assert not any("\n" in each for each in said)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM units WHERE id = 'unit 3'", "unit 'unit 3' was given an arm, says the log, but is not found"),
        ("UPDATE units SET asked_at = asked_at + 1 WHERE id = 'unit 3'", "is not the one that gave this answer"),
        ("UPDATE units SET asked_at = 60 WHERE id = 'unit 3'", "is not the one that gave this answer"),
        ("UPDATE units SET asked_at = 777 WHERE id = 'unit 3'", "a row is missing"),
        ("UPDATE units SET arm = 'other' WHERE id = 'unit 3'", "is not the one that gave this answer"),
        ("UPDATE trials SET state = replace(state, 'seed', 'sead')", "cannot be read"),
        ("UPDATE trials SET state = replace(state, '}', ')')", "cannot be read"),
        ("UPDATE trials SET state = replace(state, 'units', 'unitz')", "cannot be read: it has decisions"),
        ("UPDATE trials SET state = replace(state, 'units', 'aliazes\":{},\"units')", "cannot be read: it has aliazes"),
    ],
)
def test_tables_beside_the_log_are_not_believed_alone(whole, tmp_path, statement, message):
    path = shutil.copy(whole[0], tmp_path / "trials.db")
    with Ledger(path) as book:
        with book.engine.begin() as connection:
            connection.execute(sa.text(statement))
        with refused(message, DamagedError):
            book.ask("knee", "unit 3")
        assert not holds(book)


def test_a_hold_that_is_none_gives_no_arm(whole, tmp_path):
    path = shutil.copy(whole[0], tmp_path / "trials.db")
    with Ledger(path) as book:
        with book.engine.begin() as connection:
            state = connection.scalar(sa.select(trials.c.state)).replace('"held_at":null', '"held_at":5')
            connection.execute(trials.update().values(state=state))
        with refused("event 5 is not the one that gave this answer", DamagedError):
            book.ask("knee", "somebody new")


def test_a_file_is_its_owners_alone(tmp_path):
    path = tmp_path / "trials.db"
    before = os.umask(0)
    try:
        with Ledger(path) as book:
            book.create("knee", settings("docb"))
            modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o600}


@pytest.fixture
def unwritable(whole, tmp_path, monkeypatch):
    """A copy where nothing can be written: whoever runs the tests may be allowed everything."""
    path = shutil.copy(whole[0], tmp_path / "trials.db")
    monkeypatch.setattr(sqlite_file.os, "access", lambda *_: False)
    return path


def test_a_backup_where_nothing_can_be_written(unwritable):
    before = unwritable.read_bytes()
    with Ledger(unwritable, create=False) as book:
        assert verify(book, "knee").holds
        assert verify_database(book).holds
        assert book.state("knee").units == len(UNITS)
        with refused("readonly database", RecordError):
            book.ask("knee", "somebody new")
        assert [each.name for each in unwritable.parent.iterdir()] == ["trials.db"]
    assert unwritable.read_bytes() == before


def test_a_backup_without_its_newest_pages(unwritable):
    unwritable.with_name("trials.db-wal").write_bytes(b"pages")
    with refused("copy both to a folder that can be written", RecordError):
        Ledger(unwritable, create=False)


def test_an_older_backup_where_nothing_can_be_written(unwritable):
    with sqlite3.connect(unwritable) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0002'")
    connection.close()
    for beside in ("trials.db-wal", "trials.db-shm"):
        unwritable.with_name(beside).unlink(missing_ok=True)
    with refused("bring it up to date: safebandit db migrate", RecordError):
        Ledger(unwritable, create=False)
    with refused("copy it to a folder that can be written", RecordError):
        migrate(unwritable)


def test_damage_has_an_exit_status_of_its_own(whole, tmp_path, command):
    path = shutil.copy(whole[0], tmp_path / "trials.db")
    with open(path, "r+b") as file:
        file.seek(20_000)
        file.write(b"\xff" * 60_000)
    for words in (("verify", "knee"), ("verify",), ("status", "knee"), ("log", "knee"), ("ask", "knee", "unit 3")):
        left = command("trial", *words, "--db", str(path))
        assert left.status == 4
        assert left.out == ""
        assert left.err.startswith("DamagedError: ")
        assert left.err.count("\n") == 1


def test_units_that_cannot_be_counted_anew_are_damage(whole, tmp_path):
    with Ledger(shutil.copy(whole[0], tmp_path / "trials.db")) as book:
        with book.engine.begin() as connection:
            connection.execute(sa.text("UPDATE units SET outcome = '[' WHERE id = 'unit 3'"))
        with refused('units of "knee" are not kept as they were written', DamagedError):
            book.void("knee", "unit 1", reason="a typing error")
