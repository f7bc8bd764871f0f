"""What a trial answers, whether it lives in this process, in a record or behind a service."""

from __future__ import annotations

from typing import NamedTuple


class Allocation(NamedTuple):
    """The answer to `ask`: the unit's arm, or None and why; `new` is False where nothing was decided just now, because
    the unit has an arm already or the trial still gives none. Where there is no arm, the unit is `held`, because none
    is permissible, or `waiting`, because those that are wait for outcomes of units already given them.
    """

    unit: str
    arm: str | None
    why: str
    round: int
    event: int
    new: bool
    waiting: bool = False

    @property
    def id(self) -> str:
        """The unit's id, under which its outcome is told."""
        return self.unit

    @property
    def held(self) -> bool:
        """Whether no arm was given because none is permissible."""
        return self.arm is None and not self.waiting

    @property
    def kind(self) -> str:
        """The kind of the event that this was decided in."""
        return "asked" if self.arm is not None else "waiting" if self.waiting else "held"


class Receipt(NamedTuple):
    """The answer to anything else that is written: the trial's last event, and whether this request added it."""

    event: int
    new: bool
