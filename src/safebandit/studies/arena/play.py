"""Play an instance: every policy on the same outcomes; what an earlier run saved is not played again."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np

from safebandit.simulation.chunks import clear
from safebandit.simulation.execution import Progress, Step
from safebandit.simulation.results import Result, Specification
from safebandit.simulation.simulate import extend, simulate
from safebandit.studies.arena.kept import Store, joined, narrowed
from safebandit.studies.arena.plan import Task

# The growth of regret is measured over the last tenfold of the rounds.
DECADE, PER_DECADE = 10, 5


def checkpoints(horizon: int) -> list[int]:
    """Five rounds in every tenfold, counted back from the horizon.

    >>> checkpoints(1000)[-6:]
    [100, 158, 251, 398, 631, 1000]
    """
    times = {round(horizon * DECADE ** (-k / PER_DECADE)) for k in range(PER_DECADE * len(str(horizon)))}
    return sorted(times - {0})


class Tracker:
    """Progress through one instance after another, as progress through the whole."""

    def __init__(self, progress: Progress | None, tasks: Sequence[Task]) -> None:
        self.progress = progress
        self.total = sum(task.rounds for task in tasks)
        self.done = 0

    def part(self, what: str) -> Progress | None:
        """Who is told of the next simulation."""
        if self.progress is None:
            return None
        progress = self.progress
        return lambda step: progress(Step(self.done + step.done, self.total, f"{what}: {step.what}"))


def play(
    task: Task, *, seed: int, store: Store, workers: int | None, executor: Executor | None, tracker: Tracker
) -> Result:
    """Play what the store does not have, and keep it there; after Ctrl-C the result says that it was interrupted."""
    texts = {label: policy for label, policy in task.policies.items() if isinstance(policy, str)}
    times = np.array(checkpoints(task.horizon), np.int64)
    before = store.load(Specification(task.entry.instance, texts, task.horizon, seed, times))
    # A policy that is not a text may have changed since: it is always played.
    known = {} if before is None else before.specification.policies
    found = [label for label, text in texts.items() if known.get(label) == text]
    missing = {label: policy for label, policy in task.policies.items() if label not in found}
    tell = tracker.part(task.entry.name)
    chunks = None if store.folder is None else store.folder / f"{task.entry.name}.chunks"
    parts: list[Result] = []
    if before is not None and found:
        old = narrowed(before, found, task.trials)
        tracker.done += old.trials * task.horizon * len(found)
        more = extend(old, trials=task.trials, workers=workers, executor=executor, resume=chunks, progress=tell)
        parts.append(more)
        tracker.done += (task.trials - old.trials) * task.horizon * len(found)
    if missing and not any(part.interrupted for part in parts):
        new = simulate(
            task.entry.instance, missing, horizon=task.horizon, trials=task.trials, seed=seed,
            checkpoints=checkpoints(task.horizon), workers=workers, executor=executor, resume=chunks, progress=tell,
        )  # fmt: skip
        parts.append(new)
        tracker.done += task.trials * task.horizon * len(missing)
    result = joined(parts, list(task.policies))
    if before is None or missing or result.trials > before.trials:
        store.save(result, before)
    if chunks is not None and not result.interrupted:
        clear(chunks)
    return result
