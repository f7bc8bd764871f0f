"""Cost per round against the number of arms and against the horizon, a line per policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from safebandit.pictures import COLOURS, INK, MARKERS, PAPER
from safebandit.simulation.plots import new_figure, save
from speed.kept import Run
from speed.sweeps import BARE, Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(run: Run, path: Path) -> Path:
    """Draw what the run has, as PNG and SVG."""
    figure, axes = new_figure(2)
    on_arms = [cell for cell in run.limit if cell.instance in {c.instance for c in run.arms}]
    on_drug_trial = [cell for cell in run.limit if cell.instance in {c.instance for c in run.horizons}]
    _panel(axes[0], [*on_arms, *run.arms], lambda cell: cell.arms)
    _panel(axes[1], [*on_drug_trial, *run.horizons], lambda cell: cell.horizon)
    title = f"T = {run.arms[0].horizon:,}; hollow: cut short" if run.arms else ""
    axes[0].set(xlabel="arms K", ylabel="nanoseconds per round", title=title)
    axes[1].set(xlabel="horizon T", title="drug trial, K = 5")
    handles, labels = axes[0 if run.arms else 1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9)
    figure.suptitle("What a round costs on one core", fontsize=11)
    return save(figure, path)


def _panel(axis: Axes, cells: Sequence[Cell], place: Callable[[Cell], int]) -> None:
    axis.set(xscale="log", yscale="log")
    places = sorted({place(cell) for cell in cells})
    axis.set_xticks(places, [f"{x:,}" for x in places])
    axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    for i, policy in enumerate(dict.fromkeys(cell.policy for cell in cells if cell.policy != BARE)):
        own = [cell for cell in cells if cell.policy == policy and cell.cost]
        # The colours come round again: dashes and other markers tell the second turn from the first.
        turn, colour = divmod(i, len(COLOURS))
        style = {"color": COLOURS[colour], "marker": MARKERS[(colour + 3 * turn) % len(MARKERS)], "markersize": 4}
        _line(axis, own, place, label=policy, linestyle="--" if turn else "-", linewidth=1.5, **style)
        cut = [cell for cell in own if cell.played < cell.horizon]
        _line(axis, cut, place, linestyle="", **style, markerfacecolor=PAPER, zorder=3)
    _line(axis, [c for c in cells if c.policy == BARE], place, label=BARE, color=INK, linestyle=":", linewidth=2.0)


def _line(axis: Axes, cells: Sequence[Cell], place: Callable[[Cell], int], **style: object) -> None:
    costs = [cell.cost.median for cell in cells if cell.cost]
    if costs:
        options: dict[str, object] = style
        axis.plot([place(cell) for cell in cells], costs, **options)  # type: ignore[arg-type]
