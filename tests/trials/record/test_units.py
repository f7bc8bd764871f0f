"""Units in a database: ids typed otherwise, units voided, holding and waiting, and outcomes counted anew."""

import csv
import io
import json

import pytest
import sqlalchemy as sa

from safebandit.errors import ConflictError, NotFoundError, RecordError
from safebandit.trials.drafts import ask as decide
from safebandit.trials.events import NO_ARM, Draft
from safebandit.trials.record import Ledger
from safebandit.trials.record.database import REVISION, migrate
from safebandit.trials.record.export import export
from safebandit.trials.record.overview import overview
from safebandit.trials.record.verification import verify
from safebandit.trials.trial import Trial

from .helpers import refused, run, settings


def test_an_id_typed_otherwise_is_the_same_unit(ledger):
    ledger.create("knee", settings("docb"))
    given = ledger.ask("knee", "Jose\u0301 \u00a017")
    assert given.unit == "José 17"
    assert ledger.ask("knee", " José 17 ") == given._replace(new=False)
    assert ledger.tell("knee", "José\t17", reward=1, risk=0).new
    assert ledger.unit("knee", "Jose\u0301 17").outcome == [1.0, 0.0]
    with refused("U+200D"):
        ledger.ask("knee", "José\u200d 17")
    with pytest.raises(NotFoundError):
        ledger.unit("knee", "Jose 17")
    assert verify(ledger, "knee").holds


def as_before(ledger, *ids):
    """Units whose ids were taken before ids had one spelling, then a unit that waits, as `held` with its cause."""
    with ledger.writing() as writing:
        engine = writing.trial("knee")
        for unit in ids:
            draft = decide(engine.state, unit)
            engine.append(Draft(draft.kind, {**draft.body, "software": "0.2.0"}), "Ada")
        draft = decide(engine.state, "next")
        engine.append(Draft("held", {**draft.body, "cause": NO_ARM[draft.kind], "software": "0.2.0"}), "Ada")


def test_a_database_of_before_is_brought_up_to_date(database):
    """Its units are found as they were typed then and as they are typed now, and its log is verified."""
    with Ledger(database) as ledger:
        ledger.create("knee", settings("docb", pending_cap=1))
        as_before(ledger, "patient 17 ", "patient\u00a017", "zero\u200bwidth")
        ledger.create("plain", settings("docb"))
        ledger.ask("plain", "patient 17")
        new = ledger.state("knee")
        with ledger.engine.begin() as connection:
            # As it was before: no column, the wait a hold, no other spellings, and version 0003.
            row = json.loads(connection.scalar(sa.text("SELECT state FROM trials WHERE name = 'knee'")))
            assert row.pop("aliases") == {"patient 17": "patient 17 "}
            row["held_at"] = row.pop("waits_at")
            text = json.dumps(row, sort_keys=True, separators=(",", ":"))
            connection.execute(sa.text("UPDATE trials SET state = :text WHERE name = 'knee'"), {"text": text})
            for column in ("voided_at", "context", "stratum"):
                connection.execute(sa.text(f"ALTER TABLE units DROP COLUMN {column}"))
            for table in ("projects", "people", "roles", "messages", "alert_positions", "alerts", "leases"):
                connection.execute(sa.text(f"DROP TABLE {table}"))
            for column in ("person", "old_hash", "old_until", "used", "creator"):
                connection.execute(sa.text(f"ALTER TABLE keys DROP COLUMN {column}"))
            connection.execute(sa.text("ALTER TABLE keys ADD COLUMN role VARCHAR(16)"))
            connection.execute(sa.text("UPDATE alembic_version SET version_num = '0003'"))
    assert migrate(database) == ("0003", REVISION)
    with Ledger(database) as ledger:
        state = ledger.state("knee")
        assert (state.holds.held_at, state.holds.waits_at, state.aliases) == (None, new.holds.waits_at, new.aliases)
        assert verify(ledger, "knee").holds
        assert verify(ledger, "plain").holds
        for typed, unit in {
            "patient 17 ": "patient 17 ", "patient 17": "patient 17 ", " patient  17": "patient 17 ",
            "patient\u00a017": "patient\u00a017", "zero\u200bwidth": "zero\u200bwidth",
        }.items():  # fmt: skip
            assert ledger.ask("knee", typed).unit == unit
            assert ledger.unit("knee", typed).id == unit
        assert ledger.tell("knee", "patient 17", reward=1, risk=0).new
        with refused("U+200B"):
            ledger.ask("knee", "zero\u200bwidth 2")
        given = ledger.ask("knee", "next")
        assert given.new
        assert verify(ledger, "knee").holds


