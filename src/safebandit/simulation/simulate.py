"""The simulator: many trials of several policies on one instance, on all cores or a cluster, the same bits on any."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from safebandit.core.arms import Counts
from safebandit.core.naming import read_number
from safebandit.core.policies import policy_from_text, policy_to_text
from safebandit.errors import ExecutorError, ResultError, SimulationError
from safebandit.problems import Instance, as_instance
from safebandit.simulation.collecting import collector_after, new_collector
from safebandit.simulation.execution import ASSUMED_WORKERS, Progress, Resources, run
from safebandit.simulation.results import Result, Specification
from safebandit.sources import sources
from safebandit.version import __version__

DEFAULT_CHECKPOINTS = 200

Policies: TypeAlias = str | Sequence[Any] | Mapping[str, Any]


def simulate(
    instance: Instance | str,
    policies: Policies,
    *,
    horizon: int,
    trials: int,
    seed: int = 0,
    checkpoints: str | Sequence[int] = "log",
    keep: str = "trials",
    workers: int | None = None,
    executor: Executor | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Play `trials` trials of `horizon` rounds under every policy, on an instance or the one of a name.

    Trial i has its own random numbers, and the n-th play of an arm in it gives the same outcome under every policy.
    Ctrl-C stops the run and keeps the trials that every policy finished. With `keep="summary"` memory does not grow
    with the number of trials: means and standard errors are as exact, quantiles within 0.1 %, single trials are gone.

    It runs on threads, or on an `executor` of concurrent.futures or Dask; `workers` says how many chunks are played at
    once. In the folder `resume`, chunks are kept as they end, and a run that was killed takes them up; policies made of
    your own classes are played anew.

    >>> instance = Instance.bernoulli(mu=[0.3, 0.6, 0.9], nu=[0.1, 0.2, 0.8], alpha=0.3)
    >>> result = simulate(instance, ["docb", "tsbu"], horizon=1000, trials=20, seed=1)
    >>> result.policies, result.trials
    (['docb', 'tsbu'], 20)
    """
    instance = as_instance(instance, contexts=True)
    horizon = at_least("horizon", horizon, 1, "rounds to play")
    trials = at_least("trials", trials, 1, "trials to play")
    seed = at_least("seed", seed, 0, "a whole number that fixes all random numbers")
    chosen = name_policies(policies)
    times = checkpoint_times(checkpoints, horizon)
    texts = {label: policy if isinstance(policy, str) else policy_to_text(policy) for label, policy in chosen.items()}
    specification = Specification(instance, texts, horizon, seed, times)
    collector = new_collector(keep, instance, len(times))
    return run(specification, chosen, range(trials), _resources(workers, executor, resume, progress), collector)


def extend(
    result: Result,
    *,
    trials: int,
    policies: Policies | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Add trials until there are `trials`: the same as if all had been run at once.

    A result of another version or of other sources is refused. `policies` is needed only where the result has policies
    that cannot be made from their texts.
    """
    trials = at_least("trials", trials, 1, "trials to end with")
    if trials < result.trials:
        raise SimulationError(f"the result already has {result.trials} trials, more than {trials}; ask for more")
    if not result.specification.is_current:
        raise ResultError(_made_otherwise(result.specification))
    chosen = _policies_of(result, policies)
    if trials == result.trials:
        return result
    resources = _resources(workers, executor, resume, progress)
    collector = collector_after(result.by_policy, result.specification.instance)
    added = run(result.specification, chosen, range(result.trials, trials), resources, collector)
    seconds = {label: result.seconds.get(label, 0.0) + added.seconds[label] for label in result.policies}
    return replace(added, seconds=seconds)


def _made_otherwise(made: Specification) -> str:
    mixed = "adding trials would mix the two; simulate it again instead"
    if made.version != __version__:
        return f"the result was made by version {made.version}, this is {__version__}: {mixed}"
    named = "sources that it does not name" if made.sources is None else f"other sources ({made.sources})"
    return f"the result was made by {named}, the formulas here are of {sources()}: {mixed}"


def rerun(
    result: Result,
    *,
    policies: Policies | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run a result again from its own specification, by this version and these sources."""
    specification = replace(result.specification, version=__version__, sources=sources())
    resources = _resources(workers, executor, resume, progress)
    collector = new_collector(result.keep, specification.instance, len(specification.checkpoints))
    return run(specification, _policies_of(result, policies), range(result.trials), resources, collector)


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
        before = np.rint(space(1, horizon, min(DEFAULT_CHECKPOINTS, horizon)))[:-1].astype(np.int64)
        # The horizon itself, which a float may not hold.
        return np.unique(np.append(before, horizon))
    listed: Iterable[Any] = checkpoints if np.ndim(checkpoints) else [checkpoints]
    times = [at_least("a checkpoint", value, 1, "a round") for value in listed]
    if times and max(times) > horizon:
        raise SimulationError(f"a checkpoint must be at most the horizon, {horizon}, got {max(times)}")
    return np.unique(np.array([*times, horizon], np.int64))


def default_workers() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def at_least(what: str, value: Any, least: int, meaning: str) -> int:
    """A whole number that is not too small, or an error that says what it means."""
    number = read_number(what, value, int, SimulationError)
    if number < least:
        raise SimulationError(f"{what} must be at least {least} ({meaning}), got {value}")
    return int(number)


def _resources(
    workers: int | None, executor: Executor | None, resume: str | Path | None, progress: Progress | None
) -> Resources:
    if not isinstance(executor, Executor | None):
        raise ExecutorError(
            f"executor must be one of concurrent.futures, got {type(executor).__name__}; "
            "of a Dask client take client.get_executor()"
        )
    if workers is None:
        workers = default_workers() if executor is None else ASSUMED_WORKERS
    return Resources(at_least("workers", workers, 1, "threads"), executor, resume, progress)


def _policies_of(result: Result, given: Policies | None) -> dict[str, Any]:
    if given is not None:
        chosen = name_policies(given)
        if set(chosen) != set(result.policies):
            raise SimulationError(f"the result has policies {', '.join(result.policies)}, got {', '.join(chosen)}")
        return {label: chosen[label] for label in result.policies}
    return {label: policy_from_text(text) for label, text in result.specification.policies.items()}
