"""The service killed at random moments under load: nothing acknowledged is missing, nothing is doubled.

`make soak` does so a thousand times.
"""

import threading

import pytest

from safebandit.trials.record import Ledger, Settings
from servers.service import Service
from servers.soak import Desk, check, soak


def test_a_desk_asks_again_where_an_answer_is_cut(cutting):
    service = Service("unused.db", key="sb_x")
    service.url = cutting
    desk = Desk(0, service, "sb_x", "knee")
    assert desk._send("units", {}) == []
    assert desk.cut == 1


@pytest.mark.parametrize(("kind", "kills"), [("sqlite", 14), ("postgresql", 6)])
def test_kills_under_load(tmp_path, request, kind, kills):
    database = str(tmp_path / "trials.db") if kind == "sqlite" else request.getfixturevalue("postgres").new_database()
    found = soak(database, kills=kills)
    assert found.kills == kills
    assert found.told == found.asked > kills
    # Some requests were cut: the kills met the service at work.
    assert found.cut > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda desk: desk.arms.update({"b": "a"}), "b is there, or is acknowledged, alone"),
        (lambda desk: desk.arms.pop("1"), "1 is there, or is acknowledged, alone"),
        (lambda desk: desk.arms.update({"1": "another"}), "1 has another arm than was acknowledged"),
        (lambda desk: desk.told.pop("1"), "the outcome of 1 is there, or is acknowledged, alone"),
        (lambda desk: desk.told.update({"1": [0.0, 0.0]}), "1 has another outcome than was acknowledged"),
    ],
)
def test_what_is_lost_or_doubled_is_found(tmp_path, change, message):
    with Ledger(tmp_path / "trials.db") as ledger:
        ledger.create("knee", Settings.read(["a", "b"], 0.2, policy="docb", seed=1), actor="me")
        desk = Desk(0, None, "", "knee")
        desk.stop = threading.Event()
        desk.arms["1"] = ledger.ask("knee", "1", actor="me").arm
        ledger.tell("knee", "1", reward=1, risk=0, actor="me")
        desk.told["1"] = [1.0, 0.0]
        check(ledger, "knee", [desk])
        change(desk)
        with pytest.raises(AssertionError, match=message):
            check(ledger, "knee", [desk])
