"""Pictures of a study of doses within arms: the doses of one trial; errors and unsafe units against units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from safebandit.core.dosing import UniformDoses
from safebandit.pictures import COLOURS, DASHES, MARKERS
from safebandit.simulation.plots import legend_below, new_figure
from safebandit.studies.doses.study import read_system
from safebandit.studies.identify.summary import WIDE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from safebandit.studies.doses.study import DoseStudy


def ladders(found: DoseStudy) -> Figure:
    """The doses of every arm in the first trial of each system that chooses them, against units; lines across: the
    highest safe dose of each arm.
    """
    instance = found.instance
    shown = [name for name in found.systems if not isinstance(read_system(name, instance), UniformDoses)]
    figure, axes = new_figure(max(len(shown), 1))
    for axis, name in zip(axes, shown, strict=False):
        asks = found.examples[name].asks
        before = np.cumsum([0, *(ask.units for ask in asks)])
        for k, arm in enumerate(instance.arms):
            colour = COLOURS[k % len(COLOURS)]
            own = [(before[i + 1], ask.dose) for i, ask in enumerate(asks) if ask.arm == k]
            axis.plot(
                [x for x, _ in own], [y for _, y in own], label=f'arm "{arm}"', color=colour, linewidth=1.2,
                linestyle=DASHES[k % len(DASHES)], marker=MARKERS[k % len(MARKERS)], markersize=4,
            )  # fmt: skip
            axis.axhline(instance.safe_doses[k], color=colour, linewidth=0.8, alpha=0.6)
        axis.set(xlabel="units so far", ylabel="dose given", ylim=(0.0, 1.05 * instance.most))
        _logarithmic(axis)
        axis.set_title(name, fontsize=10)
    legend_below(figure, axes)
    figure.suptitle("one trial; lines across: the highest safe dose of each arm", fontsize=10)
    return figure


def errors(found: DoseStudy) -> Figure:
    """How often each system was wrong, and the share of units on unsafe doses, against units; 95 % intervals."""
    figure, axes = new_figure(2)
    for i, name in enumerate(found.systems):
        style: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)]}
        style |= {"marker": MARKERS[i % len(MARKERS)], "markersize": 4, "linewidth": 1.6, "elinewidth": 0.9}
        own = found.of(name)
        used = [each.used.value for each in own]
        shares = [
            (each.unsafe_units.value / each.used.value, each.unsafe_units.error / each.used.value) for each in own
        ]
        wrong = [(each.wrong.value, each.wrong.error) for each in own]
        for axis, drawn in zip(axes, (wrong, shares), strict=True):
            axis.errorbar(used, [y for y, _ in drawn], yerr=[WIDE * e for _, e in drawn], label=name, **style)
    for axis, words in zip(axes, ("wrong arm, share of trials", "share of units on unsafe doses"), strict=True):
        axis.set(xlabel="units used, mean", ylabel=words, ylim=(-0.02, 1.0))
        _logarithmic(axis)
    legend_below(figure, axes)
    figure.suptitle(f"{len(found.instance.arms)} arms; {found.trials:,} trials; bars: 95 % intervals", fontsize=10)
    return figure


def _logarithmic(axis: Axes) -> None:
    """Units on a logarithmic axis, with plain numbers at the ticks."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
