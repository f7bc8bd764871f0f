"""Several processes on one database, and stopping under load: nothing is lost, nothing doubled."""

from __future__ import annotations

import threading

import safebandit as sb
from safebandit.errors import SafebanditError
from safebandit.record.ledger import Ledger
from safebandit.record.verification import verify

from .running import Service, ask_again_until
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


def test_a_worker_that_is_killed_is_replaced(tmp_path):
    import os
    import signal
    from pathlib import Path

    with Service(tmp_path / "trials.db", "--workers", "2") as service:
        parent = service.process.pid

        def workers() -> list[int]:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
            named = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
            return [pid for pid, command in named.items() if b"spawn_main" in command]

        before = set(ask_again_until(lambda: len(workers()) == 2 and workers(), "two workers do not start"))
        os.kill(min(before), signal.SIGKILL)
        ask_again_until(lambda: len(set(workers()) - before) == 1, "a worker is not replaced")
        ask_again_until(lambda: service.get("/readyz")[0] == 200, "the service does not come back")
        # Killed itself, the parent takes its workers with it.
        after = workers()
        os.kill(parent, signal.SIGKILL)
        ask_again_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in after), "workers outlive their parent")


def test_stopping_under_load_answers_what_was_taken(tmp_path):
    with Service(tmp_path / "trials.db", "--workers", "2") as service:
        service.post("/v1/trials", TRIAL)
        acknowledged: dict[str, str] = {}
        told: set[str] = set()
        enough = threading.Event()

        def load(name: str) -> None:
            with sb.Client(service.url, service.key, patience=0.01) as client:
                trial = client.trial("knee")
                for number in range(100_000):
                    try:
                        # The first requests wait for a compiler.
                        given = trial.ask(f"{name} {number}")
                        acknowledged[given.id] = given.arm
                        trial.tell(given.id, reward=1, risk=0)
                        told.add(given.id)
                    except SafebanditError:
                        if service.process.poll() is not None:
                            return
                    if len(acknowledged) > 60:
                        enough.set()

        def stop() -> None:
            enough.wait(100)
            assert service.stop() == 0

        run_all(stop, *(lambda name=name: load(name) for name in "abcd"))
        assert not [line for line in service.stderr if '"level": "error"' in line]
    with Ledger(tmp_path / "trials.db") as ledger:
        events = list(ledger.events("knee"))
        asked = {event.content["unit"]: event.content["arm"] for event in events if event.kind == "asked"}
        assert acknowledged.items() <= asked.items()
        assert told <= {event.content["unit"] for event in events if event.kind == "told"}
        assert len([event for event in events if event.kind == "asked"]) == len(asked)
        assert verify(ledger, "knee").holds
    assert len(acknowledged) > 60
