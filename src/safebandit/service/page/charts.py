"""The pictures of a trial's page as SVG: shares of the arms over time, means with their intervals and the limits.

Places are percentages, so that a picture fills any width; names stand beside it, in HTML. Colours are the style
sheet's. Nothing depends on colour alone: an arm that is not permissible is drawn hollow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from safebandit.trials.record.overview import ArmOverview, Overview

# The height of one arm's row, and its middle.
HEIGHT = 26
MIDDLE = 13
# More arms than this are not drawn one by one: the most played are, and the table has them all.
MOST_ROWS = 24
MOST_SHARES = 12


class AllocationOverTime(NamedTuple):
    """How many units each arm was given in each block of so many rounds."""

    block: int
    arms: dict[str, list[int]]

    @property
    def totals(self) -> list[int]:
        """How many units each block has."""
        return [sum(counts) for counts in zip(*self.arms.values(), strict=True)]

    def spans(self, units: int) -> list[tuple[int, int]]:
        """The first and the last round of each block."""
        return [(i * self.block + 1, min((i + 1) * self.block, units)) for i in range(len(self.totals))]


class Row(NamedTuple):
    """One arm in a panel: its name, its picture, and the number beside it."""

    arm: str
    picture: Markup
    text: str
    permissible: bool


class Panel(NamedTuple):
    """Arms under one another on a common scale from 0 to `top`; `omitted` of them are not drawn."""

    title: str
    top: float
    rows: list[Row]
    omitted: int = 0
    axis: Markup = Markup()
    limit: Markup = Markup()
    # The last place of a scale that counts outcomes.
    last: int = 0


def bounded(allocation: AllocationOverTime) -> AllocationOverTime:
    """Keep as many arms as can be drawn: the most played ones, and all others together as one."""
    if len(allocation.arms) <= MOST_SHARES:
        return allocation
    first = sorted(allocation.arms, key=lambda arm: -sum(allocation.arms[arm]))[: MOST_SHARES - 1]
    drawn = {arm: counts for arm, counts in allocation.arms.items() if arm in first}
    rest = [counts for arm, counts in allocation.arms.items() if arm not in drawn]
    together = f"{len(rest)} other arms"
    while together in drawn:
        together += " together"
    drawn[together] = [sum(counts) for counts in zip(*rest, strict=True)]
    return AllocationOverTime(allocation.block, drawn)


def allocation_panel(allocation: AllocationOverTime, arms: Sequence[ArmOverview]) -> Panel:
    """The share of each arm in each block."""
    # What depends on the unit is not refused.
    permissible = {arm.arm: arm.permissible is not False for arm in arms}
    totals = allocation.totals
    shares = [[n / total for n, total in zip(counts, totals, strict=True)] for counts in allocation.arms.values()]
    top = nice_top(share for each in shares for share in each)
    rows = []
    for (arm, counts), drawn in zip(allocation.arms.items(), shares, strict=True):
        may = permissible.get(arm, True)
        given = f"{sum(counts):,} of {sum(totals):,} units; blocks of {allocation.block:,} rounds"
        rows.append(Row(arm, _steps(drawn, top, arm, given, may), _percent(sum(counts), sum(totals)), may))
    return Panel("Share of the units", top, rows)


def reward_panel(overview: Overview) -> Panel:
    """Mean reward and its interval, for each arm."""
    arms, omitted = _drawn(overview)
    top = nice_top(bound for arm in arms for bound in arm.reward_interval or ())
    rows = [_row(arm, arm.mean_reward, arm.reward_interval, None, None, top) for arm in arms]
    return Panel("Reward", top, rows, omitted, axis_below(top))


def risk_panels(overview: Overview) -> list[Panel]:
    """Mean and interval of each risk, with its lower index and the line at alpha: a panel for each risk."""
    arms, omitted = _drawn(overview)
    panels = []
    for j, (name, limit) in enumerate(zip(overview.risks, overview.alpha, strict=True)):
        bounds = [bound for arm in arms for bound in arm.risk_interval[j] or ()]
        top = nice_top([*bounds, limit])
        rows = [_row(arm, arm.mean_risk[j], arm.risk_interval[j], arm.risk_index[j], limit, top) for arm in arms]
        title = "Risk" if len(overview.risks) == 1 else f"Risk: {name}"
        panels.append(Panel(title, top, rows, omitted, axis_below(top), word_at_limit(limit, top)))
    return panels


def nice_top(values: Iterable[float]) -> float:
    """The end of a scale that holds these values, all in [0, 1]: 1, 2 or 5 times a power of ten; 1 if there are none.

    >>> nice_top([0.03, 0.17]), nice_top([0.41]), nice_top([])
    (0.2, 0.5, 1.0)
    """
    largest = max(values, default=1.0)
    if not largest > 1e-6:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return min(1.0, next(round(power * step, 9) for step in (1, 2, 5, 10) if power * step >= largest * (1 - 1e-9)))


def share(value: float | None) -> str:
    """A number in [0, 1] as people read it.

    >>> share(0.35958), share(0.00123), share(0.00001), share(None)
    ('0.360', '0.0012', '<0.0001', '–')
    """
    if value is None:
        return "–"
    if 0 < value < 1e-4:
        return "<0.0001"
    return f"{value:.3f}" if value >= 0.01 or value == 0 else f"{value:.2g}"


def interval(bounds: tuple[float, float] | None) -> str:
    """An interval as people read it.

    >>> interval((0.3066, 0.4162))
    '0.307 to 0.416'
    """
    return "–" if bounds is None else f"{share(bounds[0])} to {share(bounds[1])}"


def _drawn(overview: Overview) -> tuple[list[ArmOverview], int]:
    """The arms that are drawn, in the trial's order, and how many are not."""
    active = [arm for arm in overview.arms if arm.active]
    most = sorted(active, key=lambda arm: -arm.plays)[:MOST_ROWS]
    names = {arm.arm for arm in most}
    return [arm for arm in active if arm.arm in names], len(active) - len(most)


