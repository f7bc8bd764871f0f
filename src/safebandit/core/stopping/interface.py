"""The question that a stopping rule answers: how near it is; it is reached at its level."""

from __future__ import annotations

from safebandit.core.arms import Numbers, State
from safebandit.core.dispatch import generic


@generic
def measure(rule: object, state: State, found: Numbers) -> None:
    """Write how near the rule is, for every arm into its place of `found`; a rule of the trial as a whole into the
    first. It is reached where that is at least the rule's `level`; NaN, which is there before, never is.

    A rule is a NamedTuple with a `level`, and with the methods and properties that `words` lists.
    """
    raise NotImplementedError
