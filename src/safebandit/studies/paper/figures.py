"""The paper's eleven figures: what each shows, from which runs, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from safebandit.problems.theory import bounds_of
from safebandit.simulation.plots import (
    LABELS,
    Line,
    curve_lines,
    draw_boxes,
    draw_lines,
    legend_below,
    new_figure,
    save,
)
from safebandit.studies.paper.runs import ALPHA_STEPS, GAPS, RUNS, SLACKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from safebandit.simulation.results import Result

    Results = Mapping[str, Result]

# How to read a picture.
_CURVES = (
    "Lines are means over the trials, thin outlines hold the middle 90 % of them; where a mean lies outside the middle "
    "half, the median is drawn too"
)
_BOXES = "Boxes hold the middle half of the trials, whiskers the middle 90 %; a bar is a median, a diamond a mean"
# The four of ten values of alpha - nu* that the paper plots.
SHOWN_STEPS = (0, 3, 6, 9)


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: its number, what it shows, its place, its runs, and the function that draws it."""

    number: int
    title: str
    place: str
    runs: tuple[str, ...]
    draw: Callable[[Results], Drawing]
    reading: str

    @property
    def name(self) -> str:
        """The name by which the command line knows the figure."""
        return f"fig{self.number}"

    def settings(self, results: Results) -> str:
        """The settings of its runs, in words."""
        first = RUNS[self.runs[0]]
        trials = results[self.runs[0]].trials
        policies = ", ".join(first.policies)
        several = f"{len(self.runs)} instances, " if len(self.runs) > 1 else ""
        return f"{several}{trials:,} trials of {first.horizon:,} rounds each; policies {policies}"


class Drawing:
    """A figure being drawn, which remembers every number that it shows."""

    def __init__(self, panels: int, rows: int = 1) -> None:
        self.figure: Figure
        self.figure, self.axes = new_figure(panels, rows)
        self.rows: list[tuple[str, str, float, float, float, float]] = []
        self.legend_title: str | None = None

    def lines(self, panel: int, lines: Mapping[str, Line], title: str, *, first: int = 0) -> Axes:
        """Draw lines into a panel and keep their numbers."""
        draw_lines(self.axes[panel], lines, first=first)
        for label, line in lines.items():
            low = line.low if line.low is not None else np.full(len(line.x), np.nan)
            high = line.high if line.high is not None else np.full(len(line.x), np.nan)
            for x, y, a, b in zip(line.x, line.y, low, high, strict=True):
                self.rows.append((title, label, float(x), float(y), float(a), float(b)))
        self.axes[panel].set_title(title, fontsize=10)
        return self.axes[panel]

    def boxes(self, panel: int, samples: Mapping[str, np.ndarray], title: str) -> Axes:
        """Draw boxes into a panel and keep every trial."""
        draw_boxes(self.axes[panel], samples)
        for label, values in samples.items():
            self.rows += [(title, label, float(i), float(value), np.nan, np.nan) for i, value in enumerate(values)]
        self.axes[panel].set_title(title, fontsize=10)
        return self.axes[panel]

    def save(self, path: Path) -> Path:
        """Save the figure as PNG and SVG, and every plotted number as Parquet."""
        import pandas as pd

        if any(axis.get_legend_handles_labels()[0] for axis in self.axes):
            legend_below(self.figure, self.axes, self.legend_title)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pd.DataFrame(self.rows, columns=["panel", "label", "x", "y", "low", "high"])
        table.to_parquet(path.with_name(path.name + ".parquet"), index=False)
        return save(self.figure, path)


def _curve(drawing: Drawing, panel: int, result: Result, metric: str, title: str, *, theory: bool = False) -> None:
    lines = curve_lines(result, metric)
    axis = drawing.lines(panel, lines, title)
    axis.set(xlabel="round", ylabel=LABELS[metric], xlim=(0, result.specification.horizon))
    for i, policy in enumerate(lines):
        # A mean that few trials are near: the median says what most of them are like.
        low, middle, high = result.quantiles(policy, metric, (0.25, 0.5, 0.75))
        if not low[-1] <= lines[policy].y[-1] <= high[-1]:
            drawing.lines(panel, {f"{policy}, median": Line(lines[policy].x, middle)}, title, first=4 + i)
    if theory:
        bounds = bounds_of(result.specification.instance)
        slope = bounds.regret_slope if metric == "regret" else bounds.unsafe_slope
        times = result.specification.checkpoints.astype(float)
        above = slope * np.log(times[-1]) > 2.0 * axis.get_ylim()[1]
        label = f"Theorem 1, {LABELS[metric]}: {slope:.1f} log t" + (" (above the picture)" if above else "")
        drawing.lines(panel, {label: Line(times, slope * np.log(times))}, title, first=7)


