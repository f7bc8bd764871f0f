"""Verifications that nobody asks for: what is due and from where, the process aside, and who is told when one fails."""

from __future__ import annotations

import os
import sqlite3
import threading
import time

import pytest

from safebandit.service.alerts.courier import tell_failed_verification
from safebandit.service.alerts.rules import Alerts
from safebandit.service.metrics import Metrics
from safebandit.service.scheduled import plan as planning
from safebandit.service.scheduled import rounds as going
from safebandit.service.scheduled.aside import Aside, EndedError, Found, Task, carry_out
from safebandit.service.scheduled.plan import FULL_HOURS, Plan
from safebandit.service.scheduled.rounds import Rhythm, Rounds
from safebandit.trials.record import Ledger
from safebandit.trials.replay import Replay, Verification
from safebandit.trials.settings import Settings
from servers.service import ask_again_until

from .conftest import serving
from .receivers import receiving
from .test_alerts import QUICK, alert, no_more

AT_ONCE = Rhythm(hours=1e-6, first_seconds=0.0)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "trials.db") as made:
        for name in ("hip", "knee"):
            made.create(name, Settings.read(["a", "b"], alpha=0.3, seed=1, pending_cap=100))
            play(made, name, range(3))
        yield made


def play(ledger, name, units):
    for unit in units:
        ledger.ask(name, f"unit {unit}")
        ledger.tell(name, f"unit {unit}", reward=1, risk=0)


def file(ledger):
    return str(ledger.engine.url.database)


