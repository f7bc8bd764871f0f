"""Requests that share a transaction: what becomes of one does not become of the others."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa

from safebandit.errors import DamagedError, RecordError
from safebandit.service.scribe import Scribe
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record import postgres as record_postgres
from safebandit.trials.record.verification import verify


def test_what_meets_damage_half_way_is_not_written_with_what_others_ask(tmp_path):
    """To void a unit that was given up counts all anew, which cannot be done here; it was voided in memory before."""
    with Ledger(tmp_path / "trials.db") as ledger:
        ledger.create("knee", Settings.read(["a", "b"], 0.3, policy="docb", seed=1, pending_cap=9))
        for unit in ("lost", "damaged"):
            ledger.ask("knee", unit)
        ledger.give_up("knee", "lost", reason="a typing error")
        with ledger.engine.begin() as connection:
            kept = connection.scalar(sa.text("SELECT outcome FROM units WHERE id = 'damaged'"))
            connection.execute(sa.text("UPDATE units SET outcome = '[' WHERE id = 'damaged'"))
        scribe, let = Scribe(ledger), threading.Event()
        scribe.write("", lambda _: let.wait(30))
        # These two arrive while the first is written, and share a transaction.
        voided = scribe.write("knee", lambda writing: writing.trial("knee").void("lost", reason="typo", actor="Ada"))
        asked = scribe.write("knee", lambda writing: writing.trial("knee").ask("next", actor="Ada"))
        let.set()
        assert isinstance(voided.exception(30), DamagedError)
        assert asked.result(30).round == 3
        scribe.close()
        with ledger.engine.begin() as connection:
            connection.execute(sa.text("UPDATE units SET outcome = :kept WHERE id = 'damaged'"), {"kept": kept})
        assert ledger.unit("knee", "lost").voided_at is None
        assert verify(ledger, "knee").holds


def test_a_trial_that_another_process_writes_keeps_nobody_else_waiting(postgres):
    """Both are asked for together: the one that is free is answered, the other one when it is free again."""
    with Ledger(postgres.new_database()) as ledger:
        for name in ("free", "locked"):
            ledger.create(name, Settings.read(["a", "b"], 0.3, policy="docb", seed=1, pending_cap=9), actor="Ada")
        scribe, let = Scribe(ledger), threading.Event()
        scribe.write("", lambda _: let.wait(30))
        asked = {name: scribe.write(name, ask(name), [name]) for name in ("free", "locked")}
        with ledger.engine.begin() as other:
            other.execute(sa.text("SELECT 1 FROM trials WHERE name = 'locked' FOR UPDATE"))
            let.set()
            assert asked["free"].result(30).round == 1
            assert not asked["locked"].done()
        assert asked["locked"].result(30).round == 1
        scribe.close()


def test_a_process_that_stands_still_while_it_writes_keeps_its_trials_for_a_while_only(postgres, monkeypatch):
    database = postgres.new_database()
    monkeypatch.setattr(record_postgres, "STILL_SECONDS", 1)
    with Ledger(database) as still, Ledger(database) as other:
        still.create("knee", Settings.read(["a", "b"], 0.3, policy="docb", seed=1, pending_cap=9), actor="Ada")

        def stand_still():
            with still.writing() as writing:
                writing.trial("knee").ask("one", actor="Ada")
                # Waits for the lock until the server has ended the other transaction.
                assert other.ask("knee", "two", actor="Ada").round == 1

        with pytest.raises(RecordError, match="nothing of this request is acknowledged"):
            stand_still()
        assert still.ask("knee", "one", actor="Ada").round == 2
        assert verify(other, "knee").holds


def test_requests_to_several_trials_share_a_transaction_on_postgresql(postgres):
    with Ledger(postgres.new_database()) as ledger:
        for name in ("one", "two", "long"):
            ledger.create(name, Settings.read(["a", "b"], 0.3, policy="docb", seed=1, pending_cap=9), actor="Ada")
        scribe, let, seen = Scribe(ledger), threading.Event(), {}

        def noting(name):
            return lambda writing: (seen.update({name: writing}), ask(name)(writing))[1]

        scribe.write("", lambda _: let.wait(30))
        # Whatever is not about a few units may take long, and locks no trial but its own.
        asked = [scribe.write(name, noting(name), units) for name, units in (("one", "u"), ("long", ""), ("two", "u"))]
        let.set()
        assert [each.result(30).round for each in asked] == [1, 1, 1]
        scribe.close()
        assert seen["one"] is seen["two"]
        assert seen["one"] is not seen["long"]


def ask(name):
    return lambda writing: writing.trial(name).ask(name, actor="Ada")
