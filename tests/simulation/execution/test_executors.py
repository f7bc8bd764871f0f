"""Executors: the same bits wherever trials are played, whoever fails there, and no more in memory than need be."""

import os
import re
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from safebandit import Study, extend, rerun, simulate
from safebandit.errors import ExecutorError, SimulationError
from safebandit.simulation import execution as module
from safebandit.studies.paper import runs

from .helpers import DRUG, POLICIES, SETTINGS, AtOnce, FirstIsLate, all_trials, play_own_classes, played


def refused(text, kind=ExecutorError):
    return pytest.raises(kind, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


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
    small = runs.PaperRun("small", "drug-trial", tuple(POLICIES), 100, 10)
    monkeypatch.setitem(runs.RUNS, "small", small)
    before = len(executor.played)
    runs.play({"small": 10}, folder=tmp_path, seed=1, executor=executor)
    assert len(executor.played) == before + 20
    from safebandit.studies.arena import run_arena

    arena = {"instances": ["dominated-two"], "policies": ["docb"], "units": 200, "trials": 5}
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


def test_a_process_compiles_a_policy_and_a_law_once(monkeypatch):
    specification = simulate(DRUG, "docb", **SETTINGS).specification
    seen = []
    monkeypatch.setattr(module, "run_chunk", lambda job, trials: seen.append(job.label))
    monkeypatch.setattr(module, "_READY", set())
    for policy in ("docb", "docb:level=theory", "klbayes"):
        module.make_ready(module._job(policy, policy, specification, np.zeros(1, np.int64)))
    assert seen == ["docb", "klbayes"]


def test_classes_of_a_script_are_played_in_other_processes(tmp_path):
    play_own_classes(tmp_path)


def test_summaries_on_executors_have_the_same_bits(summary, small_chunks):
    executor = AtOnce()
    assert simulate(DRUG, POLICIES, **SETTINGS, keep="summary", executor=executor, workers=1).same_trials(summary)
    with ThreadPoolExecutor(3) as pool:
        assert simulate(DRUG, POLICIES, **SETTINGS, keep="summary", executor=pool, workers=3).same_trials(summary)
        part = simulate(DRUG, POLICIES, **{**SETTINGS, "trials": 7}, keep="summary", executor=pool)
        assert extend(part, trials=24, executor=pool).same_trials(summary)
        assert rerun(summary, executor=pool).same_trials(summary)


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
