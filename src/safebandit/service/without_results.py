"""What a key is told that may ask, but not read results: no numbers in reasons, and not what stopped the trial."""

from __future__ import annotations

from safebandit.errors import SafebanditError, StoppedError
from safebandit.service.keys import Key
from safebandit.trials.answers import Allocation
from safebandit.trials.concealment import without_numbers


def allocation_for(key: Key, given: Allocation) -> Allocation:
    """A unit's arm, or that it has none, with as much of why as this key may know."""
    return given if key.may("read") else given._replace(why=without_numbers(given.why))


def refusal_for(key: Key, problem: SafebanditError) -> str:
    """Why something is refused, in as many words as this key may know."""
    return problem.plain if isinstance(problem, StoppedError) and not key.may("read") else str(problem)
