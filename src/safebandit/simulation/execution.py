"""Chunks of trials, played on threads or on an executor: the same bits however they are cut and wherever they run."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np

from safebandit.core.arms import SHARED, Counts, Features, Memory, Records
from safebandit.core.contexts import ContextLaws, context_player
from safebandit.core.dispatch import Formula, formulas_to_send, is_ours, take_formulas
from safebandit.core.kernels import Costs, Trials, empty_trials, memory_for
from safebandit.core.policies import Setup, policy_from_text, prepare, sizes
from safebandit.core.rounds import play_trials, player_for
from safebandit.core.searches import notes_of, search_for
from safebandit.core.searches.interface import as_cells
from safebandit.core.streams import STATE, Streams, trial_streams
from safebandit.errors import ExecutorError
from safebandit.problems import Instance
from safebandit.simulation.chunks import Assembler, Chunk, ChunkFolder, SavedChunk, gaps
from safebandit.simulation.collecting import Collector
from safebandit.simulation.results import Result, Specification
from safebandit.sources import sources
from safebandit.waits import WAITS

# A chunk is about a tenth of a second: progress moves, Ctrl-C is soon heard, and no core waits long for another.
CHUNK_ROUNDS = 500_000
MAX_CHUNK_TRIALS = 1_000
CHUNKS_PER_WORKER = 4
# The numbers that policies keep for themselves in a chunk take at most 64 MB: those of matrices are many.
CHUNK_NUMBERS = 2**23
# How many chunks each worker may be ahead of the first that is not finished: they wait in memory.
CHUNKS_AHEAD = 8
# An executor's chunks may be ten times as long, a second: a task costs a cluster about a millisecond.
LONGER_ON_EXECUTOR = 10
ASSUMED_WORKERS = 64

Progress: TypeAlias = Callable[["Step"], None]


class Step(NamedTuple):
    """What a progress display is told: rounds done of how many, and what is going on."""

    done: int
    total: int
    what: str


def part_of(progress: Progress | None, done: int, total: int, what: str = "") -> Progress | None:
    """Who is told of a part of the work, as progress through the whole: `done` rounds of `total` came before it."""
    if progress is None:
        return None
    name = f"{what}: " if what else ""
    return lambda step: progress(Step(done + step.done, total, f"{name}{step.what}"))


class Job(NamedTuple):
    """All that the trials of one policy share; it can be sent to another process.

    `stop` is one array for all jobs of a run: set in one, it stops all in this process.
    """

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
    features: Features | None = None


class Resources(NamedTuple):
    """What a run is carried out with: threads or an executor, a folder for finished chunks, who is told of progress."""

    workers: int
    executor: Executor | None = None
    resume: str | Path | None = None
    progress: Progress | None = None


def ready_for(policy: Any, instance: Instance, horizon: int) -> Any:
    """A policy as the simulator plays it on an instance for so many rounds; an error says why it cannot."""
    chosen = policy_from_text(policy) if isinstance(policy, str) else policy
    means = instance.nu, horizon, instance.mu
    return prepare(chosen, Setup(instance.arms, instance.limits, "least_risky", *means, instance.features))


def run(
    specification: Specification, policies: Mapping[str, Any], trials: range, resources: Resources, collector: Collector
) -> Result:
    """All trials of all policies, chunk by chunk; after Ctrl-C, those before the first that is unfinished."""
    stop = np.zeros(1, np.int64)
    workloads = [
        _workload(_job(label, policy, specification, stop), specification, trials, resources)
        for label, policy in policies.items()
    ]
    assembler = Assembler(collector, trials.start, {workload.job.label: workload.saved for workload in workloads})
    before, interrupted = collector.trials, False
    try:
        assembler.catch_up()
        if resources.executor is None:
            _run_on_threads(workloads, assembler, resources)
        else:
            _run_on_executor(resources.executor, workloads, assembler, resources)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        assembler.close()
    if collector.trials == before:
        raise KeyboardInterrupt("interrupted before any trial was finished under every policy")
    return Result(specification, collector.collected(), assembler.seconds, interrupted)


def _job(label: str, policy: Any, specification: Specification, stop: Counts) -> Job:
    instance = specification.instance
    ready = ready_for(policy, instance, specification.horizon)
    return Job(
        label, ready, instance.law, instance.limits, _costs(instance), specification.checkpoints, specification.seed,
        stop, sources(), [formula for kind in kinds_of(ready) for formula in formulas_to_send(kind)], instance.features,
    )  # fmt: skip


def _costs(instance: Instance) -> Costs:
    """What plays cost; in contexts, which say that in every round, nothing."""
    if instance.in_contexts:
        return Costs(np.zeros(len(instance.arms)), np.zeros(len(instance.arms), bool), 0.0)
    # A round without a play forgoes the best safe arm's reward.
    return Costs(instance.costs, instance.unsafe, instance.best_mean)


def kinds_of(value: Any) -> set[type]:
    """The classes that a policy or a rule is made of."""
    return {type(value)}.union(*map(kinds_of, value)) if hasattr(value, "_fields") else set()


class _Workload(NamedTuple):
    """What one policy has to play: which trials are missing, and which are saved in a folder, if it has one."""

    job: Job
    folder: ChunkFolder | None
    saved: Sequence[SavedChunk]
    missing: Sequence[range]


def _workload(job: Job, specification: Specification, trials: range, resources: Resources) -> _Workload:
    # A class from outside may have been edited since, and nobody could tell.
    if resources.resume is None or not is_ours(job.policy):
        return _Workload(job, None, [], [trials])
    folder = ChunkFolder(resources.resume, specification, job.policy)
    saved = folder.find(trials)
    return _Workload(job, folder, saved, gaps(trials, saved))


def _run_on_threads(workloads: Sequence[_Workload], assembler: Assembler, resources: Resources) -> None:
    tracker = _Tracker(workloads, resources.progress)
    pool = ThreadPoolExecutor(resources.workers)
    try:
        for workload in workloads:
            tracker.tell(f"preparing {workload.job.label}")
            make_ready(workload.job)
        _collect(pool, run_chunk, _plan(workloads, resources.workers, longer=1), assembler, tracker)
    finally:
        workloads[0].job.stop[0] = 1
        pool.shutdown(wait=True, cancel_futures=True)


def _run_on_executor(
    executor: Executor, workloads: Sequence[_Workload], assembler: Assembler, resources: Resources
) -> None:
    """Play on an executor that someone else owns: pending chunks are cancelled at the end, the executor goes on."""
    tracker = _Tracker(workloads, resources.progress)
    tracker.tell("sending chunks")
    try:
        _collect(
            executor, play_chunk, _plan(workloads, resources.workers, longer=LONGER_ON_EXECUTOR), assembler, tracker
        )
    except (BrokenExecutor, CancelledError) as problem:
        raise ExecutorError(_lost(problem, resources)) from problem
    except ImportError as problem:
        raise ExecutorError(f"a worker lacks a module ({problem}); install the same packages there") from problem
    except Exception as problem:
        if type(problem).__module__.partition(".")[0] == "distributed":
            raise ExecutorError(_lost(problem, resources)) from problem
        raise
    finally:
        # Heard by threads only; other processes have a copy, and end the chunk that they are at.
        workloads[0].job.stop[0] = 1


def _lost(problem: BaseException, resources: Resources) -> str:
    remedy = (
        "name a folder (resume) to keep finished chunks" if resources.resume is None else "finished chunks are kept"
    )
    reason = " ".join(str(problem).split()) or "its tasks were cancelled"
    return f"the executor was lost: {type(problem).__name__}, {reason}; {remedy}, and run it again"


class _Tracker:
    """How many rounds are done, and who is told."""

    def __init__(self, workloads: Sequence[_Workload], progress: Progress | None) -> None:
        self.horizon = int(workloads[0].job.checkpoints[-1])
        self.progress = progress
        self.done = self.horizon * sum(len(chunk.wanted) for workload in workloads for chunk in workload.saved)
        self.total = self.done + self.horizon * sum(len(gap) for workload in workloads for gap in workload.missing)

    def add(self, task: _Task) -> None:
        """Count a chunk that has ended."""
        self.done += len(task.trials) * self.horizon
        self.tell(task.workload.job.label)

    def tell(self, what: str) -> None:
        if self.progress is not None:
            self.progress(Step(self.done, self.total, what))


class _Task(NamedTuple):
    workload: _Workload
    trials: range


class _Plan(NamedTuple):
    """What is to be played, in order, and how many chunks may be played or wait at once."""

    tasks: Sequence[_Task]
    room: int


def _plan(workloads: Sequence[_Workload], workers: int, *, longer: int) -> _Plan:
    """What is missing, in chunks; the first trials of every policy come first."""
    tasks = []
    for workload in workloads:
        size = _chunk_trials(sum(map(len, workload.missing)), int(workload.job.checkpoints[-1]), workers, longer)
        size = min(size, _fitting(workload.job))
        tasks += [_Task(workload, gap[i : i + size]) for gap in workload.missing for i in range(0, len(gap), size)]
    # One for every policy beside: the chunk that all others wait for is always among those handed out.
    return _Plan(sorted(tasks, key=lambda task: task.trials.start), CHUNKS_AHEAD * workers + len(workloads))


def _chunk_trials(trials: int, horizon: int, workers: int, longer: int) -> int:
    """How many trials a chunk has: several chunks per worker, none too long, and on an executor none too short."""
    short = min(MAX_CHUNK_TRIALS, CHUNK_ROUNDS // horizon)
    share = -(-trials // (CHUNKS_PER_WORKER * workers))
    least = 1 if longer == 1 else short
    return max(1, least, min(longer * MAX_CHUNK_TRIALS, longer * CHUNK_ROUNDS // horizon, share))


def _fitting(job: Job) -> int:
    """How many trials at once have room for the numbers that their policy keeps for itself."""
    return max(1, CHUNK_NUMBERS // max(1, sizes(job.policy, len(job.costs.regret), len(job.limits)).trial))


def _collect(
    pool: Executor, play: Callable[[Job, range], Chunk], plan: _Plan, assembler: Assembler, tracker: _Tracker
) -> None:
    """Play all tasks of a plan; each chunk is saved as it ends, then goes to the assembler."""
    todo = deque(plan.tasks)
    running: dict[Future[Chunk], _Task] = {}
    ended: SimpleQueue[Future[Chunk]] = SimpleQueue()
    try:
        while todo or running:
            while todo and len(running) + assembler.waiting < plan.room:
                task = todo.popleft()
                future = pool.submit(play, task.workload.job, task.trials)
                running[future] = task
                future.add_done_callback(ended.put)
            future = ended.get()
            task = running.pop(future)
            chunk = future.result()
            if task.workload.folder is not None:
                task.workload.folder.save(chunk)
            assembler.take(task.workload.job.label, chunk)
            tracker.add(task)
    finally:
        for future in running:
            future.cancel()


def play_chunk(job: Job, trials: range) -> Chunk:
    """A chunk as an executor plays it, perhaps in another process: by the same sources or not at all."""
    check_sources(job.sources)
    make_ready(job)
    return run_chunk(job, trials)


def check_sources(wanted: str) -> None:
    """Refuse to play where the sources are not those that were sent with the work."""
    if sources() != wanted:
        raise ExecutorError(
            f"a worker has other sources of safebandit, or another NumPy or Numba ({sources()}, not {wanted}); "
            "install the same versions there and restart it"
        )


# Untyped on purpose: Numba has no hints for it.
_typeof: Any = numba.typeof
_READY: set[Any] = set()


def make_ready(job: Job) -> None:
    """Compile for a job, once in a process."""
    kind = _typeof(job.policy), _typeof(job.law)
    if kind not in _READY:
        take_formulas(job.formulas)
        # One trial that stops before its first round: arrays without any have another layout, and so another type.
        with WAITS.preparing(job.label):
            run_chunk(job._replace(stop=np.ones(1, np.int64)), range(1))
        _READY.add(kind)


class _Room(NamedTuple):
    """Where trials are played, a row for each: memory, a search's notes, the streams of outcomes, what is kept."""

    memory: Memory
    work: Records
    notes: Records
    outcomes: Streams
    out: Trials

    def row(self, i: int) -> _Room:
        """The room of one trial, a part of this one."""
        memory, one = self.memory, slice(i, i + 1)
        # What serves one decision after the other does so whoever's it is.
        columns = {name: part if name in SHARED else part[one] for name, part in memory._asdict().items()}
        kept: list[Any] = [column[one] for column in self.out]
        return _Room(Memory(**columns), self.work[one], self.notes[one], self.outcomes[one], Trials(*kept))


