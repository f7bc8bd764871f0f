"""Executors and kept chunks: the same bits wherever trials are played, and nothing is played twice."""

import fcntl
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safebandit as sb
from safebandit import Result, Study, extend, instance_by_name, rerun, simulate
from safebandit import execution as module
from safebandit.chunks import Chunk, Clerk, Shelf, clear, gaps
from safebandit.dispatch import cache_folder
from safebandit.errors import ExecutorError, SimulationError
from safebandit.keeping import TrialKeeper
from safebandit.kernel import Trials
from safebandit.paper import runs

DRUG = instance_by_name("drug-trial")
POLICIES = ["docb", "tsbu"]
SETTINGS = {"horizon": 1_000, "trials": 24, "seed": 5}


def refused(text, kind=ExecutorError):
    return pytest.raises(kind, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


class AtOnce(Executor):
    """Plays in this thread, as tasks come, after a journey through pickle; notes which trials of which policy."""

    def __init__(self):
        self.played = []

    def submit(self, play, /, job, trials):
        self.played += [(job.label, trial) for trial in trials]
        future = Future()
        future.set_result(pickle.loads(pickle.dumps(play(*pickle.loads(pickle.dumps((job, trials)))))))
        return future


@pytest.fixture(scope="module")
def drug():
    return simulate(DRUG, POLICIES, **SETTINGS, workers=1)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROUNDS", 4 * SETTINGS["horizon"])
    monkeypatch.setattr(module, "LONGER_ON_EXECUTOR", 1)


def all_trials(labels, trials):
    return sorted((label, trial) for label in labels for trial in trials)


# Executors.


def test_threads_processes_and_pickles_give_the_same_bits(drug):
    with ThreadPoolExecutor(3) as pool:
        assert simulate(DRUG, POLICIES, **SETTINGS, executor=pool).same_trials(drug)
        # The pool is not ours: it goes on.
        assert pool.submit(int, "7").result() == 7
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert simulate(DRUG, POLICIES, **SETTINGS, executor=pool, workers=2).same_trials(drug)
    executor = AtOnce()
    assert simulate(DRUG, POLICIES, **SETTINGS, executor=executor).same_trials(drug)
    assert sorted(executor.played) == all_trials(POLICIES, range(24))


def test_all_that_plays_takes_an_executor(drug, tmp_path, monkeypatch):
    part = simulate(DRUG, POLICIES, **{**SETTINGS, "trials": 9})
    executor = AtOnce()
    assert extend(part, trials=24, executor=executor).same_trials(drug)
    assert sorted(executor.played) == all_trials(POLICIES, range(9, 24))
    assert rerun(drug, executor=executor).same_trials(drug)
    study = Study.from_dict({"instances": ["drug-trial"], "policies": POLICIES, "alphas": [0.21, 0.19], **SETTINGS})
    assert study.run(executor=executor)[0].same_trials(drug)
    small = runs.Run("small", "drug-trial", tuple(POLICIES), 100, 10)
    monkeypatch.setitem(runs.RUNS, "small", small)
    before = len(executor.played)
    runs.play(["small"], folder=tmp_path, seed=1, executor=executor)
    assert len(executor.played) == before + 20
    from safebandit.arena import run_arena

    arena = {"instances": ["dominated-two"], "policies": ["docb"], "horizon": 200, "trials": 5}
    there = run_arena(**arena, executor=executor, out=tmp_path / "arena")
    assert len(executor.played) == before + 20 + 2 * 5
    assert there.to_dict() == run_arena(**arena).to_dict()
    assert not list(tmp_path.rglob("*chunk*"))


def test_chunks_on_an_executor_are_neither_too_long_nor_too_short():
    for horizon in (1, 10, 1_000, 50_000, 10**7):
        for trials in (1, 100, 10_000, 10**6):
            for workers in (1, 64, 10_000):
                size = module._chunk_trials(trials, horizon, workers, module.LONGER_ON_EXECUTOR)
                rounds = size * horizon
                assert size == 1 or rounds <= 10 * module.CHUNK_ROUNDS
                assert size <= 10 * module.MAX_CHUNK_TRIALS
                assert size >= module.MAX_CHUNK_TRIALS or rounds > module.CHUNK_ROUNDS - horizon
                local = module._chunk_trials(trials, horizon, workers, 1)
                assert local == 1 or local * horizon <= module.CHUNK_ROUNDS
                assert local * workers * module.CHUNKS_PER_WORKER < trials + workers * module.CHUNKS_PER_WORKER


def test_what_is_no_executor_is_refused():
    with refused("executor must be one of concurrent.futures, got str"):
        simulate(DRUG, "docb", **SETTINGS, executor="tcp://127.0.0.1:8786")
    with refused("workers must be at least 1", SimulationError):
        simulate(DRUG, "docb", **SETTINGS, executor=AtOnce(), workers=0)


def test_an_executor_that_dies_is_said_in_one_line():
    dying = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=os._exit, initargs=(1,))
    with dying as pool, refused("the executor was lost: BrokenProcessPool"):
        simulate(DRUG, "docb", **SETTINGS, executor=pool)


