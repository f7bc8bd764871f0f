"""The service on each database, with one and two workers, driven by several desks; and a trial's cost as it grows."""

from __future__ import annotations

import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from load.desk import MEANS, Order
from load.held import CannotHoldError, held
from safebandit.core.policies.catalogue import recommended
from safebandit.simulation.simulate import default_workers
from safebandit.trials.record import Ledger, Settings
from safebandit.trials.record.verification import verify
from servers.postgres import Postgres
from servers.service import Service
from speed.size import FEWER, Setting

# How many units may wait on an arm: more than there are connections, so that nobody is told to wait.
PENDING = 1000


class Load(NamedTuple):
    """How hard the service is driven: desks (processes), connections of each, pairs and seconds at most; how many units
    a request is about, in how many trials they ask, and to which share of a core each worker is held, if to any.
    """

    desks: int
    connections: int
    pairs: int
    seconds: float
    batch: int = 1
    trials: int = 1
    share: float | None = None


class Answered(NamedTuple):
    """Pairs of ask and tell per second, the latency of a request in milliseconds, and the processor time that a pair
    takes, in milliseconds: of all processes of the service, of those of the database, and of the desks that ask.
    """

    database: str
    workers: int
    batch: int
    trials: int
    pairs: int
    pairs_per_second: float
    p50: float
    p99: float
    processor: float
    database_processor: float
    desks_processor: float
    share: float | None = None


class Place(NamedTuple):
    """The address of a database, and the first process of its server, if it has one of its own."""

    url: str
    server: int | None = None


def drive(database: str, place: Place, workers: int, load: Load) -> Answered:
    """Start the service, keep it busy, and count what it acknowledged."""
    with Service(place.url, "--workers", str(workers)) as service:
        for i in range(load.trials):
            trial = {"name": f"load-{i}", "arms": list(MEANS), "alpha": 0.3, "seed": i, "pending_cap": PENDING}
            status, answer = service.post("/v1/trials", trial)
            if status != 201:
                raise RuntimeError(f"creating a trial gave {status}: {answer}")
        # A first drive brings compiled code into every worker; it is not counted.
        enough = min(load.pairs, 50 * load.desks * load.connections * load.batch)
        _send(service, load._replace(pairs=enough, seconds=20.0), "warm")
        _settle(service.process.pid)
        groups = (service.process.pid, place.server)
        with contextlib.nullcontext() if load.share is None else held(service.workers, load.share):
            before = [_processor_seconds(pid) for pid in groups]
            said = _send(service, load, "desk")
            spent = [_processor_seconds(pid) - earlier for pid, earlier in zip(groups, before, strict=True)]
        return _counted(database, workers, load, said, spent)


def _settle(pid: int) -> None:
    """Wait until the service rests: workers load what is compiled in a thread of their own, beside the first drive."""
    before = 0.0
    while (now := _processor_seconds(pid)) - before > 0.05:
        before = now
        time.sleep(0.5)


def _processor_seconds(pid: int | None) -> float:
    """Of a process and its children, those that have ended too, user and system; 0 of none."""
    if pid is None:
        return 0.0
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except FileNotFoundError:
        # It has ended since its parent was looked at.
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_processor_seconds(int(child)) for child in children)


def _send(service: Service, load: Load, name: str) -> list[dict[str, object]]:
    script = str(Path(__file__).parent / "desk.py")
    trials, pairs = [f"load-{i}" for i in range(load.trials)], load.pairs // load.desks
    orders = [
        Order(service.url, service.key, trials, f"{name} {i}", load.connections, pairs, load.seconds, load.batch)
        for i in range(load.desks)
    ]
    desks = [
        subprocess.Popen([sys.executable, script, json.dumps(order)], stdout=subprocess.PIPE) for order in orders
    ]  # fmt: skip
    said = [desk.communicate()[0] for desk in desks]
    if any(desk.returncode for desk in desks):
        raise RuntimeError("a desk failed; what it says is above")
    return [json.loads(text) for text in said]


def _counted(
    database: str, workers: int, load: Load, said: list[dict[str, object]], spent: list[float]
) -> Answered:  # fmt: skip
    pairs = sum(int(str(each["pairs"])) for each in said)
    seconds = max(float(str(each["seconds"])) for each in said)
    latencies = sorted(1000.0 * wait for each in said for wait in each["latencies"])  # type: ignore[attr-defined]
    p50, p99 = (latencies[int(share * (len(latencies) - 1))] for share in (0.5, 0.99))
    desks = sum(float(str(each["processor"])) for each in said)
    service, server, asking = (1000.0 * part / pairs for part in (*spent, desks))
    speed, costs = pairs / seconds, (service, server, asking, load.share)
    return Answered(database, workers, load.batch, load.trials, pairs, speed, p50, p99, *costs)


