"""Play every candidate on every truth, on threads: the same bits however many there are.

Trial i has its truth and its outcomes from the seed and its number alone, so that candidates are compared in pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from safebandit.core.arms import Counts
from safebandit.core.kernels import Costs, Trials
from safebandit.problems import Instance
from safebandit.simulation.execution import Job, Progress, Step, make_ready, run_chunk_on
from safebandit.studies.recommend.plan import Plan

# What a thread plays at once: a fraction of a second, so that progress moves and Ctrl-C is soon heard.
AT_ONCE = 25


def draw_truths(plan: Plan) -> list[Instance]:
    """The truth of every trial."""
    return [plan.truths.of_trial(trial, plan.seed) for trial in range(plan.trials)]


def play(
    plan: Plan, truths: Sequence[Instance], *, workers: int, progress: Progress | None = None
) -> dict[str, Trials]:
    """The trials of every candidate, in order; Ctrl-C stops all threads and leaves nothing."""
    tell = progress or (lambda _: None)
    total, stop = plan.units * plan.trials * len(plan.candidates), np.zeros(1, np.int64)
    jobs = {label: _job(label, plan, truths[0], stop) for label in plan.candidates}
    parts: dict[str, list[Trials]] = {label: [] for label in jobs}
    # By trials first, so that what is left takes as long as what was done, candidate for candidate.
    tasks = [
        (label, range(first, min(first + AT_ONCE, plan.trials)))
        for first, label in itertools.product(range(0, plan.trials, AT_ONCE), jobs)
    ]
    pool = ThreadPoolExecutor(workers)
    try:
        for label, job in jobs.items():
            tell(Step(0, total, f"preparing {label}"))
            make_ready(job)
        problems = [(truth.law, _costs(truth)) for truth in truths]
        futures = [
            pool.submit(run_chunk_on, jobs[label], trials, problems[trials.start : trials.stop])
            for label, trials in tasks
        ]
        done = 0
        for (label, trials), future in zip(tasks, futures, strict=True):
            parts[label].append(future.result().trials)
            done += plan.units * len(trials)
            tell(Step(done, total, label))
    finally:
        stop[0] = 1
        pool.shutdown(wait=True, cancel_futures=True)
    return {label: _joined(each) for label, each in parts.items()}


def _job(label: str, plan: Plan, truth: Instance, stop: Counts) -> Job:
    units, policy = np.array([plan.units], np.int64), plan.candidates[label]
    # Threads of this process play it: there is nothing to send.
    return Job(label, policy, truth.law, plan.truths.limits, _costs(truth), units, plan.seed, stop, "", [])


def _costs(truth: Instance) -> Costs:
    return Costs(truth.costs, truth.unsafe, truth.best_mean)


def _joined(parts: Sequence[Trials]) -> Trials:
    columns: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Trials(*columns)