def test_a_worker_with_other_sources_plays_nothing():
    job = module._job("docb", "docb", simulate(DRUG, "docb", **SETTINGS).specification, np.zeros(1, np.int64))
    assert module.play_chunk(job, range(2)).end == 2
    with refused("a worker has other sources of safebandit"):
        module.play_chunk(job._replace(sources="another"), range(2))


def test_an_error_of_a_chunk_is_raised_as_it_is(monkeypatch):
    def broken(job, trials):
        raise ZeroDivisionError("in a formula")

    monkeypatch.setattr(module, "play_chunk", broken)
    with pytest.raises(ZeroDivisionError, match="in a formula"), ThreadPoolExecutor(1) as pool:
        simulate(DRUG, "docb", **SETTINGS, executor=pool)


def test_ctrl_c_on_an_executor_keeps_the_trials_that_every_policy_finished(drug, small_chunks, tmp_path, monkeypatch):
    may_go_on = threading.Event()
    play_chunk = module.play_chunk

    def hold_back_later_chunks(job, trials):
        if trials.start >= 8:
            may_go_on.wait(timeout=60)
        return play_chunk(job, trials)

    def press_ctrl_c(step):
        if step.done == 2 * 8 * 1_000:
            may_go_on.set()
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "play_chunk", hold_back_later_chunks)
    with ThreadPoolExecutor(1) as pool:
        part = simulate(
            DRUG, POLICIES, **SETTINGS, executor=pool, workers=1, progress=press_ctrl_c, resume=tmp_path
        )  # fmt: skip
    assert part.interrupted
    assert part.same_trials(simulate(DRUG, POLICIES, **{**SETTINGS, "trials": 8}))
    monkeypatch.setattr(module, "play_chunk", play_chunk)
    assert played(tmp_path, drug) == all_trials(POLICIES, range(8, 24))