def change(path, trial, number, put="x"):
    """Change an event as someone with full access to the file could, and leave the triggers as they were."""
    with sqlite3.connect(path) as connection:
        (trigger,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'no_update'").fetchone()
        connection.execute("DROP TRIGGER no_update")
        before = connection.execute("SELECT actor FROM events WHERE trial = ? AND number = ?", (trial, number))
        (actor,) = before.fetchone()
        connection.execute("UPDATE events SET actor = ? WHERE trial = ? AND number = ?", (put, trial, number))
        connection.execute(trigger)
    connection.close()
    return actor


def held(events, hash="h"):
    return Verification("knee", events, 0, 0, hash, None, None)


FAILED = Verification("knee", 2, 0, 0, "h", 3, "event 3 was changed")


def test_what_changed_is_verified_from_its_checkpoint_and_in_full_once_a_day():
    plan = Plan()
    assert plan.due({"knee": (5, "h")}, hour=0.0) == [Task(None), Task("knee")]
    plan.learn(Task(None), held(9, "own"), None, hour=0.0)
    plan.learn(Task("knee"), held(5), b"from 5", hour=0.0)
    assert plan.due({"knee": (5, "h")}, hour=1.0) == []
    from_there = Task("knee", b"from 5", "h")
    assert plan.due({"knee": (6, "i")}, hour=1.0) == [from_there]
    assert plan.due({"knee": (5, "another")}, hour=1.0) == [from_there]
    plan.learn(from_there, held(6, "i"), b"from 6", hour=20.0)
    assert plan.due({"knee": (6, "i")}, hour=FULL_HOURS - 0.1) == []
    # What was made from a checkpoint is no full one; and the log must still have what it had.
    assert plan.due({"knee": (6, "i")}, hour=FULL_HOURS) == [Task(None, None, "own"), Task("knee", None, "i")]
    plan.forget()
    assert plan.due({"knee": (6, "i")}, hour=FULL_HOURS) == [Task(None), Task("knee")]


def test_what_failed_is_verified_in_full_each_time_until_it_holds():
    plan = Plan()
    assert not plan.held("knee")
    plan.learn(Task("knee"), held(5), b"from 5", hour=0.0)
    assert plan.held("knee")
    plan.learn(Task("knee", b"from 5", "h"), FAILED, None, hour=1.0)
    assert not plan.held("knee")
    assert Task("knee", None, "h") in plan.due({"knee": (5, "h")}, hour=1.1)
    plan.learn(Task("knee", None, "h"), held(5), b"anew", hour=1.2)
    assert plan.due({"knee": (5, "h")}, hour=1.3) == [Task(None)]


def test_checkpoints_are_kept_within_a_bound_those_of_old_go_first(monkeypatch):
    monkeypatch.setattr(planning, "CHECKPOINT_BYTES", 10)
    plan = Plan()
    for name in ("a", "b", "c"):
        plan.learn(Task(name), held(1), b"4444", hour=0.0)
    ends = dict.fromkeys("abc", (2, "i"))
    assert plan.due(ends, hour=1.0)[1:] == [Task("a", None, "h"), Task("b", b"4444", "h"), Task("c", b"4444", "h")]


def test_from_a_checkpoint_only_what_is_new_is_made_again(ledger, monkeypatch):
    whole = carry_out(file(ledger), Task("knee"))
    assert whole.verification.holds
    play(ledger, "knee", range(3, 5))
    seen, read = [], Replay.read
    monkeypatch.setattr(Replay, "read", lambda replay, event: seen.append(event.number) or read(replay, event))
    again = carry_out(file(ledger), Task("knee", whole.checkpoint, whole.verification.hash))
    assert (again.verification.holds, again.verification.events) == (True, 11)
    assert seen == list(range(whole.verification.events + 1, 12))


def test_what_a_task_finds(ledger, tmp_path):
    noted = carry_out(file(ledger), Task("knee"))
    assert carry_out(file(ledger), Task(None)).verification.holds
    change(file(ledger), "knee", 2)
    for task in (Task("knee"), Task("knee", noted.checkpoint, noted.verification.hash)):
        found = carry_out(file(ledger), task)
        assert (found.verification.failed, found.checkpoint) == (2, None)
    # A whole log in the place of another one.
    other = carry_out(file(ledger), Task("hip", None, noted.verification.hash))
    assert "that was expected" in other.verification.problem
    # A checkpoint of other formulas, as after an installation, is none.
    assert carry_out(file(ledger), Task("hip", noted.checkpoint)).verification.holds
    away = carry_out(str(tmp_path / "none.db"), Task("knee"))
    assert away.verification is None
    assert "RecordError" in away.unable
    (tmp_path / "torn.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert "damaged" in carry_out(str(tmp_path / "torn.db"), Task("knee")).verification.problem


def test_the_process_aside_is_of_the_lowest_priority_and_may_end(ledger):
    with Aside(file(ledger)) as aside:
        pid = aside._process.pid
        found = aside.verify(Task("knee"), goes_on=lambda: True)
        assert found == carry_out(file(ledger), Task("knee"))
        assert os.getpriority(os.PRIO_PROCESS, pid) == 19
        assert "trials.db" not in " ".join(aside._process.args)
        aside._process.kill()
        with pytest.raises(EndedError):
            aside.verify(Task("hip"), goes_on=lambda: True)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


class Here:
    """In the place of the process aside: its tasks are carried out here, as `does` says."""

    done: list
    does = staticmethod(carry_out)

    def __init__(self, database):
        self.database = database

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def verify(self, task, *, goes_on):
        assert goes_on()
        found = type(self).does(self.database, task)
        self.done.append(task.trial)
        return found


@pytest.fixture
def here(monkeypatch):
    made = type("HereNow", (Here,), {"done": []})
    monkeypatch.setattr(going, "Aside", made)
    return made


def begin(ledger, *, rhythm=AT_ONCE, failed=lambda *_: None, metrics=None):
    return Rounds(ledger, file(ledger), metrics or Metrics(), rhythm=rhythm, failed=failed)


def test_of_several_processes_one_verifies_and_another_takes_over(ledger, here):
    one = begin(ledger)
    ask_again_until(lambda: len(here.done) == 3, "nothing is verified")
    other = begin(ledger)
    ledger.ask("hip", "one event")
    ask_again_until(lambda: len(here.done) == 4, "what changed is not verified")
    assert here.done == [None, "hip", "knee", "hip"]
    one.close()
    ask_again_until(lambda: len(here.done) == 7, "nobody takes over")
    other.close()
    assert here.done[4:] == [None, "hip", "knee"]


def test_one_that_ends_the_process_or_cannot_be_read_keeps_no_other_back(ledger, here):
    def does(database, task):
        if task.trial is None:
            raise EndedError("it has ended")
        return Found(None, unable="RecordError: busy") if task.trial == "hip" else carry_out(database, task)

    here.does = staticmethod(does)
    told = []
    rounds = begin(ledger, rhythm=Rhythm(1.0, 0.0), failed=lambda *said: told.append(said))
    ask_again_until(lambda: "knee" in here.done, "the others are left")
    rounds.close()
    assert (here.done, told) == (["hip", "knee"], [])


def test_it_ends_at_once_in_the_midst_of_a_verification(ledger, monkeypatch):
    begun = threading.Event()

    class Endless(Here):
        def verify(self, task, *, goes_on):
            begun.set()
            while goes_on():
                time.sleep(0.01)

    monkeypatch.setattr(going, "Aside", Endless)
    rounds = begin(ledger)
    assert begun.wait(30)
    rounds.close()


def test_the_same_failure_is_told_once_whoever_found_it(ledger):
    Alerts(ledger).create("webhook", "https://hooks.example/x", quiet=0.0, actor="me")

    def tell(**options):
        return tell_failed_verification(ledger.engine, "knee", "it was changed", **options)

    began = time.time()
    assert tell(event=3, since=began) == 1
    # The log has grown, and the failure with it.
    assert tell(event=4, since=began) == 0
    # As another process would after a restart; another failure, or one that came back, is told.
    restarted = time.time() + 1
    assert tell(event=3, since=restarted) == 0
    assert tell(event=2, since=restarted) == 1
    assert tell(event=2) == 1
    Alerts(ledger).create("webhook", "https://hooks.example/new", quiet=0.0, actor="me")
    assert tell(event=2, since=began) == 1


def test_a_service_tells_that_a_trial_fails_and_says_when_all_held(tmp_path, here):
    """A trial is changed in the file, is told of once, and holds again when it is as it was."""
    database = tmp_path / "trials.db"
    with receiving() as receiver, serving(database, pace=QUICK, rhythm=AT_ONCE) as served:
        made = alert(served, receiver, kinds=["verification"], role="auditor")
        path = served.create("knee")
        for unit in range(3):
            served.post(f"{path}/units", {"unit": str(unit)})

        def measured(name):
            lines = served.get("/metrics").text.splitlines()
            return [float(line.split()[-1]) for line in lines if line.startswith(f"safebandit_{name}")]

        ask_again_until(lambda: measured('verified_timestamp_seconds{trial="knee"}'), "it is not verified")
        assert measured('verification_failed{trial="knee"}') == [0.0]
        assert measured("database_failed") == [0.0]
        actor = change(database, "knee", 2)
        served.post(f"{path}/units", {"unit": "one more"})
        ask_again_until(lambda: measured("verification_failed") == [1.0], "it is not found")
        (before,) = measured("verified_timestamp_seconds")
        (message,) = no_more(served, made["id"])
        assert receiver.said[0]["event"] == 2
        assert receiver.said[0]["message"] == 'trial "knee" fails verification'
        change(database, "knee", 2, actor)
        ask_again_until(lambda: measured("verification_failed") == [0.0], "it does not hold again")
        assert measured("verified_timestamp_seconds") > [before]
        assert [each["id"] for each in no_more(served, made["id"])] == [message["id"]]
