"""The picture of a study of pure exploration: errors against units, on a logarithmic axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safebandit.pictures import COLOURS, DASHES, MARKERS
from safebandit.simulation.plots import legend_below, new_figure
from safebandit.studies.identify.run import QUESTIONS
from safebandit.studies.identify.summary import WIDE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from safebandit.studies.identify.run import Identification


def _logarithmic(axis: Axes) -> None:
    """Shares on a logarithmic axis, with plain numbers at the ticks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def errors(found: Identification) -> Figure:
    """How often each system was wrong against its units, a panel for each question, with 95 % intervals.

    Where no trial was wrong there is no point: the axis is logarithmic.
    """
    figure, axes = new_figure(len(QUESTIONS))
    for axis, (question, words) in zip(axes, QUESTIONS.items(), strict=True):
        for i, system in enumerate(found.plan.systems):
            own = [(each.used.value, getattr(each, question)) for each in found.of(system)]
            drawn = [(x, y) for x, y in own if y.value > 0]
            # A bar that would go below 0 ends at a twentieth of its point.
            bars = [[min(WIDE * y.error, 0.95 * y.value) for _, y in drawn], [WIDE * y.error for _, y in drawn]]
            axis.errorbar(
                [x for x, _ in drawn], [y.value for _, y in drawn], yerr=bars, label=system, linewidth=1.6,
                color=COLOURS[i % len(COLOURS)], linestyle=DASHES[i % len(DASHES)], marker=MARKERS[i % len(MARKERS)],
                markersize=4, elinewidth=0.9,
            )  # fmt: skip
        axis.set(xlabel="units used, mean", ylabel=f"wrong {words}, share of trials")
        _logarithmic(axis)
    legend_below(figure, axes)
    name = found.plan.truth.instance.name
    figure.suptitle(f"{name}; {found.plan.trials:,} trials; bars: 95 % intervals", fontsize=10)
    return figure