def test_one_process_compiles_at_a_time(monkeypatch):
    job = module._job("docb", "docb", simulate(DRUG, "docb", **SETTINGS).specification, np.zeros(1, np.int64))

    def is_free():
        with (cache_folder() / "lock").open("a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    seen = []
    monkeypatch.setattr(module, "run_chunk", lambda job, trials: seen.append((len(trials), is_free())))
    monkeypatch.setattr(module, "_READY", set())
    module.make_ready(job)
    module.make_ready(job)
    assert seen == [(0, False)]
    assert is_free()


# A class of a user's script, which other processes cannot import.

# Its formulas are Hoeffding's: what they give is known.
NOTEBOOK = """
import math
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple
import safebandit as sb

class Mine(NamedTuple):
    widest: float = 1.0

@sb.upper.register(Mine)
def mine(index, seen, t):
    return min(1.0, seen.mean + index.widest * math.sqrt(math.log(t) / (2.0 * seen.plays))) if seen.plays else 1.0

if __name__ == "__main__":
    settings = dict(horizon=300, trials=8, seed=1)
    drug = sb.instance_by_name("drug-trial")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        policy = {"mine": sb.DoublyOptimistic(Mine(), sb.HoeffdingLower())}
        there = sb.simulate(drug, policy, **settings, executor=pool, workers=1)
    here = sb.simulate(drug, {"mine": sb.DoublyOptimistic(sb.HoeffdingUpper(), sb.HoeffdingLower())}, **settings)
    print(there.same_trials(here))
"""


def test_a_class_of_a_script_is_played_in_other_processes(tmp_path):
    script = tmp_path / "own.py"
    script.write_text(NOTEBOOK)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr[-2_000:]


# Kept chunks.


def fill(tmp_path, **changes):
    return simulate(DRUG, POLICIES, **{**SETTINGS, **changes}, resume=tmp_path, workers=1)


def played(tmp_path, drug=None, policies=POLICIES, **changes):
    """The trials that a run with kept chunks plays."""
    executor = AtOnce()
    result = simulate(DRUG, policies, **{**SETTINGS, **changes}, resume=tmp_path, executor=executor)
    if drug is not None:
        assert result.same_trials(drug)
    return sorted(executor.played)


@pytest.mark.parametrize("size", [1, 5, 7, 24])
def test_nothing_is_played_twice_whatever_the_size_of_chunks(drug, tmp_path, monkeypatch, size):
    monkeypatch.setattr(module, "CHUNKS_PER_WORKER", 1)
    monkeypatch.setattr(module, "MAX_CHUNK_TRIALS", size)
    fill(tmp_path, trials=10)
    monkeypatch.setattr(module, "MAX_CHUNK_TRIALS", 4)
    assert played(tmp_path, drug) == all_trials(POLICIES, range(10, 24))
    assert played(tmp_path, drug) == []


def test_kept_chunks_serve_fewer_trials_more_policies_and_extensions(drug, tmp_path):
    fill(tmp_path)
    few = simulate(DRUG, POLICIES, **{**SETTINGS, "trials": 5})
    assert played(tmp_path, few, trials=5) == []
    assert played(tmp_path, policies=["tsbu", "topsi"]) == all_trials(["topsi"], range(24))
    assert extend(few, trials=24, resume=tmp_path, executor=(executor := AtOnce())).same_trials(drug)
    assert executor.played == []


@pytest.mark.parametrize(
    "changes",
    [{"seed": 6}, {"horizon": 999}, {"checkpoints": "linear"}, {"policies": ["docb:when_none=hold"]}],
    ids=lambda changes: next(iter(changes)),
)
def test_other_settings_share_nothing(tmp_path, changes):
    fill(tmp_path)
    labels = changes.get("policies", POLICIES)
    assert played(tmp_path, **changes) == all_trials(labels, range(24))


def test_another_problem_or_other_sources_share_nothing(tmp_path, monkeypatch):
    fill(tmp_path)
    executor = AtOnce()
    simulate(DRUG.with_alpha(0.2), "docb", **SETTINGS, resume=tmp_path, executor=executor)
    assert len(executor.played) == 24
    monkeypatch.setattr("safebandit.chunks.sources", lambda: "edited")
    assert played(tmp_path) == all_trials(POLICIES, range(24))


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-7], lambda data: b"", lambda data: data[:99] + b"?" + data[100:]]
)
def test_a_damaged_chunk_is_played_again(drug, tmp_path, small_chunks, damage):
    fill(tmp_path)
    path = sorted(tmp_path.glob("*/4-8.chunk"))[0]
    path.write_bytes(damage(path.read_bytes()))
    (path.parent / "0-notes.chunk").write_text("not ours")
    assert [trial for _, trial in played(tmp_path, drug)] == [4, 5, 6, 7]
    assert played(tmp_path, drug) == []


class Greedy(NamedTuple):
    """The total reward."""


@sb.upper.register(Greedy)
def greedy(index, seen):
    return seen.total


def test_a_policy_of_a_users_class_is_not_kept(tmp_path):
    # Its formula may have been edited since, and nobody could tell.
    policies = {"mine": sb.DoublyOptimistic(Greedy(), sb.KLLower()), "docb": "docb"}
    simulate(DRUG, policies, **SETTINGS, resume=tmp_path)
    with ThreadPoolExecutor(1) as pool:
        steps = []
        simulate(DRUG, policies, **SETTINGS, resume=tmp_path, executor=pool, progress=steps.append)
    assert steps[0].done == 24 * 1_000


def test_several_risks_are_kept_too(tmp_path):
    instance = instance_by_name("dose-two-risks")
    whole = simulate(instance, "tsbu", horizon=200, trials=6, resume=tmp_path)
    executor = AtOnce()
    again = simulate(instance, "tsbu", horizon=200, trials=6, resume=tmp_path, executor=executor)
    assert executor.played == []
    assert again.same_trials(whole)
    assert again.seconds == pytest.approx(whole.seconds)


