"""What a cluster costs and gives on this machine: rounds per second, the price of a task, a byte and a kept chunk."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import wait

import numpy as np

from safebandit.cluster import Cluster, dask_cluster
from safebandit.execution import LONGER_ON_EXECUTOR
from safebandit.instances import instance_by_name
from safebandit.simulation import default_workers, simulate

HORIZON, TRIALS, POLICIES = 50_000, 100, ["docb", "tsbu"]
ROUNDS = HORIZON * TRIALS * len(POLICIES)
TASKS, ARRAYS, MEGABYTES = 500, 8, 16
TIMES = 5


def seconds(play: Callable[[], object]) -> float:
    """How long it takes, once."""
    began = time.perf_counter()
    play()
    return time.perf_counter() - began


def play(**means: object) -> None:
    """The drug trial, two policies."""
    simulate(instance_by_name("drug-trial"), POLICIES, horizon=HORIZON, trials=TRIALS, **means)  # type: ignore[arg-type]


def kept(workers: int) -> None:
    """The same, with every chunk kept on disk."""
    with tempfile.TemporaryDirectory() as folder:
        play(workers=workers, resume=folder)


def on(cluster: Cluster) -> None:
    """The same, on a cluster."""
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
            "empty tasks": lambda: many_tasks(all_cores),
            "arrays": lambda: many_bytes(all_cores),
        }
        for subject in subjects.values():
            subject()
        times = {name: [0.0] * TIMES for name in subjects}
        for i in range(TIMES):
            for name, subject in subjects.items():
                times[name][i] = seconds(subject)
    for name, taken in times.items():
        middle = statistics.median(taken)
        if name == "empty tasks":
            shown = f"{1e3 * middle / TASKS:.2f} ms per task"
        elif name == "arrays":
            shown = f"{ARRAYS * MEGABYTES / middle:.0f} MB per second"
        else:
            shown = f"{ROUNDS / middle / 1e6:.2f} million rounds per second"
        print(f"{name:28} {middle:7.2f} s ({min(taken):.2f} to {max(taken):.2f})  {shown}")
    print(f"{ROUNDS:,} rounds; chunks on a cluster last up to {LONGER_ON_EXECUTOR} times those of threads")


if __name__ == "__main__":
    main()
