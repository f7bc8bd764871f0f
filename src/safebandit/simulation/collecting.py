"""What a run keeps of its trials, which it hands over in chunks and in order: every trial, or a summary of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import numpy as np

from safebandit.core.kernels import Trials
from safebandit.errors import SimulationError
from safebandit.problems import Instance
from safebandit.simulation.summaries import Summary, fields_of, pair_fields

KEEP = ("trials", "summary")
# Beyond, the sketches of a few trials are larger than the trials.
MOST_CHECKPOINTS = 2_000

Kept: TypeAlias = Mapping[str, Trials | Summary]


class Keeper(Protocol):
    """Is given the next trials of every policy, chunk by chunk, and in the end says what it kept of all."""

    trials: int

    def add(self, chunk: Mapping[str, Trials]) -> None: ...

    def kept(self) -> Kept: ...


class TrialKeeper:
    """Keeps every trial; `before` are trials that there are already."""

    def __init__(self, before: Mapping[str, Trials] | None = None) -> None:
        self.trials = 0
        self._chunks: list[Mapping[str, Trials]] = []
        if before is not None:
            self.add(before)

    def add(self, chunk: Mapping[str, Trials]) -> None:
        self._chunks.append(chunk)
        self.trials += len(next(iter(chunk.values())).regret)

    def kept(self) -> dict[str, Trials]:
        return {
            label: Trials(*(np.concatenate(parts) for parts in zip(*(c[label] for c in self._chunks), strict=True)))
            for label in self._chunks[0]
        }


class SummaryKeeper:
    """Keeps a summary of each policy's trials; `before` are summaries of trials that there are already."""

    def __init__(self, instance: Instance, before: Mapping[str, Summary] | None = None) -> None:
        self._unsafe = instance.unsafe_by_risk
        self._summaries = {label: summary.copy() for label, summary in (before or {}).items()}
        self.trials = next(iter(self._summaries.values())).trials if before else 0

    def add(self, chunk: Mapping[str, Trials]) -> None:
        for label, trials in chunk.items():
            summary = self._summaries.setdefault(label, Summary())
            summary.add({**fields_of(trials, self._unsafe), **pair_fields(chunk, label)})
        self.trials = next(iter(self._summaries.values())).trials

    def kept(self) -> dict[str, Summary]:
        return self._summaries


def new_keeper(keep: str, instance: Instance, checkpoints: int) -> Keeper:
    """One that keeps "trials" or a "summary"."""
    if keep not in KEEP:
        raise SimulationError(f'keep must be "trials" or "summary", got {keep!r}')
    if keep == "trials":
        return TrialKeeper()
    if checkpoints > MOST_CHECKPOINTS:
        raise SimulationError(
            f"a summary has at most {MOST_CHECKPOINTS:,} checkpoints, got {checkpoints:,}; "
            'ask for fewer, or keep="trials"'
        )
    return SummaryKeeper(instance)


def keeper_after(kept: Kept, instance: Instance) -> Keeper:
    """One that adds to what was kept, and does not change it."""
    return SummaryKeeper(instance, summaries_in(kept)) if summaries_in(kept) else TrialKeeper(trials_in(kept))


def trials_in(kept: Kept) -> dict[str, Trials]:
    """The policies of which every trial was kept."""
    return {label: trials for label, trials in kept.items() if isinstance(trials, Trials)}


def summaries_in(kept: Kept) -> dict[str, Summary]:
    """The policies of which a summary was kept."""
    return {label: summary for label, summary in kept.items() if isinstance(summary, Summary)}
