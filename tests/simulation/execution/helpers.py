"""What tests of execution share: a small run, and an executor that notes what it is given."""

import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future

from safebandit import instance_by_name, simulate

DRUG = instance_by_name("drug-trial")
POLICIES = ["docb", "tsbu"]
SETTINGS = {"horizon": 1_000, "trials": 24, "seed": 5}
COMMAND = [sys.executable, "-c", "from safebandit.cli import main; main()"]
# Bounds the wait for a process to start on a busy machine; nothing is asserted about the time itself.
PATIENCE = 200


class AtOnce(Executor):
    """Plays in this thread, as tasks come, after a journey through pickle; notes which trials of which policy."""

    def __init__(self):
        self.played = []

    def submit(self, play, /, job, trials):
        self.played += [(job.label, trial) for trial in trials]
        future = Future()
        future.set_result(pickle.loads(pickle.dumps(play(*pickle.loads(pickle.dumps((job, trials)))))))
        return future


class FirstIsLate(Executor):
    """Plays all at once but the first chunk, which ends when it is told to, or after a minute in which nobody did."""

    def __init__(self):
        self.handed_out = 0

    def submit(self, play, /, job, trials):
        self.handed_out += 1
        future, chunk = Future(), play(job, trials)
        if trials.start > 0:
            future.set_result(chunk)
        else:
            self.patience = threading.Timer(60, future.set_result, [chunk])
            self.patience.start()
        return future

    def end_first(self):
        self.patience.cancel()
        self.patience.function(*self.patience.args)


def all_trials(labels, trials):
    return sorted((label, trial) for label in labels for trial in trials)


def fill(tmp_path, **changes):
    return simulate(DRUG, POLICIES, **{**SETTINGS, **changes}, resume=tmp_path, workers=1)


def played(tmp_path, drug=None, policies=POLICIES, **changes):
    """The trials that a run with kept chunks plays."""
    executor = AtOnce()
    result = simulate(DRUG, policies, **{**SETTINGS, **changes}, resume=tmp_path, executor=executor)
    if drug is not None:
        assert result.same_trials(drug)
    return sorted(executor.played)


def wait_until(true, *, alive=()):
    end = time.monotonic() + PATIENCE
    while not true():
        assert all(process.poll() is None for process in alive), "a process ended too early"
        assert time.monotonic() < end, "took too long"
        time.sleep(0.01)


# Classes of a script, which other processes cannot import. Their formulas are Hoeffding's: what they give is known.
SCRIPT = """
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple
import safebandit as sb
from safebandit.simulation.cluster import dask_cluster

class Upper(NamedTuple):
    widest: float = 1.0

@sb.upper.register(Upper)
def formula(index, seen, t):
    return min(1.0, seen.mean + index.widest * math.sqrt(math.log(t) / (2.0 * seen.plays))) if seen.plays else 1.0

class Lower(NamedTuple):
    pass

@sb.lower.register(Lower)
def formula(index, seen, t):
    return max(0.0, seen.mean - math.sqrt(math.log(t) / (2.0 * seen.plays))) if seen.plays else 0.0

def play(reward, safety, **where):
    return sb.simulate("drug-trial", {"mine": sb.DoublyOptimistic(reward, safety)}, horizon=300, trials=8, **where)

if __name__ == "__main__":
    spawned = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with dask_cluster(sys.argv[1]) if sys.argv[1:] else spawned as opened:
        there = play(Upper(), Lower(), executor=getattr(opened, "executor", opened), workers=1)
    print(there.same_trials(play(sb.HoeffdingUpper(), sb.HoeffdingLower())))
"""


def play_own_classes(folder, *address):
    """Play a script's own classes on the cluster of an address, or in a process of this machine."""
    # Where there is no Dask, functions are found by their names, which then must differ.
    (folder / "own.py").write_text(SCRIPT if address else SCRIPT.replace("def formula(", "def other(", 1))
    command = [sys.executable, "own.py", *address]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=PATIENCE)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr[-2_000:]
