"""The pictures: ranks by size; at each size heat maps, gains against what is risked at the limit, a dominated arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from safebandit.pictures import COLOURS, EMPTY, GUIDE, INK, LESS_AND_MORE, MARKERS, PAPER
from safebandit.problems.theory import bounds_of
from safebandit.simulation.plots import Line, draw_lines, legend_below, new_figure, save
from safebandit.studies.arena.collection import SLOPE
from safebandit.studies.arena.leaderboard import Overall, Score, Standing
from safebandit.studies.arena.plan import DECADE, PER_DECADE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from safebandit.core.arms import Numbers
    from safebandit.studies.arena.run import Board

# Ratios beyond 8 and 1/8 have the darkest colours.
DARKEST = 8.0
LIMIT_MARK = "†"
# Policies within this factor of the baseline get a panel of their own beside those that are not.
NEAR = 3.0
# The picture of plays per log T begins here, and leaves out policies with more plays than this per log T.
FIRST_DRAWN, MOST_PER_LOG = 100, 11.0
FEW, MANY = (1.0, 2.0, 5.0), (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0)


class Cell(NamedTuple):
    """One cell of a heat map: its number, and whether the interval excludes 1."""

    value: float | None
    sure: bool = False


class Map(NamedTuple):
    """A heat map: its file, what it shows, the number that a score has there, and from how many units on."""

    name: str
    title: str
    cell: Callable[[Score], Cell]
    least: int = 1


MAPS = (
    Map(
        "mean",
        "Mean regret, as a ratio to the baseline's",
        lambda score: Cell(score.mean.ratio, score.mean.better or score.mean.worse),
    ),
    Map(
        "unsafe",
        "Unsafe plays, as a share of equal randomisation's",
        lambda score: Cell(score.unsafe_share),
    ),
    Map(
        "q99",
        "99th percentile of regret, as a ratio to the baseline's",
        lambda score: Cell(score.q99.ratio, score.q99.better or score.q99.worse),
        # A short trial has no room for a long run.
        least=1_000,
    ),
    Map(
        "slope",
        "Growth of regret, as a multiple of the lower bound's",
        lambda score: Cell(score.slope_over_lower_bound),
        # What grows over the last tenfold of a short trial is learning, not the logarithm.
        least=1_000,
    ),
)


def draw_all(boards: Sequence[Board], folder: Path) -> dict[str, Path]:
    """Draw and save every picture as PNG and SVG; the PNGs by name, which ends in the size."""
    figures = {f"{name}-{board.units}": figure for board in boards for name, figure in _of_size(board).items()}
    if len(boards) > 1:
        figures["ranks"] = ranks_by_size(boards)
    return {name: save(figure, folder / name) for name, figure in figures.items()}


def _of_size(board: Board) -> dict[str, Figure]:
    figures = {chart.name: heat_map(board, chart) for chart in MAPS if board.units >= chart.least}
    if any(row.mean_ratio_off_limit and row.worst_mean_at_limit.ratio for row in board.leaderboard):
        figures["trade-off"] = trade_off(board.leaderboard)
    for one in board.standings:
        # Growth is measured over two decades.
        if one.task.entry.name == SLOPE and board.units >= FIRST_DRAWN * DECADE**3:
            figures["dominated-slope"] = dominated_slope(one, [row.policy for row in board.leaderboard])
    return figures


def ranks_by_size(boards: Sequence[Board]) -> Figure:
    """Mean rank of every policy against the size, the best at the top; beside it unsafe plays, of equal's."""
    figure, axes = new_figure(2)
    figure.set_size_inches(11.2, 5.4)
    by_size = {board.units: {row.policy: row for row in board.leaderboard if row.instances} for board in boards}
    lines: dict[str, tuple[Line, Line]] = {}
    for policy in boards[0].policies:
        rows = {units: row[policy] for units, row in by_size.items() if policy in row}
        shares = {units: row.unsafe_share for units, row in rows.items() if row.unsafe_share is not None}
        ranks = Line(np.array([*rows], float), np.array([row.mean_rank for row in rows.values()]))
        lines[policy] = ranks, Line(np.array([*shares], float), np.array([*shares.values()], float))
    for side, axis in enumerate(axes):
        draw_lines(axis, {policy: both[side] for policy, both in lines.items()})
        for line in axis.lines:
            line.set_markersize(6.5)
        axis.set(xscale="log", xlabel="units")
        axis.set_xticks([*by_size], [f"{units:,}" for units in by_size])
        axis.minorticks_off()
    axes[0].set(ylabel="mean rank by regret (1 is best)", ylim=(max(len(lines), 2) + 0.5, 0.5))
    axes[1].axhline(1.0, color=INK, linewidth=0.8)
    axes[1].set(ylabel="unsafe plays, as a share of equal randomisation's")
    legend_below(figure, axes)
    return figure


