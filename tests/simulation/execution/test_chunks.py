"""Chunks kept on disk: nothing is played twice, whatever was killed, cut otherwise or damaged."""

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import safebandit as sb
from safebandit import Result, Study, extend, instance_by_name, rerun, simulate
from safebandit.core.kernels import Trials
from safebandit.simulation import execution as module
from safebandit.simulation.chunks import Assembler, Chunk, ChunkFolder, clear, gaps
from safebandit.simulation.collecting import TrialCollector

from .helpers import COMMAND, DRUG, POLICIES, SETTINGS, AtOnce, FirstIsLate, all_trials, fill, played, wait_until


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


def test_another_problem_or_other_sources_share_nothing(tmp_path, edited):
    fill(tmp_path)
    executor = AtOnce()
    simulate(DRUG.with_alpha(0.2), "docb", **SETTINGS, resume=tmp_path, executor=executor)
    assert len(executor.played) == 24
    edited()
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
        shelf = ChunkFolder(tmp_path_factory.mktemp("shelf"), drug.specification, sb.docb())
        for begin, size in ranges:
            shelf.save(chunk_of(begin, begin + size))
        found[label] = shelf.find(wanted)
        there = {trial for begin, size in ranges for trial in range(begin, begin + size)}
        absent = gaps(wanted, found[label])
        assert [trial for gap in absent for trial in gap] == [trial for trial in wanted if trial not in there]
        missing += [(label, gap) for gap in absent]
    collector = TrialCollector()
    assembler = Assembler(collector, start, found)
    assembler.catch_up()
    random.shuffle(missing)
    for label, gap in missing:
        assembler.take(label, chunk_of(gap.start, gap.stop))
    assembler.close()
    assert assembler.waiting == 0
    for label, trials in collector.collected().items():
        assert trials.held.tolist() == list(wanted)
        assert trials.regret[:, 0].tolist() == list(wanted)
        assert assembler.seconds[label] == pytest.approx(count)


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


def test_a_killed_command_goes_on_where_it_was(tmp_path):
    out = tmp_path / "out"
    size = {"horizon": 20_000, "trials": 300}
    words = ["--policy", "docb", "--horizon", "20000", "--trials", "300", "--seed", "5", "--workers", "1"]
    command = [*COMMAND, "simulate", "--instance", "drug-trial", *words, "--out", str(out)]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(list(out.glob("chunks/*/*.chunk"))) >= 3, alive=[run])
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