def test_clearing_removes_chunks_and_nothing_else(tmp_path):
    fill(tmp_path / "chunks")
    (tmp_path / "chunks" / "mine").mkdir()
    (tmp_path / "chunks" / "mine" / "notes.txt").write_text("stay")
    clear(tmp_path / "chunks")
    assert [path.name for path in (tmp_path / "chunks").rglob("*.*")] == ["notes.txt"]
    fill(tmp_path / "more")
    clear(tmp_path / "more")
    assert not (tmp_path / "more").exists()
    clear(tmp_path / "never")


def chunk_of(first, end):
    numbers = np.arange(first, end)
    table = numbers[:, None]
    return Chunk(first, Trials(table * 1.0, table, table, table * 1.0, table * 1.0, numbers, numbers), end - first)


RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=6)


@settings(max_examples=60)
@given(RANGES, RANGES, st.integers(0, 20), st.integers(1, 20), st.randoms(use_true_random=False))
def test_any_kept_ranges_serve_each_trial_once_and_in_order(
    tmp_path_factory, drug, first, second, start, count, random
):
    wanted = range(start, start + count)
    found, missing = {}, []
    for label, ranges in (("first", first), ("second", second)):
        shelf = Shelf(tmp_path_factory.mktemp("shelf"), drug.specification, sb.docb())
        for begin, size in ranges:
            shelf.keep(chunk_of(begin, begin + size))
        found[label] = shelf.find(wanted)
        there = {trial for begin, size in ranges for trial in range(begin, begin + size)}
        absent = gaps(wanted, found[label])
        assert [trial for gap in absent for trial in gap] == [trial for trial in wanted if trial not in there]
        missing += [(label, gap) for gap in absent]
    keeper = TrialKeeper()
    clerk = Clerk(keeper, start, found)
    clerk.catch_up()
    random.shuffle(missing)
    for label, gap in missing:
        clerk.take(label, chunk_of(gap.start, gap.stop))
    clerk.close()
    assert clerk.waiting == 0
    for label, trials in keeper.kept().items():
        assert trials.held.tolist() == list(wanted)
        assert trials.regret[:, 0].tolist() == list(wanted)
        assert clerk.seconds[label] == pytest.approx(count)


# Summaries.


@pytest.fixture(scope="module")
def summary():
    return simulate(DRUG, POLICIES, **SETTINGS, workers=1, keep="summary")


def test_summaries_on_executors_have_the_same_bits(summary, small_chunks):
    executor = AtOnce()
    assert simulate(DRUG, POLICIES, **SETTINGS, keep="summary", executor=executor, workers=1).same_trials(summary)
    with ThreadPoolExecutor(3) as pool:
        assert simulate(DRUG, POLICIES, **SETTINGS, keep="summary", executor=pool, workers=3).same_trials(summary)
        part = simulate(DRUG, POLICIES, **{**SETTINGS, "trials": 7}, keep="summary", executor=pool)
        assert extend(part, trials=24, executor=pool).same_trials(summary)
        assert rerun(summary, executor=pool).same_trials(summary)


@pytest.mark.parametrize("size", [1, 5, 24])
def test_a_summary_takes_up_chunks_that_end_elsewhere_for_every_policy(summary, drug, tmp_path, monkeypatch, size):
    monkeypatch.setattr(module, "CHUNKS_PER_WORKER", 1)
    for label, trials, kept_size in (("docb", 10, 7), ("tsbu", 17, 4)):
        monkeypatch.setattr(module, "MAX_CHUNK_TRIALS", kept_size)
        simulate(DRUG, label, **{**SETTINGS, "trials": trials}, resume=tmp_path, workers=1)
    monkeypatch.setattr(module, "MAX_CHUNK_TRIALS", size)
    executor = AtOnce()
    resumed = simulate(DRUG, POLICIES, **SETTINGS, keep="summary", resume=tmp_path, executor=executor)
    assert resumed.same_trials(summary)
    assert sorted(executor.played) == sorted(all_trials(["docb"], range(10, 24)) + all_trials(["tsbu"], range(17, 24)))
    # What was kept of a summary's trials serves those who want every trial, and the other way round.
    assert played(tmp_path, drug) == played(tmp_path, summary, keep="summary") == []


def test_summaries_are_extended_rerun_and_studied_from_kept_chunks(summary, tmp_path):
    fill(tmp_path, keep="summary")
    executor = AtOnce()
    means = {"executor": executor, "resume": tmp_path}
    part = simulate(DRUG, POLICIES, **{**SETTINGS, "trials": 5}, keep="summary")
    assert extend(part, trials=24, **means).same_trials(summary)
    assert rerun(summary, **means).same_trials(summary)
    study = Study.from_dict({"instances": ["drug-trial"], "policies": POLICIES, "keep": "summary", **SETTINGS})
    assert study.run(**means)[0].same_trials(summary)
    assert executor.played == []