def heat_map(board: Board, chart: Map) -> Figure:
    """Instances down, policies across; the number in every cell, a star where its interval excludes 1."""
    standings = board.standings
    policies = [row.policy for row in board.leaderboard if row.instances]
    cells = [[_cell(one, policy, chart) for policy in policies] for one in standings]
    figure, (axis,) = new_figure(1)
    figure.set_size_inches(2.6 + 0.72 * len(policies), 1.6 + 0.27 * len(standings))
    shades = np.array([[_shade(cell) for cell in row] for row in cells])
    # A cell without a number is transparent.
    axis.set_facecolor(EMPTY)
    axis.imshow(shades, cmap=LESS_AND_MORE, vmin=-1.0, vmax=1.0, aspect="auto")
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            dark = abs(shades[i, j]) > 0.65
            # Inside the axes, hundreds of them: measuring each would take most of the time of the picture.
            axis.text(
                j, i, cell_text(cell), ha="center", va="center", fontsize=8, color=PAPER if dark else INK,
                fontweight="bold" if cell.sure else "normal",
            ).set_in_layout(False)  # fmt: skip
    _label_rows(axis, standings)
    axis.set_xticks(range(len(policies)), policies, rotation=40, ha="left", rotation_mode="anchor", fontsize=9)
    axis.tick_params(axis="x", top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    figure.suptitle(f"{chart.title}; {board.units:,} units", fontsize=10)
    return figure


def _label_rows(axis: Axes, standings: Sequence[Standing]) -> None:
    """Names at the left, with a mark where nu* = alpha, and a line between groups."""
    names = [one.task.entry.name + (f" {LIMIT_MARK}" if one.at_limit else "") for one in standings]
    axis.set_yticks(range(len(names)), names, fontsize=9)
    groups = [one.task.entry.group for one in standings]
    for i in range(1, len(groups)):
        if groups[i] != groups[i - 1]:
            axis.axhline(i - 0.5, color=INK, linewidth=0.8)


def _cell(one: Standing, policy: str, chart: Map) -> Cell:
    return chart.cell(one.scores[policy]) if policy in one.scores else Cell(None)


def _shade(cell: Cell) -> float:
    if cell.value is None:
        return math.nan
    return -1.0 if cell.value == 0.0 else float(np.clip(math.log(cell.value) / math.log(DARKEST), -1.0, 1.0))


def cell_text(cell: Cell) -> str:
    """A ratio in few digits, with a star where it is sure.

    >>> cell_text(Cell(0.614, True)), cell_text(Cell(12.4)), cell_text(Cell(None))
    ('0.61*', '12', '-')
    """
    if cell.value is None:
        return "-"
    digits = 2 if 0.0 < cell.value < 9.95 else 0
    return f"{cell.value:,.{digits}f}{'*' if cell.sure else ''}"


def trade_off(leaderboard: Sequence[Overall]) -> Figure:
    """Across: the ratio where nu* < alpha, on average. Up: the worst ratio where nu* = alpha. Lower left is better."""
    points = {
        row.policy: (row.mean_ratio_off_limit, row.worst_mean_at_limit.ratio)
        for row in leaderboard
        if row.mean_ratio_off_limit and row.worst_mean_at_limit.ratio
    }
    near = {name: point for name, point in points.items() if max(point) < NEAR and min(point) > 1.0 / NEAR}
    two = 1 < len(near) < len(points)
    figure, axes = new_figure(2 if two else 1)
    styles = dict(zip(points, zip(MARKERS * len(points), COLOURS * len(points), strict=False), strict=False))
    for axis, shown in zip(axes, (points, near), strict=False):
        axis.set(xscale="log", yscale="log")
        axis.axvline(1.0, color=GUIDE, linewidth=0.8)
        axis.axhline(1.0, color=GUIDE, linewidth=0.8)
        for name, (x, y) in shown.items():
            axis.plot(x, y, styles[name][0], color=styles[name][1], markersize=7)
        axis.margins(0.15)
        _plain_ticks(axis, FEW if shown is points and two else MANY)
        axis.set_xlabel("where nu* < alpha: geometric mean")
    axes[0].set_ylabel("where nu* = alpha: the worst")
    figure.suptitle("Mean regret, as a ratio to the baseline's; the lower left is better", fontsize=10)
    # Where points are on the page is known only after the layout.
    figure.canvas.draw()
    far = {name: point for name, point in points.items() if not (two and name in near)}
    _label_points(axes[0], far, points)
    if two:
        axes[0].set_title("all", fontsize=9)
        axes[1].set_title("near the baseline", fontsize=9)
        _label_points(axes[1], near, near)
    return figure


def dominated_slope(one: Standing, policies: Sequence[str]) -> Figure:
    """Plays of the one dominated arm per log T against T, beside what the policies' bounds and the lower bound say.

    Per log T a play count settles slowly, like log log T / log T: the growth over the last decades tells more.
    """
    times = one.result.specification.checkpoints.astype(float)
    shown = times >= FIRST_DRAWN
    figure, axes = new_figure(2)
    drawn = [policy for policy in policies if policy in one.scores]
    lines = {policy: one.result.curve(policy, "unsafe_plays").mean(axis=0)[shown] for policy in drawn}
    logs = np.log(times[shown])
    # Policies whose plays grow like a power of T would flatten the picture for all others.
    slow = {policy: plays for policy, plays in lines.items() if plays[-1] < MOST_PER_LOG * logs[-1]}
    draw_lines(axes[0], {policy: Line(times[shown], plays / logs) for policy, plays in slow.items()})
    draw_lines(axes[1], {policy: Line(*_growth(times[shown], plays, logs)) for policy, plays in slow.items()})
    bounds = bounds_of(one.task.entry.instance)
    for axis in axes:
        axis.axhline(bounds.unsafe_slope, color=INK, linewidth=1, linestyle="--")
        axis.axhline(bounds.lower_unsafe_slope, color=INK, linewidth=1)
        axis.set(xscale="log", xlabel="T", ylim=(0.0, max(axis.get_ylim()[1], 1.15 * bounds.unsafe_slope)))
        for level, text in ((bounds.unsafe_slope, "1/max(d_<, d_>)"), (bounds.lower_unsafe_slope, "1/(d_< + d_>)")):
            axis.annotate(
                text, (times[-1], level), (0, 4), textcoords="offset points", ha="right", va="bottom", fontsize=8
            )
    axes[0].set_ylabel("plays of the dominated arm / log T")
    axes[1].set_ylabel("plays added / log T added")
    legend_below(figure, axes)
    return figure


def _growth(times: Numbers, plays: Numbers, logs: Numbers) -> tuple[Numbers, Numbers]:
    """Plays added per log T added over the last two decades, from where there are as many."""
    back = 2 * PER_DECADE
    return times[back:], (plays[back:] - plays[:-back]) / (logs[back:] - logs[:-back])


def _plain_ticks(axis: Axes, digits: Sequence[float]) -> None:
    """Ticks written as numbers, at these digits of every power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for one in (axis.xaxis, axis.yaxis):
        one.set_major_locator(LogLocator(subs=digits, numticks=99))
        one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        one.set_minor_formatter(NullFormatter())


class Box(NamedTuple):
    """Where something is drawn, in points."""

    left: float
    low: float
    right: float
    high: float

    def meets(self, other: Box) -> bool:
        """Whether the two overlap."""
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high


def _label_points(
    axis: Axes, points: Mapping[str, tuple[float, float]], drawn: Mapping[str, tuple[float, float]]
) -> None:
    """Names beside their points; where it is crowded, the first place around the point that is free."""
    to_points = 72.0 / axis.figure.dpi
    places = {name: axis.transData.transform(point) * to_points for name, point in points.items()}
    marks = [axis.transData.transform(point) * to_points for point in drawn.values()]
    taken = [Box(x - 4, y - 4, x + 4, y + 4) for x, y in marks]
    shifts = [(dx, dy) for dy in (0, 12, -12, 24, -24, 36, -36, 48, -48) for dx in (8, -8)]
    for name, (x, y) in places.items():
        boxes = [_text_box(name, x + dx, y + dy, right=dx > 0) for dx, dy in shifts]
        crowds = [sum(box.meets(other) for other in taken) for box in boxes]
        best = crowds.index(min(crowds))
        taken.append(boxes[best])
        dx, dy = shifts[best]
        axis.annotate(
            name, points[name], xytext=(dx, dy), textcoords="offset points", fontsize=9,
            ha="left" if dx > 0 else "right", va="center",
            arrowprops={"arrowstyle": "-", "color": GUIDE, "linewidth": 0.6} if dy else None,
        )  # fmt: skip


def _text_box(text: str, x: float, y: float, *, right: bool) -> Box:
    """Where a name is drawn that begins, or ends, at (x, y)."""
    width = 5.4 * len(text)
    return Box(x, y - 6, x + width, y + 6) if right else Box(x - width, y - 6, x, y + 6)
