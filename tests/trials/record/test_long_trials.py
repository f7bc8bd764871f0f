"""What keeps long trials quick: units that are kept for the next correction, units read at once, decisions not read."""

import gc
import random

import pytest
import sqlalchemy as sa

from safebandit.errors import DamagedError
from safebandit.trials.events import seal
from safebandit.trials.record import Ledger, verification
from safebandit.trials.record.store import DatabaseStore, read_ahead
from safebandit.trials.record.verification import verify
from safebandit.trials.replay import Replay
from safebandit.trials.store import MemoryStore
from safebandit.trials.units import Unit, as_table

from .helpers import run, settings


def counted_from_nothing(ledger):
    """The memory of a trial whose units are all read anew."""
    with ledger.reading() as connection:
        state = ledger.state("knee")
        state.count(DatabaseStore(connection, "knee"))
    return state.allocator.to_bytes()


def test_corrections_after_corrections_count_what_all_units_give(ledger):
    """Whatever happens in between: the kept units are brought forward, and give the bytes that all units give."""
    ledger.create("knee", settings())
    rng = random.Random(1)
    for i in range(6):
        run(ledger, "knee", 5, start=5 * i)
        ledger.ask("knee", f"lost {i}")
        ledger.give_up("knee", f"lost {i}", reason="moved away")
        if i == 2:
            ledger.ask("knee", "nobody")
            ledger.void("knee", "nobody", reason="left")
        if i == 3:
            ledger.amend("knee", alpha=0.4, reason="the committee decided")
        ledger.correct("knee", f"unit {rng.randrange(5 * i + 5)}", reward=0.01 * i + 0.005, reason="typing error")
        assert ledger.state("knee").allocator.to_bytes() == counted_from_nothing(ledger)
    assert verify(ledger, "knee").holds


def test_kept_units_are_read_again_where_the_log_went_another_way(ledger):
    ledger.create("knee", settings())
    run(ledger, "knee", 4)
    known = ledger.read_ahead("knee")
    with ledger.reading() as connection:
        assert read_ahead(connection, "knee", known).table.outcomes.tolist() == known.table.outcomes.tolist()
        assert read_ahead(connection, "knee", known).number == known.number
        other = known._replace(hash="0" * 64, table=known.table._replace(outcomes=known.table.outcomes + 1.0))
        for wrong in (other, other._replace(hash=known.hash, number=known.number + 7)):
            read = read_ahead(connection, "knee", wrong)
            assert (read.number, read.hash) == (known.number, known.hash)
            assert read.table.outcomes.tolist() == known.table.outcomes.tolist()


def test_two_processes_correct_one_trial(database):
    with Ledger(database) as first, Ledger(database) as second:
        first.create("knee", settings())
        run(first, "knee", 6)
        for i, ledger in enumerate((first, second, first, second)):
            ledger.correct("knee", "unit 3", reward=0.1 + 0.1 * i, reason="typing error")
            run(ledger, "knee", 2, start=6 + 2 * i)
        assert first.state("knee").allocator.to_bytes() == counted_from_nothing(second)
        assert verify(second, "knee").holds


