"""Any change of a record is found, and the first event that fails is named."""

import pytest
import sqlalchemy as sa

from safebandit.trials import allocator, differences, drafts, replay
from safebandit.trials.events import Event, hash_of
from safebandit.trials.record.verification import verify

from .helpers import let_change, run, settings


def make_told(ledger):
    """Make a trial with decisions, outcomes, a correction, an amendment and a unit given up."""
    ledger.create("knee", settings())
    run(ledger, "knee", 12, tell=0.8)
    ledger.ask("knee", "p1")
    ledger.give_up("knee", "p1", reason="lost")
    ledger.amend("knee", alpha=0.4, reason="the committee decided")
    run(ledger, "knee", 6, start=12)
    ledger.correct("knee", "unit 12", reward=0.5, reason="typing error")


@pytest.fixture
def told(made_once):
    return made_once(make_told)


def change(ledger, statement, **values):
    with ledger.engine.begin() as connection:
        let_change(connection)
        connection.execute(sa.text(statement), values)


def test_a_record_holds(told):
    found = verify(told, "knee")
    assert found.holds
    assert found.failed is None
    assert found.events == told.state("knee").number
    assert found.hash == told.state("knee").hash
    assert found.decisions == 19
    assert verify(told, "knee", expected=found.hash).holds


def test_progress_is_told(told):
    seen = []
    verify(told, "knee", progress=lambda done, total: seen.append((done, total)))
    total = told.state("knee").number
    assert seen == [(i, total) for i in range(1, total + 1)]


def altered(text):
    """The same text with one byte changed, in its middle."""
    i = len(text) // 2
    other = "1" if text[i] != "1" else "2"
    return text[:i] + other + text[i + 1 :]


@pytest.mark.parametrize("column", ["time", "actor", "kind", "body", "previous", "hash"])
@pytest.mark.parametrize("number", [1, 2, 3, 14])
def test_one_byte_of_an_event(told, column, number):
    value = getattr(told.event("knee", number), column)
    change(told, f"UPDATE events SET {column} = :new WHERE number = :n", new=altered(value), n=number)
    found = verify(told, "knee")
    assert found.failed == number
    assert found.events == number - 1
    assert f"event {number}" in found.problem


def test_every_byte_of_one_body(told):
    """Each byte of a decision's body in turn, put back afterwards."""
    body = told.event("knee", 2).body
    with told.engine.begin() as connection:
        let_change(connection)
    for i in range(0, len(body), 7):
        new = body[:i] + ("x" if body[i] != "x" else "y") + body[i + 1 :]
        with told.engine.begin() as connection:
            connection.execute(sa.text("UPDATE events SET body = :new WHERE number = 2"), {"new": new})
        assert verify(told, "knee").failed == 2
    with told.engine.begin() as connection:
        connection.execute(sa.text("UPDATE events SET body = :new WHERE number = 2"), {"new": body})
    assert "which keeps a log from being changed, is not there" in verify(told, "knee").problem


@pytest.mark.parametrize("number", [1, 5])
def test_an_event_that_is_missing(told, number):
    change(told, "DELETE FROM events WHERE number = :n", n=number)
    found = verify(told, "knee")
    assert f"event {number} is missing" in found.problem


def test_an_end_that_is_missing(told):
    last = told.state("knee").number
    change(told, "DELETE FROM events WHERE number = :n", n=last)
    found = verify(told, "knee")
    assert found.events == last - 1
    assert "the end is missing" in found.problem


def test_a_chain_forged_anew_does_not_hide_another_decision(told):
    """Whoever can write everything can make hashes fit, but not the decisions."""
    log = told.events("knee")
    target = next(event for event in log if event.kind == "asked" and event.number > 6)
    previous = log[0].previous
    with told.engine.begin() as connection:
        let_change(connection)
        for event in log:
            body = event.body
            if event.number == target.number:
                other = next(arm for arm in ("placebo", "low", "high") if arm != event.content["arm"])
                body = body.replace(f'"arm":"{event.content["arm"]}"', f'"arm":"{other}"')
            fields = (*event[:5], body, previous)
            forged = Event(*fields, hash_of(fields))
            statement = "UPDATE events SET body = :body, previous = :previous, hash = :hash WHERE number = :number"
            connection.execute(sa.text(statement), forged._asdict())
            previous = forged.hash
        connection.execute(sa.text("UPDATE trials SET hash = :hash"), {"hash": previous})
    found = verify(told, "knee")
    assert found.failed == target.number
    assert "is not what its decision gives when it is made again: arm differ" in found.problem


