"""Chunks of trials, played on threads or on an executor: the same bits however they are cut and wherever they run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np

from safebandit.arms import NOTES, Counts, new_arms
from safebandit.chunks import Chunk, Finished, Shelf
from safebandit.dispatch import Formula, compiling_alone, formulas_to_send, take_formulas
from safebandit.errors import ExecutorError
from safebandit.instances import Instance
from safebandit.kernel import Costs, empty_trials, is_ours, kernels_for
from safebandit.policies import prepare, widths
from safebandit.results import Result, Specification
from safebandit.sources import sources
from safebandit.streams import STATE, trial_streams

# A chunk is about a tenth of a second: progress moves, Ctrl-C is soon heard, and no core waits long for another.
CHUNK_ROUNDS = 500_000
MAX_CHUNK_TRIALS = 1_000
CHUNKS_PER_WORKER = 4
# An executor's chunks may be ten times as long, a second: a task costs a cluster about a millisecond.
LONGER_ON_EXECUTOR = 10
ASSUMED_WORKERS = 64

Progress: TypeAlias = Callable[["Step"], None]


class Step(NamedTuple):
    """What a progress display is told: rounds done of how many, and what is going on."""

    done: int
    total: int
    what: str


class Job(NamedTuple):
    """All that the trials of one policy share; it can be sent to another process."""

    label: str
    policy: Any
    law: Any
    limits: tuple[float, ...]
    costs: Costs
    checkpoints: Counts
    seed: int
    stop: Counts
    sources: str
    formulas: Sequence[Formula]


class Means(NamedTuple):
    """What a run is carried out with: threads or an executor, a folder for finished chunks, who is told of progress."""

    workers: int
    executor: Executor | None = None
    resume: str | Path | None = None
    progress: Progress | None = None


def ready_for(policy: Any, instance: Instance) -> Any:
    """A policy as the simulator plays it on an instance; an error says why it cannot."""
    return prepare(policy, instance.arms, "least_risky", limits=instance.limits, risks=instance.nu)


def run(specification: Specification, policies: Mapping[str, Any], trials: range, means: Means) -> Result:
    """All trials of all policies, chunk by chunk; after Ctrl-C, those before the first that is unfinished."""
    stop = np.zeros(1, np.int64)
    jobs = [_job(label, policy, specification, stop) for label, policy in policies.items()]
    finished = [Finished(trials, _shelf(job, specification, means.resume)) for job in jobs]
    interrupted = False
    try:
        if means.executor is None:
            _run_on_threads(jobs, finished, means)
        else:
            _run_on_executor(means.executor, jobs, finished, means)
    except KeyboardInterrupt:
        interrupted = True
    whole = min(part.whole() for part in finished)
    if whole == 0:
        raise KeyboardInterrupt("interrupted before any trial was finished under every policy")
    taken = {job.label: part.first(whole) for job, part in zip(jobs, finished, strict=True)}
    by_policy = {label: kept for label, (kept, _) in taken.items()}
    return Result(specification, by_policy, {label: seconds for label, (_, seconds) in taken.items()}, interrupted)


def _job(label: str, policy: Any, specification: Specification, stop: Counts) -> Job:
    instance = specification.instance
    ready = ready_for(policy, instance)
    # A round without a play forgoes the best safe arm's reward.
    costs = Costs(instance.costs, np.asarray(instance.unsafe_by_risk.any(axis=0)), instance.best_mean)
    return Job(
        label, ready, instance.law, instance.limits, costs, specification.checkpoints, specification.seed, stop,
        sources(), [formula for kind in _kinds(ready) for formula in formulas_to_send(kind)],
    )  # fmt: skip


def _kinds(value: Any) -> set[type]:
    """The classes that a policy is made of."""
    return {type(value)}.union(*map(_kinds, value)) if hasattr(value, "_fields") else set()


def _shelf(job: Job, specification: Specification, folder: str | Path | None) -> Shelf | None:
    # A class from outside may have been edited since, and nobody could tell.
    return Shelf(folder, specification, job.policy) if folder is not None and is_ours(job.policy) else None


def _run_on_threads(jobs: Sequence[Job], finished: Sequence[Finished], means: Means) -> None:
    tracker = _Tracker(jobs, finished, means.progress)
    pool = ThreadPoolExecutor(means.workers)
    try:
        for job in jobs:
            tracker.tell(f"preparing {job.label}")
            make_ready(job)
        _collect(pool, run_chunk, _plan(jobs, finished, means.workers, longer=1), tracker)
    finally:
        jobs[0].stop[0] = 1
        pool.shutdown(wait=True, cancel_futures=True)


def _run_on_executor(executor: Executor, jobs: Sequence[Job], finished: Sequence[Finished], means: Means) -> None:
    """The executor is another's: what is pending is cancelled, and it goes on."""
    tracker = _Tracker(jobs, finished, means.progress)
    tracker.tell("sending chunks")
    try:
        _collect(executor, play_chunk, _plan(jobs, finished, means.workers, longer=LONGER_ON_EXECUTOR), tracker)
    except (BrokenExecutor, CancelledError) as problem:
        raise ExecutorError(_lost(problem, means)) from problem
    except ImportError as problem:
        raise ExecutorError(f"a worker lacks a module ({problem}); install the same packages there") from problem
    except Exception as problem:
        if type(problem).__module__.partition(".")[0] == "distributed":
            raise ExecutorError(_lost(problem, means)) from problem
        raise
    finally:
        # Heard by threads only; other processes have a copy, and end the chunk that they are at.
        jobs[0].stop[0] = 1


