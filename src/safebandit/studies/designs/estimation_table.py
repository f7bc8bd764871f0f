"""How far estimates are off, as reports show it: a row for every quantity and arm, and one for the selected arm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from safebandit.studies.designs.asking import Key, estimate
from safebandit.studies.designs.catalogue import CHARACTERISTICS
from safebandit.studies.designs.cells import Cell
from safebandit.studies.designs.estimates import Estimate

# The characteristics of one row, by what heads their columns; corrected ones only where trials were corrected.
COLUMNS = {
    "bias": "bias",
    "rmse": "rmse",
    "posterior coverage": "coverage",
    "exact coverage": "exact coverage",
    "sequence coverage": "sequence coverage",
    "corrected bias": "corrected bias",
    "corrected rmse": "corrected rmse",
    "corrected coverage": "corrected coverage",
}
SELECTED = "selected arm"


class Row(NamedTuple):
    """The reward, or a risk, of an arm, or of the selected one: its numbers by the heads of their columns."""

    quantity: str
    arm: str
    numbers: dict[str, Estimate]

    @property
    def selected(self) -> bool:
        """Whether it is about whichever arm was selected."""
        return self.arm == SELECTED


def estimation_of(cell: Cell) -> Iterator[Row]:
    """Rows for the reward, if there is one, and for every risk: each arm, then the selected one."""
    several = len(cell.design.risks) > 1
    for word, name in [("reward", "reward")] * cell.truth.rewarded + [("risk", risk) for risk in cell.design.risks]:
        part = f"{name}: " if several and word == "risk" else ""
        for arm in cell.design.arms:
            yield Row(name, arm, _numbers(cell, word, f"{part}{arm}"))
        if cell.runs.selected.max() >= 0:
            yield Row(name, SELECTED, _numbers(cell, f"selected {word}", part.removesuffix(": ")))


def _numbers(cell: Cell, what: str, of: str) -> dict[str, Estimate]:
    named = {head: f"{what} {word}" for head, word in COLUMNS.items()}
    return {head: estimate(cell, Key(name, of)) for head, name in named.items() if CHARACTERISTICS[name].parts(cell)}