def test_a_store_in_memory_brings_its_table_forward():
    store, rng = MemoryStore(), random.Random(2)
    for i in range(30):
        store.put(Unit(f"u{i}", "ab"[i % 2], i + 1, i // 2, 2 * i + 1, [None, None]))
        chosen = store.unit(f"u{rng.randrange(i + 1)}")
        chosen.outcome, chosen.told_at = [rng.random(), 0.0], [100 + i, 100 + i]
        store.put(chosen)
        if i % 3 == 0:
            for mine, theirs in zip(store.table(), as_table(store.units()), strict=True):
                assert list(map(str, mine)) == list(map(str, theirs))


def test_units_that_are_expected_are_found_as_if_they_were_not(ledger):
    ledger.create("knee", settings("docb", pending_cap=100))
    ids = ["p1", " p2 ", "José", 17, "", "x" * 300, None]
    with ledger.writing() as writing:
        writing.expect("knee", ids)
        given = [writing.trial("knee").ask(unit, actor="Ada") for unit in ids[:4]]
    with ledger.writing() as writing:
        writing.expect("knee", [each.unit for each in given])
        again = [writing.trial("knee").ask(unit, actor="Ada") for unit in ids[:4]]
        assert [each.arm for each in again] == [each.arm for each in given]
        assert not any(each.new for each in again)
        writing.trial("knee").tell("p1", reward=1, risk=0, actor="Ada")
    assert ledger.unit("knee", "p1").outcome == [1.0, 0.0]
    assert verify(ledger, "knee").holds


@pytest.mark.parametrize("statement", ["DELETE FROM units WHERE id = 'p1'", "UPDATE units SET outcome = '[ 1]'"])
def test_a_damaged_unit_among_the_expected_is_told_of_itself_alone(ledger, statement):
    ledger.create("knee", settings("docb", pending_cap=100))
    ledger.ask("knee", "p1")
    with ledger.engine.begin() as connection:
        connection.execute(sa.text(statement))
    with ledger.writing() as writing:
        writing.expect("knee", ["p1", "p2"])
        assert writing.trial("knee").ask("p2", actor="Ada").new
    with ledger.writing() as writing:
        writing.expect("knee", ["p1"])
        engine = writing.trial("knee")
        with pytest.raises(DamagedError):
            engine.ask("p1", actor="Ada")


def test_decisions_that_come_out_letter_by_letter_are_not_read_part_by_part(ledger, monkeypatch):
    ledger.create("knee", settings("tsbu", pending_cap=100))
    run(ledger, "knee", 8)
    looked_at = []
    slowly = Replay._decision_problem
    monkeypatch.setattr(
        Replay, "_decision_problem", lambda *parts: looked_at.append(parts[2].number) or slowly(*parts)
    )  # fmt: skip
    assert verify(ledger, "knee").holds
    assert looked_at == []


def forged(log, number, change):
    """A log with one event changed, and all hashes made to fit."""
    previous = log[0].previous
    for event in log:
        content = change(event.content) if event.number == number else event.content
        made = seal(event.trial, event.number, event.time, event.actor, event.kind, content, previous)
        previous = made.hash
        yield made


@pytest.mark.parametrize(
    "change",
    [
        lambda content: {**content, "unit": "unit 0"},
        lambda content: {**content, "why": content["why"] + ',"unit":"unit 3","version":1,"why":"'},
        lambda content: {**content, "more": 1},
        lambda content: {**content, "decision": content["decision"] + 1},
        lambda content: {**content, "held_propensity": 0.5},
        lambda content: {**content, "stream": [*content["stream"][:-1], content["stream"][-1] + 1]},
        lambda content: {**content, "version": 2},
        lambda content: {**content, "formulas": "0" * 16},
    ],
)
def test_a_forged_decision_with_hashes_that_fit_is_refused(tmp_path, change):
    with Ledger(tmp_path / "trials.db") as ledger:
        ledger.create("knee", settings("tsbu", pending_cap=100))
        run(ledger, "knee", 6, tell=0.0)
        log = ledger.events("knee")
    assert list(forged(log, 4, lambda content: content)) == log
    assert Replay("knee").verify(log).holds
    assert Replay("knee").verify(forged(log, 4, change)).failed == 4


@pytest.fixture
def unfrozen():
    """Nothing is frozen, whatever the tests before did; afterwards all is again: to look through it takes seconds."""
    gc.disable()
    gc.unfreeze()
    yield
    gc.freeze()
    gc.enable()


@pytest.mark.usefixtures("unfrozen")
def test_a_long_trial_is_verified_and_old_objects_can_be_thrown_away_again(ledger, monkeypatch):
    ledger.create("knee", settings())
    run(ledger, "knee", 10)
    monkeypatch.setattr(verification, "MANY_EVENTS", 10)
    seen = []

    def look(number, last):
        # At both ends: to count takes a while.
        if number in (1, last):
            seen.append(gc.get_freeze_count())

    assert verify(ledger, "knee", progress=look).holds
    assert len(seen) == 2
    assert min(seen) > 0 == gc.get_freeze_count()
