"""Pictures of results: curves over time with bands, and boxes of what the trials came to."""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from safebandit.errors import ResultError
from safebandit.files import written_whole
from safebandit.pictures import COLOURS, DASHES, INK, MARKERS, PAPER, STYLE
from safebandit.problems.limits import show_alpha
from safebandit.simulation.summaries import Whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from safebandit.core.arms import Numbers
    from safebandit.simulation.results import Result
    from safebandit.simulation.summaries import Summary

LABELS = {"regret": "regret", "unsafe_plays": "unsafe plays"}


class Line(NamedTuple):
    """One line of a picture: where, how high, and the band around it (None: no band)."""

    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None


def curves(result: Result, metrics: Sequence[str] = ("regret", "unsafe_plays")) -> Figure:
    """Mean over the trials against time, with the interval that holds the middle 90 % of them."""
    figure, axes = new_figure(len(metrics))
    for axis, metric in zip(axes, metrics, strict=True):
        draw_lines(axis, curve_lines(result, metric))
        axis.set(xlabel="round", ylabel=LABELS[metric], xlim=(0, result.specification.horizon))
        axis.xaxis.set_major_formatter("{x:,.0f}")
    legend_below(figure, axes)
    _title(figure, result, "mean; outlined: the middle 90 % of trials")
    return figure


def boxes(result: Result, metrics: Sequence[str] = ("regret", "unsafe_plays")) -> Figure:
    """What the trials came to at the horizon: median, quartiles, whiskers at 5 % and 95 %, each trial beyond.

    Of a summary only the least and the most are. With several risks, unsafe plays are shown for each of them too.
    """
    panels = {LABELS[metric]: (metric, -1) for metric in metrics}
    risks = result.specification.instance.risks
    if len(risks) > 1 and "unsafe_plays" in metrics:
        panels |= {f"{LABELS['unsafe_plays']}, {risk},": ("unsafe_by_risk", j) for j, risk in enumerate(risks)}
    figure, axes = new_figure(len(panels))
    for axis, (label, (name, column)) in zip(axes, panels.items(), strict=True):
        _draw_boxes(axis, {policy: _box(result.about(policy), name, column) for policy in result.policies})
        axis.set(ylabel=f"{label} at round {result.specification.horizon:,}")
    dots = "; dots: least and most" if result.keep == "summary" else ""
    _title(figure, result, f"box: quartiles; whiskers: 5 % and 95 %; diamond: mean{dots}")
    return figure


def _box(about: Whole | Summary, name: str, column: int) -> dict[str, Any]:
    """The numbers of one box, by the names that matplotlib gives them."""
    if isinstance(about, Whole):
        return _box_of_sample(about.fields[name][:, column])
    low, first, median, third, high = about.quantiles(name, np.array([0.05, 0.25, 0.5, 0.75, 0.95]))[:, column].tolist()
    ends = about.quantiles(name, np.array([0.0, 1.0]))[:, column]
    return {
        "med": median, "q1": first, "q3": third, "whislo": low, "whishi": high,
        "mean": about.mean(name)[column], "fliers": ends[(ends < low) | (ends > high)],
    }  # fmt: skip


def _box_of_sample(sample: NDArray[Any]) -> dict[str, Any]:
    from matplotlib.cbook import boxplot_stats

    box: dict[str, Any] = boxplot_stats(np.asarray(sample, float), whis=(5, 95))[0]
    return box


def curve_lines(result: Result, metric: str) -> dict[str, Line]:
    """The mean of a metric over time for every policy, with the middle 90 % of the trials."""
    if result.trials == 0:
        raise ResultError("there is nothing to draw: the result has no trials")
    lines = {}
    for policy in result.policies:
        low, high = result.quantiles(policy, metric, (0.05, 0.95))
        mean = result.mean(policy, metric)
        lines[policy] = Line(result.specification.checkpoints.astype(float), mean, low, high)
    return lines


