"""Requests that share a transaction: what becomes of one does not become of the others."""

from __future__ import annotations

import threading

import sqlalchemy as sa

from safebandit.errors import DamagedError
from safebandit.service.scribe import Scribe
from safebandit.trials.record import Ledger, Settings
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
