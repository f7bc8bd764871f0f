"""The simulator: many trials of several policies on one instance, on all cores, the same bits on any number of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from safebandit.arms import NOTES, Counts, new_arms
from safebandit.errors import ResultError, SimulationError
from safebandit.instances import Instance
from safebandit.kernel import Costs, Trials, empty_trials, kernels_for
from safebandit.naming import read_number
from safebandit.policies import policy_from_text, policy_to_text, prepare, widths
from safebandit.results import Result, Specification
from safebandit.streams import STATE, trial_streams
from safebandit.version import __version__

# A chunk is about a tenth of a second: progress moves, Ctrl-C is soon heard, and no core waits long for another.
CHUNK_ROUNDS = 500_000
MAX_CHUNK_TRIALS = 1_000
CHUNKS_PER_WORKER = 4
DEFAULT_CHECKPOINTS = 200

Policies: TypeAlias = str | Sequence[Any] | Mapping[str, Any]
Progress: TypeAlias = Callable[["Step"], None]


class Step(NamedTuple):
    """What a progress display is told: rounds done of how many, and what is going on."""

    done: int
    total: int
    what: str


def simulate(
    instance: Instance,
    policies: Policies,
    *,
    horizon: int,
    trials: int,
    seed: int = 0,
    checkpoints: str | Sequence[int] = "log",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Play `trials` trials of `horizon` rounds under every policy.

    Trial i has its own random numbers, and the n-th play of an arm in it gives the same outcome under every policy.
    Ctrl-C stops the run and keeps the trials that every policy finished.

    >>> instance = Instance.bernoulli(mu=[0.3, 0.6, 0.9], nu=[0.1, 0.2, 0.8], alpha=0.3)
    >>> result = simulate(instance, ["docb", "tsbu"], horizon=1000, trials=20, seed=1)
    >>> result.policies, result.trials
    (['docb', 'tsbu'], 20)
    """
    horizon = at_least("horizon", horizon, 1, "rounds to play")
    trials = at_least("trials", trials, 1, "trials to play")
    seed = at_least("seed", seed, 0, "a whole number that fixes all random numbers")
    chosen = name_policies(policies)
    times = checkpoint_times(checkpoints, horizon)
    texts = {label: policy if isinstance(policy, str) else policy_to_text(policy) for label, policy in chosen.items()}
    specification = Specification(instance, texts, horizon, seed, times)
    return _run(specification, chosen, range(trials), workers, progress)


