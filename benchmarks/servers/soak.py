"""Random kills under load: nothing acknowledged is lost or doubled, the record verifies, and every alert is told.

`make soak` runs 1,000 kills over SQLite and PostgreSQL, bounded in time; the tests run 20.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import http.server
import json
import random
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from safebandit.service.alerts.rules import Alerts
from safebandit.service.keys import Keys
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.verification import verify
from servers.forked import ForkedService
from servers.service import Service

ARMS = ["placebo", "low", "high"]
DESKS = 3
BATCH = 4
# A trial has so many kills; then another one begins, so that to verify it stays short.
KILLS_PER_TRIAL = 25
# Long: the machine may be busy.
SECONDS = 300.0


class Soaked(NamedTuple):
    """How many kills there were, what was acknowledged, how many requests were cut, and how many alerts were told."""

    kills: int
    asked: int
    told: int
    cut: int
    amended: int
    messages: int


class Desk(threading.Thread):
    """Asks and tells, one by one or in batches, each request until it is answered, and notes all answers."""

    def __init__(self, number: int, service: ForkedService | Service, key: str, trial: str) -> None:
        super().__init__(daemon=True)
        self.number, self.service, self.key, self.trial = number, service, key, trial
        self.stop, self.go = threading.Event(), threading.Event()
        self.go.set()
        self.arms: dict[str, str] = {}
        self.told: dict[str, list[float]] = {}
        self.amended, self.cut = 0, 0
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            rng = random.Random(f"{self.trial} {self.number}")
            for i in range(10**9):
                self.go.wait()
                if self.stop.is_set():
                    return
                units = [f"desk {self.number}, unit {i}.{j}" for j in range(BATCH if i % 3 == 0 else 1)]
                self._ask(units)
                outcomes = {unit: [float(rng.random() < 0.5), float(rng.random() < 0.1)] for unit in units}
                self._tell(outcomes)
                if self.number == 0 and i % 10 == 9:
                    # Told by an alert; sent once, as sent again it would be refused.
                    self.amended += self._send("amendments", {"reason": "so", "pending_cap": 1000 + i}) is not None
        except BaseException as problem:  # noqa: BLE001  the test that waits for this thread tells it
            self.problem = problem

    def _ask(self, units: list[str]) -> None:
        if len(units) == 1:
            answers = [self._send("units", {"unit": units[0]})]
        else:
            asked = self._send("units/batch", {"requests": [{"unit": unit} for unit in units]})
            answers = [each["given"] for each in asked["answers"]]
        self.arms |= {unit: answer["arm"] for unit, answer in zip(units, answers, strict=True)}

    def _tell(self, outcomes: dict[str, list[float]]) -> None:
        told = [{"unit": unit, "reward": reward, "risk": risk} for unit, (reward, risk) in outcomes.items()]
        if len(told) == 1:
            self._send("outcomes", told[0])
        else:
            self._send("outcomes/batch", {"requests": told})
        self.told |= outcomes

    def _send(self, path: str, body: Any) -> Any:
        once = path == "amendments"
        while True:
            try:
                status, answer = _post(f"{self.service.url}/v1/trials/{self.trial}/{path}", body, self.key)
            except (OSError, http.client.HTTPException):
                # Killed before it could answer, or in the midst of it: the same request again.
                self.cut += 1
                if once:
                    return None
                time.sleep(0.01)
                continue
            if status == 503 and not once:
                # Another worker was killed, which was to write it.
                self.cut += 1
                time.sleep(0.01)
                continue
            if status not in (200, 201):
                raise AssertionError(f"{path} was answered {status}: {answer}")
            return answer


def _post(url: str, body: Any, key: str) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    try:
        response = urllib.request.urlopen(request, timeout=SECONDS)
    except urllib.error.HTTPError as refused:
        response = refused
    with response:
        return response.status, json.loads(response.read())


@contextlib.contextmanager
def receiving() -> Iterator[tuple[str, dict[str, Any]]]:
    """An address that takes webhooks, and what it got, by their ids: a message that comes twice is one."""
    got: dict[str, Any] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            got[str(self.headers["webhook-id"])] = body["data"]
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def soak(database: str, *, kills: int, seconds: float = float("inf"), seed: int = 11) -> Soaked:
    """Kill the service so often, or until the time is up, and check after each kill that the record verifies."""
    rng, until = random.Random(seed), time.monotonic() + seconds
    done = Soaked(0, 0, 0, 0, 0, 0)
    with receiving() as (address, got), Ledger(database) as ledger:
        key = Keys(ledger).create("soak", "admin", actor="soak")[1]
        with ForkedService(database) as service:
            while done.kills < kills and time.monotonic() < until:
                most = min(KILLS_PER_TRIAL, kills - done.kills)
                found = _one_trial(ledger, service, key, address, got, f"trial-{done.kills}", most, until, rng)
                done = Soaked(*(a + b for a, b in zip(done, found, strict=True)))
    return done


def _one_trial(
    ledger: Ledger,
    service: ForkedService,
    key: str,
    address: str,
    got: dict[str, Any],
    trial: str,
    kills: int,
    until: float,
    rng: random.Random,
) -> Soaked:
    ledger.create(trial, Settings.read(ARMS, 0.5, policy="tsbu", seed=3, pending_cap=1000), actor="soak")
    alert, _ = Alerts(ledger).create("webhook", address, trial=trial, kinds=["amendment"], quiet=0.0, actor="soak")
    desks = [Desk(i, service, key, trial) for i in range(DESKS)]
    for desk in desks:
        desk.start()
    killed = _kill(ledger, service, trial, desks, kills, until, rng)
    for desk in desks:
        desk.stop.set()
    for desk in desks:
        desk.join(SECONDS)
    for desk in desks:
        if desk.problem is not None or desk.is_alive():
            raise AssertionError(f"a desk stands still, or: {desk.problem!r}")
    check(ledger, trial, desks)
    amended = sum(event.kind == "amended" for event in ledger.events(trial))
    _wait_until(lambda: _told(got, alert.id) >= amended, f"{amended} amendments, {_told(got, alert.id)} told")
    if _told(got, alert.id) > amended:
        raise AssertionError(f"{amended} amendments, {_told(got, alert.id)} told")
    messages = sum(each["alert"] == alert.id for each in got.values())
    Alerts(ledger).remove(alert.id, actor="soak")
    asked, told, cut = (sum(len(desk.arms) for desk in desks), sum(len(desk.told) for desk in desks), 0)
    cut = sum(desk.cut for desk in desks)
    return Soaked(killed, asked, told, cut, amended, messages)


def _kill(
    ledger: Ledger,
    service: ForkedService,
    trial: str,
    desks: list[Desk],
    kills: int,
    until: float,
    rng: random.Random,
) -> int:
    """Kill the service so often while the desks work, and verify the trial after each; how often it was."""
    killed = 0
    while killed < kills and time.monotonic() < until:
        _wait_for_more(desks, rng.randrange(1, 12))
        # At a moment that nobody chose.
        time.sleep(rng.random() * 0.02)
        service.kill()
        killed += 1
        # Nobody begins anything meanwhile: a log that grows by thousands would take longer each time.
        for desk in desks:
            desk.go.clear()
        found = verify(ledger, trial)
        for desk in desks:
            desk.go.set()
        if not found.holds:
            raise AssertionError(f"after {killed} kills: {found.problem}")
    return killed


def check(ledger: Ledger, trial: str, desks: list[Desk]) -> None:
    """What was acknowledged is in the record, once, as it was acknowledged; and nothing is there that nobody sent."""
    log = ledger.events(trial)
    asked = Counter(event.content["unit"] for event in log if event.kind == "asked")
    told = Counter(event.content["unit"] for event in log if event.kind == "told")
    arms = {unit: arm for desk in desks for unit, arm in desk.arms.items()}
    outcomes = {unit: outcome for desk in desks for unit, outcome in desk.told.items()}
    problems = [f"{unit} is there {count} times" for unit, count in (asked | told).items() if count > 1]
    # Every desk waited for its last answer.
    problems += [f"{unit} is there, or is acknowledged, alone" for unit in set(asked) ^ set(arms)]
    problems += [f"the outcome of {unit} is there, or is acknowledged, alone" for unit in set(told) ^ set(outcomes)]
    for event in log:
        if event.kind == "asked" and arms.get(event.content["unit"]) != event.content["arm"]:
            problems.append(f"{event.content['unit']} has another arm than was acknowledged")
        if event.kind == "told" and outcomes.get(event.content["unit"]) != event.content["outcome"]:
            problems.append(f"{event.content['unit']} has another outcome than was acknowledged")
    found = verify(ledger, trial)
    problems += [] if found.holds else [str(found.problem)]
    if problems:
        raise AssertionError("; ".join(problems[:5]))


def _told(got: dict[str, Any], alert: str) -> int:
    return sum(each["times"] for each in list(got.values()) if each["alert"] == alert)


def _wait_for_more(desks: list[Desk], more: int) -> None:
    before = sum(len(desk.told) for desk in desks)
    _wait_until(
        lambda: sum(len(desk.told) for desk in desks) >= before + more or not all(desk.is_alive() for desk in desks),
        "the desks stand still",
    )


def _wait_until(done: Any, what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(what)
        time.sleep(0.002)


def main() -> None:
    """Soak a file, then PostgreSQL."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, default=500, help="of each database")
    parser.add_argument("--minutes", type=float, default=20.0, help="for each database, at most")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    limits: dict[str, Any] = {"kills": given.kills, "seconds": 60 * given.minutes, "seed": given.seed}
    if given.only != "postgresql":
        with tempfile.TemporaryDirectory() as folder:
            print("sqlite:", soak(str(Path(folder) / "trials.db"), **limits), flush=True)
    if given.only != "sqlite":
        from servers.postgres import Postgres

        server = Postgres()
        try:
            print("postgresql:", soak(server.new_database(), **limits), flush=True)
        finally:
            server.remove()


if __name__ == "__main__":
    main()
