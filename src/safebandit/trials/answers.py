"""What a trial answers, whether it lives in this process, in a record or behind a service."""

from __future__ import annotations

from typing import NamedTuple


class Allocation(NamedTuple):
    """The answer to `ask`: the unit's arm, or None and why; `new` is False where nothing was decided just now, because
    the unit has an arm already or the trial still holds.
    """

    unit: str
    arm: str | None
    why: str
    round: int
    event: int
    new: bool

    @property
    def id(self) -> str:
        """The unit's id, under which its outcome is told."""
        return self.unit

    @property
    def held(self) -> bool:
        """Whether no arm was given."""
        return self.arm is None


class Receipt(NamedTuple):
    """The answer to anything else that is written: the trial's last event, and whether this request added it."""

    event: int
    new: bool