def test_a_voided_unit_counts_as_nothing_everywhere(ledger):
    ledger.create("knee", settings("docb", pending_cap=9))
    run(ledger, "knee", 10)
    before, seen = ledger.state("knee").allocator.to_bytes(), overview(ledger, "knee")
    typo = ledger.ask("knee", "typo")
    done = ledger.void("knee", "typo", reason="a typing error")
    assert ledger.void("knee", "typo ", reason="again") == (done.event, False)
    state, now = ledger.state("knee"), overview(ledger, "knee")
    assert state.allocator.to_bytes() == before
    assert (now.units, now.voided, now.rounds, now.pending) == (10, 1, 11, 0)
    assert [(arm.plays, arm.pending, arm.mean_risk) for arm in now.arms] == [
        (arm.plays, arm.pending, arm.mean_risk) for arm in seen.arms
    ]
    with refused(f"unit 'typo' was voided in event {done.event}, and its id cannot be used again", ConflictError):
        ledger.ask("knee", "typo")
    assert ledger.ask("knee", "next").round == typo.round + 1
    rows = list(csv.DictReader(io.StringIO(export(ledger, "knee", "csv").decode())))
    assert [(row["unit"], row["void"]) for row in rows][-2:] == [("typo", "true"), ("next", "false")]
    assert (rows[-2]["pending"], rows[-2]["given_up"], rows[-2]["reward"]) == ("false", "false", "")
    ledger.correct("knee", "unit 3", reward=0.25, reason="count all anew")
    assert verify(ledger, "knee").holds
    assert Trial.from_json(export(ledger, "knee", "json", whole=True).decode()).verify().holds


def test_a_voided_unit_that_is_counted_again_is_found(ledger):
    ledger.create("knee", settings("docb", pending_cap=9))
    ledger.ask("knee", "typo")
    ledger.void("knee", "typo", reason="a typing error")
    with ledger.engine.begin() as connection:
        connection.execute(sa.text("UPDATE units SET voided_at = NULL, pending = true"))
    found = verify(ledger, "knee")
    assert "unit 'typo' in the table units is not what the log gives" in str(found.problem)


def test_what_is_written_after_units_were_read_ahead_is_counted(ledger):
    """A correction is exact, whoever else writes between the reading of the units and the transaction."""
    ledger.create("knee", settings("docb", pending_cap=9, lost="harm"))
    run(ledger, "knee", 12, tell=0.7)
    ahead = ledger.read_ahead("knee")
    run(ledger, "knee", 6, start=12, tell=0.7)
    pending = [unit for unit in (ledger.unit("knee", f"unit {i}") for i in range(18)) if unit.pending]
    ledger.tell("knee", pending[0].id, reward=0.3)
    ledger.give_up("knee", pending[1].id, reason="moved away")
    ledger.void("knee", pending[2].id, reason="never came")
    known = next(unit for unit in (ledger.unit("knee", f"unit {i}") for i in range(12)) if None not in unit.outcome)
    with ledger.writing() as writing:
        writing.trial("knee").tell(pending[0].id, risk=0.1, actor="Ada")
        # In the same transaction: what is not in the database yet.
        writing.trial("knee").ask("a new one", actor="Ada")
        writing.trial("knee", ahead).correct(known.id, reward=0.7, reason="so it was", actor="Ada")
    assert verify(ledger, "knee").holds


def test_units_that_cannot_be_read_are_not_counted(ledger):
    ledger.create("knee", settings("docb", pending_cap=9))
    run(ledger, "knee", 3)
    with ledger.engine.begin() as connection:
        connection.execute(sa.text("UPDATE units SET outcome = '[1.0,' WHERE id = 'unit 1'"))
    with refused('units of "knee" are not kept as they were written', RecordError):
        ledger.correct("knee", "unit 2", reward=0.5, reason="so it was")


def test_a_trial_that_waits_is_known_to_do_so_by_whoever_opens_it(database):
    with Ledger(database) as ledger:
        ledger.create("knee", settings("docb", arms=["only"], pending_cap=1))
        ledger.ask("knee", "1")
        given = ledger.ask("knee", "2")
        assert (given.arm, given.waiting, given.held) == (None, True, False)
        assert ledger.event("knee", given.event).kind == "waiting"
    with Ledger(database) as ledger:
        seen = overview(ledger, "knee")
        assert (seen.waiting, seen.holding) == (given.why, None)
        assert ledger.ask("knee", "3") == given._replace(unit="3", new=False)
        assert verify(ledger, "knee").holds
