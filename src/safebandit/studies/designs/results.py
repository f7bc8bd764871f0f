"""Operating characteristics: every design on every scenario, as tables, JSON, and a file that can be rerun."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safebandit.errors import StudyError, suggest
from safebandit.files import write_text, written_whole
from safebandit.sources import design_sources
from safebandit.studies.designs.asking import Key, difference, estimate, keys_of, read_key
from safebandit.studies.designs.cells import Cell
from safebandit.studies.designs.document import document_of
from safebandit.studies.designs.estimates import Estimate
from safebandit.studies.designs.truth import truth_of
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from safebandit.problems.scenario import Scenario
    from safebandit.studies.designs.corrected import CorrectedRuns
    from safebandit.trials.design import Design
    from safebandit.trials.simulated import Runs

# In pairs, and in the summary for people.
MAIN = (
    "best selected", "unsafe selected", "none selected", "unsafe units", "all harms", "size", "duration",
    "stopped early", "regret",
)  # fmt: skip
# Where nobody says how many unsafe units are too many: a tenth of the most units.
SHARE = 10


@dataclass(frozen=True, eq=False)
class Played:
    """The trials of one design, under its label, on one scenario; the first of them may have corrected means, which are
    no part of what is saved.
    """

    label: str
    scenario: Scenario
    design: Design
    runs: Runs
    corrected: CorrectedRuns | None = None

    @cached_property
    def cell(self) -> Cell:
        """The trials with what is true of the arms."""
        return Cell(self.design, truth_of(self.design, self.scenario), self.runs, self.corrected)


@dataclass(frozen=True, eq=False)
class Characteristics:
    """What designs do on scenarios, over many trials, in pairs: trial i met the same outcomes under each design.

    `version` and `sources` are those that made it.
    """

    played: Sequence[Played]
    seed: int
    version: str = __version__
    sources: str = field(default_factory=design_sources)

    @property
    def designs(self) -> list[str]:
        """The designs, under their labels."""
        return list(dict.fromkeys(each.label for each in self.played))

    @property
    def scenarios(self) -> list[str]:
        """The scenarios by name."""
        return list(dict.fromkeys(each.scenario.name for each in self.played))

    @property
    def trials(self) -> int:
        """How many trials of each design on each scenario."""
        return len(self.played[0].runs.size)

    @property
    def is_current(self) -> bool:
        """Whether the version and the sources that made the result are those of this process."""
        return (self.version, self.sources) == (__version__, design_sources())

    def of(self, design: str, scenario: str) -> Played:
        """The trials of one design on one scenario."""
        if design not in self.designs:
            raise StudyError(f'there is no design "{design}"; {suggest(design, self.designs)}')
        if scenario not in self.scenarios:
            raise StudyError(f'there is no scenario "{scenario}"; {suggest(scenario, self.scenarios)}')
        return next(each for each in self.played if (each.label, each.scenario.name) == (design, scenario))

    def estimate(self, design: str, scenario: str, characteristic: str) -> Estimate:
        """One number with its standard error and 95 % interval: "best selected", "unsafe units: q95"."""
        return estimate(self.of(design, scenario).cell, read_key(characteristic))

    def compare(self, design: str, other: str, scenario: str, characteristic: str) -> Estimate:
        """A mean or share of one design minus that of another, with the error of the difference in pairs."""
        key = read_key(characteristic)
        return difference(self.of(design, scenario).cell, self.of(other, scenario).cell, key)

    def more_than(self, played: Played) -> int:
        """How many unsafe units are too many, where nobody says: a tenth of the most units."""
        return played.design.units // SHARE

    def rows(self) -> list[dict[str, Any]]:
        """Every number of every design on every scenario: characteristic, of what, value, s.e., interval."""
        return [
            {
                "design": each.label, "scenario": each.scenario.name, "characteristic": key.name, "of": key.of,
                **estimate(each.cell, key)._asdict(),
            }
            for each in self.played
            for key in keys_of(each.cell, self.more_than(each))
        ]  # fmt: skip

    def table(self) -> pd.DataFrame:
        """One row per number, by design, scenario, characteristic and what it is of, with its error and interval."""
        import pandas as pd

        return pd.DataFrame(self.rows()).set_index(["design", "scenario", "characteristic", "of"])

    def summary(self) -> pd.DataFrame:
        """One row per scenario and design with the main numbers, each with its standard error."""
        import pandas as pd

        rows = {}
        for each in self.played:
            found = {name: estimate(each.cell, Key(name)) for name in MAIN}
            named = {(name, part): getattr(one, part) for name, one in found.items() for part in ("value", "se")}
            rows[each.scenario.name, each.label] = named
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.index = pd.MultiIndex.from_tuples(list(rows), names=["scenario", "design"])
        table.columns = pd.MultiIndex.from_product([MAIN, ("value", "se")])
        return table

    def plot(self, scenario: str) -> Figure:
        """How often each arm is selected on a scenario, and how many units it gets, under every design."""
        from safebandit.studies.designs.figures import selection_and_allocation

        return selection_and_allocation(self, scenario)

    def compared(self) -> list[dict[str, Any]]:
        """Every further design minus the first, in pairs, in the main numbers of every scenario."""
        first, *others = self.designs
        return [
            {
                "scenario": scenario, "design": other, "minus": first, "characteristic": name,
                **self.compare(other, first, scenario, name)._asdict(),
            }
            for scenario in self.scenarios
            for other in others
            for name in MAIN
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Every number with its error, and all that is needed to play it again."""
        return {
            "results": [document_of(each, self.more_than(each)) for each in self.played],
            "compared": self.compared(),
            "specification": self.specification(),
        }

    def specification(self) -> dict[str, Any]:
        """All that determines the trials: played again by the same sources, it gives the same bits."""
        return {
            "cells": [
                {"design": each.label, "scenario": each.scenario.name, "as": each.design.to_dict()}
                for each in self.played
            ],
            "scenarios": [self.of(self.designs[0], name).scenario.to_dict() for name in self.scenarios],
            "trials": self.trials,
            "seed": self.seed,
            "version": self.version,
            "sources": self.sources,
        }

    def to_json(self) -> str:
        """One document; numbers that do not exist are null."""
        return json.dumps(_without_nan(self.to_dict()), allow_nan=False)

    def to_csv(self, path: str | Path) -> Path:
        """Write the whole table as CSV."""
        with written_whole(Path(path)) as partial:
            self.table().to_csv(partial)
        return Path(path)

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with every trial and the complete specification; all of it or nothing."""
        from safebandit.studies.designs.saved import save

        return save(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> Characteristics:
        """Read a file that `save` wrote."""
        from safebandit.studies.designs.saved import load

        return load(Path(path))

    def write(self, folder: str | Path, *, question: str = "", seconds: float = 0.0) -> Path:
        """Write characteristics.parquet, table.csv, characteristics.json, pictures and report.html; its path."""
        from safebandit.studies.designs.report import write_report

        folder = Path(folder)
        self.save(folder / "characteristics.parquet")
        self.to_csv(folder / "table.csv")
        write_text(folder / "characteristics.json", self.to_json() + "\n")
        return write_report(self, folder, question=question, seconds=seconds)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and value - value != 0.0 else value
