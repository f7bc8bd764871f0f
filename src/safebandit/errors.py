"""Every error that safebandit raises on purpose, in one tree.

    SafebanditError
    ├── BadValueError     a value that cannot be accepted; also a ValueError
    │   ├── InstanceError     a problem (means, laws, data, alpha) that makes no sense
    │   ├── PolicyError       an unknown policy, index or parameter, or a value out of its range
    │   ├── SimulationError   a horizon, number of trials, seed or checkpoint that cannot be run
    │   ├── StudyError        a study file that cannot be read
    │   ├── ResultError       a result file that is cut short, foreign or cannot be extended
    │   └── TrialError        an outcome or a live trial's state that cannot be accepted
    │       ├── DesignError       a design that contradicts itself, or a design file that cannot be read
    │       ├── BatchError        a batch of requests that was to be written whole, and of which some are refused
    │       ├── NotFoundError     a trial, unit or event that is not in the record
    │       └── ConflictError     what contradicts the record: another outcome, a trial that is closed
    │           └── StoppedError      an arm is asked for in a trial that its design has stopped
    ├── ExecutorError     an executor or a cluster that cannot be reached, or lost its workers
    ├── RecordError       a database or a service that cannot be opened, read or written, or is of another version
    │   └── DamagedError      a database whose bytes are not those that were written
    └── AccessError       a key that does not work, or whose role does not allow what was asked

Each message is one line: the rule, the value, and the remedy where there is one. `key` is where in a document the value
stands, as `stop.harm.confidence`, where it comes from one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager


class SafebanditError(Exception):
    """Base of all errors raised on purpose by this package."""

    key: str = ""


class BadValueError(SafebanditError, ValueError):
    """A value that cannot be accepted."""


class InstanceError(BadValueError):
    """A problem (means, laws, data, alpha) that makes no sense."""


class PolicyError(BadValueError):
    """An unknown policy, index or parameter, or a value out of its range."""


class SimulationError(BadValueError):
    """A horizon, number of trials, seed or checkpoint that cannot be run."""


class ExecutorError(SafebanditError):
    """An executor or a cluster that cannot be reached, or lost its workers."""


class StudyError(BadValueError):
    """A study file that cannot be read."""


class ResultError(BadValueError):
    """A result file that is cut short, foreign or cannot be extended."""


class TrialError(BadValueError):
    """An outcome or a live trial's state that cannot be accepted."""


class DesignError(TrialError):
    """A design that contradicts itself, or a design file that cannot be read."""


class NotFoundError(TrialError):
    """A trial, unit or event that is not in the record."""


class ConflictError(TrialError):
    """What contradicts the record: another outcome, a trial that is closed."""


class StoppedError(ConflictError):
    """An arm is asked for in a trial that its design has stopped: by which rule, and what is selected.

    `plain` says no more than that it has stopped, for those who are not to read results.
    """

    def __init__(self, plain: str, found: str = "") -> None:
        super().__init__(f"{plain}; {found}" if found else plain)
        self.plain = plain


class BatchError(TrialError):
    """A batch that was to be written whole, and of which some requests are `refused`, by their numbers from 1.

    `plain` says how many, and not why.
    """

    def __init__(self, message: str, refused: Mapping[int, TrialError] | None = None) -> None:
        self.plain = message
        self.refused = dict(refused or {})
        number, first = min(self.refused.items(), default=(0, None), key=lambda each: each[0])
        super().__init__(message if first is None else f"{message}; number {number}: {first}")


class RecordError(SafebanditError):
    """A database or a service that cannot be opened, read or written, or is of another version."""


class DamagedError(RecordError):
    """A database whose bytes are not those that were written."""


class AccessError(SafebanditError):
    """A key that does not work, or whose role does not allow what was asked."""


@contextmanager
def at_key(key: str) -> Iterator[None]:
    """Note of an error where in a document the value stands, from the outside in."""
    try:
        yield
    except SafebanditError as problem:
        inner = problem.key if not problem.key or problem.key.startswith("[") else f".{problem.key}"
        problem.key = f"{key}{inner}"
        raise


def suggest(name: str, known: Iterable[str]) -> str:
    """The remedy for an unknown name: the nearest known one, and the whole list.

    >>> suggest("tbsu", ["docb", "tsbu"])
    'did you mean "tsbu"? known: docb, tsbu'
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    question = f'did you mean "{near[0]}"? ' if near else ""
    return f"{question}known: {', '.join(names)}"
