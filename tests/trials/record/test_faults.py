"""Full disks, lost databases, clocks set back: a clear error or the right record, never a wrong one."""

import pytest
import sqlalchemy as sa

from safebandit.errors import RecordError
from safebandit.trials import events
from safebandit.trials.record import Ledger
from safebandit.trials.record.verification import verify
from servers.postgres import Postgres

from .helpers import refused, run, settings


def test_a_full_disk(tmp_path):
    """SQLite's own limit on pages gives the error that a full disk gives."""
    with Ledger(tmp_path / "trials.db") as book:
        book.create("knee", settings())
        run(book, "knee", 20)
        before = book.state("knee").hash
        with book.engine.connect() as connection:
            pages = connection.scalar(sa.text("PRAGMA page_count"))

        def fill_up(connection, _):
            connection.execute(f"PRAGMA max_page_count = {pages}")

        sa.event.listen(book.engine, "connect", fill_up)
        book.engine.dispose()
        with refused("database or disk is full; nothing of this request is acknowledged", RecordError):
            run(book, "knee", 500, start=20)
        assert book.state("knee").hash == before
        assert verify(book, "knee").holds
        sa.event.remove(book.engine, "connect", fill_up)
        book.engine.dispose()
        run(book, "knee", 500, start=20)
        assert verify(book, "knee").decisions == 520


def test_a_database_that_goes_away_and_comes_back():
    server = Postgres()
    try:
        with Ledger(server.new_database()) as book:
            book.create("knee", settings())
            run(book, "knee", 10)
            before = book.state("knee").hash
            server.stop()
            for _ in range(2):
                with refused("the database failed", RecordError):
                    run(book, "knee", 1, start=10)
            server.start()
            assert book.state("knee").hash == before
            run(book, "knee", 10, start=10)
            assert verify(book, "knee").decisions == 20
    finally:
        server.remove()


def test_a_connection_that_breaks_inside_a_transaction(postgres):
    """What was decided in memory is forgotten with the transaction."""
    with Ledger(postgres.new_database()) as book:
        book.create("knee", settings())
        run(book, "knee", 10)

        def broken():
            with book.writing() as writing:
                writing.trial("knee").ask("p1", actor="Ada")
                backend = writing._connection.scalar(sa.text("SELECT pg_backend_pid()"))
                with book.engine.connect() as other:
                    other.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": backend})

        with refused("the database failed", RecordError):
            broken()
        assert book.ask("knee", "p1").new
        assert verify(book, "knee").decisions == 11


def test_a_clock_set_back(tmp_path, monkeypatch):
    """Times in the log never run backwards; numbers, not times, are the order."""
    with Ledger(tmp_path / "trials.db") as book:
        book.create("knee", settings())
        run(book, "knee", 3)
        last = book.state("knee").time
        monkeypatch.setattr(events, "now", lambda: "2001-01-01T00:00:00.000000Z")
        run(book, "knee", 3, start=3)
        monkeypatch.undo()
        run(book, "knee", 3, start=6)
        times = [event.time for event in book.events("knee")]
        assert times == sorted(times)
        assert times.count(last) > 3
        assert times[-1] > last
        assert verify(book, "knee").holds


def test_times_sort_as_they_follow():
    first, second = events.now(), events.now()
    assert first <= second
    assert len(first) == len(second) == len("2026-01-01T00:00:00.000000Z")


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but more than a hundred characters of text, " * 5)
    with refused("file is not a database", RecordError):
        Ledger(path)
    assert path.read_text().startswith("not a database")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("mysql://host/name", "got mysql"),
        ("sqlite://", "a record is kept in a file"),
        ("no/such/folder/trials.db", "does not exist"),
        ("http:/[", "does not exist"),
        ("postgresql://127.0.0.1:1/none", "the database failed"),
    ],
)
def test_addresses_that_lead_nowhere(address, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with refused(message, RecordError):
        Ledger(address)
    assert list(tmp_path.iterdir()) == []


def test_a_password_is_not_told():
    with pytest.raises(RecordError) as caught:
        Ledger("postgresql://ada:s3cret@127.0.0.1:1/none")
    assert "s3cret" not in str(caught.value)


def test_only_a_new_trial_makes_a_file(tmp_path):
    with refused("there is no database", RecordError):
        Ledger(tmp_path / "trials.db", create=False)
    assert list(tmp_path.iterdir()) == []
