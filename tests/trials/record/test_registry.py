"""The database's own log: whoever adds, takes away or changes a key or a whole trial is found out."""

import pytest
import sqlalchemy as sa

from safebandit.errors import RecordError
from safebandit.service.keys import Keys
from safebandit.trials import events
from safebandit.trials.events import Event, canonical, hash_of
from safebandit.trials.record.database import registry
from safebandit.trials.record.verification import verify, verify_database

from .helpers import refused, settings


def make_kept(ledger):
    """Make two trials and two keys, one of them revoked."""
    for name in ("knee", "hip"):
        ledger.create(name, settings("docb"), actor="Ada")
    keys = Keys(ledger)
    first, _ = keys.create("desk 1", "operator", actor="Ada")
    keys.create("desk 2", "admin", days=3, actor="Ada")
    keys.revoke(first.id, actor="Bea")


@pytest.fixture
def kept(made_once):
    return made_once(make_kept)


def without_triggers(ledger, statement, table="registry"):
    with ledger.engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            for trigger in ("no_update", "no_delete", "no_replace"):
                connection.execute(sa.text(f"DROP TRIGGER {'registry_' if table == 'registry' else ''}{trigger}"))
        else:
            connection.execute(sa.text(f"ALTER TABLE {table} DISABLE TRIGGER ALL"))
        connection.execute(sa.text(statement))


def test_what_was_done_and_by_whom(kept):
    log = kept.registry()
    assert [(event.kind, event.actor) for event in log[1:]] == [
        ("trial created", "Ada"), ("trial created", "Ada"), ("key made", "Ada"), ("key made", "Ada"),
        ("key revoked", "Bea"),
    ]  # fmt: skip
    assert log[0].kind == "begun"
    assert log[1].content == {"trial": "knee", "hash": kept.event("knee", 1).hash}
    found = verify_database(kept)
    assert (found.holds, found.events, found.hash) == (True, 6, log[-1].hash)
    assert verify_database(kept, expected=log[2].hash).after == 3
    other = verify_database(kept, expected="0" * 64)
    assert "no event of the database's own log has the hash" in other.problem


def test_what_is_refused_or_there_already_leaves_no_trace(kept):
    before = kept.registry()
    kept.create("knee", settings("docb"), actor="Ada")
    revoked = next(key for key in Keys(kept).all() if key.revoked)
    Keys(kept).revoke(revoked.id, actor="Cy")
    with refused("actor must not have control characters"):
        Keys(kept).create("desk 3", "viewer", actor="A\nB")
    assert kept.registry() == before
    assert len(Keys(kept).all()) == 2


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE roles SET role = 'admin' WHERE role = 'operator'", "the role of"),
        ("INSERT INTO roles SELECT holder, '*', 'admin' FROM roles WHERE role = 'operator'", "the role of"),
        ("UPDATE keys SET hash = 'other' WHERE name = 'desk 2'", "key"),
        ("UPDATE keys SET creator = 'Cy'", "key"),
        ("UPDATE keys SET old_hash = hash, old_until = '2099'", "key"),
        ("INSERT INTO projects VALUES ('other', '', '2026')", "project 'other'"),
        ("INSERT INTO people (id, name, created) VALUES ('0', 'Eve', '2026')", "person '0'"),
        ("UPDATE keys SET revoked = NULL", "key"),
        ("UPDATE keys SET expires = NULL", "key"),
        ("DELETE FROM keys WHERE name = 'desk 2'", "key"),
        (
            "INSERT INTO keys (id, name, hash, created, expires, creator) "
            "SELECT 'fedcba9876543210', name, hash, created, expires, creator FROM keys WHERE name = 'desk 2'",
            "key 'fedcba9876543210'",
        ),
    ],
)
def test_keys_that_are_not_those_of_the_log(kept, statement, said):
    with kept.engine.begin() as connection:
        connection.execute(sa.text(statement))
    found = verify_database(kept)
    assert not found.holds
    assert found.problem.startswith(said)