def _two_cases(metric: str) -> Callable[[Results], Drawing]:
    def draw(results: Results) -> Drawing:
        drawing = Drawing(2)
        _curve(drawing, 0, results["case-1"], metric, "case 1: several optimal mixtures")
        _curve(drawing, 1, results["case-2"], metric, "case 2: one optimal mixture, on one arm")
        return drawing

    return draw


def _drug_curves(results: Results) -> Drawing:
    drawing = Drawing(2)
    for panel, metric in enumerate(LABELS):
        _curve(drawing, panel, results["drug-21"], metric, f"drug trial, alpha = 0.21: {LABELS[metric]}", theory=True)
    return drawing


def _drug_boxes(results: Results) -> Drawing:
    drawing = Drawing(2)
    for panel, metric in enumerate(LABELS):
        _boxes(drawing, panel, results["drug-21"], metric)
    return drawing


def _boxes(drawing: Drawing, panel: int, result: Result, metric: str) -> None:
    samples = {policy: result.final(policy, metric) for policy in result.policies}
    title = f"{LABELS[metric]} at round {result.specification.horizon:,}"
    drawing.boxes(panel, samples, title).set(ylabel=LABELS[metric])


def _drug_19(results: Results) -> Drawing:
    drawing = Drawing(2, rows=2)
    for panel, metric in enumerate(LABELS):
        _curve(drawing, panel, results["drug-19"], metric, f"drug trial, alpha = 0.19: {LABELS[metric]}")
        _boxes(drawing, 2 + panel, results["drug-19"], metric)
    return drawing


def _gaps(results: Results) -> Drawing:
    drawing = Drawing(2)
    gaps = np.array([i / 25 for i in GAPS])
    for panel, size in enumerate(("large", "small")):
        lines = {}
        for policy in RUNS["gaps-large-1"].policies:
            finals = [results[f"gaps-{size}-{i}"].final(policy) for i in GAPS]
            low, middle, high = (np.array([np.quantile(values, q) for values in finals]) for q in (0.25, 0.5, 0.75))
            lines[policy] = Line(gaps, middle, low, high)
        axis = drawing.lines(panel, lines, f"{size} minimum gaps: median and quartiles")
        axis.set(xlabel="maximum gap", ylabel="regret at round 20,000")
    return drawing


def _schedule_curves(results: Results) -> Drawing:
    drawing = Drawing(2)
    for panel, metric in enumerate(LABELS):
        _curve(drawing, panel, results["schedules"], metric, f"mu = nu = (.4, .5, .6), alpha = .5: {LABELS[metric]}")
    return drawing


def _schedule_boxes(results: Results) -> Drawing:
    from matplotlib.ticker import LogFormatter, StrMethodFormatter

    drawing = Drawing(2)
    for panel, metric in enumerate(LABELS):
        _boxes(drawing, panel, results["schedules"], metric)
        # The rare runs dwarf the boxes; a logarithmic scale shows both.
        finals = np.concatenate(
            [results["schedules"].final(policy, metric) for policy in results["schedules"].policies]
        )
        drawing.axes[panel].set_ylim(0.8 * max(1.0, finals.min()), 1.25 * finals.max())
        drawing.axes[panel].set_yscale("log")
        drawing.axes[panel].yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        drawing.axes[panel].yaxis.set_minor_formatter(LogFormatter())
    return drawing