def _room(job: Job, trials: range) -> _Room:
    n, count = len(trials), len(job.costs.regret)
    # Contexts have a stream of their own, behind those of the arms.
    drawn = count + isinstance(job.law, ContextLaws)
    keys, outcomes, streams = np.zeros((n, count), np.uint64), np.zeros((n, drawn), STATE), np.zeros(n, STATE)
    for i, trial in enumerate(trials):
        random = trial_streams(job.seed, trial, drawn)
        streams[i], outcomes[i], keys[i] = random.policy[0], random.arms, random.keys[:count]
    memory = memory_for(job.policy, keys, streams, job.limits, job.features)
    out = empty_trials(n, len(job.checkpoints), count, len(job.limits))
    work, notes = notes_of(search_for(job.policy)).room(n, count)
    return _Room(memory, work, notes, outcomes, out)


def _play(job: Job, room: _Room) -> None:
    if isinstance(job.law, ContextLaws):
        by_features = bool(getattr(job.policy, "by_features", False))
        context_player(job.policy)(
            job.policy, search_for(job.policy), job.law, np.array(job.limits), by_features, job.checkpoints,
            room.memory, room.work, room.notes, room.outcomes, room.out, job.stop,
        )  # fmt: skip
        return
    play_trials(
        player_for(job.policy), job.law, job.costs, job.checkpoints, room.memory,
        *as_cells(room.work, room.notes), room.outcomes, room.out, job.stop,
    )  # fmt: skip


def run_chunk(job: Job, trials: range) -> Chunk:
    """Play some trials of one policy; `seconds` is the core's own time, whatever else the machine does."""
    room = _room(job, trials)
    began = time.thread_time()
    _play(job, room)
    return _finished(job, trials, room, began)


def run_chunk_on(job: Job, trials: range, problems: Iterable[tuple[Any, Costs]]) -> Chunk:
    """Play some trials of one policy, each on the law and the costs of its own; none after `stop` was set."""
    room = _room(job, trials)
    began = time.thread_time()
    for i, (law, costs) in enumerate(problems):
        _play(job._replace(law=law, costs=costs), room.row(i))
    return _finished(job, trials, room, began)


def _finished(job: Job, trials: range, room: _Room, began: float) -> Chunk:
    seconds, out = time.thread_time() - began, room.out
    return Chunk(trials.start, out._replace(risk=out.risk[:, 0]) if len(job.limits) == 1 else out, seconds)