def draw_lines(axis: Axes, lines: Mapping[str, Line], *, first: int = 0) -> None:
    """Draw lines with their bands; `first` shifts colours, dashes and markers."""
    from matplotlib.collections import LineCollection

    # One band is tinted; several would merge to grey, and have outlines of their line's colour.
    tint = 0.12 if sum(line.low is not None for line in lines.values()) == 1 else 0.0
    for i, (label, line) in enumerate(lines.items(), start=first):
        colour = COLOURS[i % len(COLOURS)]
        if line.low is not None and line.high is not None:
            if tint:
                axis.fill_between(line.x, line.low, line.high, facecolor=(colour, tint), linewidth=0.0)
            # An outline of the area would close it with uprights at its ends.
            ends = [np.column_stack([line.x, edge]) for edge in (line.low, line.high)]
            axis.add_collection(
                LineCollection(ends, colors=[(colour, 0.75)], linewidths=0.8, linestyles=[DASHES[i % len(DASHES)]])
            )
        dense = len(line.x) > 30
        # Where there are more lines than colours, every second turn has hollow markers.
        axis.plot(
            line.x, line.y, label=label, color=colour, linestyle=DASHES[i % len(DASHES)], linewidth=1.8,
            marker=MARKERS[i % len(MARKERS)], markevery=(0.05 + 0.02 * i, 0.15) if dense else None, markersize=4,
            markerfacecolor=PAPER if i // len(COLOURS) % 2 else colour,
        )  # fmt: skip
    axis.set_ylim(bottom=0)


def legend_below(figure: Figure, axes: Sequence[Axes], title: str | None = None, most: int = 7) -> None:
    """One legend for all panels, below them, where it hides nothing; `most` entries beside one another."""
    entries = {label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(entries.values()), list(entries), loc="outside lower center", frameon=False, fontsize=8,
        ncols=min(len(entries), most), title=title, title_fontsize=8,
    )  # fmt: skip


def draw_boxes(axis: Axes, samples: Mapping[str, Numbers]) -> None:
    """Draw one box per sample."""
    _draw_boxes(axis, {label: _box_of_sample(sample) for label, sample in samples.items()})


def _draw_boxes(axis: Axes, found: Mapping[str, dict[str, Any]]) -> None:
    drawn = axis.bxp(
        [{**box, "label": label} for label, box in found.items()], widths=0.6, patch_artist=True, showmeans=True,
        flierprops={"marker": ".", "markersize": 4, "alpha": 0.5}, medianprops={"color": INK},
        meanprops={"marker": "D", "markerfacecolor": PAPER, "markeredgecolor": INK, "markersize": 5},
    )  # fmt: skip
    for i, box in enumerate(drawn["boxes"]):
        box.set(facecolor=COLOURS[i % len(COLOURS)], alpha=0.45)
    axis.set_ylim(bottom=0)
    if max(map(len, found)) * len(found) > 36:
        axis.tick_params(axis="x", rotation=20)


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as PNG and, beside it, as SVG; the same result gives the same bytes."""
    import matplotlib

    path = Path(path)
    _show_texts_as_they_are(figure)
    kinds: tuple[tuple[str, dict[str, Any]], ...] = (("png", {"Software": None}), ("svg", {"Date": None}))
    for kind, metadata in kinds:
        with matplotlib.rc_context(STYLE), written_whole(path.with_name(f"{path.name}.{kind}")) as partial:
            figure.savefig(partial, format=kind, metadata=metadata)
        # Laid out once: that takes as long as drawing.
        figure.set_layout_engine("none")
    return path.with_name(f"{path.name}.png")


def new_figure(panels: int, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side, in one row or more."""
    import matplotlib

    # Not by pyplot, which keeps every figure and would choose a backend for the user's notebook.
    with matplotlib.rc_context(STYLE):
        figure = _shown_in_notebooks()(figsize=(5.6 * panels, 4.0 * rows), layout="constrained")
        axes = figure.subplots(rows, panels, squeeze=False)
    return figure, list(axes.ravel())


@functools.cache
def _shown_in_notebooks() -> type[Figure]:
    """The class of our figures: a notebook shows them as it does pyplot's."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            content = io.BytesIO()
            self.savefig(content, format="png", dpi=80, metadata={"Software": None})
            return content.getvalue()

    return Picture


def _title(figure: Figure, result: Result, note: str) -> None:
    specification = result.specification
    name, alpha = specification.instance.name, show_alpha(specification.instance.alpha)
    if result.keep == "summary":
        note = f"{note}; quantiles within {100 * result.quantile_accuracy:.1f} %"
    figure.suptitle(f"{name}, alpha = {alpha}, {result.trials:,} trials ({note})", fontsize=11)
    _show_texts_as_they_are(figure)


def _show_texts_as_they_are(figure: Figure) -> None:
    """Names are users' text: dollars in them are no mathematics."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)
