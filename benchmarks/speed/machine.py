"""The rest of what a user waits for: start-up, two workers, ask and tell, memory; and what it was measured on."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from safebandit.problems import Instance
from safebandit.simulation.simulate import simulate
from safebandit.trials.trial import Trial
from safebandit.version import __version__
from speed.problems import drug_trial, many_arms
from speed.size import Size
from speed.spread import Spread

COMMAND = (sys.executable, "-c", "from safebandit.cli import main; main()")
STUDY_HORIZON = 50_000
TRIAL_UNITS = 400
# In a small process between, because the system counts the peak of the process that started another to the other's.
PEAK_OF = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
FIRST_ROUND = ("simulate", "--instance", "drug-trial", "--horizon", "1", "--trials", "1", "--json", "--policy")


def describe() -> dict[str, str | int]:
    """The processor, its cores, and the versions that matter."""
    import numba
    import numpy as np

    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "safebandit": __version__,
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Stay on one core, where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def figures(size: Size) -> Iterator[tuple[str, Spread]]:
    """Each figure by its name; seconds, microseconds and megabytes are those of one core or process."""
    cold, warm = _first_round(size.first, size.repeats)
    yield "cold start", cold
    yield "warm start", warm
    yield "version", _repeated(lambda: _seconds_of("--version"), size.repeats)
    yield "two workers", _repeated(lambda: _speedup(size.workers_trials), size.repeats)
    with one_core():
        yield "ask + tell", _ask_tell(size.asks)
        yield "safe-ids", _repeated(lambda: _unit_of_safe_ids(drug_trial(), size.workers_trials), size.repeats)
        yield (
            "safe-ids, 20 arms",
            _repeated(lambda: _unit_of_safe_ids(many_arms(20), size.workers_trials), size.repeats),
        )
    yield "peak memory", Spread.of([_peak_megabytes(size.study_trials)])


def _repeated(figure: Callable[[], float], repeats: int) -> Spread:
    """After one that warms the caches."""
    figure()
    return Spread.of([figure() for _ in range(repeats)])


def _seconds_of(*arguments: str, cache: str | None = None) -> float:
    """The time of a command in a process of its own."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    began = time.perf_counter()
    subprocess.run([*COMMAND, *arguments], check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


def _first_round(policy: str, repeats: int) -> tuple[Spread, Spread]:
    """Seconds to one simulated round: when nothing has been compiled yet, and in every later process."""
    with tempfile.TemporaryDirectory() as cache:
        cold = _seconds_of(*FIRST_ROUND, policy, cache=cache)
        warm = [_seconds_of(*FIRST_ROUND, policy, cache=cache) for _ in range(repeats)]
    return Spread.of([cold]), Spread.of(warm)


def _speedup(trials: int) -> float:
    """How many times faster two workers are than one."""
    seconds = []
    for workers in (1, 2):
        began = time.perf_counter()
        simulate(drug_trial(), ["docb", "tsbu"], horizon=STUDY_HORIZON, trials=trials, workers=workers)
        seconds.append(time.perf_counter() - began)
    return seconds[0] / seconds[1]


def _unit_of_safe_ids(instance: Instance, trials: int) -> float:
    """Microseconds of processor time of a unit in the simulator."""
    began = time.process_time()
    simulate(instance, "safe-ids", horizon=TRIAL_UNITS, trials=trials, workers=1)
    return 1e6 * (time.process_time() - began) / (TRIAL_UNITS * trials)


def _ask_tell(count: int) -> Spread:
    """Microseconds of an ask and its tell, in memory, five arms."""
    trial = Trial(5, 0.21, "tsbu", seed=1)
    times = []
    for i in range(count):
        began = time.perf_counter()
        unit = trial.ask()
        if unit.arm is not None:
            trial.tell(unit.id, reward=i % 2, risk=float(i % 10 == 0))
        times.append(1e6 * (time.perf_counter() - began))
    return Spread.of(times)


def _peak_megabytes(trials: int) -> float:
    """The peak memory of the drug-trial study with its table, file and pictures, in a process of its own."""
    study = ["simulate", "--instance", "drug-trial", "--alpha", "0.21", "--horizon", str(STUDY_HORIZON)]
    command = [*COMMAND, *study, "--policy", "docb", "--policy", "topsi", "--policy", "tsbu"]
    with tempfile.TemporaryDirectory() as folder:
        # Compiling takes memory too, once.
        subprocess.run([*command, "--trials", "1"], check=True, capture_output=True)
        measured = [sys.executable, "-c", PEAK_OF, *command, "--trials", str(trials), "--out", folder]
        run = subprocess.run(measured, check=True, capture_output=True, text=True)
    return int(run.stdout) / 1024
