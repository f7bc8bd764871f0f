"""Play a simulation of a study, or load it: what an earlier run saved is not played again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

from safebandit.core.dispatch import is_ours
from safebandit.core.policies import policy_from_text
from safebandit.problems import Instance
from safebandit.simulation.chunks import clear
from safebandit.simulation.execution import Progress, part_of
from safebandit.simulation.results import Result, Specification
from safebandit.simulation.simulate import extend, simulate
from safebandit.studies.saved import SavedResults, joined, narrowed


class Simulation(NamedTuple):
    """One simulation of a study: policies by label on an instance, how long, how often, and when regret is noted."""

    name: str
    instance: Instance
    policies: Mapping[str, Any]
    horizon: int
    trials: int
    checkpoints: Sequence[int]

    @property
    def rounds(self) -> int:
        """How many rounds it takes."""
        return self.horizon * self.trials * len(self.policies)


def play_or_load(
    wanted: Simulation,
    *,
    seed: int,
    saved: SavedResults,
    longer: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Result:
    """Play what is not saved, and save it; after Ctrl-C the result says that it was interrupted.

    Of a saved result with more trials than are wanted the first are used, or all of them where `longer` ones may be.
    """
    _, instance, policies, horizon, trials, checkpoints = wanted
    # A class from outside may have changed since, and nobody could tell: it is always played.
    texts = {label: policy for label, policy in policies.items() if isinstance(policy, str) and _is_ours(policy)}
    asked = Specification(instance, texts, horizon, seed, np.array(checkpoints, np.int64))
    before = saved.load(wanted.name, asked, trials)
    if longer and before is not None:
        trials = max(trials, before.trials)
    known = {} if before is None else before.specification.policies
    found = [label for label, text in texts.items() if known.get(label) == text]
    missing = {label: policy for label, policy in policies.items() if label not in found}
    chunks = saved.chunks(wanted.name)
    parts: list[Result] = []
    if before is not None and found:
        old = narrowed(before, found, trials)
        tell = part_of(progress, old.trials * horizon * len(found), wanted.rounds)
        parts.append(extend(old, trials=trials, workers=workers, executor=executor, resume=chunks, progress=tell))
    if missing and not any(part.interrupted for part in parts):
        new = simulate(
            instance, missing, horizon=horizon, trials=trials, seed=seed, checkpoints=checkpoints, workers=workers,
            executor=executor, resume=chunks, progress=part_of(progress, trials * horizon * len(found), wanted.rounds),
        )  # fmt: skip
        parts.append(new)
    result = joined(parts, list(policies))
    if before is None or missing or result.trials > before.trials:
        saved.save(wanted.name, result, before)
    if chunks is not None and not result.interrupted:
        clear(chunks)
    return result


def _is_ours(text: str) -> bool:
    return is_ours(policy_from_text(text))