def test_a_hash_that_was_noted_is_found_though_the_trial_went_on(told):
    noted = told.state("knee").hash
    assert verify(told, "knee", expected=noted).after == 0
    told.set_status("knee", "close", reason="done")
    found = verify(told, "knee", expected=noted)
    assert (found.holds, found.after) == (True, 1)


def test_another_history_is_not_the_one_that_was_noted(told):
    found = verify(told, "knee", expected="0" * 64)
    assert f"no event has the hash {'0' * 64} that was expected" in found.problem


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trials SET status = 'paused'",
        "UPDATE trials SET time = '2020-01-01T00:00:00.000000Z'",
        "UPDATE trials SET state = replace(state, 'waiting', 'wanting')",
        "UPDATE trials SET state = replace(state, '0.4', '0.5')",
        "UPDATE units SET outcome = '[1.0,1.0]' WHERE id = 'unit 1'",
        "UPDATE units SET outcome = 'nonsense' WHERE id = 'unit 1'",
        "UPDATE units SET outcome = replace(outcome, ',', ', ') WHERE id = 'unit 1'",
        "UPDATE units SET arm = 'other' WHERE id = 'unit 1'",
        "UPDATE units SET lost_at = 3 WHERE id = 'unit 1'",
        "UPDATE units SET pending = NOT pending WHERE id = 'unit 1'",
        "DELETE FROM units WHERE id = 'unit 1'",
        "INSERT INTO units SELECT trial, 'ghost', arm, 1000, play, asked_at, outcome, told_at, lost_at, pending, "
        "voided_at, context, stratum FROM units WHERE id = 'unit 1'",
    ],
)
def test_what_is_kept_beside_the_log(told, statement):
    change(told, statement)
    found = verify(told, "knee")
    assert not found.holds
    assert found.failed == found.events


def test_one_byte_of_the_memory(told):
    with told.reading() as connection:
        memory = bytes(connection.scalar(sa.text("SELECT memory FROM trials")))
    for i in (3, 20, len(memory) // 2, len(memory) - 1):
        new = memory[:i] + bytes([memory[i] ^ 1]) + memory[i + 1 :]
        with told.engine.begin() as connection:
            connection.execute(sa.text("UPDATE trials SET memory = :new"), {"new": new})
        assert "(memory)" in verify(told, "knee").problem
    with told.engine.begin() as connection:
        connection.execute(sa.text("UPDATE trials SET memory = :new"), {"new": memory})
    assert verify(told, "knee").holds


def formulas(monkeypatch, name):
    """Pretend to be the package with other formulas."""
    for module in (allocator, differences, drafts, replay):
        monkeypatch.setattr(module, "formulas_hash", lambda: name * 16)


@pytest.mark.parametrize("policy", ["tsbu", "docb"])
def test_a_record_outlives_changes_of_the_formulas(ledger, monkeypatch, policy):
    """What other formulas counted is counted anew, in the log too: a replay then does the same."""
    formulas(monkeypatch, "a")
    ledger.create("knee", settings(policy, pending_cap=20))
    run(ledger, "knee", 30, tell=0.8)
    ledger._states.clear()
    formulas(monkeypatch, "b")
    assert verify(ledger, "knee").holds
    counted = ledger.state("knee").allocator.memory.quantities["plays"][0, :, 0].sum()
    assert counted > 10
    waiting = next(f"unit {i}" for i in range(30) if ledger.unit("knee", f"unit {i}").pending)
    ledger.tell("knee", waiting, reward=1, risk=0)
    assert [event.kind for event in ledger.events("knee")][-2:] == ["recounted", "told"]
    assert verify(ledger, "knee").holds
    ledger._states.clear()
    formulas(monkeypatch, "c")
    assert verify(ledger, "knee").holds
    run(ledger, "knee", 10, start=30)
    assert verify(ledger, "knee").holds
    assert [event.kind for event in ledger.events("knee")].count("recounted") == 2


def test_a_byte_that_is_no_text(told):
    """Not even UTF-8: the event is named all the same."""
    if told.engine.dialect.name == "postgresql":
        change(told, "UPDATE events SET body = body || chr(233) WHERE number = :n", n=4)
    else:
        change(told, "UPDATE events SET body = CAST(x'7bff7d' AS TEXT) WHERE number = :n", n=4)
    found = verify(told, "knee")
    assert found.failed == 4
    assert "event 4 was changed" in found.problem


def test_other_words_of_another_version_are_no_other_decision(told, monkeypatch):
    monkeypatch.setattr(differences, "__version__", "9.9")
    monkeypatch.setattr(drafts, "reason_of", lambda *_: "in other words")
    assert verify(told, "knee").holds
    monkeypatch.undo()
    monkeypatch.setattr(drafts, "reason_of", lambda *_: "in other words")
    assert "why differ" in verify(told, "knee").problem
