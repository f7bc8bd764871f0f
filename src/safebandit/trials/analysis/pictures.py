"""An analysis over time: what was known of every arm after so many outcomes, a panel for each endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from safebandit.pictures import INK
from safebandit.simulation.plots import Line, draw_lines, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from safebandit.trials.analysis.analyse import Analysis, Estimate


def picture(found: Analysis) -> Figure:
    """Means and confidence sequences of all arms against their known outcomes; dotted: the limit of a risk."""
    endpoints = list(dict.fromkeys(each.endpoint for each in found.estimates))
    figure, axes = new_figure(len(endpoints))
    for axis, endpoint in zip(axes, endpoints, strict=True):
        rows = [each for each in found.estimates if each.endpoint == endpoint]
        draw_lines(axis, {each.arm: _line(each) for each in rows})
        if rows[0].limit is not None:
            axis.axhline(rows[0].limit, color=INK, linestyle=":", linewidth=1.0, label="the risk's limit")
        axis.set(xlabel="known outcomes of the arm", ylabel=endpoint, ylim=(0.0, 1.0), xscale="log")
        axis.xaxis.set_major_formatter("{x:,.0f}")
    legend_below(figure, axes)
    sure = f"{100 * found.confidence:g} % confidence sequences ({found.sequence.words})"
    figure.suptitle(f"{found.trial}, {found.units:,} units; outlined: {sure}", fontsize=10)
    return figure


def _line(each: Estimate) -> Line:
    path = each.path
    return Line(np.maximum(path.known, 1).astype(float), path.mean, path.low, path.high)
