"""Statements that are sent to PostgreSQL together: what they give, what becomes of them when one fails, their plans."""

import psycopg
import pytest
import sqlalchemy as sa

from safebandit.errors import RecordError
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.exchange import BEGIN, COMMIT, FIRST_RUNS
from safebandit.trials.record.postgres import Timed

SAME = "SELECT $1::text, $2::bigint, $3::boolean, $4::bytea, $5::text"
VALUES = ["Zoë \\ \"'{}\n", -(2**62), True, bytes(range(256)), None]


@pytest.fixture
def engine(one_database):
    with Ledger(one_database) as ledger:
        yield ledger.engine


@pytest.fixture
def kept(engine):
    """A table in which numbers are kept, and how others see those that are there."""
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE kept (number bigint PRIMARY KEY)"))

    def read():
        with engine.connect() as connection:
            return connection.execute(sa.text("SELECT number FROM kept ORDER BY 1")).scalars().all()

    yield read
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE kept"))


def keep(number):
    return "INSERT INTO kept VALUES ($1::bigint)", (number,)


def names(connection):
    return connection.execute(sa.text("SELECT name FROM pg_prepared_statements")).scalars().all()


def test_what_is_sent_comes_back_in_its_order(engine):
    with engine.begin() as connection:
        sent = [BEGIN, (SAME, VALUES), ("SELECT generate_series(1, $1::bigint)", (3,)), COMMIT]
        assert Timed.of(connection).exchange.send(*sent) == [[], [tuple(VALUES)], [(1,), (2,), (3,)], []]


def test_nothing_is_done_after_what_fails_nor_kept_of_what_was_done_before(engine, kept):
    with engine.connect() as connection:
        exchange = Timed.of(connection).exchange
        with pytest.raises(psycopg.errors.UniqueViolation):
            exchange.send(BEGIN, keep(1), keep(1), keep(2), COMMIT)
        # Whoever goes on all the same is not told that it was written.
        with pytest.raises(psycopg.errors.InFailedSqlTransaction, match="was not written"):
            exchange.send(COMMIT)
        assert kept() == []
        exchange.send(BEGIN, keep(3), COMMIT)
        assert kept() == [3]


def test_a_plan_is_made_anew_whenever_a_statement_has_run_twice_as_often(engine):
    seen = []
    with engine.begin() as connection:
        exchange = Timed.of(connection).exchange
        for _ in range(4 * FIRST_RUNS):
            assert exchange.send((SAME, VALUES)) == [[tuple(VALUES)]]
            (name,) = names(connection)
            seen += [] if name in seen else [name]
    assert len(seen) == 1 + 3


def test_a_rollback_leaves_what_was_prepared(engine):
    with engine.connect() as connection:
        exchange = Timed.of(connection).exchange
        for _ in range(2):
            with connection.begin(), connection.begin_nested() as savepoint:
                for _ in range(10):
                    connection.execute(sa.text("SELECT 1"))
                exchange.send((SAME, VALUES))
                savepoint.rollback()
            assert exchange.send(BEGIN, (SAME, VALUES))[1] == [tuple(VALUES)]
            connection.rollback()


HANG_UP = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = :name"


def ask_while_the_server_hangs_up(ledger):
    with ledger.writing() as writing:
        engine = writing.trial("hung-up")
        with ledger.engine.connect() as other:
            other.execute(sa.text(HANG_UP), {"name": ledger.engine.url.database})
        engine.ask("u1", actor="Ada")


def test_a_server_that_hangs_up_is_told_and_the_next_request_finds_another_connection(one_database):
    with Ledger(one_database) as ledger:
        ledger.create("hung-up", Settings.read(["a", "b"], 0.3, policy="docb", seed=1, pending_cap=9), actor="Ada")
        with pytest.raises(RecordError, match=r"the database failed: .*; nothing of this request"):
            ask_while_the_server_hangs_up(ledger)
        assert ledger.ask("hung-up", "u2", actor="Ada").round == 1
