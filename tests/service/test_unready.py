"""A database that hangs, and a disk that is full: an answer within seconds, and readiness that says so."""

from __future__ import annotations

import resource
import threading

import pytest
import sqlalchemy as sa

from safebandit.service.access import COOKIE
from safebandit.service.api import probes
from safebandit.trials.record import postgres as waits
from safebandit.trials.record import readiness
from servers.service import Service, ask_again_until

from .conftest import serving


@pytest.fixture
def impatient(monkeypatch):
    """Tenths of a second where users wait for seconds."""
    monkeypatch.setattr(waits, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(waits, "ANSWER_SECONDS", 0.4)
    monkeypatch.setattr(waits, "PAUSE_SECONDS", 60.0)
    monkeypatch.setattr(probes, "READY_SECONDS", 0.2)


def test_a_server_that_hangs_is_503_and_not_ready(postgres, impatient):
    """Each request that is waiting is answered, and those that come then at once; nothing is written twice."""
    with serving(postgres.new_database()) as served:
        path = served.create("knee")
        assert served.get("/readyz", role=None).status_code == 200
        answers = []

        def ask(unit: int) -> None:
            answers.append(served.post(f"{path}/units", {"unit": f"u {unit}"}))

        with postgres.hung():
            silent = served.get("/readyz", role=None)
            assert (silent.status_code, silent.json()["error"]) == (503, "RecordError")
            asks = [threading.Thread(target=ask, args=(unit,)) for unit in range(20)]
            for each in asks:
                each.start()
            for each in asks:
                each.join()
            assert {answer.status_code for answer in answers} == {503}
            assert {answer.headers["retry-after"] for answer in answers} == {"1"}
            for reading in (path, f"{path}/events", "/v1/trials", "/v1/keys"):
                assert served.get(reading).status_code == 503
            assert served.get("/healthz", role=None).status_code == 200


def test_it_goes_on_when_the_server_does(postgres, impatient, monkeypatch):
    monkeypatch.setattr(waits, "PAUSE_SECONDS", 0.01)
    with serving(postgres.new_database()) as served:
        path = served.create("knee")
        with postgres.hung():
            assert served.post(f"{path}/units", {"unit": "p 1"}).status_code == 503
        ask_again_until(lambda: served.get("/readyz", role=None).status_code == 200, "it does not become ready")
        assert served.post(f"{path}/units", {"unit": "p 1"}).status_code == 201
        assert served.get(f"{path}/verification").json()["holds"]


def test_a_server_that_hangs_is_not_connected_to_again_and_again(postgres, monkeypatch):
    monkeypatch.setattr(waits, "ANSWER_SECONDS", 0.3)
    tried = []
    connect = waits.Timed.connect

    def count(*arguments, **named):
        tried.append(1)
        return connect(*arguments, **named)

    monkeypatch.setattr(waits.Timed, "connect", count)
    with serving(postgres.new_database()) as served, postgres.hung():
        before = len(tried)
        assert {served.get("/v1/trials").status_code for _ in range(5)} == {503}
        assert len(tried) - before <= 1


def test_a_full_disk_is_not_ready(tmp_path):
    """Files of the service may not grow: that is what a full disk does to it."""
    with Service(tmp_path / "trials.db") as service:
        trial = {"name": "knee", "arms": ["a", "b"], "alpha": 0.3, "policy": "docb", "pending_cap": 1000}
        assert service.post("/v1/trials", trial)[0] == 201
        whole = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (4096, whole[1]))
        assert service.get("/readyz")[0] == 503
        assert service.post("/v1/trials/knee/units", {"unit": "p 1"})[0] == 503
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, whole)
        assert service.get("/readyz")[0] == 200
        assert service.post("/v1/trials/knee/units", {"unit": "p 1"})[0] == 201


def test_what_looks_for_room_leaves_nothing_behind(tmp_path):
    with serving(tmp_path / "trials.db") as served:
        before = sorted(path.name for path in tmp_path.iterdir())
        assert served.get("/readyz", role=None).status_code == 200
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        assert readiness.ROOM_BYTES >= 2**20


def test_a_standby_is_not_ready(postgres, monkeypatch):
    """A server that takes no writes: here every question whether it recovers is answered with yes."""
    with serving(postgres.new_database()) as served:
        engine = served.app.state.ledger.engine

        def recovering(_, __, statement, parameters, ___, ____):
            return statement.replace("pg_is_in_recovery()", "true"), parameters

        sa.event.listen(engine, "before_cursor_execute", recovering, retval=True)
        assert served.get("/readyz", role=None).status_code == 503


def test_a_trial_whose_state_is_damaged_is_named(tmp_path):
    with serving(tmp_path / "trials.db", viewer_delay=5) as served:
        path = served.create("knee")
        with served.app.state.ledger.engine.begin() as connection:
            connection.execute(sa.text("UPDATE trials SET state = '{' || state"))
        for address in ("/v1/trials", "/metrics", path, "/v1/trials/knee/unit?unit=x"):
            for role in ("viewer", "auditor"):
                answer = served.get(address, role=role)
                if answer.status_code != 403:
                    assert (answer.status_code, answer.json()["error"]) == (500, "DamagedError")
                    assert 'the state of trial "knee" cannot be read' in answer.json()["message"]
        keys = served.app.state.keys
        cookie = {"Cookie": f"{COOKIE}={keys.sign_in(keys.find(served.keys['admin']))}"}
        for page in ("/", "/trials/knee"):
            assert "cannot be read" in served.get(page, role=None, headers=cookie).text
