"""Formulas compiled when the service starts: those of trials that go on, each once, whatever is wrong with one."""

import logging
import sqlite3
import threading

import pytest

from safebandit.service import warming
from safebandit.service.warming import Warming
from safebandit.trials.record import Ledger
from safebandit.trials.settings import Settings

from .conftest import serving


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "trials.db") as made:
        policies = {"hip": "docb", "knee": "docb", "hand": "klbayes", "foot": "joint-kl", "toe": "safe-imed"}
        for name, policy in policies.items():
            made.create(name, Settings.read(["a", "b"], alpha=0.3, seed=1, policy=policy))
        made.set_status("toe", "close", reason="done")
        made.set_status("hand", "pause", reason="a break")
        yield made


@pytest.fixture
def warmed(monkeypatch):
    found = []
    monkeypatch.setattr(warming, "warm_up", lambda settings: found.append(settings.policy))
    return found


def test_each_policy_of_trials_that_go_on_is_compiled_once(ledger, warmed):
    Warming(ledger)._thread.join()
    assert sorted(warmed) == sorted({ledger.state(name).settings.policy for name in ("hip", "hand", "foot")})


def test_a_trial_that_cannot_be_read_does_not_keep_the_others_from_it(ledger, warmed, caplog):
    with sqlite3.connect(str(ledger.engine.url.database)) as connection:
        connection.execute("UPDATE trials SET state = '{}' WHERE name = 'foot'")
    connection.close()
    with caplog.at_level(logging.WARNING, "safebandit.service"):
        Warming(ledger)._thread.join()
    assert len(warmed) == 2
    assert [record.fields["trial"] for record in caplog.records] == ["foot"]


def test_a_service_that_stops_begins_nothing_more(ledger, monkeypatch):
    begun, stopped = [], threading.Event()
    monkeypatch.setattr(warming, "warm_up", lambda settings: (begun.append(settings.policy), stopped.wait()))
    made = Warming(ledger)
    made.close()
    stopped.set()
    made._thread.join()
    assert len(begun) <= 1


def test_the_service_does_it_when_it_starts(ledger, monkeypatch):
    heard = []
    monkeypatch.setattr("safebandit.service.app.Warming", lambda ledger: heard.append(ledger.names()) or Closed(heard))
    with serving(str(ledger.engine.url.database)):
        assert heard == [["foot", "hand", "hip", "knee", "toe"]]
    assert heard[1:] == ["closed"]


class Closed:
    def __init__(self, heard):
        self._heard = heard

    def close(self):
        self._heard.append("closed")
