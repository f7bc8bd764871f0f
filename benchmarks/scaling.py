"""What a cluster costs and gives on this machine: rounds per second, the price of a task, a byte and a kept chunk.

Of every subject the wall time and the processor time, of this process (client and scheduler) and of its workers. On
a machine that others use too, the processor time is what can be trusted.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import wait
from typing import NamedTuple

import numpy as np
import psutil

from safebandit.problems import instance_by_name
from safebandit.simulation.cluster import Cluster, dask_cluster
from safebandit.simulation.simulate import default_workers, simulate

HORIZON, TRIALS, POLICIES = 50_000, 100, ["docb", "tsbu"]
ROUNDS = HORIZON * TRIALS * len(POLICIES)
TASKS, ARRAYS, MEGABYTES = 500, 8, 16
TIMES = 5


class Spent(NamedTuple):
    """Seconds."""

    wall: float
    here: float
    workers: float


def now() -> Spent:
    """The clocks of the wall, of this process and of its workers."""
    me = psutil.Process()
    times = [process.cpu_times() for process in me.children(recursive=True)]
    here = me.cpu_times()
    return Spent(time.perf_counter(), here.user + here.system, sum(taken.user + taken.system for taken in times))


def spent(subject: Callable[[], object]) -> Spent:
    """What one call takes."""
    before = now()
    subject()
    return Spent(*(end - begin for end, begin in zip(now(), before, strict=True)))


def play(**means: object) -> None:
    """The drug trial, two policies."""
    simulate(instance_by_name("drug-trial"), POLICIES, horizon=HORIZON, trials=TRIALS, **means)  # type: ignore[arg-type]


def kept(workers: int) -> None:
    """Play on threads, with every chunk kept on disk."""
    with tempfile.TemporaryDirectory() as folder:
        play(workers=workers, resume=folder)


def on(cluster: Cluster) -> None:
    """Play on a cluster."""
    play(executor=cluster.executor, workers=cluster.workers)


def many_tasks(cluster: Cluster) -> None:
    """Tasks that do nothing."""
    wait([cluster.executor.submit(int, i) for i in range(TASKS)])


def many_bytes(cluster: Cluster) -> None:
    """Tasks that bring much home."""
    wait([cluster.executor.submit(np.ones, MEGABYTES * 125_000) for _ in range(ARRAYS)])


def main() -> None:
    """Interleaved, so that a busy machine is busy for all; medians."""
    cores = default_workers()
    with dask_cluster("local", workers=1) as one, dask_cluster("local", workers=cores) as all_cores:
        subjects: dict[str, Callable[[], object]] = {
            "1 thread": lambda: play(workers=1),
            f"{cores} threads": lambda: play(workers=cores),
            f"{cores} threads, chunks kept": lambda: kept(cores),
            "Dask, 1 worker": lambda: on(one),
            f"Dask, {cores} workers": lambda: on(all_cores),
            f"{TASKS} empty tasks": lambda: many_tasks(all_cores),
            f"{ARRAYS * MEGABYTES} MB of arrays": lambda: many_bytes(all_cores),
        }
        for subject in subjects.values():
            subject()
        rounds = [{name: spent(subject) for name, subject in subjects.items()} for _ in range(TIMES)]
    print(f"{'seconds, medians':28} {'wall':>7} {'(least)':>8} {'here':>7} {'workers':>8}   ({ROUNDS:,} rounds)")
    for name in subjects:
        middle = Spent(*map(statistics.median, zip(*(taken[name] for taken in rounds), strict=True)))
        least = min(taken[name].wall for taken in rounds)
        print(f"{name:28} {middle.wall:7.2f} {least:8.2f} {middle.here:7.2f} {middle.workers:8.2f}")


if __name__ == "__main__":
    main()
