"""A trial by a design in the record, on both databases: what follows is written with its cause, and verified."""

import sqlalchemy as sa

from safebandit import Trial
from safebandit.errors import StoppedError
from safebandit.trials.design import Design
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.database import trials
from safebandit.trials.record.export import export
from safebandit.trials.record.overview import overview
from safebandit.trials.record.verification import verify

from .helpers import ARMS, refused

STOP = ["arm-harm:confidence=.8,least=2", "too-many-harms:harms=3"]
DESIGN = Design(ARMS, 0.3, "docb", 12, cohort=2, title="by a design", stop=STOP)


def play(ledger, name="knee"):
    """The first arm harms both of its units and is dropped; the next harms one, and the trial stops."""
    ledger.create(name, Settings.by_design(DESIGN, seed=7), actor="Ada")
    for unit, risk in (("p1", 1), ("p2", 1), ("p3", 0), ("p4", 1)):
        ledger.ask(name, unit, actor="desk")
        ledger.tell(name, unit, reward=1, risk=risk, actor="desk")


def test_a_trial_stops_and_another_process_reads_it_so(ledger, database):
    play(ledger)
    kinds = [event.kind for event in ledger.events("knee")]
    assert kinds[5:] == ["dropped", "asked", "told", "asked", "told", "stopped"]
    assert [event.actor for event in ledger.events("knee", after=9)] == ["desk", "safebandit"]
    with ledger.reading() as connection:
        assert connection.scalar(sa.select(trials.c.status)) == "stopped"
    with Ledger(database) as other:
        state = other.state("knee")
        assert (state.status, list(state.dropped), state.stop["rule"]) == ("stopped", [ARMS[0]], "too-many-harms")
        assert state.allocator.dropped == [True, False, False]
        with refused("has stopped by its design", StoppedError):
            other.ask("knee", "p5", actor="desk")
        found = overview(other, "knee")
        assert (found.stopped["rule"], found.selected) == ("too-many-harms", None)
        assert found.propensities == "the trial has stopped: no arm comes next"
        # Known late: now an arm is selected, and that is written.
        other.correct("knee", "p4", risk=0, reason="another unit's", actor="Ada")
    last = ledger.events("knee")[-1]
    assert (last.kind, last.content["before"], last.content["after"]) == ("selected", None, ARMS[1])
    assert verify(ledger, "knee").holds
    assert overview(ledger, "knee").stopped["selected_at"] == last.number
    ledger.set_status("knee", "close", reason="done", actor="Ada")
    read = Trial.from_json(export(ledger, "knee", "json").decode())
    assert (read.selected, read.status) == (ARMS[1], "closed")
    assert verify(ledger, "knee").holds


def test_all_of_it_is_written_or_nothing(ledger):
    """What follows an event is in its transaction: no log can end between the two."""
    ledger.create("knee", Settings.by_design(DESIGN, seed=7), actor="Ada")
    with refused("no unit 'nobody' was given an arm"), ledger.writing() as writing:
        for unit in ("p1", "p2"):
            writing.trial("knee").ask(unit, actor="desk")
            writing.trial("knee").tell(unit, reward=1, risk=1, actor="desk")
        assert writing.trial("knee").state.dropped
        writing.trial("knee").tell("nobody", reward=1, actor="desk")
    assert ledger.state("knee").dropped == {}
    assert len(ledger.events("knee")) == 1


def test_a_kept_state_that_forgets_the_stop_is_found(ledger):
    play(ledger)
    with ledger.engine.begin() as connection:
        kept = connection.scalar(sa.select(trials.c.state))
        connection.execute(trials.update().values(state=kept.replace('"placebo":6', '"placebo":5')))
    found = verify(ledger, "knee")
    assert "the state kept beside the log (state)" in found.problem


def test_the_same_design_again_is_the_same_trial_and_another_is_refused(ledger):
    ledger.create("knee", Settings.by_design(DESIGN, seed=7), actor="Ada")
    assert not ledger.create("knee", Settings.by_design(DESIGN.to_dict(), seed=7), actor="Ada").new
    with refused("with other settings"):
        ledger.create("knee", Settings.by_design({**DESIGN.to_dict(), "units": 13}, seed=7), actor="Ada")


def test_viewers_with_a_delay_see_the_rules_of_the_past(ledger):
    ledger.create(
        "knee", Settings.by_design({**DESIGN.to_dict(), "stop": [], "cohort": 1, "pending_cap": 9}, seed=7), actor="A"
    )
    ledger.amend("knee", design={"stop": ["too-many-harms:harms=9"]}, reason="the board", actor="A")
    for unit in range(5):
        ledger.ask("knee", str(unit), actor="desk")
        ledger.tell("knee", str(unit), reward=1, risk=int(unit == 3), actor="desk")
    now, then = overview(ledger, "knee"), overview(ledger, "knee", delay=2)
    assert [found.progress["rules"][0]["measure"] for found in (now, then)] == [1.0, 0.0]
    assert [found.progress["settled"] for found in (now, then)] == [5, 2]
    assert then.progress["cohort"] is None