def test_a_trial_that_was_taken_away(kept):
    without_triggers(kept, "DELETE FROM events WHERE trial = 'hip'", table="events")
    with kept.engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM trials WHERE name = 'hip'"))
    assert 'trial "hip" is not what the database\'s own log gives' in verify_database(kept).problem


def test_a_trial_that_was_begun_anew_with_right_hashes(kept):
    """Another first event in a chain that fits: only the database's own log knows."""
    with kept.engine.begin() as connection:
        first = kept.event("hip", 1)
        fields = (*first[:3], "Mallory", *first[4:7])
        forged = Event(*fields, hash_of(fields))
    without_triggers(
        kept, f"UPDATE events SET actor = 'Mallory', hash = '{forged.hash}' WHERE trial = 'hip'", table="events"
    )
    with kept.engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE trials SET hash = '{forged.hash}' WHERE name = 'hip'"))
    assert "does not have this creation" in verify(kept, "hip").problem
    assert 'trial "hip"' in verify_database(kept).problem


def test_the_log_cannot_be_changed(kept):
    statements = ["UPDATE registry SET actor = 'x'", "DELETE FROM registry"]
    if kept.engine.dialect.name == "sqlite":
        statements.append("REPLACE INTO registry SELECT * FROM registry WHERE number = 2")
    else:
        statements.append("TRUNCATE registry")
    for statement in statements:
        with pytest.raises(sa.exc.DBAPIError, match="events are only ever added"), kept.engine.begin() as connection:
            connection.execute(sa.text(statement))
    assert verify_database(kept).holds


def test_a_trigger_that_is_missing_is_noticed(kept):
    without_triggers(kept, "SELECT 1")
    assert "which keeps a log from being changed, is not there" in verify_database(kept).problem
    assert "which keeps a log from being changed, is not there" in verify(kept, "knee").problem


def forged(log, number, **changes):
    """The log with one event otherwise, and all hashes right."""
    previous, sealed = log[0].previous, []
    for event in log:
        changed = event._replace(**changes) if event.number == number else event
        fields = (*changed[:6], previous)
        sealed.append(Event(*fields, hash_of(fields)))
        previous = sealed[-1].hash
    return sealed


@pytest.mark.parametrize(
    ("number", "changes", "said"),
    [
        (3, {"body": canonical({"trial": "knee", "hash": "0" * 64})}, "creates the trial 'knee', which is there"),
        (6, {"body": canonical({"id": "0" * 16, "revoked": "now"})}, "which does not work"),
        (5, {"body": canonical({"id": "0" * 16, "revoked": None})}, "makes a key of id, revoked, which is not"),
        (6, {"kind": "begun"}, "which cannot be there"),
        (6, {"kind": "nonsense"}, "which cannot be there"),
        (2, {"actor": ""}, "actor must have"),
        (2, {"time": "2001-01-01T00:00:00.000000Z"}, "a time before that of the event that it follows"),
        (2, {"body": '{"hash":"0", "trial":"knee"}'}, "is not written as a database writes it"),
        (1, {"body": "{}"}, "cannot be read"),
    ],
)  # fmt: skip
def test_an_event_that_no_database_writes(kept, number, changes, said):
    from safebandit.trials.record.registry import Registry

    found = Registry().verify(forged(kept.registry(), number, **changes))
    assert found.failed == number
    assert said in found.problem


def test_a_clock_set_back(kept, monkeypatch):
    monkeypatch.setattr(events, "now", lambda: "2001-01-01T00:00:00.000000Z")
    kept.create("elbow", settings("docb"))
    assert kept.registry()[-1].content["clock"] == "2001-01-01T00:00:00.000000Z"
    found = verify_database(kept)
    assert (found.holds, found.misdated) == (True, 1)


def test_an_empty_log_is_no_log(kept):
    without_triggers(kept, "DELETE FROM registry")
    assert verify_database(kept).problem == "the database's own log is empty"
    with refused("the database's own log is empty", RecordError):
        kept.create("elbow", settings("docb"))
    assert "elbow" not in kept.names()
    assert registry.name == "registry"
