"""Tune a design: two characteristics over a grid of parameters, and who is on the front of both."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safebandit.errors import StudyError
from safebandit.files import written_whole
from safebandit.pictures import COLOURS, GUIDE, PAPER
from safebandit.simulation.execution import Progress, Step
from safebandit.simulation.plots import new_figure, save
from safebandit.simulation.simulate import at_least
from safebandit.studies.designs.catalogue import CHARACTERISTICS
from safebandit.studies.designs.estimates import Estimate
from safebandit.studies.designs.parameters import AnyDesign, with_value
from safebandit.studies.designs.plan import Scenarios, design_for, list_scenarios
from safebandit.studies.designs.run import TRIALS, simulate_cells
from safebandit.studies.designs.targets import Measure, read_measure
from safebandit.studies.recommend.summary import on_front
from safebandit.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_POINTS = 1_000


class Tuned(NamedTuple):
    """One point of the grid: its values, both characteristics, and whether no other point is better in both."""

    values: Mapping[str, float]
    first: Estimate
    second: Estimate
    on_front: bool


@dataclass(frozen=True)
class Tuning:
    """Every point of the grid, with both characteristics."""

    measures: tuple[Measure, Measure]
    points: Sequence[Tuned]
    trials: int
    seed: int

    def table(self) -> pd.DataFrame:
        """One row per point of the grid."""
        import pandas as pd

        rows = []
        for each in self.points:
            row: dict[str, Any] = dict(each.values)
            for measure, one in zip(self.measures, (each.first, each.second), strict=True):
                row |= {measure.text: one.value, f"{measure.text}, s.e.": one.se}
            rows.append({**row, "on front": each.on_front})
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Every number, as JSON holds it."""
        return {
            "front": [measure.text for measure in self.measures],
            "points": [
                {
                    "values": dict(each.values), "first": each.first._asdict(), "second": each.second._asdict(),
                    "on_front": each.on_front,
                }
                for each in self.points
            ],
            "trials": self.trials, "seed": self.seed, "version": __version__,
        }  # fmt: skip

    def write(self, folder: str | Path) -> Path:
        """Write front.csv and the picture, as PNG and SVG; its path."""
        with written_whole(Path(folder) / "front.csv") as partial:
            self.table().to_csv(partial, index=False)
        return save(self.picture(), Path(folder) / "front")

    def picture(self) -> Figure:
        """Both characteristics of every point with 95 % intervals; filled and joined: the front."""
        figure, (axis,) = new_figure(1)
        figure.set_size_inches(8.0, 6.0)
        edge = sorted((each for each in self.points if each.on_front), key=lambda each: each.first.value)
        axis.plot([each.first.value for each in edge], [each.second.value for each in edge], color=GUIDE, ls=":")
        for each in self.points:
            first, second = each.first, each.second
            axis.errorbar(
                first.value, second.value, xerr=[[first.value - first.low], [first.high - first.value]],
                yerr=[[second.value - second.low], [second.high - second.value]], color=COLOURS[0], marker="o",
                markerfacecolor=COLOURS[0] if each.on_front else PAPER, linestyle="none", elinewidth=0.8,
            )  # fmt: skip
            if each.on_front:
                label = ", ".join(f"{path.rpartition('.')[2]} {value:g}" for path, value in each.values.items())
                axis.annotate(label, (first.value, second.value), xytext=(5, 5), textcoords="offset points", fontsize=8)
        axis.set(xlabel=self.measures[0].text, ylabel=self.measures[1].text)
        figure.suptitle("Filled, joined by dots: the front. Bars: 95 % intervals.", fontsize=10)
        return figure


def tune(
    design: AnyDesign,
    scenarios: Scenarios,
    *,
    set: Mapping[str, Sequence[float]],
    front: tuple[str, str],
    trials: int = TRIALS,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Two characteristics of a design at every point of a grid of its parameters, on the same trials.

    `set` has the values of each parameter by its path; `front` names the characteristics, as a target does without its
    bound: "unsafe units[steep]", "best selected[steep]". Each must be one of which more, or less, is better.
    """
    truths = list_scenarios(scenarios)
    names = [each.name for each in truths]
    measures = (read_measure(front[0], names), read_measure(front[1], names))
    signs = [_sign(measure) for measure in measures]
    trials = at_least("trials", trials, 2, "trials at every point")
    grid = _grid(set)
    found = []
    for number, values in enumerate(grid):
        if progress is not None:
            progress(Step(number, len(grid), f"point {number + 1} of {len(grid)}"))
        changed = design
        for path, value in values.items():
            changed = with_value(changed, path, value)
        wanted = {name for measure in measures for name in measure.scenarios}
        plan = [(design_for(changed, each), each) for each in truths if each.name in wanted]
        cells = simulate_cells(plan, trials, seed, workers=workers)
        found.append((values, measures[0].of(cells), measures[1].of(cells)))
    best = on_front({str(i): (signs[0] * one.value, signs[1] * two.value) for i, (_, one, two) in enumerate(found)})
    points = [Tuned(values, one, two, str(i) in best) for i, (values, one, two) in enumerate(found)]
    return Tuning(measures, points, trials, seed)


def _grid(given: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    if not given or not all(len(values) for values in given.values()):
        raise StudyError("tuning needs the values of at least one parameter, got none")
    grid = [dict(zip(given, values, strict=True)) for values in itertools.product(*given.values())]
    if len(grid) > MOST_POINTS:
        raise StudyError(f"a grid has at most {MOST_POINTS:,} points, got {len(grid):,}; give fewer values")
    return grid


def _sign(measure: Measure) -> int:
    """1 where less is better, -1 where more is."""
    better = CHARACTERISTICS[measure.key.name].better
    if better == 0:
        known = ", ".join(name for name, each in CHARACTERISTICS.items() if each.better)
        raise StudyError(f'of "{measure.key.name}" neither more nor less is better; choose among {known}')
    return -better