def answered(load: Load, services: Sequence[Setting]) -> Iterator[Answered]:
    """Each service, one after the other, but those whose workers cannot be held; both databases wait for the disk at
    every commit.
    """
    for each in services:
        with _sqlite() if each.database == "SQLite" else _postgres() as place:
            wanted = load._replace(batch=each.batch, trials=each.trials, share=each.share)
            try:
                yield drive(each.database, place, each.workers, wanted)
            except CannotHoldError as problem:
                print(f"not measured: {each}: {problem}", file=sys.stderr)


@contextlib.contextmanager
def _sqlite() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        yield Place(str(Path(folder) / "trials.db"))


@contextlib.contextmanager
def _postgres() -> Iterator[Place]:
    server = Postgres(durable=True)
    try:
        yield Place(server.new_database(), server.pid)
    finally:
        server.remove()


def growth(few: int, many: int, repeats: int, pairs: int = 40) -> tuple[float, float]:
    """Microseconds of processor time per pair in a trial of few events and in one of many, measured by turns."""
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "trials.db") as ledger:
        rng = random.Random(1)
        for name, events in (("few", few), ("many", many)):
            ledger.create(name, Settings.read(list(MEANS), 0.3, seed=1, pending_cap=PENDING))
            _pairs(ledger, name, "before", (events - 1) // 2, rng)
        costs: dict[str, list[float]] = {"few": [], "many": []}
        for i in range(repeats):
            for name, kept in costs.items():
                # The short trial must stay short: a new one for every measurement.
                trial = name
                if name == "few":
                    trial = f"few-{i}"
                    ledger.create(trial, Settings.read(list(MEANS), 0.3, seed=1, pending_cap=PENDING))
                    _pairs(ledger, trial, "before", (few - 1) // 2, rng)
                begun = time.process_time()
                _pairs(ledger, trial, f"now {i}", pairs, rng)
                kept.append(1e6 * (time.process_time() - begun) / pairs)
        return statistics.median(costs["few"]), statistics.median(costs["many"])


def long_trials(units: int) -> dict[str, float]:
    """Seconds to verify a trial of so many units, by the policy that is recommended for so many, in full and from its
    checkpoint, and by the one that is recommended for fewer; milliseconds of a correction.
    """
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "trials.db") as ledger:
        rng, checkpoint = random.Random(1), Path(folder) / "checkpoint"
        for name, policy in (("long", recommended(units, 1)), (FEWER, FEWER)):
            for each, count in ((f"short-{name}", 50), (name, units)):
                settings = Settings.read(list(MEANS), 0.3, policy=policy, seed=1, pending_cap=PENDING, units=units)
                ledger.create(each, settings)
                _pairs(ledger, each, "unit", count, rng)
            # What is compiled is not counted.
            verify(ledger, f"short-{name}")
        found = {"units": float(units), f"verify {FEWER}": _seconds_to_verify(ledger, FEWER)}
        # Nor is the first correction, which reads all units.
        ledger.correct("long", "unit 0", reward=0.5, reason="bench", actor="bench")
        for what in ("verify", "from a checkpoint"):
            found[what] = _seconds_to_verify(ledger, "long", checkpoint)
        begun = time.monotonic()
        for i in range(1, 6):
            ledger.correct("long", f"unit {i}", reward=0.5, reason="bench", actor="bench")
        found["correction"] = 1000.0 * (time.monotonic() - begun) / 5
        return found


def _seconds_to_verify(ledger: Ledger, trial: str, checkpoint: Path | None = None) -> float:
    begun = time.monotonic()
    # On all cores, as the command does.
    if not verify(ledger, trial, checkpoint=checkpoint, processes=default_workers()).holds:
        raise RuntimeError("the trial does not hold")
    return time.monotonic() - begun


def _pairs(ledger: Ledger, trial: str, name: str, pairs: int, rng: random.Random, *, together: int = 100) -> None:
    for start in range(0, pairs, together):
        with ledger.writing() as writing:
            writing.expect(trial, [f"{name} {i}" for i in range(start, min(start + together, pairs))])
            for i in range(start, min(start + together, pairs)):
                arm = writing.trial(trial).ask(f"{name} {i}", actor="bench").arm
                if arm is None:
                    raise RuntimeError("the trial holds")
                reward, risk = (float(rng.random() < mean) for mean in MEANS[arm])
                writing.trial(trial).tell(f"{name} {i}", reward=reward, risk=risk, actor="bench")