def extend(
    result: Result,
    *,
    trials: int,
    policies: Policies | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Add trials until there are `trials`: the same as if all had been run at once.

    `policies` is needed only where the result has policies that cannot be made from their texts.
    """
    trials = at_least("trials", trials, 1, "trials to end with")
    if trials < result.trials:
        raise SimulationError(f"the result already has {result.trials} trials, more than {trials}; ask for more")
    if result.specification.version != __version__:
        raise ResultError(
            f"the result was made by version {result.specification.version}, this is {__version__}: adding trials "
            "would mix the two; run it again instead"
        )
    chosen = _policies_of(result, policies)
    if trials == result.trials:
        return result
    added = _run(result.specification, chosen, range(result.trials, trials), workers, progress)
    by_policy = {
        label: Trials(*(np.concatenate(pair) for pair in zip(result.of(label), added.of(label), strict=True)))
        for label in result.policies
    }
    seconds = {label: result.seconds.get(label, 0.0) + added.seconds[label] for label in result.policies}
    return Result(result.specification, by_policy, seconds, added.interrupted)


def rerun(
    result: Result, *, policies: Policies | None = None, workers: int | None = None, progress: Progress | None = None
) -> Result:
    """Run a result again from its own specification, by this version."""
    specification = replace(result.specification, version=__version__)
    return _run(specification, _policies_of(result, policies), range(result.trials), workers, progress)


def name_policies(policies: Policies) -> dict[str, Any]:
    """Policies under the texts they were asked for by; each text must be given once."""
    if isinstance(policies, Mapping):
        chosen = dict(policies)
    else:
        single = isinstance(policies, str) or hasattr(policies, "_fields") or not isinstance(policies, Iterable)
        listed = [policies] if single else list(policies)
        labels = [policy if isinstance(policy, str) else policy_to_text(policy) for policy in listed]
        for label in labels:
            if labels.count(label) > 1:
                raise SimulationError(f'policy "{label}" is given twice; give each policy once')
        chosen = dict(zip(labels, listed, strict=True))
    if not chosen:
        raise SimulationError("at least one policy is needed, got none; try tsbu")
    return chosen


def checkpoint_times(checkpoints: str | Sequence[int], horizon: int) -> Counts:
    """The rounds after which regret and unsafe plays are kept: "log", "linear" (200 each), or given; always the last.

    >>> checkpoint_times([10, 100], 1000).tolist()
    [10, 100, 1000]
    """
    if isinstance(checkpoints, str):
        if checkpoints not in ("log", "linear"):
            raise SimulationError(
                f'checkpoints must be "log", "linear" or rounds from 1 to {horizon}, got "{checkpoints}"'
            )
        space = np.geomspace if checkpoints == "log" else np.linspace
        return np.unique(np.rint(space(1, horizon, min(DEFAULT_CHECKPOINTS, horizon))).astype(np.int64))
    listed: Iterable[Any] = checkpoints if np.ndim(checkpoints) else [checkpoints]
    times = [at_least("a checkpoint", value, 1, "a round") for value in listed]
    if times and max(times) > horizon:
        raise SimulationError(f"a checkpoint must be at most the horizon, {horizon}, got {max(times)}")
    return np.unique(np.array([*times, horizon], np.int64))


def default_workers() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def at_least(what: str, value: Any, least: int, meaning: str) -> int:
    """A whole number that is not too small, or an error that says what it means."""
    number = read_number(what, value, int, SimulationError)
    if number < least:
        raise SimulationError(f"{what} must be at least {least} ({meaning}), got {value}")
    return int(number)


def _policies_of(result: Result, given: Policies | None) -> dict[str, Any]:
    if given is not None:
        chosen = name_policies(given)
        if set(chosen) != set(result.policies):
            raise SimulationError(f"the result has policies {', '.join(result.policies)}, got {', '.join(chosen)}")
        return {label: chosen[label] for label in result.policies}
    return {label: policy_from_text(text) for label, text in result.specification.policies.items()}


class _Job(NamedTuple):
    """All that the trials of one policy share."""

    label: str
    policy: Any
    instance: Instance
    costs: Costs
    checkpoints: Counts
    seed: int
    stop: Counts


def ready_for(policy: Any, instance: Instance) -> Any:
    """A policy as the simulator plays it on an instance; an error says why it cannot."""
    return prepare(policy, instance.arms, "least_risky", limits=instance.limits, risks=instance.nu)


def _job(label: str, policy: Any, specification: Specification, stop: Counts) -> _Job:
    instance = specification.instance
    ready = ready_for(policy, instance)
    # A round without a play forgoes the best safe arm's reward.
    costs = Costs(instance.costs, np.asarray(instance.unsafe_by_risk.any(axis=0)), instance.best_mean)
    return _Job(label, ready, instance, costs, specification.checkpoints, specification.seed, stop)


def _run_chunk(job: _Job, trials: range) -> tuple[Trials, int, float]:
    """Play some trials of one policy: what they gave, how many were finished, and the seconds of a core they took."""
    n, count = len(trials), len(job.instance.mu)
    limits = job.instance.limits
    blank = new_arms(np.zeros(count, np.uint64), widths(job.policy), len(limits))
    arms = np.tile(blank, (n, 1))
    streams, outcomes = np.zeros(n, STATE), np.zeros((n, count), STATE)
    for i, trial in enumerate(trials):
        random = trial_streams(job.seed, trial, count)
        streams[i], outcomes[i], arms["key"][i] = random.policy[0], random.arms, random.keys
    out = empty_trials(n, len(job.checkpoints), count, len(limits))
    began = time.thread_time()
    finished = kernels_for(job.policy, job.instance.law).run_trials(
        job.policy, job.instance.law, limits, job.costs, job.checkpoints,
        arms, streams, np.zeros(n, NOTES), outcomes, out, job.stop,
    )  # fmt: skip
    seconds = time.thread_time() - began
    return (out._replace(risk=out.risk[:, 0]) if len(limits) == 1 else out), finished, seconds


def _say_nothing(_: Step) -> None:
    """For those who want no progress shown."""


def _chunks(trials: range, horizon: int, workers: int) -> list[range]:
    size = max(1, min(MAX_CHUNK_TRIALS, CHUNK_ROUNDS // horizon, -(-len(trials) // (CHUNKS_PER_WORKER * workers))))
    return [trials[i : i + size] for i in range(0, len(trials), size)]


def _run(
    specification: Specification,
    policies: Mapping[str, Any],
    trials: range,
    workers: int | None,
    progress: Progress | None,
) -> Result:
    """All trials of all policies, chunk by chunk; after Ctrl-C, those before the first unfinished chunk."""
    workers = default_workers() if workers is None else at_least("workers", workers, 1, "threads")
    tell = progress or _say_nothing
    stop = np.zeros(1, np.int64)
    jobs = [_job(label, policy, specification, stop) for label, policy in policies.items()]
    total = len(trials) * specification.horizon * len(jobs)
    chunks = _chunks(trials, specification.horizon, workers)
    done: dict[tuple[int, int], tuple[Trials, int, float]] = {}
    interrupted = False
    pool = ThreadPoolExecutor(workers)
    try:
        for job in jobs:
            tell(Step(0, total, f"preparing {job.label}"))
            _run_chunk(job, range(0))
        waiting: dict[Future[tuple[Trials, int, float]], tuple[int, int]] = {
            pool.submit(_run_chunk, job, chunk): (c, j) for c, chunk in enumerate(chunks) for j, job in enumerate(jobs)
        }
        rounds = 0
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                c, j = waiting.pop(future)
                done[c, j] = future.result()
                rounds += len(chunks[c]) * specification.horizon
                tell(Step(rounds, total, jobs[j].label))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        stop[0] = 1
        pool.shutdown(wait=True, cancel_futures=True)
    whole = 0
    while whole < len(chunks) and all((whole, j) in done for j in range(len(jobs))):
        whole += 1
    if whole == 0:
        raise KeyboardInterrupt("interrupted before any trial was finished under every policy")
    by_policy, seconds = {}, {}
    for j, job in enumerate(jobs):
        parts = [done[c, j] for c in range(whole)]
        by_policy[job.label] = Trials(*(np.concatenate(arrays) for arrays in zip(*(p[0] for p in parts), strict=True)))
        seconds[job.label] = sum(part[2] for part in parts)
    return Result(specification, by_policy, seconds, interrupted)
