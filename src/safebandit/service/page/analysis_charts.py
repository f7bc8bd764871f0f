"""The pictures of an analysis as SVG: means and confidence sequences, now and, for those who see single outcomes, after
every look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup

from safebandit.core.arms import Numbers
from safebandit.service.page.charts import (
    MOST_ROWS,
    Marks,
    Panel,
    Row,
    axis_below,
    forest_row,
    nice_top,
    numbers_only,
    plain,
    share,
    word_at_limit,
)
from safebandit.trials.analysis.analyse import Analysis, Estimate

# The width and the height that paths are drawn in; they are stretched to the place that there is.
WIDTH, HEIGHT = 1000, 100


def now_panels(found: Analysis) -> list[Panel]:
    """Every arm's mean and sequence as they are now: a panel for each endpoint."""
    return _panels(found, _now)


def path_panels(found: Analysis) -> list[Panel]:
    """Every arm's mean and sequence over its known outcomes, on a logarithmic scale: a panel for each endpoint."""
    return _panels(found, _over_looks)


def _panels(found: Analysis, draw: Callable[[str, Sequence[Estimate], str], Panel]) -> list[Panel]:
    sure = f"{100 * found.confidence:g} % sequence"
    panels = []
    for endpoint in dict.fromkeys(each.endpoint for each in found.estimates):
        arms = [each for each in found.estimates if each.endpoint == endpoint]
        most = {each.arm for each in sorted(arms, key=lambda each: -each.known)[:MOST_ROWS]}
        drawn = [each for each in arms if each.arm in most]
        panels.append(draw(endpoint, drawn, sure)._replace(omitted=len(arms) - len(drawn)))
    return panels


def _now(endpoint: str, arms: Sequence[Estimate], sure: str) -> Panel:
    limit = arms[0].limit
    top = nice_top([*(each.interval[1] for each in arms), *(() if limit is None else (limit,))])
    rows = [
        forest_row(each.arm, _said(each, sure), Marks(each.mean, _ends(each), None, each.limit), top) for each in arms
    ]
    return Panel(
        endpoint, top, rows, axis=axis_below(top), limit=Markup() if limit is None else word_at_limit(limit, top)
    )


def _over_looks(endpoint: str, arms: Sequence[Estimate], sure: str) -> Panel:
    longest = max(each.known for each in arms)
    rows = [
        Row(each.arm, _sequence(each, longest, f"{_said(each, sure)}, after {each.known:,} known outcomes"),
            share(each.mean), True)
        for each in arms
    ]  # fmt: skip
    return Panel(endpoint, 1.0, rows, last=max(longest, 1))


def _ends(each: Estimate) -> tuple[float, float] | None:
    """The ends of a sequence; none where it is empty, as nothing would be right to draw then."""
    low, high = each.interval
    return (low, high) if low <= high else None


def _said(each: Estimate, sure: str) -> str:
    if each.mean is None:
        return "no outcome yet"
    ends = _ends(each)
    # To as many places as the table beside it.
    between = "is empty: an assumption fails" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"
    limit = "" if each.limit is None else f", limit {each.limit:g}"
    return f"mean {share(each.mean)}, {sure} {between}{limit}"


def _sequence(each: Estimate, longest: int, said: str) -> Markup:
    """A sequence as a band and its mean as a line, from 0 below to 1 above."""
    parts = [f'<path class="grid" d="M0 {y}H{WIDTH}"/>' for y in (0, HEIGHT // 2)]
    parts.append(f'<path class="base" d="M0 {HEIGHT}H{WIDTH}"/>')
    if each.mean is not None:
        low, high, mean = (_points(each, values, longest) for values in (each.path.low, each.path.high, each.path.mean))
        parts.append(f'<path class="band" d="M{"L".join([*low, *reversed(high)])}Z"/>')
        parts.append(f'<path class="line" d="M{"L".join(mean)}"/>')
    if each.limit is not None:
        parts.append(f'<path class="alpha" d="M0 {plain(HEIGHT * (1.0 - each.limit))}H{WIDTH}"/>')
    head = Markup('<svg class="steps" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img"><title>{}: {}</title>')
    return head.format(WIDTH, HEIGHT, each.arm, said) + numbers_only(parts)


def _points(each: Estimate, values: Numbers, longest: int) -> list[str]:
    """Where the values at the looks stand."""
    end = math.log(max(longest, 2))
    return [
        f"{plain(WIDTH * math.log(int(known)) / end)} {plain(HEIGHT * (1.0 - value))}"
        for known, value in zip(each.path.known, values, strict=True)
    ]
