"""`safebandit serve` and `safebandit key` as people run them."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
import subprocess
import sys
from datetime import datetime, timedelta

import pytest

from safebandit.errors import RecordError
from safebandit.service import keys, run
from safebandit.trials.record import Ledger
from servers.service import SECONDS, Service, environment

TRIAL = {"name": "knee", "arms": ["placebo", "low", "high"], "alpha": 0.3, "policy": "docb", "seed": 1}


def start_and_stop(database, number):
    """The key of a service that was started on a new database, was given a trial, and was stopped by a signal."""
    with Service(database) as service:
        assert re.fullmatch(r"sb_[0-9a-f]{16}_[\w-]{43}", service.key)
        assert service.post("/v1/trials", TRIAL)[0] == 201
        status, given = service.post("/v1/trials/knee/units", {"unit": "p 1"})
        assert (status, given["held"]) == (201, False)
        assert service.stop(number) == 0
        assert service.key not in "".join(service.stderr)
        lines = [json.loads(line) for line in service.stderr]
    assert [line["route"] for line in lines if line["message"] == "request"][-2:] == [
        "/v1/trials",
        "/v1/trials/{trial}/units",
    ]
    return service.key


def test_a_second_start_makes_no_key_and_knows_the_trial(tmp_path, command):
    key = start_and_stop(tmp_path / "trials.db", signal.SIGINT)
    with Service(tmp_path / "trials.db", key=key) as second:
        assert [trial["name"] for trial in second.get("/v1/trials")[1]] == ["knee"]
        listed = json.loads(command("key", "list", "--json", "--db", second.database).out)
        assert [key["roles"] for key in listed] == [{"*": "admin", "default": "admin"}]
        assert second.stop() == 0


def start(monkeypatch, database, **place):
    """All that a start does before it serves: what it says."""
    said: list[str] = []
    monkeypatch.setattr(run, "serve_here", lambda *_: 0)
    monkeypatch.setattr(run, "log_to_stderr", lambda: None)
    where = run.Place(str(database), "127.0.0.1", 0, **place)
    assert run.serve(where, workers=1, options=run.Options(), say=said.append) == 0
    return said


def test_the_first_key_expires(tmp_path, monkeypatch, command):
    database = tmp_path / "trials.db"
    said = start(monkeypatch, database)
    assert said[1].startswith("first key (admin), shown once: sb_")
    assert said[2].startswith("it works for 7 days: make keys that last")
    [key] = json.loads(command("key", "list", "--json", "--db", str(database)).out)
    lasts = datetime.fromisoformat(key["expires"]) - datetime.fromisoformat(key["created"])
    assert abs(lasts - timedelta(days=7)) < timedelta(minutes=1)
    assert len(start(monkeypatch, database)) == 1
    monkeypatch.setattr(keys, "now", lambda: key["expires"])
    [_, warned] = start(monkeypatch, database)
    assert warned.startswith("no key works any more; make one: safebandit key new NAME --role admin --db ")


def test_the_first_key_can_go_to_a_file_of_its_owner(tmp_path, monkeypatch):
    file = tmp_path / "first.key"
    said = start(monkeypatch, tmp_path / "trials.db", key_file=file)
    assert said[1] == f"first key (admin) is in {file}"
    assert "sb_" not in "".join(said)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with Ledger(tmp_path / "trials.db") as ledger:
        found = keys.Keys(ledger).find(file.read_text().strip())
    assert found is not None
    assert found.role == "installation, admin"


@pytest.mark.parametrize(
    ("name", "message"), [("there", "exists already"), ("no/such", "cannot be made: no such file")]
)
def test_a_first_key_that_cannot_be_kept_is_not_made(tmp_path, monkeypatch, name, message):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(RecordError, match=message):
        start(monkeypatch, tmp_path / "trials.db", key_file=tmp_path / name)
    assert (tmp_path / "there").read_text() == "mine"
    with Ledger(tmp_path / "trials.db") as ledger:
        assert keys.Keys(ledger).all() == []


@pytest.fixture
def others_refused(command, monkeypatch):
    """What a start says that is refused because others could reach it."""

    def start_for_others(database):
        monkeypatch.setattr(run, "log_to_stderr", lambda: None)
        done = command("serve", "--db", database, "--host", "0.0.0.0", "--port", "0")
        assert (done.status, done.out, len(done.err.splitlines())) == (2, "", 1)
        return done.err

    return start_for_others


def test_other_addresses_need_a_key_before(tmp_path, command, others_refused):
    database = str(tmp_path / "trials.db")
    assert "safebandit key new" in others_refused(database)
    assert list(tmp_path.iterdir()) == []
    made = command("key", "new", "me", "--role", "admin", "--db", database)
    with Service(database, "--host", "0.0.0.0", key=made.out.strip()) as service:
        assert service.url.startswith("http://0.0.0.0:")
        assert service.get("/v1/trials") == (200, [])


def test_a_revoked_key_is_not_enough_for_other_addresses(tmp_path, command, others_refused):
    database = str(tmp_path / "trials.db")
    made = command("key", "new", "me", "--role", "admin", "--db", database).out
    assert command("key", "revoke", made.split("_")[1], "--db", database).status == 0
    assert "the database has no key that works" in others_refused(database)


def test_a_port_that_is_taken_is_one_line(tmp_path, monkeypatch, command):
    monkeypatch.setattr(run, "log_to_stderr", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = command("serve", "--db", str(tmp_path / "trials.db"), "--port", port)
    assert done.status == 2
    assert done.out == ""
    assert f"cannot listen on 127.0.0.1:{port}" in done.err
    assert len(done.err.splitlines()) == 1
    # No key was made that nobody saw.
    assert start(monkeypatch, tmp_path / "trials.db")[1].startswith("first key (admin), shown once: sb_")


@pytest.mark.parametrize(("package", "asked"), [("fastapi", "serve"), ("uvicorn", "serve"), ("sqlalchemy", "key list")])
def test_packages_that_are_missing_are_one_line(package, asked):
    code = f"import sys; sys.modules['{package}'] = None; from safebandit.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *asked.split()],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=SECONDS,
    )
    name = asked.split()[0]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f'safebandit {name} needs more packages: pip install "safebandit[live]"\n'


def test_keys_from_a_shell(tmp_path, command):
    database = str(tmp_path / "trials.db")
    missing = command("key", "list", "--db", database)
    assert (missing.status, "there is no database" in missing.err) == (2, True)
    made = command("key", "new", "[red]desk", "--role", "auditor", "--days", "30", "--db", database)
    assert re.fullmatch(r"sb_[0-9a-f]{16}_[\w-]{43}\n", made.out)
    assert "shown once" in made.err
    assert command("key", "new", "x", "--role", "root", "--db", database).status == 2
    shown = command("key", "list", "--db", database).out
    assert "[red]desk" in shown
    assert made.out.strip().split("_", 2)[2] not in shown
    [key] = json.loads(command("key", "list", "--json", "--db", database).out)
    assert (key["roles"], key["works"], key["id"]) == ({"default": "auditor"}, True, made.out.split("_")[1])
    assert key["expires"] > key["created"]
    assert command("key", "revoke", key["id"], "--db", database).status == 0
    assert not json.loads(command("key", "list", "--json", "--db", database).out)[0]["works"]
    assert command("key", "revoke", "0" * 16, "--db", database).status == 2


def test_a_signal_before_the_server_listens_to_signals_is_not_lost(tmp_path):
    code = f"""
import os, signal, socket, uvicorn
from safebandit.service.run import Options, serve_here
run = uvicorn.Server.run
def signalled(self, sockets):
    os.kill(os.getpid(), number)
    run(self, sockets)
uvicorn.Server.run = signalled
for number in (signal.SIGTERM, signal.SIGINT):
    status = serve_here({str(tmp_path / "trials.db")!r}, socket.create_server(("127.0.0.1", 0)), Options())
    print(number.name, status)
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), timeout=SECONDS, stdout=subprocess.PIPE)
    assert done.stdout.decode().splitlines() == ["SIGTERM 0", "SIGINT 0"]
