"""Collectors of trials: a run hands its trials over in order, and a collector keeps every one, or a summary of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import numpy as np

from safebandit.core.kernels import Trials
from safebandit.errors import SimulationError
from safebandit.problems import Instance
from safebandit.simulation.listing import unsafe_of
from safebandit.simulation.summaries import Summary, fields_of, pair_fields

KEEP = ("trials", "summary")
# Beyond, the sketches of a few trials are larger than the trials.
MOST_CHECKPOINTS = 2_000

Collected: TypeAlias = Mapping[str, Trials | Summary]


class Collector(Protocol):
    """Takes the next trials of every policy, chunk by chunk, and gives what it collected in the end."""

    trials: int

    def add(self, chunk: Mapping[str, Trials]) -> None: ...

    def collected(self) -> Collected: ...


class TrialCollector:
    """Keeps every trial; `before` are trials that there are already."""

    def __init__(self, before: Mapping[str, Trials] | None = None) -> None:
        self.trials = 0
        self._chunks: list[Mapping[str, Trials]] = []
        if before is not None:
            self.add(before)

    def add(self, chunk: Mapping[str, Trials]) -> None:
        self._chunks.append(chunk)
        self.trials += len(next(iter(chunk.values())).regret)

    def collected(self) -> dict[str, Trials]:
        return {
            label: Trials(*(np.concatenate(parts) for parts in zip(*(c[label] for c in self._chunks), strict=True)))
            for label in self._chunks[0]
        }


class SummaryCollector:
    """Keeps a summary of each policy's trials; `before` are summaries of trials that there are already."""

    def __init__(self, instance: Instance, before: Mapping[str, Summary] | None = None) -> None:
        self._unsafe = unsafe_of(instance)
        self._summaries = {label: summary.copy() for label, summary in (before or {}).items()}
        self.trials = next(iter(self._summaries.values())).trials if before else 0

    def add(self, chunk: Mapping[str, Trials]) -> None:
        for label, trials in chunk.items():
            summary = self._summaries.setdefault(label, Summary())
            summary.add({**fields_of(trials, self._unsafe), **pair_fields(chunk, label)})
        self.trials = next(iter(self._summaries.values())).trials

    def collected(self) -> dict[str, Summary]:
        return self._summaries


def new_collector(keep: str, instance: Instance, checkpoints: int) -> Collector:
    """A collector of "trials" or of a "summary"."""
    if keep not in KEEP:
        raise SimulationError(f'keep must be "trials" or "summary", got {keep!r}')
    if keep == "trials":
        return TrialCollector()
    if checkpoints > MOST_CHECKPOINTS:
        raise SimulationError(
            f"a summary has at most {MOST_CHECKPOINTS:,} checkpoints, got {checkpoints:,}; "
            'ask for fewer, or keep="trials"'
        )
    return SummaryCollector(instance)


def collector_after(collected: Collected, instance: Instance) -> Collector:
    """A collector that adds to what was collected before, and does not change it."""
    summaries = summaries_in(collected)
    return SummaryCollector(instance, summaries) if summaries else TrialCollector(trials_in(collected))


def trials_in(collected: Collected) -> dict[str, Trials]:
    """The policies of which every trial was collected."""
    return {label: trials for label, trials in collected.items() if isinstance(trials, Trials)}


def summaries_in(collected: Collected) -> dict[str, Summary]:
    """The policies of which a summary was collected."""
    return {label: summary for label, summary in collected.items() if isinstance(summary, Summary)}
