"""Pictures of results: curves over time with bands, and boxes of what the trials came to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safebandit.errors import ResultError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from safebandit.results import Result

LABELS = {"regret": "regret", "unsafe_plays": "unsafe plays"}
# Dark to light in grey as well, and each policy has its own dashes and its own marker.
COLOURS = ("#1b3a5c", "#c44e1b", "#4f9a6b", "#8a5fb0", "#b8860b", "#5fb0c9", "#d77fa1", "#7f7f7f")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (3, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = "osD^vP*X"
_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "safebandit",
}


def curves(result: Result, metrics: Sequence[str] = ("regret", "unsafe_plays")) -> Figure:
    """Mean over the trials against time, with the interval that holds the middle 90 % of them."""
    figure, axes = _figure(result, len(metrics))
    times = result.specification.checkpoints
    for axis, metric in zip(axes, metrics, strict=True):
        for i, policy in enumerate(result.policies):
            values = result.curve(policy, metric)
            low, high = result.quantiles(policy, metric, (0.05, 0.95))
            colour = COLOURS[i % len(COLOURS)]
            axis.fill_between(times, low, high, color=colour, alpha=0.12, linewidth=0)
            axis.plot(
                times, values.mean(axis=0), label=policy, color=colour, linestyle=DASHES[i % len(DASHES)],
                linewidth=1.8, marker=MARKERS[i % len(MARKERS)], markevery=(0.05 + 0.02 * i, 0.15), markersize=4,
            )  # fmt: skip
        axis.set(xlabel="round", ylabel=LABELS[metric], xlim=(0, times[-1]))
        axis.set_ylim(bottom=0)
    axes[0].legend(frameon=False, loc="upper left")
    _title(figure, result, "mean, and the middle 90 % of trials")
    return figure


def boxes(result: Result, metrics: Sequence[str] = ("regret", "unsafe_plays")) -> Figure:
    """What the trials came to at the horizon: median, quartiles, whiskers at 5 % and 95 %, each trial beyond."""
    figure, axes = _figure(result, len(metrics))
    for axis, metric in zip(axes, metrics, strict=True):
        drawn = axis.boxplot(
            [result.final(policy, metric) for policy in result.policies],
            tick_labels=result.policies, whis=(5, 95), widths=0.6, patch_artist=True, showmeans=True,
            flierprops={"marker": ".", "markersize": 4, "alpha": 0.5}, medianprops={"color": "black"},
            meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "black", "markersize": 5},
        )  # fmt: skip
        for i, box in enumerate(drawn["boxes"]):
            box.set(facecolor=COLOURS[i % len(COLOURS)], alpha=0.45)
        axis.set(ylabel=f"{LABELS[metric]} at round {result.specification.horizon:,}")
        axis.set_ylim(bottom=0)
        if max(map(len, result.policies)) * len(result.policies) > 36:
            axis.tick_params(axis="x", rotation=20)
    _title(figure, result, "box: quartiles; whiskers: 5 % and 95 %; diamond: mean")
    return figure


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as PNG and, beside it, as SVG; the same result gives the same bytes."""
    from matplotlib import pyplot as plt

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for ending, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
        with plt.rc_context(_STYLE):
            figure.savefig(path.with_suffix(ending), metadata=metadata)
    plt.close(figure)
    return path.with_suffix(".png")


def _figure(result: Result, panels: int) -> tuple[Figure, list[Axes]]:
    import matplotlib

    # Without a screen, and without asking for one.
    matplotlib.use("Agg", force=False)
    from matplotlib import pyplot as plt

    if result.trials == 0:
        raise ResultError("there is nothing to draw: the result has no trials")
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(1, panels, figsize=(5.6 * panels, 4.0), layout="constrained", squeeze=False)
    return figure, list(axes[0])


def _title(figure: Figure, result: Result, note: str) -> None:
    specification = result.specification
    name, alpha = specification.instance.name, specification.instance.alpha
    figure.suptitle(f"{name}, alpha = {alpha:g}, {result.trials:,} trials ({note})", fontsize=11)
