"""Saved results: what an earlier run of the same specification left, if the same sources made it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from safebandit.core.kernels import Trials
from safebandit.errors import SafebanditError
from safebandit.simulation.results import Result, Specification

# Who is told, in a line, of what becomes of results that cannot be used.
Say: TypeAlias = Callable[[str], None]


def _say_nothing(_: str) -> None:
    pass


class SavedResults:
    """A folder with one result per name; without a folder, nothing."""

    def __init__(self, folder: Path | None, say: Say | None = None) -> None:
        self.folder = folder
        self._say: Say = say or _say_nothing

    def chunks(self, name: str) -> Path | None:
        """Where finished chunks of an unfinished result are kept."""
        return None if self.folder is None else self.folder / f"{name}.chunks"

    def load(self, name: str, wanted: Specification, trials: int) -> Result | None:
        """The result of this instance, horizon, seed, checkpoints and sources, whatever its policies; else None.

        Another result under this name makes way; if it has more trials than are wanted, someone extended it, and it is
        kept under another name.
        """
        path = None if self.folder is None else self.folder / f"{name}.parquet"
        if path is None or not path.is_file():
            return None
        try:
            result = Result.load(path)
        except SafebanditError as problem:
            self._say(f"played again: {problem}")
            return None
        made, asked = replace(result.specification, policies={}).to_dict(), replace(wanted, policies={}).to_dict()
        differs = [key for key, value in made.items() if asked.get(key) != value]
        if result.keep == "trials" and not differs:
            return result
        why = f"{path} differs in {' and '.join(differs)}" if differs else f"{path} keeps a summary only"
        if result.trials <= trials:
            self._say(f"{why}: played again")
        else:
            aside = next(new for n in itertools.count(1) if not (new := path.with_stem(f"{name}.{n}")).exists())
            path.rename(aside)
            self._say(f"{why}: played again, and its {result.trials} trials are kept in {aside}")
        return None

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