def _row(
    arm: ArmOverview,
    mean: float | None,
    bounds: tuple[float, float] | None,
    index: float | None,
    limit: float | None,
    top: float,
) -> Row:
    said = "no outcome yet" if mean is None else f"mean {share(mean)}, 95 % credible interval {interval(bounds)}"
    if limit is not None:
        said += f", lower risk index {share(index)}, alpha {limit:g}"
    return forest_row(arm.arm, said, Marks(mean, bounds, index, limit), top, permissible=arm.permissible is not False)


class Marks(NamedTuple):
    """What is drawn of an arm; nothing where there is none."""

    mean: float | None
    bounds: tuple[float, float] | None
    risk_index: float | None
    limit: float | None


def forest_row(arm: str, said: str, marks: Marks, top: float, *, permissible: bool = True) -> Row:
    """An arm's interval as a line, its mean as a disc or, where it is not permissible, as a hollow diamond."""
    mean, bounds, index, limit = marks
    parts = [_upright("grid", part, 0, HEIGHT) for part in ("0%", "50%", "100%")]
    if limit is not None:
        parts.append(_upright("alpha", _x(limit, top), 0, HEIGHT))
    if mean is not None and bounds is not None:
        left, right = (_x(bound, top) for bound in bounds)
        parts.append(f'<line class="interval" x1="{left}" x2="{right}" y1="{MIDDLE}" y2="{MIDDLE}"/>')
    if index is not None and math.isfinite(index):
        parts.append(_upright("index", _x(index, top), MIDDLE - 6, MIDDLE + 6))
    if mean is not None and permissible:
        parts.append(f'<circle class="mean" cx="{_x(mean, top)}" cy="{MIDDLE}" r="5"/>')
    elif mean is not None:
        diamond = '<path class="mean" d="M-6 0L0-6 6 0 0 6Z"/>'
        parts.append(f'<svg class="place" x="{_x(mean, top)}" y="{MIDDLE}">{diamond}</svg>')
    kind = "forest" if permissible else "forest refused"
    head = Markup('<svg class="{}" height="{}" role="img"><title>{}: {}</title>').format(kind, HEIGHT, arm, said)
    return Row(arm, head + numbers_only(parts), share(mean), permissible)


def axis_below(top: float) -> Markup:
    """The numbers under a panel: 0, the middle and the end."""
    ticks = (("0%", "start", 0.0), ("50%", "middle", top / 2), ("100%", "end", top))
    parts = [f'<text x="{x}" y="12" text-anchor="{anchor}">{value:g}</text>' for x, anchor, value in ticks]
    return Markup('<svg class="axis" height="16" aria-hidden="true">') + numbers_only(parts)


def word_at_limit(limit: float, top: float) -> Markup:
    """The word at the line of alpha, over a panel."""
    anchor = "start" if limit < top / 2 else "end"
    part = f'<text class="alpha" x="{_x(limit, top)}" y="11" text-anchor="{anchor}">alpha {limit:g}</text>'
    return Markup('<svg class="axis" height="15" aria-hidden="true">') + numbers_only([part])


def _steps(shares: Sequence[float], top: float, arm: str, said: str, permissible: bool) -> Markup:
    """Bars of width 1 beside one another, as one outline of height 100, stretched to the place that there is."""
    outline = "".join(f"V{plain(100 - 100 * value / top)}H{i + 1}" for i, value in enumerate(shares))
    kind, width = "steps" if permissible else "steps refused", max(1, len(shares))
    head = Markup('<svg class="{}" viewBox="0 0 {} 100" preserveAspectRatio="none" role="img"><title>{}: {}</title>')
    parts = [f'<path class="{line}" d="M0 {y}H{width}"/>' for line, y in (("grid", 0), ("grid", 50), ("base", 100))]
    parts.append(f'<path class="bars" d="M0 100{outline}V100Z"/>')
    return head.format(kind, width, arm, said) + numbers_only(parts)


def numbers_only(parts: Sequence[str]) -> Markup:
    """Shapes, and the end of their picture; nothing in them comes from a person."""
    return Markup("".join(parts) + "</svg>")


def _upright(kind: str, x: str, top: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{plain(top)}" y2="{plain(bottom)}"/>'


def _x(value: float, top: float) -> str:
    return f"{plain(100 * min(max(value / top, 0.0), 1.0))}%"


def plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _percent(part: int, whole: int) -> str:
    return "–" if whole == 0 else f"{100 * part / whole:.0f} %"