def _lost(problem: BaseException, means: Means) -> str:
    remedy = "name a folder (resume) to keep finished chunks" if means.resume is None else "finished chunks are kept"
    reason = " ".join(str(problem).split()) or "its tasks were cancelled"
    return f"the executor was lost: {type(problem).__name__}, {reason}; {remedy}, and run it again"


class _Tracker:
    """What is finished of each policy, and who is told."""

    def __init__(self, jobs: Sequence[Job], finished: Sequence[Finished], progress: Progress | None) -> None:
        self.horizon = int(jobs[0].checkpoints[-1])
        self.labels = [job.label for job in jobs]
        self.finished = finished
        self.progress = progress
        self.trials = sum(part.count for part in finished)

    def add(self, number: int, chunk: Chunk) -> None:
        """A chunk of one policy has ended."""
        self.finished[number].add(chunk)
        self.trials += chunk.end - chunk.first
        self.tell(self.labels[number])

    def tell(self, what: str) -> None:
        total = sum(len(part.wanted) for part in self.finished)
        if self.progress is not None:
            self.progress(Step(self.trials * self.horizon, total * self.horizon, what))


class _Task(NamedTuple):
    number: int
    job: Job
    trials: range


def _plan(jobs: Sequence[Job], finished: Sequence[Finished], workers: int, *, longer: int) -> list[_Task]:
    """What is missing, in chunks; the first trials of every policy come first."""
    tasks = []
    for number, (job, part) in enumerate(zip(jobs, finished, strict=True)):
        size = _chunk_trials(sum(map(len, part.gaps())), int(job.checkpoints[-1]), workers, longer)
        for gap in part.gaps():
            tasks += [_Task(number, job, gap[i : i + size]) for i in range(0, len(gap), size)]
    return sorted(tasks, key=lambda task: (task.trials.start, task.number))


def _chunk_trials(trials: int, horizon: int, workers: int, longer: int) -> int:
    """How many trials a chunk has: several chunks per worker, none too long, and on an executor none too short."""
    short = min(MAX_CHUNK_TRIALS, CHUNK_ROUNDS // horizon)
    share = -(-trials // (CHUNKS_PER_WORKER * workers))
    least = 1 if longer == 1 else short
    return max(1, least, min(longer * MAX_CHUNK_TRIALS, longer * CHUNK_ROUNDS // horizon, share))


def _collect(pool: Executor, play: Callable[[Job, range], Chunk], tasks: Sequence[_Task], tracker: _Tracker) -> None:
    waiting: dict[Future[Chunk], int] = {}
    try:
        for task in tasks:
            waiting[pool.submit(play, task.job, task.trials)] = task.number
        for future in as_completed(waiting):
            tracker.add(waiting.pop(future), future.result())
    finally:
        for future in waiting:
            future.cancel()


def play_chunk(job: Job, trials: range) -> Chunk:
    """A chunk as an executor plays it, perhaps in another process: by the same sources or not at all."""
    if sources() != job.sources:
        raise ExecutorError(
            f"a worker has other sources of safebandit, or another NumPy or Numba ({sources()}, not {job.sources}); "
            "install the same versions there and restart it"
        )
    make_ready(job)
    return run_chunk(job, trials)


# Untyped on purpose: Numba has no hints for it.
_typeof: Any = numba.typeof
_READY: set[Any] = set()
_GETTING_READY = threading.Lock()


def make_ready(job: Job) -> None:
    """Compile for a job, once in a process, and one process of a machine after the other."""
    kind = _typeof(job.policy), _typeof(job.law), len(job.limits)
    if kind in _READY:
        return
    with _GETTING_READY, compiling_alone():
        take_formulas(job.formulas)
        run_chunk(job, range(0))
    _READY.add(kind)


def run_chunk(job: Job, trials: range) -> Chunk:
    """Play some trials of one policy."""
    n, count = len(trials), len(job.costs.regret)
    blank = new_arms(np.zeros(count, np.uint64), widths(job.policy), len(job.limits))
    arms = np.tile(blank, (n, 1))
    streams, outcomes = np.zeros(n, STATE), np.zeros((n, count), STATE)
    for i, trial in enumerate(trials):
        random = trial_streams(job.seed, trial, count)
        streams[i], outcomes[i], arms["key"][i] = random.policy[0], random.arms, random.keys
    out = empty_trials(n, len(job.checkpoints), count, len(job.limits))
    began = time.perf_counter()
    kernels_for(job.policy, job.law).run_trials(
        job.policy, job.law, job.limits, job.costs, job.checkpoints,
        arms, streams, np.zeros(n, NOTES), outcomes, out, job.stop,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    return Chunk(trials.start, out._replace(risk=out.risk[:, 0]) if len(job.limits) == 1 else out, seconds)
