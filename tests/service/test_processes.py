"""Several processes on one database, and stopping under load: nothing is lost, nothing doubled."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import threading
from pathlib import Path

import httpx

from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.verification import verify
from servers.service import Service, ask_again_until

from .test_guards import sample

TRIAL = {"name": "knee", "arms": [f"arm {k}" for k in range(12)], "alpha": 0.9, "policy": "docb", "seed": 1}
TRIAL |= {"pending_cap": 10_000}


def run_all(*works) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_services_with_two_workers_each_give_a_unit_one_arm(tmp_path):
    database = tmp_path / "trials.db"
    with Service(database, "--workers", "2") as one, Service(database, key=one.key) as two:
        assert re.fullmatch(r"sb_[0-9a-f]{16}_[\w-]{43}", one.key)
        one.post("/v1/trials", TRIAL)
        answers: list[tuple[str, int, str]] = []

        def race(service: Service) -> None:
            for unit in range(25):
                status, given = service.post("/v1/trials/knee/units", {"unit": str(unit)})
                answers.append((str(unit), status, given["arm"]))

        run_all(*(lambda service=service: race(service) for service in (one, two, one, two)))
        status, found = two.get("/v1/trials/knee/verification")
        assert (status, found["holds"], found["events"]) == (200, True, 26)
        metrics = one.get("/metrics")[1].decode()
        asked = sum(_asked(service) for service in (one, two))
        assert (one.stop(), two.stop()) == (0, 0)
        assert one.key not in "".join(one.stderr)
    assert len(answers) == 100
    for unit in range(25):
        mine = [answer for answer in answers if answer[0] == str(unit)]
        assert len({arm for _, _, arm in mine}) == 1
        assert sorted(status for _, status, _ in mine) == [200, 200, 200, 201]
    # Whichever worker answers, it answers for both.
    assert asked == 25
    assert sample(metrics, "safebandit_scribe_queue") == 0


def _asked(service: Service) -> float:
    text = service.get("/metrics")[1].decode()
    return sample(text, "safebandit_decisions_total", kind="asked") if "safebandit_decisions_total{" in text else 0


def state_of(pid: int) -> str:
    """The letter that Linux gives a process; Z: it has ended, and nobody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def workers_of(service: Service) -> set[int]:
    return set(service.workers) - {service.process.pid}


def test_a_worker_that_is_killed_is_replaced_and_none_outlives_its_parent(tmp_path):
    with Service(tmp_path / "trials.db", "--workers", "2") as service:
        before = workers_of(service)
        assert len(before) == 2
        os.kill(min(before), signal.SIGKILL)
        ask_again_until(lambda: len(workers_of(service) - before) == 1, "a worker is not replaced")
        assert service.get("/v1/trials") == (200, [])
        after = workers_of(service)
        os.kill(service.process.pid, signal.SIGKILL)
        ask_again_until(lambda: {state_of(pid) for pid in after} == {"Z"}, "a worker outlives its parent")


def test_stopping_under_load_answers_what_was_taken(tmp_path):
    acknowledged: dict[str, str] = {}
    told: set[str] = set()
    enough = threading.Event()
    cut: list[str] = []

    def load(name: str) -> None:
        """Ask and tell until the service is gone; an answer that was begun is never cut."""
        key = {"Authorization": f"Bearer {service.key}"}
        with httpx.Client(base_url=f"{service.url}/v1/trials/knee", headers=key, timeout=100) as http:
            for number in itertools.count():
                unit = f"{name} {number}"
                try:
                    acknowledged[unit] = http.post("/units", json={"unit": unit}).json()["arm"]
                    if http.post("/outcomes", json={"unit": unit, "reward": 1, "risk": 0}).status_code == 201:
                        told.add(unit)
                except (httpx.NetworkError, httpx.RemoteProtocolError) as gone:
                    cut.append(str(gone))
                    return
                if len(told) > 40:
                    enough.set()

    with Service(tmp_path / "trials.db", "--workers", "2") as service:
        service.post("/v1/trials", TRIAL)

        def stop() -> None:
            enough.wait(100)
            status.append(service.stop())

        status: list[int] = []
        run_all(stop, *(lambda name=name: load(name) for name in "abcd"))
        assert status == [0]
        assert not [line for line in service.stderr if '"level": "error"' in line]
        answered = [json.loads(line) for line in service.stderr]
    assert len(cut) == 4
    with Ledger(tmp_path / "trials.db") as ledger:
        events = list(ledger.events("knee"))
        asked = {event.content["unit"]: event.content["arm"] for event in events if event.kind == "asked"}
        # All that was written was answered, and all that was answered was written.
        assert acknowledged == asked
        assert told == {event.content["unit"] for event in events if event.kind == "told"}
        assert len([event for event in events if event.kind == "asked"]) == len(asked)
        assert verify(ledger, "knee").holds
    assert len([line for line in answered if line.get("status") == 201]) == 1 + len(acknowledged) + len(told)
