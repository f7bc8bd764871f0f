"""Saved results: what an earlier run of the same specification left, if the same sources made it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from safebandit.core.kernels import Trials
from safebandit.errors import SafebanditError
from safebandit.files import write_text
from safebandit.simulation.results import Result, Specification
from safebandit.sources import sources


class SavedResults:
    """A folder with one result per name, and a list of the sources that made each; without a folder, nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def chunks(self, name: str) -> Path | None:
        """Where finished chunks of an unfinished result are kept."""
        return None if self.folder is None else self.folder / f"{name}.chunks"

    def load(self, name: str, wanted: Specification) -> Result | None:
        """The result with this instance, horizon, seed and checkpoints, whatever its policies; else None."""
        if self.folder is None or self._made_by().get(name) != sources():
            return None
        try:
            result = Result.load(self.folder / f"{name}.parquet")
        except SafebanditError:
            return None
        made = replace(result.specification, policies=wanted.policies)
        return result if made.to_dict() == wanted.to_dict() else None

    def save(self, name: str, result: Result, before: Result | None) -> None:
        """Save a result; policies of an earlier run stay where they have as many trials."""
        if self.folder is None:
            return
        if before is not None and (result.interrupted or before.trials > result.trials):
            # What is there is worth more than what this run came to.
            return
        if before is not None and before.trials == result.trials:
            others = [label for label in before.policies if label not in result.policies]
            result = joined([result, narrowed(before, others, before.trials)], [*result.policies, *others])
        result.save(self.folder / f"{name}.parquet")
        made_by = {**self._made_by(), name: sources()}
        write_text(self.folder / "sources.json", json.dumps(made_by, indent=1, sort_keys=True) + "\n")

    def _made_by(self) -> dict[str, Any]:
        path = None if self.folder is None else self.folder / "sources.json"
        try:
            return {} if path is None or not path.is_file() else dict(json.loads(path.read_text(encoding="utf-8")))
        except (TypeError, ValueError):
            return {}


def narrowed(result: Result, labels: Sequence[str], trials: int) -> Result:
    """Some policies of a result, and at most so many of their trials."""
    by_policy = {label: _first(result.of(label), trials) for label in labels}
    share = min(1.0, trials / result.trials)
    seconds = {label: share * result.seconds.get(label, 0.0) for label in labels}
    specification = replace(result.specification, policies=_ordered(result.specification.policies, labels))
    return Result(specification, by_policy, seconds, result.interrupted)


def _first(trials: Trials, count: int) -> Trials:
    columns: list[Any] = [values[:count] for values in trials]
    return Trials(*columns)


def joined(parts: Sequence[Result], order: Sequence[str]) -> Result:
    """Results of different policies on the same outcomes as one, of the trials that all of them have."""
    filled = [part for part in parts if part.policies]
    trials = min(part.trials for part in filled)
    texts: dict[str, str] = {}
    by_policy: dict[str, Trials] = {}
    seconds: dict[str, float] = {}
    for part in (narrowed(part, part.policies, trials) for part in filled):
        texts |= part.specification.policies
        by_policy |= {label: part.of(label) for label in part.policies}
        seconds |= part.seconds
    labels = [label for label in order if label in texts]
    specification = replace(filled[0].specification, policies=_ordered(texts, labels))
    interrupted = any(part.interrupted for part in filled)
    return Result(specification, _ordered(by_policy, labels), _ordered(seconds, labels), interrupted)


def _ordered(values: Mapping[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    return {label: values[label] for label in labels}
