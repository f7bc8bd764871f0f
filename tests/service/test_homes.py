"""Trials at home in one of several workers: answers are what they are with one, and a home that fails loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import select
import signal
import socket
import threading
from unittest.mock import Mock

import httpx
import pytest
import sqlalchemy as sa

from safebandit.errors import BatchError, NotFoundError, RecordError, StoppedError
from safebandit.service import run
from safebandit.service.homes import answering, asking
from safebandit.service.homes.accepting import LateListener
from safebandit.service.homes.asking import ToHome
from safebandit.service.homes.homes import Homes, Seat, home_of
from safebandit.service.homes.works import One
from safebandit.trials import batches
from safebandit.trials.record.ledger import Ledger
from safebandit.trials.record.verification import verify
from servers.service import SECONDS, Service, ask_again_until
from servers.soak import Desk, check

from .conftest import serving
from .test_guards import sample
from .test_quick import REQUESTS

HOME, OTHER = 0, 1


@contextlib.contextmanager
def worker(database, folder, number):
    """One of two workers, in this process: the first is the home of all trials."""
    with serving(database, seat=Seat(number, 2, folder)) as served:
        yield served


@pytest.fixture(scope="module")
def workers(postgres, tmp_path_factory):
    """A home, and a worker that passes on to it."""
    database, folder = postgres.new_database(), tmp_path_factory.mktemp("homes")
    with worker(database, folder, HOME) as home, worker(database, folder, OTHER) as other:
        passes_on(other)
        yield home, other


def passes_on(served) -> None:
    ask_again_until(lambda: any(way.up for way in served.app.state.homes._ways.values()), "no way to the home")


def passed(served, result: str) -> float:
    return passed_in(served.get("/metrics").text, result)


def passed_in(metrics: str, result: str) -> float:
    """How many writes were passed on; before the first of them there is no sample."""
    known = f'passed_total{{result="{result}"' in metrics
    return sample(metrics, "safebandit_passed_total", result=result) if known else 0.0


def test_answers_and_logs_are_those_of_the_home_itself(workers):
    home, other = workers
    trials = {each: each.create(f"alike-{number}") for number, each in enumerate(workers)}
    before = passed(other, "answered")
    for path, body in REQUESTS:
        found = []
        for each, trial in trials.items():
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {home.keys['operator']}"}
            answer = each.http.post(f"{trial}/{path}", content=body, headers=headers)
            told = [pair for pair in answer.headers.raw if pair[0].lower() not in (b"x-request-id", b"date")]
            found.append((answer.status_code, told, answer.content.replace(trial[-7:].encode(), b"TRIAL")))
        assert found[0] == found[1], (path, body)
    assert passed(other, "answered") > before + 10
    assert (passed(home, "answered"), passed(other, "lost")) == (0.0, 0.0)
    ledger = home.app.state.ledger
    logs = [ledger.events(f"alike-{number}") for number in (0, 1)]
    assert [event.body for event in logs[0]] == [event.body for event in logs[1]]
    assert [event.actor[:12] for event in logs[0]] == [event.actor[:12] for event in logs[1]]
    assert all(verify(ledger, f"alike-{number}").holds for number in (0, 1))


def test_what_fails_in_the_home_is_answered_and_logged_as_here(workers, monkeypatch, caplog):
    home, other = workers
    trial = other.create("failing")
    failed = sa.exc.OperationalError(None, None, Exception("password=secret"))

    def fail(engine, **_):
        raise problem

    monkeypatch.setitem(batches.REQUESTS, "ask", fail)
    problem = RecordError("the database failed: password=secret")
    problem.__cause__ = failed
    told = [each.post(f"{trial}/units", {"unit": "1"}) for each in (home, other)]
    assert [answer.status_code for answer in told] == [503, 503]
    assert told[0].json() == told[1].json()
    assert "OperationalError" in told[1].text
    assert "secret" not in told[1].text
    problem = ZeroDivisionError("nobody expected it")
    caplog.clear()
    assert other.post(f"{trial}/units", {"unit": "1"}).status_code == 500
    logged = [record.exc_info[1] for record in caplog.records if record.exc_info]
    assert "In the worker of its trial" in logged[0].__notes__[0]


@pytest.mark.parametrize(
    "problem",
    [
        StoppedError("the trial has stopped", "arm a is selected"),
        BatchError("refused", {1: NotFoundError("there is none")}),
        NotFoundError("no unit"),
    ],
)
def test_a_refusal_arrives_as_it_was(problem):
    told = pickle.loads(pickle.dumps(answering._told(1, problem)))
    assert (type(told.problem), str(told.problem)) == (type(problem), str(problem))
    assert repr(vars(told.problem)) == repr(vars(problem))


def test_a_problem_that_cannot_be_sent_is_told_in_words():
    class LocalError(Exception):
        """Known to this test alone."""

    told = answering._told(1, LocalError("odd"))
    assert isinstance(told.problem, RecordError)
    assert "odd" in str(told.problem)


class Stub:
    """A home that says that it is there until it takes work, and then says no more, or hangs up at it."""

    def __init__(self, folder, *, hangs_up):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / f"{HOME}.socket"))
        self._listener.listen()
        self._hangs_up = hangs_up
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self):
        connection, _ = self._listener.accept()
        self._listener.close()
        with connection:
            self._say(connection, "hello")
            while not select.select([connection], [], [], 0.05)[0]:
                self._say(connection, "beat")
            connection.settimeout(SECONDS)
            while connection.recv(65536) and not self._hangs_up:
                pass

    @staticmethod
    def _say(connection, kind):
        data = pickle.dumps((kind, None))
        connection.sendall(len(data).to_bytes(4, "big") + data)

    def join(self):
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


@pytest.mark.parametrize("hangs_up", [False, True])
def test_a_home_that_hangs_or_dies_costs_one_answer_and_then_it_is_written_here(
    postgres, tmp_path, monkeypatch, hangs_up
):  # fmt: skip
    monkeypatch.setattr(asking, "BEAT_SECONDS", 0.1)
    # Longer than a busy machine lets the stub's thread wait.
    monkeypatch.setattr(asking, "SILENT_SECONDS", 1.0)
    stub = Stub(tmp_path, hangs_up=hangs_up)
    with worker(postgres.new_database(), tmp_path, OTHER) as served:
        trial = served.create("knee")
        passes_on(served)
        lost = served.post(f"{trial}/units", {"unit": "1"})
        assert (lost.status_code, lost.headers["retry-after"]) == (503, "1")
        assert "may have done what was asked; ask again" in lost.json()["message"]
        assert served.post(f"{trial}/units", {"unit": "1"}).status_code == 201
        assert passed(served, "lost") == 1
        stub.join()


def test_what_was_not_sent_to_a_home_that_stops_is_written_here():
    class Here:
        async def write_work(self, work, units):
            return work, units

    async def ask():
        homes = Homes(Seat(OTHER, 2, None), Here(), lambda result, count: None)
        way = homes._ways[HOME] = ToHome(asyncio.get_running_loop(), homes._note)
        way.connection_made(transport := Mock(is_closing=lambda: False))
        way.received("hello", None)
        written = asyncio.ensure_future(homes.write(One("knee", "ask", {}), ["1"]))
        await asyncio.sleep(0)
        # It has left its caller, and not this process.
        assert len(way._waiting) == 1
        way.received("no more", None)
        found = await written
        transport.write.assert_not_called()
        way.connection_lost(None)
        return found

    assert asyncio.run(ask()) == (One("knee", "ask", {}), ["1"])


def test_a_home_that_stops_under_load_has_answered_all_that_it_was_sent(postgres, tmp_path):
    """And while it is away, and when it is back, nothing is refused."""
    database, stop = postgres.new_database(), threading.Event()
    statuses: list[int] = []

    def ask(number: int) -> None:
        with client_of(other) as http:
            for unit in range(10**6):
                if stop.is_set():
                    return
                statuses.append(http.post(f"{trial}/units", json={"unit": f"{number} {unit}"}).status_code)

    with worker(database, tmp_path, OTHER) as other:
        trial = other.create("knee", pending_cap=10_000)
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            before = passed(other, "answered")
            with worker(database, tmp_path, HOME):
                ask_again_until(lambda before=before: passed(other, "answered") > before + 20, "nothing is passed on")
        stop.set()
        for thread in threads:
            thread.join()
        assert set(statuses) == {201}
        assert passed(other, "lost") == 0
        ledger = other.app.state.ledger
        assert sum(event.kind == "asked" for event in ledger.events("knee")) == len(statuses)
        assert verify(ledger, "knee").holds


def client_of(served) -> httpx.Client:
    key = {"Authorization": f"Bearer {served.keys['operator']}"}
    return httpx.Client(base_url=served.url, headers=key, timeout=SECONDS)


def test_a_home_that_is_killed_or_stands_still_loses_and_doubles_nothing(postgres):
    """Two workers, as people start them; one of them is killed and the other one stopped while desks ask and tell."""
    database = postgres.new_database()
    trial = {"name": "knee", "arms": ["a", "b", "c"], "alpha": 0.5, "policy": "docb", "seed": 1, "pending_cap": 1000}
    with Service(database, "--workers", "2") as service, Ledger(database) as ledger:
        service.post("/v1/trials", trial)
        desks = [Desk(number, service, service.key, "knee") for number in (1, 2)]
        for desk in desks:
            desk.start()

        def told() -> int:
            return sum(len(desk.told) for desk in desks)

        def go_on(more: int = 20) -> None:
            before = told()
            ask_again_until(lambda: told() > before + more or not all(map(Desk.is_alive, desks)), "desks stand still")

        def enough_passed_on() -> bool:
            return passed_in(service.get("/metrics")[1].decode(), "answered") > 20

        go_on()
        # It is ready once one worker is; until the other one is, the home takes connections and passes nothing on.
        ask_again_until(lambda: enough_passed_on() or not all(map(Desk.is_alive, desks)), "nothing is passed on")
        home, other = service.workers
        os.kill(home, signal.SIGKILL)
        go_on()
        ask_again_until(lambda: len(service.workers) == 2 and home not in service.workers, "it is not replaced")
        # Where the one that takes connections stands still, the home takes them.
        os.kill(other, signal.SIGSTOP)
        try:
            assert service.get("/healthz")[0] == 200
        finally:
            os.kill(other, signal.SIGCONT)
        go_on()
        for desk in desks:
            desk.stop.set()
        for desk in desks:
            desk.join(SECONDS)
        assert [desk.problem for desk in desks] == [None, None]
        check(ledger, "knee", desks)


def test_a_home_takes_the_connections_that_nobody_else_has_taken():
    async def connect():
        taken = asyncio.Queue()

        class Taken(asyncio.Protocol):
            def connection_made(self, transport):
                taken.put_nowait(transport)

        with socket.create_server(("127.0.0.1", 0)) as listener:
            late = LateListener(listener, Taken, None)
            with socket.create_connection(listener.getsockname()) as first:
                # Another worker is quicker.
                theirs, _ = listener.accept()
                # Once the home has looked in vain it waits for the next one.
                await asyncio.sleep(0)
                late._take()
                with socket.create_connection(listener.getsockname()) as second:
                    mine = await taken.get()
                    assert mine.get_extra_info("peername") == second.getsockname() != first.getsockname()
                    mine.close()
            theirs.close()
            late.close()
            assert taken.empty()

    asyncio.run(connect())


def test_homes_are_few_and_stay():
    assert [Seat(0, workers, None).homes for workers in (2, 3, 4, 5, 8, 9)] == [1, 1, 1, 2, 2, 3]
    assert Seat(1, 2, None).other_homes == [0]
    assert Seat(0, 8, None).other_homes == [1]
    found = [home_of(f"trial-{i}", 3) for i in range(300)]
    assert found == [home_of(f"trial-{i}", 3) for i in range(300)]
    assert all(80 < found.count(home) < 120 for home in range(3))


@pytest.mark.parametrize(
    ("workers", "files", "connections", "rate"),
    [(2, 4096, 1024, 4000.0), (4, 4096, 682, 8000 / 3), (2, 700, 572, 4000.0)],
)
def test_all_workers_together_take_as_much_as_without_homes(monkeypatch, workers, files, connections, rate):
    monkeypatch.setattr(run, "_allow_descriptors", lambda _: None)
    monkeypatch.setattr(run.resource, "getrlimit", lambda _: (0, files))
    options = run._at_seat(run.Options(), Seat(1, workers, None))
    assert (options.connections.connections, options.rates.rate) == (connections, pytest.approx(rate))
