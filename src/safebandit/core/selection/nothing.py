"""Nothing is selected: a trial that only collects data."""

from __future__ import annotations

from typing import Any, NamedTuple

from safebandit.core.arms import Records, State
from safebandit.core.indices.interface import described
from safebandit.core.selection.interface import NONE_SELECTED, select


@described("no arm is selected", name="none")
class Nothing(NamedTuple):
    """Select nothing; people write it as `none`."""

    def says(self, design: Any) -> str:  # noqa: ARG002
        return "At the end no arm is selected."

    def why(self, arm: int, seen: Records, design: Any) -> str:  # noqa: ARG002
        return "the design selects nothing"


@select.register(Nothing)
def select_nothing(rule: Nothing, state: State) -> int:
    return NONE_SELECTED