def test_ctrl_c_keeps_the_summary_of_what_was_finished(summary, small_chunks, tmp_path):
    def press_ctrl_c(step):
        if step.done == 2 * 8 * 1_000:
            raise KeyboardInterrupt

    executor = AtOnce()
    settings = {**SETTINGS, "keep": "summary", "resume": tmp_path, "executor": executor, "workers": 1}
    part = simulate(DRUG, POLICIES, **settings, progress=press_ctrl_c)
    assert part.interrupted
    assert part.same_trials(simulate(DRUG, POLICIES, **{**SETTINGS, "trials": 8}, keep="summary"))
    assert played(tmp_path, summary, keep="summary") == all_trials(POLICIES, range(8, 24))
    assert extend(part, trials=24, resume=tmp_path).same_trials(summary)


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


@pytest.mark.parametrize("keep", ["trials", "summary"])
@pytest.mark.parametrize("workers", [1, 4])
def test_the_more_workers_the_more_chunks_wait_for_a_late_one(small_chunks, monkeypatch, workers, keep):
    monkeypatch.setattr(module, "CHUNK_ROUNDS", 100)
    executor, at_the_time = FirstIsLate(), []
    most = 1 + workers * module.CHUNKS_AHEAD

    def look(step):
        if step.done == (most - 1) * 100:
            at_the_time.append(executor.handed_out)
            executor.end_first()

    settings = {"horizon": 100, "trials": 50, "keep": keep}
    result = simulate(DRUG, "docb", **settings, executor=executor, workers=workers, progress=look)
    assert at_the_time == [most]
    assert executor.handed_out == 50
    assert result.same_trials(simulate(DRUG, "docb", **settings))


def test_kept_chunks_take_no_room_from_those_that_are_played(small_chunks, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROUNDS", 100)
    settings = {"horizon": 100, "trials": 50, "keep": "summary", "workers": 1}
    others = {f"docb {i}": sb.docb(when_none="hold") for i in range(5)}
    simulate(DRUG, others, **settings, resume=tmp_path)
    executor, at_the_time = FirstIsLate(), []

    def look(step):
        if step.done == (5 * 50 + module.CHUNKS_AHEAD) * 100 and not at_the_time:
            at_the_time.append(executor.handed_out)
            executor.end_first()

    policies = {**others, "docb": "docb"}
    result = simulate(DRUG, policies, **settings, resume=tmp_path, executor=executor, progress=look)
    assert at_the_time
    assert at_the_time[0] > module.CHUNKS_AHEAD
    assert executor.handed_out == 50
    assert result.same_trials(simulate(DRUG, policies, **settings))


# A killed process.

COMMAND = [sys.executable, "-c", "from safebandit.cli import main; main()"]


def test_a_killed_command_goes_on_where_it_was(tmp_path):
    out = tmp_path / "out"
    size = {"horizon": 20_000, "trials": 300}
    words = ["--policy", "docb", "--horizon", "20000", "--trials", "300", "--seed", "5", "--workers", "1"]
    command = [*COMMAND, "simulate", "--instance", "drug-trial", *words, "--out", str(out)]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(list(out.glob("chunks/*/*.chunk"))) >= 3, run)
    run.send_signal(signal.SIGKILL)
    run.wait(timeout=60)
    files = [path.name[:-6].split("-") for path in out.glob("chunks/*/*.chunk")]
    kept = sum(int(end) - int(first) for first, end in files)
    assert 0 < kept < 300
    assert not (out / "result.parquet").exists()
    executor = AtOnce()
    whole = simulate(DRUG, "docb", **size, seed=5, resume=out / "chunks", executor=executor)
    assert len(executor.played) == 300 - kept
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    # All was there: the first word of progress is the last.
    assert done.stderr.splitlines()[0].startswith("100 % of")
    assert not (out / "chunks").exists()
    assert Result.load(out / "result.parquet").same_trials(whole)
    assert whole.same_trials(simulate(DRUG, "docb", **size, seed=5))


def wait_until(true, process, seconds=200):
    end = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, "ended too early"
        assert time.monotonic() < end, "took too long"
        time.sleep(0.01)