def _naive_curves(results: Results) -> Drawing:
    drawing = Drawing(2)
    lines = {}
    for i in SHOWN_STEPS:
        lines[f"{i / 50:g}"] = curve_lines(results[f"naive-{i}"], "regret")["naive-ts"]
    for panel, title in enumerate(("sampled risks, by alpha - nu*", "zoom")):
        axis = drawing.lines(panel, lines, title)
        axis.set(xlabel="round", ylabel="regret", xlim=(0, 10_000))
    drawing.legend_title = "alpha - nu*"
    drawing.axes[1].set_ylim(0, 2.5 * max(float(lines[f"{i / 50:g}"].y[-1]) for i in SHOWN_STEPS[1:]))
    return drawing


def _naive_dependence(results: Results) -> Drawing:
    drawing = Drawing(2)
    steps = np.array([i / 50 for i in ALPHA_STEPS])
    finals = [results[f"naive-{i}"].final("naive-ts") for i in ALPHA_STEPS]
    for panel, (title, power) in enumerate((("mean regret", 1.0), ("mean of 1/sqrt(regret)", -0.5))):
        values = [final**power for final in finals]
        mean = np.array([value.mean() for value in values])
        reach = np.array([1.96 * value.std(ddof=1) / np.sqrt(len(value)) for value in values])
        axis = drawing.lines(
            panel, {"naive-ts": Line(steps, mean, mean - reach, mean + reach)}, f"{title}, 95 % interval"
        )
        axis.set(xlabel="alpha - nu*", ylabel=title)
    return drawing


def _slack(results: Results) -> Drawing:
    drawing = Drawing(2)
    found = curve_lines(results["slack"], "regret")
    lines = {f"C = {c:g}": found[f"slack-ts:slack={c:g}"] for c in SLACKS}
    for panel, title in enumerate(("sampled risks with slack C", "zoom")):
        axis = drawing.lines(panel, {label: line._replace(low=None, high=None) for label, line in lines.items()}, title)
        axis.set(xlabel="round", ylabel="regret", xlim=(0, 10_000))
    drawing.axes[1].set_ylim(0, 0.5 * max(float(line.y[-1]) for line in lines.values()))
    return drawing


_gap_runs = tuple(f"gaps-{size}-{i}" for size in ("large", "small") for i in GAPS)
_naive_runs = tuple(f"naive-{i}" for i in ALPHA_STEPS)

FIGURES = {
    figure.name: figure
    for figure in (
        PaperFigure(
            1,
            "Unsafe plays of DOCB, BwCR and Pess",
            "section 6.1",
            ("case-1", "case-2"),
            _two_cases("unsafe_plays"),
            _CURVES,
        ),
        PaperFigure(2, "Drug trial, alpha = 0.21", "section 6.2", ("drug-21",), _drug_curves, _CURVES),
        PaperFigure(
            3,
            "Regret against the gap",
            "section 6.2.1",
            _gap_runs,
            _gaps,
            "Lines are medians, their outlines the quartiles",
        ),
        PaperFigure(
            4, "Regret of DOCB, BwCR and Pess", "appendix F.1", ("case-1", "case-2"), _two_cases("regret"), _CURVES
        ),
        PaperFigure(5, "Drug trial, alpha = 0.21: spread", "appendix F.2", ("drug-21",), _drug_boxes, _BOXES),
        PaperFigure(6, "Drug trial, alpha = 0.19", "appendix F.2", ("drug-19",), _drug_19, f"{_CURVES}. {_BOXES}"),
        PaperFigure(7, "Two schedules of BayesUCB", "appendix F.3", ("schedules",), _schedule_curves, _CURVES),
        PaperFigure(
            8,
            "Two schedules of BayesUCB: spread",
            "appendix F.3",
            ("schedules",),
            _schedule_boxes,
            f"{_BOXES}; the scale is logarithmic",
        ),
        PaperFigure(9, "Naively sampled risks", "appendix F.4", _naive_runs, _naive_curves, _CURVES),
        PaperFigure(
            10,
            "Naively sampled risks against alpha - nu*",
            "appendix F.4",
            _naive_runs,
            _naive_dependence,
            "Tinted: the 95 % interval of the mean",
        ),
        PaperFigure(
            11, "Sampled risks with slack", "appendix F.4", ("slack",), _slack, "Lines are means over the trials"
        ),
    )
}
