"""What tests of execution share: a small run, and an executor that notes what it is given."""

import pickle
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
