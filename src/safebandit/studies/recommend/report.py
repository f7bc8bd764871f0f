"""The page to hand to a board: what the recommended policy does to people, in plain words, and the evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from safebandit.pictures import COLOURS, GUIDE, INK, MARKERS, PAPER
from safebandit.problems.limits import plain_alpha, show_alpha
from safebandit.simulation.plots import legend_below, new_figure, save
from safebandit.studies.recommend.summary import RULE
from safebandit.studies.report import write_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from safebandit.studies.recommend.run import Recommendation
    from safebandit.studies.recommend.summary import Estimate, Score

# Numbers that are further apart than this are drawn on logarithmic axes.
FAR_APART = 4.0


def write_report(found: Recommendation, folder: Path) -> Path:
    """Draw the picture and write the page."""
    plan, about = found.plan, found.plan.truths.about
    return write_page(
        folder / "index.html", "recommend.html", seed=plan.seed, seconds=found.seconds, found=found, plan=plan,
        alpha=show_alpha(plain_alpha(plan.truths.limits)), risks=len(plan.truths.limits), rule=RULE,
        about=f"{about[0].upper()}{about[1:]}", given=getattr(plan.truths, "instances", ()),
        image=save(front(found), folder / "figures" / "front"),
    )  # fmt: skip


def front(found: Recommendation) -> Figure:
    """Regret against unsafe plays, with 95 % intervals; filled and joined: the front. Lower left is better."""
    figure, (axis,) = new_figure(1)
    figure.set_size_inches(8.0, 6.0)
    edge = sorted((one for one in found.scores if one.on_front), key=lambda one: one.regret.value)
    axis.plot(
        [one.regret.value for one in edge], [one.unsafe_plays.value for one in edge], color=GUIDE, linestyle=":",
        linewidth=1.2, zorder=1,
    )  # fmt: skip
    for i, one in enumerate(found.scores):
        _draw_candidate(axis, i, one)
    chosen = found.chosen
    axis.scatter(
        chosen.regret.value, chosen.unsafe_plays.value, s=260, facecolors="none", edgecolors=INK, linewidths=1.4,
        label="recommended", zorder=4,
    )  # fmt: skip
    axis.set(xlabel="mean regret", ylabel=f"mean unsafe plays, of {found.plan.units:,} units")
    for name in ("x", "y"):
        _scale(axis, name, [one.regret if name == "x" else one.unsafe_plays for one in found.scores])
    legend_below(figure, [axis], most=4)
    figure.suptitle("Filled, joined by dots: the front. Bars: 95 % intervals. Lower left is better.", fontsize=10)
    return figure


def _draw_candidate(axis: Axes, i: int, one: Score) -> None:
    # Colours come round before markers do: each candidate has its own pair.
    colour, marker = COLOURS[i % len(COLOURS)], MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]
    x, y = one.regret, one.unsafe_plays
    axis.errorbar(
        x.value, y.value, xerr=[[x.value - x.low], [x.high - x.value]], yerr=[[y.value - y.low], [y.high - y.value]],
        color=colour, marker=marker, markersize=7, markerfacecolor=colour if one.on_front else PAPER,
        linestyle="none", elinewidth=1.0, label=one.policy, zorder=3,
    )  # fmt: skip


def _scale(axis: Axes, name: str, drawn: list[Estimate]) -> None:
    """Logarithmic where the numbers lie far apart and none is 0, with plain numbers at the ticks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    values, least, most = [one.value for one in drawn], min(one.low for one in drawn), max(one.high for one in drawn)
    if least <= 0.0 or max(values) <= FAR_APART * min(values):
        axis.set(**{f"{name}lim": (0.0, 1.05 * most if most > 0.0 else 1.0)})
        return
    axis.set(**{f"{name}scale": "log", f"{name}lim": (least / 1.15, most * 1.15)})
    side = axis.xaxis if name == "x" else axis.yaxis
    side.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    side.set_minor_formatter(NullFormatter())
