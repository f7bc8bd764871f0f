"""Dask: a real scheduler and worker processes over TCP, killed and wrong ones among them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import Executor
from pathlib import Path

import pytest

import safebandit as sb
from safebandit import Result, simulate
from safebandit.cli import main
from safebandit.errors import ExecutorError
from safebandit.simulation.cluster import dask_cluster

from .helpers import COMMAND, PATIENCE, play_own_classes, wait_until

PACKAGE = Path(sb.__file__).parent
DRUG = sb.instance_by_name("drug-trial")
POLICIES = ["docb", "tsbu"]
TRIALS = 125
SETTINGS = {"horizon": 20_000, "trials": TRIALS, "seed": 5}
FLAGS = ["--instance", "drug-trial", "--policy", "docb", "--policy", "tsbu"]
FLAGS += ["--horizon", "20000", "--trials", str(TRIALS), "--seed", "5"]


class Machines:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        where = folder / "scheduler.json"
        self.scheduler = self.start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(where)
        )
        wait_until(lambda: where.is_file() and where.read_text().strip().endswith("}"), alive=[self.scheduler])
        self.address = json.loads(where.read_text())["address"]

    def start(self, *words, **environment):
        command = [sys.executable, "-m", "dask", *words]
        log = (self.folder / f"{len(self.processes)}.log").open("w")
        process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **environment}
        )  # fmt: skip
        log.close()
        self.processes.append(process)
        return process

    def worker(self, name, **environment):
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name, "--host", "127.0.0.1"]
        return self.start("worker", self.address, *options, "--local-directory", str(self.folder), **environment)

    def close(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait(timeout=60)


@pytest.fixture
def machines(tmp_path):
    """A scheduler without workers, to be lost or led astray."""
    started = Machines(tmp_path)
    yield started
    started.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A scheduler with one worker, for all tests that leave it as it is."""
    started = Machines(tmp_path_factory.mktemp("machines"))
    started.worker("stays")
    yield started
    started.close()


@pytest.fixture(scope="module")
def drug():
    return simulate(DRUG, POLICIES, **SETTINGS)


@pytest.fixture(scope="module")
def summary():
    return simulate(DRUG, POLICIES, **SETTINGS, keep="summary")


class Counting(Executor):
    """Another executor, and the trials that it was given."""

    def __init__(self, inner):
        self.inner = inner
        self.trials = 0

    def submit(self, play, /, job, trials):
        self.trials += len(trials)
        return self.inner.submit(play, job, trials)


def joined(executor, count):
    """Wait for workers to join."""
    executor._client.wait_for_workers(count, timeout=PATIENCE)


def test_two_workers_give_the_bits_of_one_thread_though_one_of_them_is_killed(running, drug):
    doomed = running.worker("doomed")
    with dask_cluster(running.address) as cluster:
        joined(cluster.executor, 2)
        client = cluster.executor._client
        address = {info["name"]: where for where, info in client.scheduler_info()["workers"].items()}
        lost = []

        def kill_once_both_are_at_work(step):
            if step.done == 0 or lost:
                return
            at_work = client.processing()
            if all(at_work.get(address[name]) for name in ("stays", "doomed")):
                lost.extend(at_work[address["doomed"]])
                doomed.send_signal(signal.SIGKILL)
                doomed.wait(timeout=60)

        result = simulate(
            DRUG, POLICIES, **SETTINGS, executor=cluster.executor, workers=2, progress=kill_once_both_are_at_work
        )
        assert lost
        assert len(client.nthreads()) == 1
    assert result.same_trials(drug)
    assert not result.interrupted


def test_a_killed_coordinator_goes_on_where_it_was_and_may_keep_a_summary_instead(running, summary, tmp_path):
    out = tmp_path / "out"
    command = [*COMMAND, "simulate", *FLAGS, "--dask", running.address, "--out", str(out)]
    coordinator = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(list(out.glob("chunks/*/*.chunk"))) >= 3, alive=[coordinator])
    coordinator.send_signal(signal.SIGKILL)
    coordinator.wait(timeout=60)
    names = [path.name[:-6].split("-") for path in out.glob("chunks/*/*.chunk")]
    kept = sum(int(end) - int(first) for first, end in names)
    assert 0 < kept < 2 * TRIALS
    steps = []
    with dask_cluster(running.address) as cluster:
        counting = Counting(cluster.executor)
        result = simulate(
            DRUG, POLICIES, **SETTINGS, keep="summary", executor=counting, resume=out / "chunks", progress=steps.append
        )
    assert result.same_trials(summary)
    assert counting.trials == 2 * TRIALS - kept
    assert steps[0].done == kept * SETTINGS["horizon"]


