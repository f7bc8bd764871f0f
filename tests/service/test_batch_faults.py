"""Batches that are cut, repeated, half wrong, or too much for the disk: all of one is written, or nothing is."""

import json
import socket
import sqlite3
import threading

import pytest
import sqlalchemy as sa

from safebandit.errors import BatchError, RecordError
from safebandit.trials import batches
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.verification import verify
from servers.service import ask_again_until

MANY = 5000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A ledger with a trial in which 5,000 units have asked."""
    with Ledger(tmp_path_factory.mktemp("large") / "trials.db") as ledger:
        settings = Settings.read(["a", "b"], 0.5, policy="equal", seed=1, pending_cap=10 * MANY)
        ledger.create("knee", settings, actor="me")
        for begin in range(0, MANY, 1000):
            asked = [{"id": f"p {i}"} for i in range(begin, begin + 1000)]
            assert all(each.new for each in ledger.batch("knee", "ask", asked, actor="me"))
        yield ledger


def test_one_bad_line_among_five_thousand(large, monkeypatch):
    # The machine may be busy.
    monkeypatch.setattr(batches, "LONGEST_SECONDS", 1000.0)
    told = [{"id": f"p {i}", "reward": 1, "risk": 0} for i in range(MANY)]
    told[3210] = {"id": "nobody", "reward": 1, "risk": 0}
    before = large.state("knee").number
    with pytest.raises(BatchError, match=r"1 of 5000 requests are refused, .*; number 3211: ") as refused:
        large.batch("knee", "tell", told, actor="me")
    assert list(refused.value.refused) == [3211]
    assert large.state("knee").number == before
    answers = large.batch("knee", "tell", told, whole=False, actor="me")
    assert sum(getattr(each, "new", False) for each in answers) == MANY - 1
    assert large.state("knee").number == before + MANY - 1
    # Once more, it is all known.
    again = large.batch("knee", "tell", told, whole=False, actor="me")
    assert sum(getattr(each, "new", False) for each in again) == 0
    assert large.state("knee").number == before + MANY - 1


def raw(served, path, body, *, sent):
    """The first bytes of a request whose connection then breaks."""
    host, port = served.url.removeprefix("http://").split(":")
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {served.keys['admin']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body[:sent])
        # A reset, as of a machine that vanishes.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def test_a_batch_that_is_cut_is_whole_or_nothing(served):
    path = served.create("cut", pending_cap=1000)
    body = json.dumps({"requests": [{"unit": f"p {i}"} for i in range(200)]}).encode()
    # Half of it never began: nothing is there.
    raw(served, f"{path}/units/batch", body, sent=len(body) // 2)
    served.post(f"{path}/units", {"unit": "after"})
    assert served.app.state.ledger.state("cut").units == 1
    # All of it was sent, and nobody heard the answer: it is there as a whole, or not at all.
    raw(served, f"{path}/units/batch", body, sent=len(body))
    answered = served.post(f"{path}/units/batch", json.loads(body)).json()
    assert {each["status"] for each in answered["answers"]} in ({200}, {201})
    assert served.app.state.ledger.state("cut").units == 201
    ask_again_until(lambda: served.app.state.scribe.waiting == 0, "writes wait")
    assert verify(served.app.state.ledger, "cut").holds


def test_the_same_batch_twice_at_once_is_one(served):
    path = served.create("twice", pending_cap=1000)
    body = {"requests": [{"unit": f"p {i}"} for i in range(100)]}
    found, begin = [], threading.Barrier(4)

    def send():
        begin.wait()
        found.append(served.post(f"{path}/units/batch", body).json()["answers"])

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    arms = [[each["given"]["arm"] for each in answers] for answers in found]
    assert arms.count(arms[0]) == 4
    assert sorted({each["status"] for each in answers} == {201} for answers in found) == [False, False, False, True]
    assert served.app.state.ledger.state("twice").units == 100


def test_a_full_disk_in_a_batch_leaves_nothing_of_it(tmp_path):
    with Ledger(tmp_path / "trials.db") as ledger:
        ledger.create("knee", Settings.read(["a", "b"], 0.5, policy="equal", seed=1, pending_cap=9999), actor="me")
        ledger.batch("knee", "ask", [{"id": f"p {i}"} for i in range(20)], actor="me")
        before = ledger.state("knee").number

        @sa.event.listens_for(ledger.engine, "begin")
        def fill(connection):
            # No page more: SQLite says "database or disk is full", as it does of a disk.
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        with pytest.raises(RecordError, match=r"full.*nothing of this request is acknowledged"):
            ledger.batch("knee", "ask", [{"id": f"q {i}"} for i in range(500)], actor="me")
        sa.event.remove(ledger.engine, "begin", fill)
        ledger.dispose()
        assert ledger.state("knee").number == before
        assert verify(ledger, "knee").holds
        answers = ledger.batch("knee", "ask", [{"id": f"q {i}"} for i in range(50)], actor="me")
        assert all(each.new for each in answers)
        assert verify(ledger, "knee").holds
    with sqlite3.connect(tmp_path / "trials.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
