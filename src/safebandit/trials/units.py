"""A unit that was given an arm, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Unit:
    """One unit: which play of which arm, in which round; its outcome (reward, then every risk) as far as it is known,
    with the numbers of the events that told it; `lost_at` is the event in which it was given up.
    """

    id: str
    arm: str
    round: int
    play: int
    asked_at: int
    outcome: list[float | None]
    told_at: list[int | None] = field(default_factory=list)
    lost_at: int | None = None

    def __post_init__(self) -> None:
        self.told_at = self.told_at or [None] * len(self.outcome)

    @property
    def pending(self) -> bool:
        """Whether something of its outcome is still waited for."""
        return self.lost_at is None and None in self.outcome
