"""Verification that goes on from a checkpoint: what is new is recomputed, the hashes before are, and a checkpoint that
cannot be right is refused.
"""

import json

import pytest
import sqlalchemy as sa

from safebandit.errors import RecordError, TrialError
from safebandit.service.scheduled.aside import Task, carry_out
from safebandit.trials.checkpoint import _digest
from safebandit.trials.events import canonical
from safebandit.trials.record.verification import verify
from safebandit.trials.replay import Replay

from .helpers import let_change, run, settings


@pytest.fixture
def told(ledger, tmp_path):
    """A trial that was verified, and its checkpoint, which stands for the first part of it."""
    ledger.create("knee", settings())
    run(ledger, "knee", 10, tell=0.8)
    ledger.ask("knee", "p1")
    ledger.give_up("knee", "p1", reason="lost")
    ledger.amend("knee", alpha=0.4, reason="the committee decided")
    ledger.correct("knee", "unit 0", reward=0.5, reason="typing error")
    path = tmp_path / "knee.checkpoint"
    assert verify(ledger, "knee", checkpoint=path).holds
    run(ledger, "knee", 6, start=10)
    ledger.correct("knee", "unit 1", reward=0.25, reason="typing error")
    return ledger, path


def read_from(monkeypatch):
    """The numbers of the events that are read whole."""
    seen, read = [], Replay.read
    monkeypatch.setattr(Replay, "read", lambda replay, event: seen.append(event.number) or read(replay, event))
    return seen


def test_what_came_after_a_checkpoint_is_recomputed_and_gives_what_all_gives(told, monkeypatch):
    ledger, path = told
    stands_for = json.loads(path.read_text(encoding="utf-8"))["read"]["number"]
    whole = verify(ledger, "knee")
    first = ledger.event("knee", 3).hash
    seen = read_from(monkeypatch)
    assert verify(ledger, "knee", checkpoint=path) == whole
    assert seen == list(range(stands_for + 1, whole.events + 1))
    assert json.loads(path.read_text(encoding="utf-8"))["read"]["number"] == whole.events
    seen.clear()
    # It was written anew; and a hash that was noted long ago is still found.
    assert verify(ledger, "knee", checkpoint=path, expected=first).after == whole.events - 3
    assert seen == []


def test_one_goes_on_to_the_next_one_to_the_same_file(told, tmp_path):
    ledger, path = told
    assert verify(ledger, "knee", checkpoint=path).holds
    assert verify(ledger, "knee", checkpoint=tmp_path / "other").holds
    assert path.read_text(encoding="utf-8") == (tmp_path / "other").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [1, 2, 9])
@pytest.mark.parametrize("column", ["body", "actor", "hash", "previous"])
def test_a_change_before_the_checkpoint_is_found(told, number, column):
    ledger, path = told
    before = path.read_text(encoding="utf-8")
    with ledger.engine.begin() as connection:
        let_change(connection)
        changed = f"UPDATE events SET {column} = 'x' || substr({column}, 2) WHERE number = {number}"
        connection.execute(sa.text(changed))
    found = verify(ledger, "knee", checkpoint=path)
    assert found.failed in (number, number + 1)
    assert path.read_text(encoding="utf-8") == before


def test_another_log_of_the_same_name_is_found(told, ledger, tmp_path):
    _, path = told
    text = json.loads(path.read_text(encoding="utf-8"))
    text["read"]["hash"] = text["state"]["hash"] = "0" * 64
    text.pop("digest")
    path.write_text(canonical({**text, "digest": _digest(text)}), encoding="utf-8")
    assert "this is another log" in verify(ledger, "knee", checkpoint=path).problem


def _with_count(said):
    said["units"][0][5] = [0.75, 0.0]


def _with_memory(said):
    said["state"]["memory"] = said["state"]["memory"][:-8] + "AAAAAAA="


def _with_position(said):
    state = json.loads(said["state"]["state"])
    state["position"][0] += 1
    said["state"]["state"] = canonical(state)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda said: said.update(trial="hip"), 'it is one of trial "hip"'),
        (lambda said: said.update(formulas="0" * 16), "other formulas made it"),
        (lambda said: said.update(kind="a letter"), "does not give its own hash"),
        (lambda said: said.pop("units"), "'units'"),
        (lambda said: said["read"].update(number=1), "its state is that of another event"),
        (_with_count, "its counts are not what its units give"),
        (_with_memory, ""),
    ],
)
def test_a_checkpoint_that_cannot_be_right_is_refused_though_its_hash_fits(told, change, says):
    ledger, path = told
    said = json.loads(path.read_text(encoding="utf-8"))
    said.pop("digest")
    change(said)
    path.write_text(canonical({**said, "digest": _digest(said)}), encoding="utf-8")
    with pytest.raises(TrialError, match=f"the checkpoint cannot be used: .*{says}.*; verify without it"):
        verify(ledger, "knee", checkpoint=path)


def test_a_checkpoint_at_another_place_of_the_random_stream_fails_with_the_next_decision(told):
    ledger, path = told
    said = json.loads(path.read_text(encoding="utf-8"))
    said.pop("digest")
    _with_position(said)
    path.write_text(canonical({**said, "digest": _digest(said)}), encoding="utf-8")
    assert "another place of the random stream" in verify(ledger, "knee", checkpoint=path).problem


@pytest.mark.parametrize("text", ["", "{}", "[]", "nothing", '{"kind": "safebandit checkpoint"}'])
def test_what_is_no_checkpoint_is_refused(told, text):
    ledger, path = told
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TrialError, match="the checkpoint cannot be used"):
        verify(ledger, "knee", checkpoint=path)


def test_a_changed_byte_of_a_checkpoint_is_found(told):
    ledger, path = told
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"decisions":11', '"decisions":12'), encoding="utf-8")
    with pytest.raises(TrialError, match="does not give its own hash"):
        verify(ledger, "knee", checkpoint=path)


def test_a_checkpoint_that_cannot_be_written_or_read_is_said(ledger, tmp_path):
    ledger.create("knee", settings())
    with pytest.raises(RecordError, match="cannot be written"):
        verify(ledger, "knee", checkpoint=tmp_path / "no folder" / "knee.checkpoint")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RecordError, match="cannot be read"):
        verify(ledger, "knee", checkpoint=tmp_path / "folder")


def test_the_service_keeps_checkpoints_in_memory_and_goes_on_from_them(told, database, monkeypatch):
    ledger, _ = told
    whole = carry_out(database, Task("knee"))
    assert whole.verification == verify(ledger, "knee", alone=False)
    run(ledger, "knee", 2, start=20)
    seen = read_from(monkeypatch)
    again = carry_out(database, Task("knee", whole.checkpoint, whole.verification.hash))
    assert (again.verification.holds, again.verification.after) == (True, 4)
    assert seen == list(range(whole.verification.events + 1, whole.verification.events + 5))
    assert carry_out(database, Task(None)).verification.holds
    with ledger.engine.begin() as connection:
        let_change(connection)
        connection.execute(sa.text("UPDATE events SET actor = 'x' WHERE number = 3"))
    assert carry_out(database, Task("knee", again.checkpoint)).verification.failed == 3
    assert "trigger" in carry_out(database, Task(None)).verification.problem
