"""Verifications that outlast a request, and a service that is told to stop while one goes on."""

from __future__ import annotations

import itertools
import threading

import httpx
import pytest

import safebandit as sb
from safebandit.service import jobs, verifying
from safebandit.trials.record.verification import verify
from servers.service import SECONDS, ask_again_until

from .conftest import serving


@pytest.fixture
def slow(monkeypatch):
    """Verifications that go on until they are let; the event that lets them, and how many were begun."""
    let, begun = threading.Event(), []

    def wait(ledger, trial, *, expected, progress):
        begun.append(trial)
        for read in itertools.count():
            progress(read, 1000)
            if let.wait(0.01):
                return verify(ledger, trial, expected=expected)
        return None

    monkeypatch.setattr(verifying, "verify", wait)
    yield let, begun
    let.set()


def test_a_verification_goes_on_between_requests(served, slow):
    let, begun = slow
    path = f"{served.create('long')}/verification"
    first = served.get(path, params={"wait": 0.05})
    assert first.status_code == 202
    job = first.json()["job"]
    assert first.json()["events"] in (0, 1000)
    again = served.get(path, params={"wait": 0.05, "job": job})
    assert (again.status_code, again.json()["job"]) == (202, job)
    let.set()
    found = served.get(path, params={"job": job})
    assert (found.status_code, found.json()["holds"], begun) == (200, True, ["long"])
    # What was lost on the way is there when it is asked for again.
    assert served.get(path, params={"job": job}).json() == found.json()
    assert served.get(path, params={"job": "0" * 16}).json() == found.json()


def test_a_job_that_looked_for_another_hash_is_no_answer(served):
    path = f"{served.create('noted')}/verification"
    found, known = served.get(path), served.app.state.verifications
    (job,) = (each.id for each in known._jobs.values() if each.trial == "noted")
    other = served.get(path, params={"job": job, "expected": "0" * 64})
    assert (found.json()["holds"], other.json()["holds"]) == (True, False)
    assert served.get(path, params={"job": job}).json() == found.json()


def test_the_client_waits_for_as_long_as_it_takes(served, slow, monkeypatch):
    """Ten times its patience and more: it asks again, and the service goes on meanwhile."""
    let, begun = slow
    served.create("patient")
    with sb.Client(served.url, served.keys["auditor"], patience=0.4) as client:
        get, asked = client._connection.get, []

        def counted(path, parameters):
            asked.append(parameters)
            if len(asked) == 5:
                let.set()
            return get(path, parameters)

        monkeypatch.setattr(client._connection, "get", counted)
        assert client.trial("patient").verify()["holds"]
    assert len(asked) >= 5
    assert {parameters["wait"] for parameters in asked} == {0.2}
    assert begun == ["patient"]


def test_the_page_says_how_far_it_is(served, slow, monkeypatch):
    let, begun = slow
    served.create("looked")
    monkeypatch.setattr("safebandit.service.page.forms.VERIFY_SECONDS", 0.05)
    ours = {"Sec-Fetch-Site": "same-origin"}
    shown = served.request("POST", "/trials/looked/log/verify", headers=ours, data={"expected": ""}).text
    assert "It goes on" in shown
    job = shown.split('name="job" value="')[1][:16]
    let.set()
    monkeypatch.setattr("safebandit.service.page.forms.VERIFY_SECONDS", 60.0)
    shown = served.request("POST", "/trials/looked/log/verify", headers=ours, data={"job": job}).text
    assert "The record holds" in shown
    assert begun == ["looked"]


def test_too_many_at_once_are_429(served, slow):
    path = f"{served.create('many')}/verification"
    answers = [served.get(path, params={"wait": 0}) for _ in range(jobs.MOST_JOBS + 1)]
    assert [answer.status_code for answer in answers] == [202] * jobs.MOST_JOBS + [429]
    slow[0].set()
    for answer in answers[:-1]:
        assert served.get(path, params={"job": answer.json()["job"]}).status_code == 200


def test_one_that_nobody_asks_for_is_given_up(served, slow, monkeypatch):
    path = f"{served.create('left')}/verification"
    job = served.get(path, params={"wait": 0.05}).json()["job"]
    mine = served.app.state.verifications._jobs[job]
    monkeypatch.setattr(jobs, "ABANDONED_SECONDS", 0.0)
    ask_again_until(mine.task.done, "a verification that nobody asks for goes on")
    assert not slow[0].is_set()


def stopped_while_verifying(tmp_path) -> list:
    """The answer to a verification that was going on when the service was told to stop."""
    answers: list = []
    with serving(tmp_path / "trials.db") as served:
        path = f"{served.create('knee')}/verification"
        key = {"Authorization": f"Bearer {served.keys['auditor']}"}

        def ask() -> None:
            answers.append(httpx.get(f"{served.url}{path}?wait=60", headers=key, timeout=SECONDS))

        asking = threading.Thread(target=ask)
        asking.start()
        ask_again_until(lambda: served.app.state.verifications._jobs, "it does not begin")
    asking.join()
    return answers


def test_stopping_does_not_wait_for_a_verification(tmp_path, slow):
    [answer] = stopped_while_verifying(tmp_path)
    assert answer.status_code == 503
    assert "the service is stopping" in answer.json()["message"]


def test_stopping_does_not_wait_for_one_that_hears_nothing(tmp_path, monkeypatch):
    """As while the database checks its own pages: its thread is left behind."""
    deaf = threading.Event()
    monkeypatch.setattr(verifying, "verify", lambda *_, **__: deaf.wait(300))
    [answer] = stopped_while_verifying(tmp_path)
    deaf.set()
    assert answer.status_code == 503