def test_a_lost_scheduler_is_said_in_one_line_and_finished_chunks_stay(machines, drug, tmp_path):
    machines.worker("one")

    def kill_the_scheduler(step):
        if step.done > 0 and machines.scheduler.poll() is None:
            machines.scheduler.kill()
            machines.scheduler.wait(timeout=60)

    lost = pytest.raises(ExecutorError, match=r"\Athe executor was lost: [^\n]*finished chunks are kept[^\n]*\Z")
    with lost, dask_cluster(machines.address) as cluster:
        simulate(
            DRUG, POLICIES, **SETTINGS, executor=cluster.executor, progress=kill_the_scheduler,
            resume=tmp_path / "chunks",
        )  # fmt: skip
    assert list(tmp_path.glob("chunks/*/*.chunk"))
    assert simulate(DRUG, POLICIES, **SETTINGS, resume=tmp_path / "chunks").same_trials(drug)


def test_classes_of_a_script_are_compiled_on_the_workers(running, tmp_path):
    play_own_classes(tmp_path, running.address)


# At the door.


@pytest.fixture
def refused(monkeypatch, capsys):
    """What a command says that is given in this process, and refused."""

    def give(*words):
        monkeypatch.setattr(sys, "argv", ["safebandit", *words])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert (left.value.code, said.out) == (2, "")
        assert len(said.err.splitlines()) == 1, said.err
        assert said.err.startswith("ExecutorError: ")
        return said.err

    return give


@pytest.mark.parametrize("command", ["simulate", "paper", "arena"])
def test_an_address_that_is_none(refused, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = FLAGS if command == "simulate" else []
    assert 'an address such as tcp://10.0.0.5:8786, got "nowhere"' in refused(command, *given, "--dask", "nowhere")


def test_an_address_where_nobody_answers(monkeypatch):
    monkeypatch.setattr("safebandit.simulation.cluster.CONNECT_SECONDS", 1)
    with pytest.raises(ExecutorError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 "):
        dask_cluster("tcp://127.0.0.1:9").__enter__()


def test_a_scheduler_has_its_own_workers(refused):
    assert 'workers goes with "local", got 3' in refused(
        "simulate", *FLAGS, "--dask", "tcp://127.0.0.1:9", "--workers", "3"
    )


def test_a_scheduler_without_workers(machines, monkeypatch):
    monkeypatch.setattr("safebandit.simulation.cluster.CONNECT_SECONDS", 2)
    with pytest.raises(ExecutorError, match=f"{machines.address} has had no worker for 2 s; start some"):
        dask_cluster(machines.address).__enter__()


def test_workers_with_another_safebandit_or_none(machines, refused, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(PACKAGE, other / "safebandit", ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "safebandit" / "core" / "bernoulli.py").open("a") as file:
        file.write("# edited\n")
    worker = machines.worker("other", PYTHONPATH=str(other))
    message = refused("simulate", *FLAGS, "--dask", machines.address)
    assert "has not the safebandit, NumPy and Numba that are here" in message
    worker.kill()
    worker.wait(timeout=60)
    none = tmp_path / "none" / "safebandit"
    none.mkdir(parents=True)
    (none / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'safebandit'\")\n")
    machines.worker("none", PYTHONPATH=str(none.parent))
    message = refused("simulate", *FLAGS, "--dask", machines.address)
    assert "No module named 'safebandit'" in message


def test_without_dask_the_remedy_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ExecutorError, match=r"Dask is not installed; pip install 'safebandit\[dask\]'"):
        dask_cluster("local").__enter__()


# Processes of this machine.


def test_local_processes_and_ctrl_c_to_all_of_them(summary, tmp_path):
    out = tmp_path / "out"
    command = [*COMMAND, "simulate", *FLAGS, "--keep", "summary", "--dask", "local", "--out", str(out)]
    run = subprocess.Popen(
        [*command, "--workers", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # Tests in the background of a script are deaf to Ctrl-C; what they start must not be.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    wait_until(lambda: len(list(out.glob("chunks/*/*.chunk"))) >= 3, alive=[run])
    # As a terminal does: to the command and to its workers.
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == 130, said
    assert said.splitlines()[-1].endswith(
        f"finished chunks are in {out / 'chunks'}, and the same command goes on from them"
    )
    assert "Traceback" not in said
    done = subprocess.run([*command, "--workers", "1"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert Result.load(out / "result.parquet").same_trials(summary)
    assert not (out / "chunks").exists()
