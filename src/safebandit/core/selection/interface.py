"""The question that a selection rule answers: what a trial that has ended recommends."""

from __future__ import annotations

from safebandit.core.arms import State
from safebandit.core.dispatch import generic

NONE_SELECTED = -1


@generic
def select(rule: object, state: State) -> int:
    """The arm that is selected, or NONE_SELECTED."""
    raise NotImplementedError
